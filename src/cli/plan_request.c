/* plan_request.c - completes and prices the plan that options and a file describe */
#include "cli/plan_request.h"

#include <stdio.h>
#include <string.h>

#include "shell/shell.h"
#include "base/text.h"

bool plan_request_any(const plan_request_flags *flags)
{
    for (int k = 0; k < PLAIT_KEYS; k++)
        if (flags->key[k] != NULL)
            return true;
    return flags->microbatches != NULL || flags->plan != NULL;
}

/* ---- degrees ---- */

/*
 * Make the plan invalid if it does not have the requested number of microbatches. Without --mbs,
 * this reason replaces other reasons, which are consequences of it.
 */
static void check_microbatches(const plait_problem *problem, int asked_for, bool mbs_given,
                               report_plan *plan)
{
    const int found = plait_degrees_microbatches(&plan->degrees, problem->job.gbs);
    const int dp = plan->degrees.dp, gbs = problem->job.gbs;
    const bool replicas_divide = dp > 0 && gbs % dp == 0;
    char near[32];

    if (asked_for == 0)
        return;
    if (!mbs_given && replicas_divide && gbs / dp % asked_for != 0) {
        const int of = gbs / dp;
        int low = asked_for < of ? asked_for : of;
        int high = asked_for;

        while (low > 1 && of % low != 0)
            low--;
        while (high < of && of % high != 0)
            high++;
        if (high > of || low == high)
            snprintf(near, sizeof near, "%d", low);
        else
            snprintf(near, sizeof near, "%d or %d", low, high);
        snprintf(plan->why, sizeof plan->why,
                 "%d microbatches do not divide the %d sequences of a data-parallel rank (dp %d, "
                 "batch %d): give --microbatches %s",
                 asked_for, gbs / dp, dp, gbs, near);
    } else if (plan->verdict != PLAIT_INVALID && found != asked_for)
        snprintf(plan->why, sizeof plan->why,
                 "dp %d and mbs %d give %d microbatches for a batch of %d, not %d", dp,
                 plan->degrees.mbs, found, gbs, asked_for);
    else
        return;
    plan->verdict = PLAIT_INVALID;
    plan->plan = (plait_plan){0};
    plan->cost = (plait_cost){0};
}

/*
 * Price the stages of the file as they are if no option changes the plan and the degrees may not
 * describe it fully, which is so if the file has all keys or if its stages have their own degrees.
 * Otherwise complete the degrees and price the plan they describe. If the file has no recompute,
 * choose it.
 */
static plait_status finish_request(plan_request *out, plait_degrees degrees, bool changed,
                                   plait_arena *arena, plait_error *err)
{
    const plait_key_set whole =
        PLAIT_ALL_KEYS & ~(PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE) | PLAIT_KEY_BIT(PLAIT_KEY_DP));
    const bool has_stages = out->file != NULL && out->file->stages > 0;
    const bool as_read = !changed && has_stages &&
                         ((out->given & whole) == whole ||
                          (out->file->stage[0].owns & PLAIT_KEY_BIT(PLAIT_KEY_DP)) != 0);
    const bool open = !(out->given & PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE));
    plait_plan plan;

    if (as_read) {
        plait_degrees_fill(&out->problem, out->given | PLAIT_KEY_BIT(PLAIT_KEY_DP), &degrees);
        PLAIT_TRY(plans_plan(out->file, &degrees, open, arena, &plan, err));
        if (plan.stages > 0 && plait_plan_mixed(&out->problem, &plan))
            plan.degrees.dp = plan.stage[0].degrees.dp; // set per stage, not by the GPUs
        PLAIT_TRY(report_price(&out->problem, &plan, out->file->rank, arena, &out->plan, err));
        if (!open || out->plan.verdict == PLAIT_INVALID)
            return PLAIT_OK;
    }
    const plait_problem *const problem = &out->problem;
    const int dp = plait_degrees_dp(problem->job.gpus, degrees.tp, degrees.pp, degrees.cp);
    if (dp > 0 && dp == degrees.dp)
        PLAIT_TRY(plait_degrees_complete(problem, out->given, &degrees, arena, err));
    else
        plait_degrees_fill(problem, out->given | PLAIT_KEY_BIT(PLAIT_KEY_DP), &degrees);
    return report_price_degrees(problem, &degrees, out->file != NULL ? out->file->rank : 1, arena,
                                &out->plan, err);
}

static void derive_dp(const plait_problem *problem, plait_key_set given, plait_degrees *degrees)
{
    if (!(given & PLAIT_KEY_BIT(PLAIT_KEY_DP)))
        degrees->dp = plait_degrees_dp(problem->job.gpus, degrees->tp, degrees->pp, degrees->cp);
}

