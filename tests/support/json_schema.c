/* json_schema.c - checking JSON against a JSON Schema (draft 2020-12), as far as ours go */
#include "support/json_schema.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "io/json/json.h"

static const char *const keywords[] = {
    "type",       "const",    "enum",  "minimum",  "maximum",     "pattern",
    "properties", "required", "items", "minItems", "maxItems",    "additionalProperties",
    "$ref",       "$schema",  "$defs", "title",    "description", NULL,
};

/* What every step of a check carries along. */
typedef struct schema_check {
    const json_cursor *root; /* of the schema */
    plait_arena *arena;
} schema_check;

static plait_status check(const schema_check *with, const json_cursor *schema,
                          const json_cursor *at, plait_error *err);

// ---- single values -------------------------------------------------------------------------

static bool is_of_type(const json_cursor *at, const char *type)
{
    double number;
    bool truth;
    plait_error ignored;

    if (strcmp(type, "object") == 0)
        return json_is_object(at);
    if (strcmp(type, "array") == 0)
        return json_is_array(at);
    if (strcmp(type, "string") == 0)
        return json_is_string(at);
    if (strcmp(type, "null") == 0)
        return json_is_null(at);
    if (strcmp(type, "boolean") == 0)
        return json_as_bool(at, &truth, &ignored) == PLAIT_OK;
    if (!json_is_number(at) || json_as_number(at, JSON_ANY, &number, &ignored) != PLAIT_OK)
        return false;
    return strcmp(type, "number") == 0 || floor(number) == number;
}

static plait_status check_type(const schema_check *with, const json_cursor *schema,
                               const json_cursor *at, plait_error *err)
{
    json_cursor types, type;
    const char *name = "";

    PLAIT_TRY(json_value_optional(schema, "type", &types, err));
    if (json_is_null(&types))
        return PLAIT_OK;
    if (json_is_string(&types)) {
        PLAIT_TRY(json_as_string(&types, with->arena, &name, err));
        if (is_of_type(at, name))
            return PLAIT_OK;
    }
    for (bool more = json_first(&types, &type); more; more = json_next(&type)) {
        PLAIT_TRY(json_as_string(&type, with->arena, &name, err));
        if (is_of_type(at, name))
            return PLAIT_OK;
    }
    return json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected the type %s, found another", name);
}

static plait_status check_words(const json_cursor *schema, const json_cursor *at, plait_error *err)
{
    json_cursor words, word;
    plait_error ignored;

    PLAIT_TRY(json_value_optional(schema, "const", &word, err));
    if (!json_is_null(&word))
        PLAIT_TRY(json_same(at, &word, err));
    PLAIT_TRY(json_array_optional(schema, "enum", &words, err));
    if (json_is_null(&words))
        return PLAIT_OK;
    for (bool more = json_first(&words, &word); more; more = json_next(&word))
        if (json_same(at, &word, &ignored) == PLAIT_OK)
            return PLAIT_OK;
    return json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected a word of the schema, found another");
}

static plait_status check_range(const json_cursor *schema, const json_cursor *at, plait_error *err)
{
    double least = -HUGE_VAL, most = HUGE_VAL, number;

    PLAIT_TRY(json_number_optional(schema, "minimum", JSON_ANY, &least, err));
    PLAIT_TRY(json_number_optional(schema, "maximum", JSON_ANY, &most, err));
    if (!json_is_number(at))
        return PLAIT_OK;
    PLAIT_TRY(json_as_number(at, JSON_ANY, &number, err));
    if (number < least || number > most)
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected %g to %g, found %g", least, most,
                         number);
    return PLAIT_OK;
}

static plait_status check_pattern(const schema_check *with, const json_cursor *schema,
                                  const json_cursor *at, plait_error *err)
{
    const char *pattern = NULL, *text;
    regex_t compiled;
    bool matches;

    PLAIT_TRY(json_string_optional(schema, "pattern", with->arena, &pattern, err));
    if (pattern == NULL || !json_is_string(at))
        return PLAIT_OK;
    PLAIT_TRY(json_as_string(at, with->arena, &text, err));
    if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return json_fail_key(schema, "pattern", PLAIT_ERROR_SCHEMA, err, "expected a pattern");
    matches = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return matches
               ? PLAIT_OK
               : json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected %s, found \"%s\"", pattern, text);
}

// ---- arrays and objects --------------------------------------------------------------------

