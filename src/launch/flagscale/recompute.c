/*
 * recompute.c - FlagScale's recomputation by stage and microbatch, on its way in
 *
 * Each of three lists has a row for one or several stages: [stages, microbatches, value, microbatches,
 * value, ...]. Values are 0 and 1 for off and on (granularity) and for uniform and block (method); layers
 * are a number. Microbatches of a stage that differ are no plan of plait's.
 */
#include <string.h>

#include "launch/flagscale/meshes.h"
#include "launch/read/plan_reader.h"
#include "launch/read/stages_read.h"
#include "base/text.h"

/* ---- rows ---- */

/* The value of a row, which all its microbatches share, and its stages; false: they do not, or no row. */
static bool read_row(const char *row, plait_arena *arena, int *stages, int *value)
{
    const size_t length = strlen(row);
    char *const inner = plait_arena_text(arena, length > 0 ? row + 1 : row);
    int number[3] = {0}, at = 0;

    if (inner == NULL || length < 2 || row[0] != '[' || row[length - 1] != ']')
        return false;
    inner[length - 2] = '\0';
    for (char *part = inner, *next; part != NULL; part = next, at++) {
        const int place = at < 3 ? at : 1 + (at + 1) % 2; // microbatches, value, ...
        const int before = number[2];

        next = text_cut(part, ',');
        if (!text_parse_int(part + strspn(part, " "), 0, 1 << 20, &number[place]) ||
            (at > 2 && number[2] != before))
            return false;
    }
    *stages = number[0];
    *value = number[2];
    return at >= 3 && at % 2 == 1 && *value <= PLAIT_MAX_LAYERS;
}

/* The values of all stages; *count stays 0 where the list is not given. */
static plait_status read_rows(const launch_flags *own, const char *name, int *value, int *count,
                              plait_error *err)
{
    const launch_flag *const flag = flags_last(own, name);
    int stages, one;

    *count = 0;
    for (int r = 0; flag != NULL && r < flag->values; r++) {
        if (!read_row(flag->value[r], own->arena, &stages, &one) ||
            stages > PLAIT_MAX_LAYERS - *count)
            return flags_fail(own, name, err,
                              "expected rows [stages, microbatches, value] with one value, found "
                              "\"%.60s\"",
                              flag->value[r]);
        while (stages-- > 0)
            value[(*count)++] = one;
    }
    return PLAIT_OK;
}

/* ---- what they say together ---- */

typedef struct refined_lists {
    int stages; /* 0: no list is given */
    int granularity[PLAIT_MAX_LAYERS], granularities;
    int method[PLAIT_MAX_LAYERS], methods;
    int layers[PLAIT_MAX_LAYERS], numbers;
} refined_lists;

static plait_status read_lists(const launch_flags *own, refined_lists *out, plait_error *err)
{
    static const char layers[] = "recompute_num_layers_per_stage_micro_batch";

    PLAIT_TRY(read_rows(own, "recompute_granularity_per_stage_micro_batch", out->granularity,
                        &out->granularities, err));
    PLAIT_TRY(
        read_rows(own, "recompute_method_per_stage_micro_batch", out->method, &out->methods, err));
    PLAIT_TRY(read_rows(own, layers, out->layers, &out->numbers, err));
    out->stages = out->numbers > 0         ? out->numbers
                  : out->granularities > 0 ? out->granularities
                                           : out->methods;
    if ((out->granularities > 0 && out->granularities != out->stages) ||
        (out->methods > 0 && out->methods != out->stages))
        return flags_fail(own, layers, err, "expected lists of as many stages, found %d, %d and %d",
                          out->granularities, out->methods, out->numbers);
    return PLAIT_OK;
}

static bool has_word(const launch_flags *flags, const char *name, const char *word)
{
    const launch_flag *const flag = flags_last(flags, name);

    return flag != NULL && text_equal(flag->value[0], word);
}

