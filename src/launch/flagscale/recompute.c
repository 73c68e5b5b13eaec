/*
 * recompute.c - FlagScale's recomputation by stage and microbatch, as Megatron-LM's arguments
 *
 * Each of three lists has a row for one or several stages: [stages, microbatches, value, microbatches,
 * value, ...]. Values are 0 and 1 for off and on (granularity) and for uniform and block (method); layers
 * are a number.
 */
#include <string.h>

#include "meshes.h"
#include "text.h"

enum { REFINED_MAX = 1 << 16 };

static void drop(launch_flags *flags, const char *name)
{
    int kept = 0;

    for (int i = 0; i < flags->count; i++)
        if (!text_equal(flags->flag[i].name, name))
            flags->flag[kept++] = flags->flag[i];
    flags->count = kept;
}

/* The value of a row, which all its microbatches share; -1: they do not. */
static int value_of_row(const char *row, plait_arena *arena)
{
    const size_t length = strlen(row);
    char *const inner = plait_arena_text(arena, length > 0 ? row + 1 : row);
    int at = 0, number, value = -1;

    if (inner == NULL || length < 2 || row[0] != '[' || row[length - 1] != ']')
        return -1;
    inner[length - 2] = '\0';
    for (char *part = inner, *next; part != NULL; part = next, at++) {
        next = text_cut(part, ',');
        part += strspn(part, " ");
        if (!text_parse_int(part, 0, REFINED_MAX, &number))
            return -1;
        if (at == 2)
            value = number;
        if (at > 2 && at % 2 == 0 && number != value)
            return -1;
    }
    return at >= 3 && at % 2 == 1 ? value : -1;
}

/* The value that all rows share; -1: the list is not given. */
static plait_status value_of(const launch_flags *own, const char *name, int *value,
                             plait_error *err)
{
    const launch_flag *const flag = flags_last(own, name);

    *value = -1;
    for (int r = 0; flag != NULL && r < flag->values; r++) {
        const int here = value_of_row(flag->value[r], own->arena);

        if (here < 0 || (r > 0 && here != *value))
            return flags_fail(own, name, err,
                              "expected rows [stages, microbatches, value] with one value, found "
                              "\"%.60s\"",
                              flag->value[r]);
        *value = here;
    }
    return PLAIT_OK;
}

plait_status flagscale_read_recompute(const launch_flags *own, launch_flags *flags,
                                      plait_error *err)
{
    int granularity, method, layers;

    PLAIT_TRY(value_of(own, "recompute_granularity_per_stage_micro_batch", &granularity, err));
    PLAIT_TRY(value_of(own, "recompute_method_per_stage_micro_batch", &method, err));
    PLAIT_TRY(value_of(own, "recompute_num_layers_per_stage_micro_batch", &layers, err));
    if (granularity == 0 || layers == 0) {
        drop(flags, "recompute_granularity");
        drop(flags, "recompute_method");
        drop(flags, "recompute_num_layers");
        return PLAIT_OK;
    }
    if (method >= 0)
        PLAIT_TRY(flags_add(flags, "recompute_method", method > 0 ? "block" : "uniform", err));
    if (layers < 0)
        return PLAIT_OK;
    return flags_add(flags, "recompute_num_layers", plait_arena_printf(flags->arena, "%d", layers),
                     err);
}
