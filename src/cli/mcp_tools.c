/*
 * mcp_tools.c - describes commands as tools, and translates arguments of tools into command lines
 *
 * A tool has one property for each operand of its command and one for each option, whose name has
 * underscores instead of hyphens. Options that name a file to write are left out.
 */
#include "cli/mcp_tools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/schema.h"
#include "io/file.h"
#include "plait/data.h"

enum { MOST_NAME = 100 };

/* How a command gives its JSON answer. */
typedef enum answer_kind {
    ANSWER_PRINTED, /* --json */
    ANSWER_FILE, /* -o FILE, in addition to a table on standard output; later calls read the file */
    ANSWER_FOLDER /* -o DIR */
} answer_kind;

typedef struct tool {
    const command *verb;
    const char *operand[2];
    const char *rest; /* property with further operands; NULL: none */
    int needed;       /* number of operands without which the tool cannot run */
    answer_kind answer;
} tool;

static const tool tools[] = {
    {&command_search, {"model", "cluster"}, NULL, 0, ANSWER_FILE},
    {&command_eval, {"model", "cluster"}, NULL, 0, ANSWER_FILE},
    {&command_explain, {"model", "cluster"}, NULL, 0, ANSWER_PRINTED},
    {&command_serve, {"model", "cluster"}, NULL, 2, ANSWER_FILE},
    {&command_capacity, {"model", "cluster"}, NULL, 2, ANSWER_FILE},
    {&command_rl, {"model", "cluster"}, NULL, 2, ANSWER_FILE},
    {&command_import, {"file"}, "arguments", 1, ANSWER_FILE},
    {&command_doctor, {"file"}, "arguments", 1, ANSWER_PRINTED},
    {&command_launch, {"plans"}, NULL, 1, ANSWER_FOLDER},
    {&command_validate, {"runs"}, NULL, 1, ANSWER_PRINTED},
    {&command_models, {"model"}, NULL, 0, ANSWER_PRINTED},
    {&command_clusters, {"cluster"}, NULL, 0, ANSWER_PRINTED},
};

enum { TOOLS = sizeof tools / sizeof *tools };

static const struct operand_help {
    const char *name, *help;
} operand_help[] = {
    {"model", "model: a name that plait://models lists, its id on the Hugging Face Hub, a path, or "
              "the contents of a model file or config.json as an object"},
    {"cluster", "cluster: a name that plait://clusters lists, ACCELERATOR:NODESxGPUS such as "
                "h100-80gb-sxm:64x8, 8xH100, a path, or the contents of a cluster file as an "
                "object"},
    {"file", "launch config, script or log: a path, or {\"name\": ..., \"text\": ...}"},
    {"plans", "answer of search, eval or serve: plait://answers/N, a path, or the answer as an "
              "object; :2 after an address or a path selects plan 2, :try the tries"},
    {"runs", "measured runs: a path, or {\"name\": ..., \"text\": ...} with CSV"},
    {"arguments", "arguments of the script"},
};

/* ---- which tools ---- */

static bool is_offered(const mcp_host *host, const tool *one)
{
    const char *const *const only = host->own;

    return only == NULL || text_index(one->verb->usage.command, only) >= 0;
}

static const tool *find_tool(const mcp_host *host, const char *name)
{
    for (int i = 0; i < TOOLS; i++)
        if (text_equal(tools[i].verb->usage.command, name))
            return is_offered(host, &tools[i]) ? &tools[i] : NULL;
    return NULL;
}

static bool has_tool(const mcp_host *host, const char *name)
{
    return find_tool(host, name) != NULL;
}

/* ---- options as properties ---- */

static bool is_property(const opt *option)
{
    return option->kind != OPT_GROUP && option->kind != OPT_COMMON && !option->writes &&
           !text_equal(option->name, "json") && !text_equal(option->name, "force");
}

static void property_name(const opt *option, char name[MOST_NAME])
{
    snprintf(name, MOST_NAME, "%s", option->name);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '-' ? '_' : *c;
}

