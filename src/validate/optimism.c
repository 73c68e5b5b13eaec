/* optimism.c - promised step of the recommended plan against the best measured step of each job */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "plait/search.h"
#include "validate/setup.h"
#include "validate/statistics.h"

/* ---- the jobs ---- */

/* Returns whether a row is a run of a recipe that its vendor tuned for this job. */
static bool is_tuned(const plait_run *run)
{
    return strcmp(run->runtime, "megatron") == 0 &&
           (text_starts_with(run->framework, "Megatron-Bridge") ||
            strstr(run->framework, "DGXC recipe") != NULL);
}

/*
 * Returns whether a row has a measured step that the search could promise for the same work. Packed
 * sequences of fine-tuning are other work than the whole sequences of a search.
 */
static bool is_candidate(const plait_run_price *price)
{
    const plait_run *const run = price->run;

    return price->priced && run->outcome == PLAIT_RUN_OK && isfinite(run->step_s) &&
           run->trust != PLAIT_TRUST_NOISY && run->trust != PLAIT_TRUST_MEMORY_ONLY &&
           is_tuned(run) && !setup_has_word(run, "fine-tuning") &&
           !setup_has_word(run, "document-mask");
}

/*
 * Lists the jobs of the candidates, each with the row of its shortest measured step. Jobs without a
 * run whose plan is fully published are left out, since nothing shows whether they were tuned.
 */
static size_t list_jobs(const plait_validation *v, plait_promise *out)
{
    size_t jobs = 0, known = 0;

    for (size_t i = 0; i < v->runs->count; i++) {
        const plait_run *const run = &v->runs->run[i];
        size_t at = 0;

        if (!is_candidate(&v->price[i]))
            continue;
        while (at < jobs && !setup_same_job(run, &v->runs->run[out[at].best]))
            at++;
        if (at == jobs)
            out[jobs++] = (plait_promise){.best = i};
        out[at].runs++;
        out[at].published = out[at].published || plait_run_timed(run);
        if (run->step_s < v->runs->run[out[at].best].step_s)
            out[at].best = i;
    }
    for (size_t i = 0; i < jobs; i++)
        if (out[i].published)
            out[known++] = out[i];
    return known;
}

/* ---- the promise of one job ---- */

/*
 * Sets *out to the question that a user would ask: the model, cluster and job of a row, the newest
 * software, and the balance of the row's router.
 */
static plait_status ask_as_user(library *shelf, const plait_run_price *price, plait_arena *arena,
                                plait_problem *out, plait_error *err)
{
    plait_runtime *runtime = plait_arena_alloc(arena, 1, sizeof *runtime);
    setup at = {.shelf = shelf, .run = price->run, .arena = arena};
    const plait_runtime *profile;
    plait_evidence evidence;

    PLAIT_TRY(plait_check_allocated(runtime, err));
    text_builder_init(&at.note, arena);
    *out = (plait_problem){0};
    PLAIT_TRY(setup_model(&at, &out->model, err));
    PLAIT_TRY(setup_problem(&at, out, err));
    profile = library_find(shelf, LIBRARY_RUNTIME, price->run->runtime, err);
    if (profile == NULL)
        return err->status;
    *runtime = *profile;
    runtime->factor.ep_imbalance = price->problem.runtime->factor.ep_imbalance;
    out->runtime = runtime;
    PLAIT_TRY(plait_evidence_find(arena, &evidence, err));
    plait_evidence_support(&evidence, out, NULL, &runtime->support);
    out->band = price->problem.band;
    out->memory_band = price->problem.memory_band;
    return PLAIT_OK;
}