static plait_status resolve_request(const plan_request_flags *flags, const opt_operands *operands,
                                    const plans_entry *file, plait_arena *arena, plan_request *out,
                                    plait_error *err)
{
    plait_degrees degrees = plait_degrees_init();
    plan_request_flags without_plan = *flags;
    without_plan.plan = NULL;
    const bool changed = plan_request_any(&without_plan) || flags->problem.gpus > 0;
    plait_error inner;
    opt_table named;
    char where[32];

    *out = (plan_request){.file = file};
    PLAIT_TRY(problem_resolve(&flags->problem, operands, out->file, arena, &out->problem, err));
    if (out->file != NULL) {
        degrees = out->file->degrees;
        out->given = out->file->given;
        if (changed) {
            // Keys for which the file has the default value are chosen again, so that a shard group
            // of all replicas remains one of all replicas. With another pp or vpp, so is the split.
            const plans_entry *const read = out->file;
            plait_problem before = out->problem;
            plait_degrees d = read->degrees;

            before.job.gpus = read->gpus > 0 ? read->gpus : out->problem.job.gpus;
            d.dp = plait_key_default(&before, &d, PLAIT_KEY_DP); // a file has dp only as a check
            for (int k = 0; k < PLAIT_KEYS; k++) {
                const plait_key_id key = (plait_key_id)k;

                if (key != PLAIT_KEY_RECOMPUTE && key != PLAIT_KEY_SPLIT &&
                    plait_key_is_usual(&before, &d, key))
                    out->given &= ~PLAIT_KEY_BIT(k);
            }
            if (flags->key[PLAIT_KEY_PP] != NULL || flags->key[PLAIT_KEY_VPP] != NULL)
                out->given &= ~PLAIT_KEY_BIT(PLAIT_KEY_SPLIT);
        }
    }
    opt_spell_out((const opt[]){OPT_OF_KEYS(plan_request_flags, key), OPT_END}, &named);
    for (int k = 0; k < PLAIT_KEYS; k++) {
        if (flags->key[k] == NULL)
            continue;
        snprintf(where, sizeof where, "--%s", named.flag[k]);
        if (plait_degrees_set(&degrees, plait_keys[k].name, flags->key[k], &inner) != PLAIT_OK)
            return plait_fail(err, inner.status, where, "%s", inner.message);
        out->given |= PLAIT_KEY_BIT(k);
    }
    derive_dp(&out->problem, out->given, &degrees);
    int *microbatches = &out->microbatches;
    *microbatches = 0;
    if (flags->microbatches != NULL) {
        if (!text_parse_int(flags->microbatches, 1, PLAIT_MAX_GBS, microbatches))
            return plait_fail(err, PLAIT_ERROR_RANGE, "--microbatches",
                              "expected an integer of at least 1, found \"%.60s\"",
                              flags->microbatches);
        if (flags->key[PLAIT_KEY_MBS] == NULL && degrees.dp > 0) {
            const int mbs = out->problem.job.gbs / degrees.dp / *microbatches;

            degrees.mbs = mbs > 0 ? mbs : 1;
            out->given |= PLAIT_KEY_BIT(PLAIT_KEY_MBS);
        }
    }
    PLAIT_TRY(finish_request(out, degrees, changed, arena, err));
    check_microbatches(&out->problem, out->microbatches, flags->key[PLAIT_KEY_MBS] != NULL,
                       &out->plan);
    return PLAIT_OK;
}

plait_status plan_request_resolve(const plan_request_flags *flags, const opt_operands *operands,
                                  plait_arena *arena, plan_request *out, plait_error *err)
{
    plans_entry *file = NULL;

    if (flags->plan != NULL) {
        file = plait_arena_alloc(arena, 1, sizeof *file);
        PLAIT_TRY(plait_check_allocated(file, err));
        PLAIT_TRY(plans_load(flags->plan, arena, file, err));
    }
    return resolve_request(flags, operands, file, arena, out, err);
}

plait_status plan_request_from_entry(const plan_request_flags *flags, const plans_entry *file,
                                     plait_arena *arena, plan_request *out, plait_error *err)
{
    static const opt_operands no_operands = {0};
    static const plan_request_flags no_flags = {0};

    return resolve_request(flags != NULL ? flags : &no_flags, &no_operands, file, arena, out, err);
}

plait_status plan_request_versus(const char *path, const plait_problem *problem, plait_arena *arena,
                                 plan_request *out, plait_error *err)
{
    static const opt_operands nothing = {0};
    const problem_flags no_flags = {0};
    plans_entry *entry = plait_arena_alloc(arena, 1, sizeof *entry);
    plait_degrees degrees;

    PLAIT_TRY(plait_check_allocated(entry, err));
    *out = (plan_request){.file = entry};
    PLAIT_TRY(plans_load(path, arena, entry, err));
    if (entry->model == NULL)
        entry->model = problem->model;
    if (entry->cluster == NULL)
        entry->cluster = problem->cluster;
    if (entry->runtime == NULL)
        entry->runtime = plait_runtime_handle(problem->runtime);
    entry->seq = entry->seq > 0 ? entry->seq : problem->job.seq;
    entry->gbs = entry->gbs > 0 ? entry->gbs : problem->job.gbs;
    entry->gpus = entry->gpus > 0 ? entry->gpus : problem->job.gpus;
    PLAIT_TRY(problem_resolve(&no_flags, &nothing, entry, arena, &out->problem, err));
    degrees = entry->degrees;
    out->given = entry->given;
    derive_dp(&out->problem, out->given, &degrees);
    return finish_request(out, degrees, false, arena, err);
}