/* Return whether the value of an option may be a file, whose contents can be given inline. */
static bool takes_file(const opt *option)
{
    static const char *const signs[] = {"FILE", ".csv", ".log", ".json", "MODEL", "CLUSTER"};

    for (size_t i = 0; option->value != NULL && i < sizeof signs / sizeof *signs; i++)
        if (strstr(option->value, signs[i]) != NULL)
            return true;
    return false;
}

static void write_types(json_writer *json, const char *first, const char *second, bool object)
{
    json_member_row(json, "type");
    json_write_string(json, first);
    json_write_string(json, second);
    if (object)
        json_write_string(json, "object");
    json_end_array(json);
}

static void write_option(json_writer *json, const opt *option)
{
    char name[MOST_NAME], help[OPT_HELP_SIZE];
    const char *const *words = opt_words(&option->offer);

    property_name(option, name);
    json_member_object(json, name);
    if (option->kind == OPT_FLAG)
        json_member_string(json, "type", "boolean");
    else if (option->kind == OPT_INT)
        write_types(json, "integer", "string", false);
    else
        write_types(json, "string", "number", takes_file(option));
    opt_spell_words(option, help, sizeof help);
    json_member_string(json, "description", help);
    if (words != NULL && strstr(option->help, "{words}") == NULL) {
        json_member_row(json, "examples");
        for (; *words != NULL; words++)
            json_write_string(json, *words);
        json_end_array(json);
    }
    json_end_object(json);
}

static void write_operand(json_writer *json, const char *name, bool list)
{
    json_member_object(json, name);
    if (list) {
        json_member_string(json, "type", "array");
        json_member_object(json, "items");
        json_member_string(json, "type", "string");
        json_end_object(json);
    } else
        write_types(json, "string", "object", false);
    for (size_t i = 0; i < sizeof operand_help / sizeof *operand_help; i++)
        if (text_equal(operand_help[i].name, name))
            json_member_string(json, "description", operand_help[i].help);
    json_end_object(json);
}

static plait_status write_tool(const tool *one, json_writer *json, plait_arena *arena,
                               plait_error *err)
{
    const opt_usage *const usage = &one->verb->usage;
    opt_table *const options = plait_arena_alloc(arena, 1, sizeof *options);
    const char *const about = plait_arena_printf(arena, "%s%s%s", usage->summary,
                                                 usage->about[0] != '\0' ? "\n" : "", usage->about);

    PLAIT_TRY(plait_check_allocated(options != NULL && about != NULL, err));
    opt_spell_out(usage->options, options);
    json_begin_object(json);
    JSON_STRINGS(json, {"name", usage->command}, {"description", about});
    json_member_object(json, "inputSchema");
    json_member_string(json, "type", "object");
    json_member_object(json, "properties");
    for (int i = 0; i < 2 && one->operand[i] != NULL; i++)
        write_operand(json, one->operand[i], false);
    if (one->rest != NULL)
        write_operand(json, one->rest, true);
    for (const opt *option = options->row; option->kind != OPT_LAST; option++)
        if (is_property(option))
            write_option(json, option);
    json_end_object(json);
    json_member_row(json, "required");
    for (int i = 0; i < one->needed; i++)
        json_write_string(json, one->operand[i]);
    json_end_array(json);
    json_member_bool(json, "additionalProperties", false);
    json_end_object(json);
    json_write_key(json, "outputSchema");
    PLAIT_TRY(schema_write(json, usage->command, false, arena, err));
    json_member_object(json, "annotations");
    json_member_bool(json, "readOnlyHint", true);
    json_member_bool(json, "idempotentHint", true);
    json_member_bool(json, "openWorldHint", false);
    json_end_object(json);
    json_end_object(json);
    return PLAIT_OK;
}

