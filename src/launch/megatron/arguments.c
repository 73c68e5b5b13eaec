/* arguments.c - sets, writes and reads Megatron-LM's arguments by their table */
#include "launch/megatron/arguments.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plait/degrees.h"
#include "plait/model.h"

#include "base/text.h"
#include "launch/megatron/megatron.h"
#include "plan/model_queries.h"

#define ROW(of_kind, of, otherwise, release, ...)                                                  \
    {.name = #of,                                                                                  \
     .kind = ARGUMENT_##of_kind,                                                                   \
     .field = offsetof(megatron_args, of),                                                         \
     .absent = otherwise,                                                                          \
     .since = release,                                                                             \
     __VA_ARGS__},
#define INT(...) ROW(INT, __VA_ARGS__, )
#define NUMBER(...) ROW(NUMBER, __VA_ARGS__, )
#define WHOLE(...) ROW(WHOLE, __VA_ARGS__, )
#define WORD(...) ROW(WORD, __VA_ARGS__, )
#define WORDS(...) ROW(WORDS, __VA_ARGS__, )
#define LIST(...) ROW(LIST, __VA_ARGS__, )
#define SWITCH(of, ...) ROW(SWITCH, of, "false", __VA_ARGS__, )
#define ON_UNLESS(its_flag, of, ...) ROW(SWITCH, of, "true", __VA_ARGS__, .flag = its_flag)

#define WITH(of) .with = offsetof(megatron_args, of)
#define ALWAYS .with = ARGUMENT_ALWAYS
#define ANY .least = INT_MIN, .most = INT_MAX

/* Upper bounds of arguments; larger numbers are treated as mistakes. */
enum { HEADS = 1 << 15, DIM = 1 << 14, WIDTH = 1 << 24, RANKS = 1 << 20, STAGES = 1 << 12 };

const argument_row megatron_arguments[] = {
#include "launch/megatron/argument_list.h"
    {.name = NULL},
};

/* Return 14 for "core-v0.14.0", or 0 for a release of another product. */
static int minor_of(const plait_release *release, const char *product)
{
    return text_starts_with(release->name, product) ? atoi(release->name + strlen(product)) : 0;
}

int megatron_core_of(const plait_runtime *runtime)
{
    int minor = 0;

    if (runtime->at == NULL)
        return MEGATRON_NEWEST;
    for (const plait_release *r = runtime->at; minor == 0 && r >= runtime->release; r--)
        minor = minor_of(r, "core-v0.");
    // a profile whose releases have other names does not limit the flags
    return minor > 0 ? minor : MEGATRON_NEWEST;
}

int megatron_bridge_of(const plait_runtime *runtime)
{
    int minor = 0;

    if (runtime->at == NULL)
        return MEGATRON_NEWEST;
    for (const plait_release *r = runtime->at;
         minor == 0 && r < runtime->release + runtime->releases; r++)
        minor = minor_of(r, "bridge-v0.");
    return minor;
}

user_buffers user_buffers_of(const plait_problem *problem, const plait_degrees *degrees)
{
    if (!degrees->switches.tp_comm_overlap || !tp_overlap_runs(problem, degrees->tp, degrees->sp))
        return USER_BUFFERS_NONE;
    return problem->cluster->level[0].kind == PLAIT_LEVEL_SWITCH ? USER_BUFFERS_MULTICAST
                                                                 : USER_BUFFERS_IPC;
}

/* ---- rows and fields ---- */

const argument_row *megatron_argument(size_t field)
{
    const argument_row *row = megatron_arguments;

    while (row->name != NULL && row->field != field)
        row++;
    return row;
}

const char *megatron_args_name(size_t field)
{
    return megatron_argument(field)->name;
}

bool megatron_argument_set(const argument_row *row, const char *text, megatron_args *args)
{
    void *const value = (char *)args + row->field;

    switch (row->kind) {
    case ARGUMENT_SWITCH:
        *(bool *)value = !flags_value_is_off(text);
        break;
    case ARGUMENT_INT:
        return text_parse_int(text, row->least, row->most, value);
    case ARGUMENT_NUMBER:
    case ARGUMENT_WHOLE:
        return text_parse_number(text, value);
    case ARGUMENT_WORD:
    case ARGUMENT_WORDS:
    case ARGUMENT_LIST:
        *(const char **)value = text;
        break;
    }
    return true;
}

