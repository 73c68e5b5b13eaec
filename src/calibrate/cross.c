/* cross.c - predict each source with profiles fitted without it */
#include "calibrate/profile.h"

#include <math.h>
#include <string.h>

/* Returns whether this is the first timed run of its source with its software. */
static bool is_first(const plait_runs *runs, size_t row)
{
    const plait_run *const run = &runs->run[row];

    for (size_t i = 0; i < row; i++)
        if (plait_run_timed(&runs->run[i]) && strcmp(runs->run[i].source, run->source) == 0 &&
            strcmp(runs->run[i].runtime, run->runtime) == 0)
            return false;
    return plait_run_timed(run);
}

/*
 * Predicts the runs of one source and software with numbers fitted without that source, and appends
 * one row of evidence for each run.
 */
static plait_status leave_out(const profile_set *all, const plait_run *first, plait_arena *arena,
                              plait_evidence_row *row, size_t *count, plait_error *err)
{
    const profile_member *m;
    profile_set others;
    profile_result result;

    PLAIT_TRY(profile_set_fit_without(all, first->source, arena, &others, err));
    PLAIT_TRY(profile_fit(&others, first->runtime, 0, arena, &result, err));
    m = profile_set_find(&others, first->runtime);
    for (size_t v = 0; v < m->variants; v++) {
        // The variant's predictions replace those of the software for runs of its releases.
        profile_result variant;
        size_t next = 0;

        PLAIT_TRY(profile_fit(&others, first->runtime, m->variant[v], arena, &variant, err));
        for (size_t i = 0; i < result.left_outs && next < variant.left_outs; i++)
            if (result.left_out[i].run == variant.left_out[next].run)
                result.left_out[i] = variant.left_out[next++];
    }
    for (size_t i = 0; i < result.left_outs; i++) {
        const profile_left_out *const left_out = &result.left_out[i];
        const plait_run *const run = left_out->run->run;
        plait_regime regime = plait_regime_of(&left_out->run->problem);

        regime.runtime = first->runtime;
        regime.calibrated = result.runs > 0;
        row[*count] = (plait_evidence_row){
            .source = run->source,
            .sweep = run->sweep,
            .regime = regime,
            .job =
                plait_arena_printf(arena, "%s/%s/%s", run->model, run->accelerator, run->precision),
            .plan = plait_evidence_words(&left_out->run->problem, &left_out->run->degrees, arena),
            .left_out = run->step_s / left_out->step_s,
            .shipped = run->step_s / left_out->shipped_s,
        };
        PLAIT_TRY(plait_check_allocated(row[*count].job && row[*count].plan, err));
        plait_traits_of(&left_out->run->degrees, row[(*count)++].trait);
    }
    return PLAIT_OK;
}

static plait_status predict_with(const plait_runs *runs, cross_progress *progress,
                                 plait_pipelines *pipelines, plait_arena *arena,
                                 plait_evidence *out, plait_error *err)
{
    plait_evidence_row *row = plait_arena_alloc(arena, runs->count + 1, sizeof *row);
    plait_evidence_row *memory = plait_arena_alloc(arena, runs->count + 1, sizeof *memory);
    profile_set all;

    PLAIT_TRY(plait_check_allocated(row && memory, err));
    *out = (plait_evidence){.row = row, .memory = memory};
    PLAIT_TRY(profile_set_fit(runs, NULL, 0, pipelines, arena, &all, err));
    for (size_t i = 0; i < runs->count; i++) {
        if (!is_first(runs, i) || profile_set_find(&all, runs->run[i].runtime) == NULL)
            continue;
        if (progress != NULL)
            progress(runs->run[i].source, runs->run[i].runtime);
        PLAIT_TRY(leave_out(&all, &runs->run[i], arena, row, &out->count, err));
    }
    for (size_t i = 0; i < runs->count; i++) {
        const plait_run *const run = &runs->run[i];
        const plait_run_price *const price = &all.price[i];

        // Peaks of nvidia-smi contain memory that does not depend on the plan.
        if (run->outcome != PLAIT_RUN_OK || !isfinite(run->peak_bytes) ||
            run->scope == PLAIT_SCOPE_NONE || run->scope == PLAIT_SCOPE_DEVICE ||
            run->trust == PLAIT_TRUST_RECOMPUTE_UNKNOWN || run->trust == PLAIT_TRUST_VPP_UNKNOWN ||
            !price->priced)
            continue;
        const double ratio = run->peak_bytes / price->memory_bytes;
        plait_regime regime = plait_regime_of(&price->problem);

        regime.runtime = run->runtime;
        memory[out->memories++] = (plait_evidence_row){.source = run->source,
                                                       .sweep = "",
                                                       .regime = regime,
                                                       .job = "",
                                                       .plan = "",
                                                       .left_out = ratio,
                                                       .shipped = ratio};
    }
    return PLAIT_OK;
}

plait_status cross_predict(const plait_runs *runs, cross_progress *progress, plait_arena *arena,
                           plait_evidence *out, plait_error *err)
{
    plait_pipelines *const pipelines = plait_pipelines_new();
    const plait_status status = pipelines != NULL
                                    ? predict_with(runs, progress, pipelines, arena, out, err)
                                    : plait_fail_nomem(err);

    plait_pipelines_free(pipelines);
    return status;
}