static plait_status write_tools(const mcp_host *host, json_writer *json, plait_arena *arena,
                                plait_error *err)
{
    json_begin_array(json);
    for (int i = 0; i < TOOLS; i++)
        if (is_offered(host, &tools[i]))
            PLAIT_TRY(write_tool(&tools[i], json, arena, err));
    json_end_array(json);
    return PLAIT_OK;
}

/* ---- arguments as a command line ---- */

/* A command line that is being built. */
typedef struct line {
    const char *folder, *answers;
    plait_arena *arena;
    const char *words[2 * OPT_MAX_OPTIONS + OPT_MAX_OPERANDS];
    int count;
    const char *operand[2];
} line;

static plait_status fail_value(const char *name, plait_error *err, const char *expected)
{
    return plait_fail(err, PLAIT_ERROR_SCHEMA, name, "expected %s", expected);
}

static plait_status add_word(line *of, const char *word, plait_error *err)
{
    PLAIT_TRY(plait_check_allocated(word != NULL, err));
    if (of->count + 1 >= (int)(sizeof of->words / sizeof *of->words))
        return plait_fail(err, PLAIT_ERROR_RANGE, "arguments", "expected fewer arguments");
    of->words[of->count++] = word;
    return PLAIT_OK;
}

/*
 * Write the contents of a file that are given inline: {"name": ..., "text": ...}, or else the
 * object itself as JSON.
 */
static plait_status write_inline(const line *of, const char *property, const json_cursor *at,
                                 const char **path, plait_error *err)
{
    json_cursor name, text;
    json_writer json;
    const char *bytes;
    size_t length;

    if (json_count(at) == 2 && json_value(at, "name", &name, NULL) == PLAIT_OK &&
        json_value(at, "text", &text, NULL) == PLAIT_OK && json_is_string(&name) &&
        json_is_string(&text)) {
        const char *const base = json_characters(&name);
        const char *const folder = plait_arena_printf(of->arena, "%s/%s", of->folder, property);

        if (base[0] == '\0' || base[0] == '.' || base[0] == '-' || strchr(base, '/') != NULL ||
            strlen(base) > MOST_NAME || !text_is_plain(base))
            return fail_value(property, err, "the name of a file without a folder");
        *path = plait_arena_printf(of->arena, "%s/%s", folder, base);
        PLAIT_TRY(plait_check_allocated(folder != NULL && *path != NULL, err));
        if (mkdir(folder, 0700) != 0)
            return file_fail_write(folder, errno, err);
        bytes = json_characters(&text);
        return file_write_atomically(*path, bytes, strlen(bytes), err);
    }
    json_writer_init(&json, of->arena);
    json_copy(&json, at);
    PLAIT_TRY(json_writer_finish(&json, &bytes, &length, err));
    *path = plait_arena_printf(of->arena, "%s/%s.json", of->folder, property);
    PLAIT_TRY(plait_check_allocated(*path != NULL, err));
    return file_write_atomically(*path, bytes, length, err);
}

