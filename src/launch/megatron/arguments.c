/* arguments.c - Megatron-LM's arguments by their table: at their defaults, and on their way out */
#include "launch/megatron/arguments.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "launch/megatron/argument_table.h"
#include "launch/megatron/releases.h"

// ---- a row and its field -------------------------------------------------------------------

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

// ---- defaults ------------------------------------------------------------------------------

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

// ---- out -----------------------------------------------------------------------------------

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

static bool is_said(const argument_row *row, const megatron_args *args, const megatron_args *absent)
{
    if (!has_value(row, args) || row->since > args->core)
        return false;
    if (row->with == ARGUMENT_ALWAYS || !megatron_argument_same(row, args, absent))
        return true;
    return row->with != 0 && !megatron_argument_same(megatron_argument(row->with), args, absent);
}

bool megatron_args_says(const megatron_args *args, size_t field)
{
    megatron_args absent;

    megatron_args_init(&absent);
    return is_said(megatron_argument(field), args, &absent);
}

int megatron_args_since(const megatron_args *args)
{
    megatron_args absent;
    int since = 0;

    megatron_args_init(&absent);
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++)
        if (row->since > since && is_said(row, args, &absent))
            since = row->since;
    return since;
}

/* An argument that is at its default is not missed. */
static bool is_missed(const argument_row *row, const megatron_args *args,
                      const megatron_args *absent)
{
    return row->since > args->core && !row->optional && !row->placeholder && has_value(row, args) &&
           !megatron_argument_same(row, args, absent);
}

plait_status megatron_args_check(const megatron_args *args, plait_error *err)
{
    megatron_args absent;

    megatron_args_init(&absent);
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++)
        if (is_missed(row, args, &absent))
            return plait_fail(err, PLAIT_ERROR_RANGE, "runtime",
                              "expected what Megatron Core 0.%d has, found a plan or a model that "
                              "needs %s, which 0.%d brought",
                              args->core, row->name, row->since);
    return PLAIT_OK;
}

/* "num_layers" is given as --num-layers. */
static const char *flag_of(const argument_row *row, plait_arena *arena)
{
    char *const flag = plait_arena_printf(arena, "--%s", row->flag != NULL ? row->flag : row->name);

    for (char *c = flag; c != NULL && *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    return flag;
}

static void append_row(const argument_row *row, const megatron_args *args, launch_args *out)
{
    const void *const value = (const char *)args + row->field;
    const char *const flag = flag_of(row, out->arena);

    if (flag == NULL) {
        out->failed = true;
        return;
    }
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

void megatron_args_append(const megatron_args *args, launch_args *out)
{
    megatron_args absent;

    megatron_args_init(&absent);
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++) {
        if (row->group != NULL)
            args_group(out, row->group);
        if (is_said(row, args, &absent))
            append_row(row, args, out);
    }
}
