/* opt.c - the options of a command: parsed by popt */
#include "opt.h"

#include <limits.h>
#include <popt.h>
#include <stdlib.h>
#include <string.h>

#include "magnitude.h"
#include "text.h"

static int count_options(const opt *options)
{
    int count = 0;

    while (options[count].kind != OPT_LAST)
        count++;
    return count;
}

/* ---- values ---- */

static plait_status fail_option(const char *name, plait_error *err, const char *expected,
                                const char *found)
{
    char where[80];

    snprintf(where, sizeof where, "--%s", name);
    return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected %s, found %s", expected, found);
}

static plait_status store_int(const opt *option, const char *text, int *out, plait_error *err)
{
    char expected[80], found[80];

    if (magnitude_parse_count(text, option->tokens ? 1024 : 1000, option->min, option->max, out))
        return PLAIT_OK;
    if (option->max == INT_MAX)
        snprintf(expected, sizeof expected, "an integer of at least %d", option->min);
    else
        snprintf(expected, sizeof expected, "an integer from %d to %d", option->min, option->max);
    snprintf(found, sizeof found, "\"%.60s\"", text);
    return fail_option(option->name, err, expected, found);
}

static plait_status store_text(const opt *option, const char *text, plait_arena *arena,
                               const char **out, plait_error *err)
{
    if (option->kind == OPT_LIST && *out != NULL)
        *out = plait_arena_printf(arena, "%s,%s", *out, text);
    else
        *out = plait_arena_text(arena, text);
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

static plait_status store(const opt *option, const char *text, plait_arena *arena, void *values,
                          plait_error *err)
{
    char *const field = (char *)values + option->offset;

    switch (option->kind) {
    case OPT_FLAG:
        *(bool *)(void *)field = true;
        return PLAIT_OK;
    case OPT_INT:
        return store_int(option, text, (int *)(void *)field, err);
    case OPT_TEXT:
    case OPT_LIST:
        return store_text(option, text, arena, (const char **)(void *)field, err);
    case OPT_LAST:
    case OPT_GROUP:
    case OPT_KEYS:
        break;
    }
    return PLAIT_OK;
}

/* ---- refusals ---- */

/* The longest known name that a word begins with: "sequence" is a long way to write "seq". */
static const char *longest_start(const char *word, const char *const *names)
{
    const char *longest = NULL;

    for (; *names != NULL; names++)
        if (strlen(*names) > 2 && text_starts_with(word, *names) &&
            (longest == NULL || strlen(*names) > strlen(longest)))
            longest = *names;
    return longest;
}

/* The option of the table that `found` ("--sequence=5") was probably meant to be. */
static plait_status fail_unknown(const opt_usage *usage, const char *found, plait_arena *arena,
                                 plait_error *err)
{
    const size_t count = (size_t)count_options(usage->options);
    const char **names = plait_arena_alloc(arena, count + 3, sizeof *names);
    char *word = plait_arena_text(arena, found + strspn(found, "-"));
    const char *nearest;
    size_t known = 0;

    if (names == NULL || word == NULL)
        return plait_fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        if (usage->options[i].kind != OPT_GROUP)
            names[known++] = usage->options[i].name;
    names[known++] = "wide";
    names[known] = "help";
    text_cut(word, '=');
    nearest = text_nearest(word, names);
    if (nearest == NULL)
        nearest = longest_start(word, names);
    if (nearest != NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, found, "expected the option --%s, found %s",
                          nearest, found);
    return plait_fail(err, PLAIT_ERROR_SCHEMA, found,
                      "expected an option that `plait %s --help` lists, found %s", usage->command,
                      found);
}

static const opt *option_named(const opt *options, const char *text)
{
    const size_t hyphens = strspn(text, "-");
    const size_t length = strcspn(text + hyphens, "=");

    for (; options->kind != OPT_LAST; options++) {
        if (options->kind == OPT_GROUP)
            continue;
        if (hyphens == 1 ? length == 1 && text[1] == options->letter
                         : strlen(options->name) == length &&
                               strncmp(text + hyphens, options->name, length) == 0)
            return options;
    }
    return NULL;
}

static plait_status fail_parse(const opt_usage *usage, poptContext context, int code,
                               plait_arena *arena, plait_error *err)
{
    const char *const found = poptBadOption(context, POPT_BADOPTION_NOALIAS);
    char expected[80];

    if (code == POPT_ERROR_MALLOC || found == NULL)
        return plait_fail_nomem(err);

    const opt *const option = option_named(usage->options, found);
    if (code == POPT_ERROR_NOARG && option != NULL) {
        snprintf(expected, sizeof expected, "a value (%s)", option->value);
        return fail_option(option->name, err, expected, "nothing");
    }
    if (code == POPT_ERROR_UNWANTEDARG && option != NULL)
        return fail_option(option->name, err, "no value, since it is a switch", found);
    return fail_unknown(usage, found, arena, err);
}

/* ---- parsing ---- */

/* popt's table: entry i returns i + 1, the last ones are --help and --wide. */
static struct poptOption *popt_table(const opt *options, int count, plait_arena *arena)
{
    struct poptOption *table = plait_arena_alloc(arena, (size_t)count + 3, sizeof *table);
    int used = 0;

    if (table == NULL)
        return NULL;
    for (int i = 0; i < count; i++) {
        if (options[i].kind == OPT_GROUP)
            continue;
        table[used++] = (struct poptOption){
            .longName = options[i].name,
            .shortName = options[i].letter,
            .argInfo = options[i].kind == OPT_FLAG ? POPT_ARG_NONE : POPT_ARG_STRING,
            .val = i + 1,
        };
    }
    table[used++] = (struct poptOption){
        .longName = "help", .shortName = 'h', .argInfo = POPT_ARG_NONE, .val = count + 1};
    table[used] =
        (struct poptOption){.longName = "wide", .argInfo = POPT_ARG_NONE, .val = count + 2};
    return table;
}

static plait_status read_operands(const opt_usage *usage, poptContext context, plait_arena *arena,
                                  opt_operands *operands, plait_error *err)
{
    const char **rest = poptGetArgs(context);

    for (; rest != NULL && *rest != NULL; rest++) {
        if (operands->count == usage->max_operands)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, usage->command,
                              "expected `plait %s %s`, found also \"%.60s\"", usage->command,
                              usage->synopsis, *rest);
        operands->text[operands->count] = plait_arena_text(arena, *rest);
        if (operands->text[operands->count++] == NULL)
            return plait_fail_nomem(err);
    }
    return PLAIT_OK;
}