/* Set *word to a text in which the address of an answer or of a data file became a path or a name. */
static plait_status resolve(const line *of, const char *name, const char *text, const char **word,
                            plait_error *err)
{
    static const char *const prefixes[] = {"plait://models/", "plait://clusters/",
                                           "plait://accelerators/"};

    *word = text;
    if (text_starts_with(text, MCP_ANSWERS)) {
        const char *const number = text + strlen(MCP_ANSWERS);
        const size_t digits = strspn(number, "0123456789");

        if (digits == 0 || (number[digits] != '\0' && number[digits] != ':') ||
            strchr(number, '/') != NULL)
            return fail_value(name, err, "the address of an answer, such as " MCP_ANSWERS "1:2");
        *word = plait_arena_printf(of->arena, "%s/%.*s/answer.json%s", of->answers, (int)digits,
                                   number, number + digits);
        return plait_check_allocated(*word != NULL, err);
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (text_starts_with(text, prefixes[i]))
            *word = text + strlen(prefixes[i]);
    return PLAIT_OK;
}

/* Set *word to the text of a string, a number, or a list of them, joined by commas. */
static plait_status value_word(const line *of, const char *name, const json_cursor *at,
                               const char **word, plait_error *err)
{
    char text[TEXT_NUMBER_SIZE];
    double number;
    json_cursor element;
    text_builder out;

    if (json_is_string(at))
        return resolve(of, name, json_characters(at), word, err);
    if (json_is_number(at)) {
        PLAIT_TRY(json_as_number(at, JSON_ANY, &number, err));
        *word = plait_arena_text(of->arena, text_number(number, text));
    } else if (json_is_array(at)) {
        text_builder_init(&out, of->arena);
        for (bool more = json_first(at, &element); more; more = json_next(&element)) {
            if (json_is_array(&element) || json_is_object(&element))
                return fail_value(name, err, "a list of strings or numbers");
            PLAIT_TRY(value_word(of, name, &element, word, err));
            text_append(&out, element.index > 0 ? "," : "");
            text_append(&out, *word);
        }
        *word = text_builder_finish(&out, NULL);
    } else
        return fail_value(name, err, "a string or a number");
    return plait_check_allocated(*word != NULL, err);
}

static plait_status add_option(line *of, const opt *option, const char *name, const json_cursor *at,
                               plait_error *err)
{
    const char *word;
    bool on;

    if (json_is_null(at))
        return PLAIT_OK;
    if (option->kind == OPT_FLAG) {
        if (json_as_bool(at, &on, NULL) != PLAIT_OK)
            return fail_value(name, err, "true or false");
        return on ? add_word(of, plait_arena_printf(of->arena, "--%s", option->name), err)
                  : PLAIT_OK;
    }
    if (text_equal(option->value, "0|1") && json_as_bool(at, &on, NULL) == PLAIT_OK)
        word = on ? "1" : "0";
    else if (json_is_object(at)) {
        if (!takes_file(option))
            return fail_value(name, err, "a string or a number, found an object");
        PLAIT_TRY(write_inline(of, name, at, &word, err));
    } else
        PLAIT_TRY(value_word(of, name, at, &word, err));
    PLAIT_TRY(add_word(of, plait_arena_printf(of->arena, "--%s", option->name), err));
    return add_word(of, word, err);
}

/* Set an operand, which must not look like an option. */
static plait_status take_operand(line *of, const char *name, const json_cursor *at,
                                 const char **operand, plait_error *err)
{
    if (json_is_null(at))
        return PLAIT_OK;
    if (json_is_object(at))
        return write_inline(of, name, at, operand, err);
    PLAIT_TRY(value_word(of, name, at, operand, err));
    return (*operand)[0] != '-' ? PLAIT_OK
                                : fail_value(name, err, "a name or a file, found an option");
}

/* Take one member of the arguments; members of `rest` are added last. */
static plait_status take_member(line *of, const tool *one, const opt_table *options,
                                const json_cursor *at, plait_error *err)
{
    const char *known[OPT_MAX_OPTIONS + 4];
    char name[OPT_MAX_OPTIONS][MOST_NAME];
    int count = 0;

    if (one->rest != NULL && text_equal(at->key, one->rest))
        return json_is_array(at) ? PLAIT_OK : fail_value(one->rest, err, "a list of strings");
    for (int i = 0; i < 2 && one->operand[i] != NULL; i++) {
        if (text_equal(at->key, one->operand[i]))
            return take_operand(of, one->operand[i], at, &of->operand[i], err);
        known[count++] = one->operand[i];
    }
    for (int i = 0; options->row[i].kind != OPT_LAST; i++) {
        if (!is_property(&options->row[i]))
            continue;
        property_name(&options->row[i], name[i]);
        if (text_equal(at->key, name[i]))
            return add_option(of, &options->row[i], name[i], at, err);
        known[count++] = name[i];
    }
    known[count] = NULL;
    const char *const nearest = text_nearest(at->key, known);
    return plait_fail(err, PLAIT_ERROR_SCHEMA, "arguments",
                      nearest != NULL ? "expected \"%s\", found \"%.60s\""
                                      : "expected a property of the tool%s, found \"%.60s\"",
                      nearest != NULL ? nearest : "", at->key);
}

static plait_status add_rest(line *of, const tool *one, const json_cursor *arguments,
                             plait_error *err)
{
    json_cursor list, element;

    if (one->rest == NULL || !json_has(arguments, one->rest))
        return PLAIT_OK;
    PLAIT_TRY(json_array(arguments, one->rest, &list, err));
    PLAIT_TRY(add_word(of, "--", err));
    PLAIT_TRY(add_word(of, of->operand[0] != NULL ? of->operand[0] : "", err));
    for (bool more = json_first(&list, &element); more; more = json_next(&element)) {
        const char *const word = json_characters(&element);

        if (word == NULL)
            return fail_value(one->rest, err, "a list of strings");
        PLAIT_TRY(add_word(of, word, err));
    }
    return PLAIT_OK;
}

static plait_status prepare(const mcp_host *host, const char *name, const json_cursor *arguments,
                            const char *folder, const char *answers, plait_arena *arena,
                            mcp_run *run, plait_error *err)
{
    const tool *const one = find_tool(host, name);
    opt_table *const options = plait_arena_alloc(arena, 1, sizeof *options);
    line *const of = plait_arena_alloc(arena, 1, sizeof *of);
    const bool listed =
        one->rest != NULL && json_is_object(arguments) && json_has(arguments, one->rest);
    json_cursor member;

    PLAIT_TRY(plait_check_allocated(options != NULL && of != NULL, err));
    opt_spell_out(one->verb->usage.options, options);
    *of = (line){.folder = folder, .answers = answers, .arena = arena, .count = 3};
    for (bool more = json_is_object(arguments) && json_first(arguments, &member); more;
         more = json_next(&member)) {
        json_cursor again;

        PLAIT_TRY(json_value(arguments, member.key, &again, err)); // fails if it is there twice
        PLAIT_TRY(take_member(of, one, options, &member, err));
    }
    for (int i = 0; i < one->needed; i++)
        if (of->operand[i] == NULL)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, one->operand[i],
                              "expected this argument, found none");
    switch (one->answer) {
    case ANSWER_PRINTED:
        PLAIT_TRY(add_word(of, "--json", err));
        break;
    case ANSWER_FILE:
        run->answer = plait_arena_printf(arena, "%s/answer.json", folder);
        PLAIT_TRY(add_word(of, "--output", err));
        PLAIT_TRY(add_word(of, run->answer, err));
        break;
    case ANSWER_FOLDER:
        run->files = plait_arena_printf(arena, "%s/files", folder);
        PLAIT_TRY(add_word(of, "--output", err));
        PLAIT_TRY(add_word(of, run->files, err));
    }
    if (listed)
        PLAIT_TRY(add_rest(of, one, arguments, err));
    // The words begin with the command and its operands, for which there are three places.
    int at = 3;
    for (int i = 1; i >= 0; i--)
        if (of->operand[i] != NULL && !listed)
            of->words[--at] = of->operand[i];
    of->words[--at] = one->verb->usage.command;
    of->words[of->count] = NULL;
    run->argv = of->words + at;
    return PLAIT_OK;
}