/* Limits the search to what the row computed: the keys that change the numerics of a step. */
static plait_status hold_numerics(const plait_problem *problem, const plait_degrees *ran,
                                  plait_search_options *search, plait_error *err)
{
    for (int key = 0; key < PLAIT_KEYS; key++) {
        char value[PLAIT_VALUE_SIZE], limit[PLAIT_VALUE_SIZE + 40];

        if (!plait_keys[key].numerics ||
            (plait_keys[key].matters != NULL && !plait_keys[key].matters(problem, ran)))
            continue;
        snprintf(limit, sizeof limit, "%s=%s", plait_keys[key].name,
                 plait_degrees_get(ran, (plait_key_id)key, value, sizeof value));
        PLAIT_TRY(plait_search_limit(search, limit, err));
    }
    return PLAIT_OK;
}

static plait_status promise_of(library *shelf, const plait_run_price *price, int threads,
                               plait_arena *arena, plait_promise *out, plait_error *err)
{
    plait_search_options search;
    plait_search_result result;
    plait_problem problem;

    plait_search_options_init(&search);
    search.refine = PLAIT_REFINE_ALL;
    search.distinct = plait_distinct_keys();
    search.threads = threads;
    PLAIT_TRY(ask_as_user(shelf, price, arena, &problem, err));
    PLAIT_TRY(hold_numerics(&problem, &price->degrees, &search, err));
    PLAIT_TRY(plait_search(&problem, &search, arena, &result, err));
    const int run = plait_search_recommended(&problem, &result);

    if (run >= 0) {
        out->promised_s = result.plan[run].price.step_s;
        out->ratio = out->promised_s / price->run->step_s;
        out->degrees = result.plan[run].plan.degrees;
        if (out->degrees.split.layout != NULL) {
            out->degrees.split.layout = plait_arena_text(shelf->arena, out->degrees.split.layout);
            PLAIT_TRY(plait_check_allocated(out->degrees.split.layout, err));
        }
    }
    return PLAIT_OK;
}

/* ---- all jobs ---- */

static plait_optimism sum_promises(const plait_promise *promise, size_t count, bool experts,
                                   double *scratch)
{
    plait_optimism out = {.median = (double)NAN};
    size_t below = 0, above = 0;

    for (size_t i = 0; i < count; i++) {
        if (promise[i].experts != experts || !isfinite(promise[i].ratio))
            continue;
        scratch[out.jobs++] = promise[i].ratio;
        below += promise[i].ratio < PLAIT_PROMISED_TOO_FAST;
        above += promise[i].ratio > PLAIT_PROMISED_TOO_SLOW;
    }
    if (out.jobs == 0)
        return out;
    out.median = statistics_quantile(scratch, out.jobs, 0.5);
    out.below = (double)below / (double)out.jobs;
    out.above = (double)above / (double)out.jobs;
    return out;
}

plait_status plait_validate_optimism(plait_validation *v, int threads, plait_arena *arena,
                                     plait_error *err)
{
    plait_promise *promise = plait_arena_alloc(arena, v->runs->count + 1, sizeof *promise);
    double *scratch = plait_arena_alloc(arena, v->runs->count + 1, sizeof *scratch);
    library shelf = {.arena = arena};
    plait_arena *own = plait_arena_new();
    plait_status status = PLAIT_OK;

    if (promise == NULL || scratch == NULL || own == NULL) {
        plait_arena_free(own);
        return plait_fail_nomem(err);
    }
    v->promises = list_jobs(v, promise);
    for (size_t i = 0; i < v->promises && status == PLAIT_OK; i++) {
        const plait_run_price *const price = &v->price[promise[i].best];
        const plait_arena_mark mark = plait_arena_save(own);
        plait_error why = {PLAIT_OK, "", ""};

        promise[i].experts = price->run->experts > 1;
        promise[i].promised_s = promise[i].ratio = (double)NAN;
        status = promise_of(&shelf, price, threads, own, &promise[i], &why);
        status = faults_only(status, &why, err);
        plait_arena_rewind(own, mark);
    }
    plait_arena_free(own);
    PLAIT_TRY(status);
    v->promise = promise;
    v->optimism_dense = sum_promises(promise, v->promises, false, scratch);
    v->optimism_experts = sum_promises(promise, v->promises, true, scratch);
    return PLAIT_OK;
}