/* ---- a plan as options ---- */

/*
 * Add keys to *given until plait_degrees_complete() returns the same degrees when it completes the
 * keys that are not in *given.
 */
static plait_status keys_needed(const plait_problem *problem, const plait_degrees *degrees,
                                plait_arena *arena, plait_key_set *given, plait_error *err)
{
    plait_key_set before;

    do {
        const plait_arena_mark mark = plait_arena_save(arena);
        plait_degrees filled = *degrees;

        before = *given;
        PLAIT_TRY(plait_degrees_complete(problem, *given, &filled, arena, err));
        for (int k = 0; k < PLAIT_KEYS; k++)
            if (!plait_key_same(&filled, degrees, (plait_key_id)k))
                *given |= PLAIT_KEY_BIT(k);
        plait_arena_rewind(arena, mark);
    } while (*given != before);
    return PLAIT_OK;
}

static plait_status flags_text(const plait_degrees *degrees, plait_key_set keys, plait_arena *arena,
                               const char **text, plait_error *err)
{
    text_builder out;
    opt_table named;
    char value[PLAIT_VALUE_SIZE];

    opt_spell_out((const opt[]){OPT_OF_KEYS(plan_request_flags, key), OPT_END}, &named);
    text_builder_init(&out, arena);
    for (int k = 0; k < PLAIT_KEYS; k++) {
        if (!(keys & PLAIT_KEY_BIT(k)) || k == PLAIT_KEY_DP)
            continue;
        text_append_printf(&out, "%s--%s ", out.length > 0 ? " " : "", named.flag[k]);
        shell_append_word(&out, plait_degrees_get(degrees, (plait_key_id)k, value, sizeof value));
    }
    *text = text_builder_finish(&out, NULL);
    return *text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status plan_request_text(const plait_problem *problem, const plait_degrees *degrees,
                               plait_arena *arena, const char **text, plait_error *err)
{
    plait_key_set given = PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP);

    PLAIT_TRY(keys_needed(problem, degrees, arena, &given, err));
    return flags_text(degrees, given, arena, text, err);
}

/* ---- remedies for a plan that cannot run ---- */

plait_status plan_request_remedies(const plan_request *question, plait_arena *arena,
                                   plait_relaxation way[PLAN_REQUEST_REMEDIES], int *ways,
                                   plait_error *err)
{
    const plait_key_set dp = PLAIT_KEY_BIT(PLAIT_KEY_DP), mbs = PLAIT_KEY_BIT(PLAIT_KEY_MBS);
    const plait_key_set fixed = question->microbatches > 0 ? dp | mbs : question->given & dp;
    const bool refused = question->plan.verdict == PLAIT_INVALID;
    plait_change *change = plait_arena_alloc(arena, PLAN_REQUEST_REMEDIES, sizeof *change);
    int changes = 0;

    *ways = 0;
    PLAIT_TRY(plait_check_allocated(change, err));
    // Return no remedies for a plan of a file, because an option would also make other keys of the
    // file free; nor for a wrong dp or number of microbatches, whose message has the valid value
    // already.
    if (question->plan.verdict < PLAIT_OUT_OF_MEMORY || question->file != NULL ||
        (refused && fixed != 0) ||
        !plait_cluster_priced(question->problem.cluster, question->problem.job.gpus, NULL, 0))
        return PLAIT_OK;
    // If the plan is out of memory, try first to keep all given keys.
    if (!refused)
        PLAIT_TRY(plait_ways_out(&question->problem, question->given, question->given | fixed,
                                 &question->plan.degrees, PLAN_REQUEST_REMEDIES, arena, change,
                                 &changes, err));
    if (changes == 0)
        PLAIT_TRY(plait_ways_out(&question->problem, question->given, fixed,
                                 &question->plan.degrees, PLAN_REQUEST_REMEDIES, arena, change,
                                 &changes, err));
    for (int i = 0; i < changes; i++) {
        const plait_change *const chosen = &change[i];
        const plait_degrees *const degrees = &chosen->best.plan.degrees;
        plait_key_set needed = question->given | chosen->changed;
        const char *options;

        PLAIT_TRY(keys_needed(&question->problem, degrees, arena, &needed, err));
        PLAIT_TRY(flags_text(degrees, (needed & ~question->given) | chosen->changed, arena,
                             &options, err));
        if (strlen(options) < sizeof way->change) {
            way[*ways] = (plait_relaxation){.best = chosen->best, .job = question->problem.job};
            snprintf(way[(*ways)++].change, sizeof way->change, "%s", options);
        }
    }
    return PLAIT_OK;
}