static plait_status read_options(const opt_usage *usage, poptContext context, plait_arena *arena,
                                 void *values, opt_operands *operands, plait_error *err)
{
    const int help = count_options(usage->options) + 1, wide = help + 1;
    int code;

    while ((code = poptGetNextOpt(context)) > 0) {
        char *text = poptGetOptArg(context);
        plait_status status = PLAIT_OK;

        if (code == help)
            operands->help = true;
        else if (code == wide)
            operands->wide = true;
        else if (text == NULL && usage->options[code - 1].kind != OPT_FLAG)
            status = plait_fail_nomem(err); // popt had no memory for a copy of the value
        else
            status = store(&usage->options[code - 1], text, arena, values, err);
        free(text);
        PLAIT_TRY(status);
    }
    if (code < -1)
        return fail_parse(usage, context, code, arena, err);
    return read_operands(usage, context, arena, operands, err);
}

plait_status opt_parse(const opt_usage *called, int argc, const char **argv, plait_arena *arena,
                       void *values, opt_operands *operands, plait_error *err)
{
    opt_table options;
    opt_usage usage = *called;
    struct poptOption *table;
    poptContext context;
    plait_status status;

    *operands = (opt_operands){0};
    opt_spell_out(called->options, &options);
    usage.options = options.row;
    table = popt_table(usage.options, count_options(usage.options), arena);
    if (table == NULL)
        return plait_fail_nomem(err);
    context = poptGetContext(NULL, argc, argv, table, 0);
    if (context == NULL)
        return plait_fail_nomem(err);
    status = read_options(&usage, context, arena, values, operands, err);
    poptFreeContext(context);
    return status;
}