static bool same_number(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool megatron_argument_same(const argument_row *row, const megatron_args *a, const megatron_args *b)
{
    const void *const one = (const char *)a + row->field;
    const void *const other = (const char *)b + row->field;

    switch (row->kind) {
    case ARGUMENT_SWITCH:
        return *(const bool *)one == *(const bool *)other;
    case ARGUMENT_INT:
        return *(const int *)one == *(const int *)other;
    case ARGUMENT_NUMBER:
    case ARGUMENT_WHOLE:
        return same_number(*(const double *)one, *(const double *)other);
    case ARGUMENT_WORD:
    case ARGUMENT_WORDS:
    case ARGUMENT_LIST:
        break;
    }
    return same_text(*(const char *const *)one, *(const char *const *)other);
}

/* ---- defaults ---- */

void megatron_args_init(megatron_args *args)
{
    *args = (megatron_args){.core = MEGATRON_NEWEST};
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++) {
        if (row->kind == ARGUMENT_NUMBER || row->kind == ARGUMENT_WHOLE)
            *(double *)(void *)((char *)args + row->field) = (double)NAN;
        const bool fits = row->absent == NULL || megatron_argument_set(row, row->absent, args);
        assert(fits);
        (void)fits;
    }
}

static bool has_value(const argument_row *row, const megatron_args *args)
{
    const void *const value = (const char *)args + row->field;

    switch (row->kind) {
    case ARGUMENT_SWITCH:
    case ARGUMENT_INT:
        break;
    case ARGUMENT_NUMBER:
    case ARGUMENT_WHOLE:
        return !isnan(*(const double *)value);
    case ARGUMENT_WORD:
    case ARGUMENT_WORDS:
    case ARGUMENT_LIST:
        return *(const char *const *)value != NULL;
    }
    return true;
}

static bool is_written(const argument_row *row, const megatron_args *args,
                       const megatron_args *absent)
{
    if (!has_value(row, args) || row->since > args->core)
        return false;
    if (row->with == ARGUMENT_ALWAYS || !megatron_argument_same(row, args, absent))
        return true;
    return row->with != 0 && !megatron_argument_same(megatron_argument(row->with), args, absent);
}

bool megatron_args_is_written(const megatron_args *args, size_t field)
{
    megatron_args absent;

    megatron_args_init(&absent);
    return is_written(megatron_argument(field), args, &absent);
}

int megatron_args_since(const megatron_args *args)
{
    megatron_args absent;
    int since = 0;

    megatron_args_init(&absent);
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++)
        if (row->since > since && is_written(row, args, &absent))
            since = row->since;
    return since;
}

plait_status megatron_args_check(const megatron_args *args, plait_error *err)
{
    megatron_args absent;

    megatron_args_init(&absent);
    // a release may lack an argument that has its default value
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++)
        if (row->since > args->core && !row->optional && !row->placeholder &&
            has_value(row, args) && !megatron_argument_same(row, args, &absent))
            return plait_fail(err, PLAIT_ERROR_RANGE, "runtime",
                              "expected arguments of Megatron Core 0.%d, but the plan or model "
                              "needs %s, which 0.%d introduced",
                              args->core, row->name, row->since);
    return PLAIT_OK;
}

/* Return the flag of an argument: --num-layers for "num_layers". */
static const char *flag_of(const argument_row *row, plait_arena *arena)
{
    char *const flag = plait_arena_printf(arena, "--%s", row->flag != NULL ? row->flag : row->name);

    for (char *c = flag; c != NULL && *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    return flag;
}

void megatron_args_append(const megatron_args *args, launch_args *out)
{
    megatron_args absent;

    megatron_args_init(&absent);
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++) {
        if (row->group != NULL)
            args_group(out, row->group);
        if (is_written(row, args, &absent)) {
            const void *const value = (const char *)args + row->field;
            const char *const flag = flag_of(row, out->arena);
            if (flag == NULL) {
                out->failed = true;
            } else {
                switch (row->kind) {
                case ARGUMENT_SWITCH:
                    args_switch(out, flag);
                    break;
                case ARGUMENT_INT:
                    args_int(out, flag, *(const int *)value);
                    break;
                case ARGUMENT_NUMBER:
                    args_number(out, flag, *(const double *)value);
                    break;
                case ARGUMENT_WHOLE:
                    args_printf(out, flag, "%.0f", *(const double *)value);
                    break;
                case ARGUMENT_WORD:
                case ARGUMENT_LIST:
                    args_text(out, flag, *(const char *const *)value);
                    break;
                case ARGUMENT_WORDS:
                    args_words(out, flag, *(const char *const *)value);
                    break;
                }
            }
        }
    }
}