static plait_status check_items(const schema_check *with, const json_cursor *schema,
                                const json_cursor *at, plait_error *err)
{
    double least = 0.0, most = HUGE_VAL;
    const double count = (double)json_count(at);
    json_cursor items, item;

    if (!json_is_array(at))
        return PLAIT_OK;
    PLAIT_TRY(json_number_optional(schema, "minItems", JSON_ANY, &least, err));
    PLAIT_TRY(json_number_optional(schema, "maxItems", JSON_ANY, &most, err));
    if (count < least || count > most)
        return json_fail(at, PLAIT_ERROR_SCHEMA, err, "expected %g to %g elements, found %g", least,
                         most, count);
    PLAIT_TRY(json_object_optional(schema, "items", &items, err));
    if (json_is_null(&items))
        return PLAIT_OK;
    for (bool more = json_first(at, &item); more; more = json_next(&item))
        PLAIT_TRY(check(with, &items, &item, err));
    return PLAIT_OK;
}

static plait_status check_required(const schema_check *with, const json_cursor *schema,
                                   const json_cursor *at, plait_error *err)
{
    json_cursor keys, key, ignored;
    const char *name;

    PLAIT_TRY(json_array_optional(schema, "required", &keys, err));
    for (bool more = !json_is_null(&keys) && json_first(&keys, &key); more;
         more = json_next(&key)) {
        PLAIT_TRY(json_as_string(&key, with->arena, &name, err));
        PLAIT_TRY(json_value(at, name, &ignored, err));
    }
    return PLAIT_OK;
}

/* A member by its own schema, else by additionalProperties: a schema, or false. */
static plait_status check_member(const schema_check *with, const json_cursor *schema,
                                 const json_cursor *member, plait_error *err)
{
    json_cursor properties, own, others;

    PLAIT_TRY(json_object_optional(schema, "properties", &properties, err));
    if (!json_is_null(&properties) && json_has(&properties, member->key)) {
        PLAIT_TRY(json_value(&properties, member->key, &own, err));
        return check(with, &own, member, err);
    }
    PLAIT_TRY(json_value_optional(schema, "additionalProperties", &others, err));
    if (json_is_object(&others))
        return check(with, &others, member, err);
    return json_is_null(&others)
               ? PLAIT_OK
               : json_fail(member, PLAIT_ERROR_SCHEMA, err, "expected no such key");
}

static plait_status check_members(const schema_check *with, const json_cursor *schema,
                                  const json_cursor *at, plait_error *err)
{
    json_cursor member;

    if (!json_is_object(at))
        return PLAIT_OK;
    PLAIT_TRY(check_required(with, schema, at, err));
    for (bool more = json_first(at, &member); more; more = json_next(&member))
        PLAIT_TRY(check_member(with, schema, &member, err));
    return PLAIT_OK;
}

// ---- schemas -------------------------------------------------------------------------------

static plait_status check_reference(const schema_check *with, const json_cursor *schema,
                                    const json_cursor *at, plait_error *err)
{
    static const char prefix[] = "#/$defs/";
    const char *reference = NULL;
    json_cursor definitions, definition;

    PLAIT_TRY(json_string_optional(schema, "$ref", with->arena, &reference, err));
    if (reference == NULL)
        return PLAIT_OK;
    if (strncmp(reference, prefix, strlen(prefix)) != 0)
        return json_fail_key(schema, "$ref", PLAIT_ERROR_SCHEMA, err, "expected %s...", prefix);
    PLAIT_TRY(json_object(with->root, "$defs", &definitions, err));
    PLAIT_TRY(json_object(&definitions, reference + strlen(prefix), &definition, err));
    return check(with, &definition, at, err);
}

static plait_status check(const schema_check *with, const json_cursor *schema,
                          const json_cursor *at, plait_error *err)
{
    PLAIT_TRY(json_keys_among(schema, keywords, err));
    PLAIT_TRY(check_reference(with, schema, at, err));
    PLAIT_TRY(check_type(with, schema, at, err));
    PLAIT_TRY(check_words(schema, at, err));
    PLAIT_TRY(check_range(schema, at, err));
    PLAIT_TRY(check_pattern(with, schema, at, err));
    PLAIT_TRY(check_items(with, schema, at, err));
    return check_members(with, schema, at, err);
}

/* A text and its name. */
typedef struct schema_subject {
    const char *text;
    const char *name;
} schema_subject;

static plait_status check_value(const json_cursor *at, plait_arena *arena, void *schema,
                                plait_error *err)
{
    const schema_check with = {schema, arena};

    return check(&with, schema, at, err);
}

static plait_status check_subject(const json_cursor *schema, plait_arena *arena, void *subject,
                                  plait_error *err)
{
    const schema_subject *const about = subject;
    json_cursor root = *schema;

    return json_parse(about->text, strlen(about->text), about->name, check_value, arena, &root,
                      err);
}

plait_status json_schema_check(const char *schema_path, const char *text, const char *name,
                               plait_error *err)
{
    plait_arena *const arena = plait_arena_new();
    plait_status status;

    if (arena == NULL)
        return plait_fail_nomem(err);
    status = json_load(schema_path, check_subject, arena, &(schema_subject){text, name}, err);
    plait_arena_free(arena);
    return status;
}