/* ---- resources ---- */

static const struct resource_kind {
    const char *prefix, *what;
    int data; /* plait_data_kind; -1: schemas */
} resource_kinds[] = {
    {"plait://models/", "model file", PLAIT_DATA_MODELS},
    {"plait://clusters/", "cluster file", PLAIT_DATA_CLUSTERS},
    {"plait://accelerators/", "accelerator file", PLAIT_DATA_ACCELERATORS},
    {"plait://schemas/", "JSON Schema of the answers of a command", -1},
};

enum { RESOURCE_KINDS = sizeof resource_kinds / sizeof *resource_kinds };

static plait_status names_of(const struct resource_kind *kind, plait_arena *arena,
                             const char *const **names, plait_error *err)
{
    const char **commands;
    size_t count;

    if (kind->data >= 0)
        return plait_data_list((plait_data_kind)kind->data, arena, names, &count, err);
    PLAIT_TRY(schema_commands(arena, &commands, err));
    *names = commands;
    return PLAIT_OK;
}

static plait_status write_resources(json_writer *json, plait_arena *arena, plait_error *err)
{
    json_begin_array(json);
    for (int k = 0; k < RESOURCE_KINDS; k++) {
        const char *const *names;

        PLAIT_TRY(names_of(&resource_kinds[k], arena, &names, err));
        for (; *names != NULL; names++) {
            const char *const uri =
                plait_arena_printf(arena, "%s%s", resource_kinds[k].prefix, *names);

            PLAIT_TRY(plait_check_allocated(uri != NULL, err));
            json_begin_object(json);
            JSON_STRINGS(json, {"uri", uri}, {"name", *names},
                         {"description", resource_kinds[k].what}, {"mimeType", "application/json"});
            json_end_object(json);
        }
    }
    json_end_array(json);
    return PLAIT_OK;
}