static char *join_values(const launch_flag *flag, const char *open, const char *between,
                         const char *close, plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    for (int v = 0; v < flag->values && shell_word_known(flag->value[v]); v++)
        text_append_printf(&out, "%s%s", v == 0 ? open : between, flag->value[v]);
    text_append(&out, close);
    return text_builder_finish(&out, NULL);
}

/* Remove the quotes that the shell keeps in the value of a variable: "'([0]*3+[1]*58)'". */
static const char *unquoted_text(const char *text, plait_arena *arena)
{
    const size_t length = strlen(text);

    if (length < 2 || (text[0] != '\'' && text[0] != '"') || text[length - 1] != text[0])
        return text;
    return plait_arena_printf(arena, "%.*s", (int)length - 2, text + 1);
}

static bool are_digits(const launch_flag *flag)
{
    for (int v = 0; v < flag->values; v++)
        if (flag->value[v][strspn(flag->value[v], "0123456789")] != '\0')
            return false;
    return true;
}

/*
 * Return the text of a flag's value; further words after a flag of one word do not belong to the
 * value. NULL: out of memory.
 */
static const char *text_of(const argument_row *row, const launch_flag *flag, plait_arena *arena)
{
    if (row->kind == ARGUMENT_WORDS)
        return join_values(flag, "", " ", "", arena);
    if (row->kind == ARGUMENT_LIST && flag->values > 1 && are_digits(flag))
        return join_values(flag, "[", ",", "]", arena);
    return row->kind == ARGUMENT_LIST || row->kind == ARGUMENT_WORD
               ? unquoted_text(flag->value[0], arena)
               : flag->value[0];
}

static plait_status read_row(const launch_flags *flags, const argument_row *row, megatron_args *out,
                             plait_error *err)
{
    const launch_flag *flag = flags_last(flags, row->name);
    bool turns_off = false;

    if (flag == NULL && row->also != NULL)
        flag = flags_last(flags, row->also);
    if (flag == NULL && row->flag != NULL) {
        flag = flags_last(flags, row->flag);
        turns_off = row->kind == ARGUMENT_SWITCH;
    }
    // skip an unknown value; a switch has no value, and a placeholder such as $DATA/gpt2-vocab.json
    // needs only its end
    if (flag == NULL ||
        !(row->kind == ARGUMENT_SWITCH || (row->kind == ARGUMENT_WORD && row->placeholder) ||
          shell_word_known(flag->value[0])))
        return PLAIT_OK;
    if (row->kind != ARGUMENT_SWITCH && !row->placeholder && !flags_has_value(flag))
        return flags_fail(flags, row->name, err, "expected a value, found none");
    const char *const text = text_of(row, flag, flags->arena);
    PLAIT_TRY(plait_check_allocated(text, err));
    if (!megatron_argument_set(row, text, out))
        return row->placeholder
                   ? PLAIT_OK
                   : (row->kind != ARGUMENT_INT
                          ? flags_fail(flags, row->name, err, "expected a number, found \"%.40s\"",
                                       text)
                          : flags_fail(flags, row->name, err,
                                       "expected an integer from %d to %d, found \"%.40s\"",
                                       row->least, row->most, text));
    if (turns_off) {
        bool *const on = (void *)((char *)out + row->field);

        *on = !*on;
    }
    return PLAIT_OK;
}

plait_status megatron_args_parse(const launch_flags *flags, megatron_args *out, plait_error *err)
{
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++)
        PLAIT_TRY(read_row(flags, row, out, err));
    return PLAIT_OK;
}
