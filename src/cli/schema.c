/* schema.c - writes the JSON Schema of a command's answers */
#include "cli/schema.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "io/json/json_copy.h"
#include "plait/version.h"

enum { MOST_PARTS = 128 };

static const char part_prefix[] = "#/$defs/";

/* Names of the parts that a schema refers to, in the order in which they are found. */
typedef struct schema_parts {
    int count;
    const char *name[MOST_PARTS + 1]; /* ended by NULL */
} schema_parts;

/* Adds the parts that a value refers to, and those that these refer to. */
static plait_status add_parts(const json_cursor *at, const json_cursor *all, schema_parts *parts,
                              plait_error *err)
{
    const char *const text =
        at->key != NULL && text_equal(at->key, "$ref") ? json_characters(at) : NULL;
    json_cursor child;

    for (bool more = json_first(at, &child); more; more = json_next(&child))
        PLAIT_TRY(add_parts(&child, all, parts, err));
    if (text == NULL || text_index(text + strlen(part_prefix), parts->name) >= 0)
        return PLAIT_OK;
    if (parts->count == MOST_PARTS)
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected at most %d parts", MOST_PARTS);
    parts->name[parts->count++] = text + strlen(part_prefix);
    PLAIT_TRY(json_value(all, text + strlen(part_prefix), &child, err));
    return add_parts(&child, all, parts, err);
}

/* Writes the references to the answers of a command: one, or any of several. */
static void write_answers(json_writer *json, const json_cursor *answers)
{
    const bool several = json_count(answers) > 1;
    json_cursor answer;

    if (several)
        json_member_array(json, "anyOf");
    for (bool more = json_first(answers, &answer); more; more = json_next(&answer)) {
        char reference[80];

        snprintf(reference, sizeof reference, "%s%s", part_prefix, json_characters(&answer));
        if (several)
            json_begin_object(json);
        json_member_string(json, "$ref", reference);
        if (several)
            json_end_object(json);
    }
    if (several)
        json_end_array(json);
}

static plait_status write_bundle(json_writer *json, const char *command, bool url,
                                 const json_cursor *root, plait_arena *arena, plait_error *err)
{
    json_cursor commands, answers, all, answer, part;
    schema_parts *const parts = plait_arena_alloc(arena, 1, sizeof *parts);

    PLAIT_TRY(plait_check_allocated(parts, err));
    PLAIT_TRY(json_object(root, "answers", &commands, err));
    PLAIT_TRY(json_object(root, "$defs", &all, err));
    PLAIT_TRY(json_array(&commands, command, &answers, err));
    for (bool more = json_first(&answers, &answer); more; more = json_next(&answer)) {
        parts->name[parts->count++] = json_characters(&answer);
        PLAIT_TRY(json_value(&all, json_characters(&answer), &part, err));
        PLAIT_TRY(add_parts(&part, &all, parts, err));
    }
    json_begin_object(json);
    if (url) {
        const char *const id = plait_arena_printf(arena, "https://plait.invalid/schema/%s/%s.json",
                                                  plait_version(), command);
        PLAIT_TRY(plait_check_allocated(id, err));
        JSON_STRINGS(json, {"$schema", "https://json-schema.org/draft/2020-12/schema"},
                     {"$id", id});
    }
    json_member_string(json, "type", "object");
    write_answers(json, &answers);
    json_member_object(json, "$defs");
    for (int i = 0; i < parts->count; i++) {
        PLAIT_TRY(json_value(&all, parts->name[i], &part, err));
        json_write_key(json, parts->name[i]);
        json_copy(json, &part);
    }
    json_end_object(json);
    json_end_object(json);
    return PLAIT_OK;
}

plait_status schema_commands(plait_arena *arena, const char ***names, plait_error *err)
{
    json_document doc;
    json_cursor commands, at;
    plait_status status;
    size_t count = 0;

    PLAIT_TRY(json_document_parse(schema_answers.text, schema_answers.length, "answers.schema.json",
                                  arena, &doc, err));
    const json_cursor root = json_document_root(&doc);
    status = json_object(&root, "answers", &commands, err);
    *names = plait_arena_alloc(arena, json_count(&commands) + 1, sizeof **names);
    if (status == PLAIT_OK)
        status = plait_check_allocated(*names, err);
    for (bool more = status == PLAIT_OK && json_first(&commands, &at); more; more = json_next(&at))
        (*names)[count++] = plait_arena_text(arena, at.key);
    json_document_free(&doc);
    return status;
}

plait_status schema_write(json_writer *json, const char *command, bool url, plait_arena *arena,
                          plait_error *err)
{
    const char **names;
    json_document doc;

    PLAIT_TRY(schema_commands(arena, &names, err));
    if (text_index(command, names) < 0) {
        text_names list;

        text_names_init(&list, arena);
        for (; *names != NULL; names++)
            text_names_add(&list, *names);
        const char *const text = text_names_finish(&list);
        PLAIT_TRY(plait_check_allocated(text, err));
        return plait_fail(err, PLAIT_ERROR_RANGE, "COMMAND", "expected one of %s, found \"%.60s\"",
                          text, command);
    }
    PLAIT_TRY(json_document_parse(schema_answers.text, schema_answers.length, "answers.schema.json",
                                  arena, &doc, err));
    const json_cursor root = json_document_root(&doc);
    const plait_status status = write_bundle(json, command, url, &root, arena, err);
    json_document_free(&doc);
    return status;
}