static void write_template(json_writer *json, const char *prefix, const char *variable,
                           const char *what)
{
    char uri[80];

    snprintf(uri, sizeof uri, "%s{%s}", prefix, variable);
    json_begin_object(json);
    JSON_STRINGS(json, {"uriTemplate", uri}, {"name", what}, {"mimeType", "application/json"});
    json_end_object(json);
}

static void write_templates(json_writer *json)
{
    json_begin_array(json);
    for (int k = 0; k < RESOURCE_KINDS; k++)
        write_template(json, resource_kinds[k].prefix, "name", resource_kinds[k].what);
    write_template(json, MCP_ANSWERS, "number", "answer of an earlier call");
    json_end_array(json);
}

static plait_status read_resource(const char *uri, plait_arena *arena, const char **text,
                                  size_t *length, plait_error *err)
{
    const char *const *names, *path;
    json_writer json;

    for (int k = 0; k < RESOURCE_KINDS; k++) {
        const char *const name = uri + strlen(resource_kinds[k].prefix);

        if (!text_starts_with(uri, resource_kinds[k].prefix))
            continue;
        PLAIT_TRY(names_of(&resource_kinds[k], arena, &names, err));
        if (text_index(name, names) < 0) // a name that is no path
            return PLAIT_OK;
        if (resource_kinds[k].data >= 0) {
            PLAIT_TRY(
                plait_data_find((plait_data_kind)resource_kinds[k].data, name, arena, &path, err));
            return file_read_all(path, MCP_MAX_BYTES, arena, text, length, err);
        }
        json_writer_init(&json, arena);
        PLAIT_TRY(schema_write(&json, name, true, arena, err));
        return json_writer_finish(&json, text, length, err);
    }
    return PLAIT_OK;
}

plait_status mcp_tools_init(const char *const *only, plait_arena *arena, mcp_host *host,
                            plait_error *err)
{
    text_names all;

    host->own = only;
    host->write_tools = write_tools;
    host->has_tool = has_tool;
    host->prepare = prepare;
    host->write_resources = write_resources;
    host->write_templates = write_templates;
    host->read_resource = read_resource;
    for (; only != NULL && *only != NULL; only++) {
        if (find_tool(host, *only) != NULL)
            continue;
        text_names_init(&all, arena);
        for (int i = 0; i < TOOLS; i++)
            text_names_add(&all, tools[i].verb->usage.command);
        const char *const names = text_names_finish(&all);
        PLAIT_TRY(plait_check_allocated(names != NULL, err));
        return plait_fail(err, PLAIT_ERROR_RANGE, "--tools", "expected some of %s, found \"%.60s\"",
                          names, *only);
    }
    return PLAIT_OK;
}