/* First layers of a stage that are run again: a number, or all where whole runs of them are. */
static int layers_of(const launch_flags *flags, const refined_lists *lists, int stage)
{
    const launch_flag *const flag = flags_last(flags, "recompute_num_layers");
    const bool block = lists->methods > 0 ? lists->method[stage] > 0
                                          : has_word(flags, "recompute_method", "block");
    int layers = 1;

    if (flag != NULL && !text_parse_int(flag->value[0], 1, PLAIT_MAX_LAYERS, &layers))
        layers = 1;
    if (lists->numbers > 0)
        layers = lists->layers[stage];
    if (layers == 0 || (lists->granularities > 0 && lists->granularity[stage] == 0) ||
        !has_word(flags, "recompute_granularity", "full"))
        return 0;
    return block ? layers : PLAIT_MAX_LAYERS;
}

/* ---- into arguments, or stages ---- */

static void drop(launch_flags *flags, const char *name)
{
    int kept = 0;

    for (int i = 0; i < flags->count; i++)
        if (!text_equal(flags->flag[i].name, name))
            flags->flag[kept++] = flags->flag[i];
    flags->count = kept;
}

/* The same for all stages is a choice of the whole plan. */
static plait_status give_all(int layers, launch_flags *flags, plait_error *err)
{
    drop(flags, "recompute_method");
    drop(flags, "recompute_num_layers");
    if (layers == 0)
        drop(flags, "recompute_granularity");
    if (layers == 0)
        return PLAIT_OK;
    PLAIT_TRY(
        flags_add(flags, "recompute_method", layers < PLAIT_MAX_LAYERS ? "block" : "uniform", err));
    return flags_add(flags, "recompute_num_layers",
                     plait_arena_printf(flags->arena, "%d", layers < PLAIT_MAX_LAYERS ? layers : 1),
                     err);
}

plait_status flagscale_read_recompute(const launch_flags *own, launch_flags *flags,
                                      refined_recompute *out, plait_error *err)
{
    refined_lists lists;
    bool same = true;

    *out = (refined_recompute){0};
    PLAIT_TRY(read_lists(own, &lists, err));
    if (lists.stages == 0)
        return PLAIT_OK;
    out->layers = plait_arena_alloc(flags->arena, (size_t)lists.stages, sizeof *out->layers);
    if (out->layers == NULL)
        return plait_fail_nomem(err);
    for (int s = 0; s < lists.stages; s++) {
        out->layers[s] = layers_of(flags, &lists, s);
        same = same && out->layers[s] == out->layers[0];
    }
    out->stages = same ? 0 : lists.stages;
    return give_all(same ? out->layers[0] : 0, flags, err);
}

plait_status flagscale_give_recompute(const refined_recompute *refined, const char *name,
                                      plait_arena *arena, plans_entry *out, plait_error *err)
{
    const plait_degrees *const d = &out->degrees;
    plait_chunk *const chunks =
        plait_arena_alloc(arena, (size_t)refined->stages + 1, sizeof *chunks);
    plait_recompute choice[PLAIT_MAX_LAYERS] = {{0}};

    if (refined->stages == 0)
        return PLAIT_OK;
    if (chunks == NULL)
        return plait_fail_nomem(err);
    if (refined->stages != d->pp * d->vpp)
        return plait_fail(err, PLAIT_ERROR_RANGE, name,
                          "expected recomputation of %d stages, found that of %d", d->pp * d->vpp,
                          refined->stages);
    if (out->model == NULL || !(out->given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT)) ||
        !plait_chunks_of(out->model, d, chunks))
        return plait_fail(
            err, PLAIT_ERROR_RANGE, name,
            "expected a model and layers of each stage beside recomputation by stage, "
            "found none");
    for (int c = 0; c < refined->stages; c++)
        for (int l = chunks[c].first; l < chunks[c].last; l++)
            if (l - chunks[c].first < refined->layers[c])
                choice[l].kind = PLAIT_RECOMPUTE_FULL;
    import_give_plain(out); // stages are those of a whole plan
    return stages_list(chunks, choice, NULL, arena, out, err);
}
