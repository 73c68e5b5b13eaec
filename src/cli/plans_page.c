/*
 * plans_page.c - writes the page of priced plans: simulates the plan to run and searches for plans
 * with other values of its keys
 */
#include "cli/plan_request.h"

#include <stdio.h>

#include "cli/command.h"
#include "base/status.h"
#include "cli/terminal.h"
#include "base/text.h"
#include "report/units.h"

enum { MOST_OTHERS = 24 };

/* Storage for everything that the page refers to. */
typedef struct reporting {
    int threads;
    plait_arena *arena;
    const plait_problem *problem;
    plait_sensitivity sensitivity[PLAIT_SENSITIVITIES];
    plait_timeline timeline;
    plait_error no_timeline;
    page_other other[MOST_OTHERS];
    page_plans page;
    progress shown;
} reporting;

enum { MOST_DRAWN = 12000 }; /* largest number of drawn actions, about a megabyte of SVG */

/*
 * Write how much slower a plan is, and the term that grows most: "+4.1 %, mostly tp_comm (+320 ms)";
 * of a faster plan, the term that shrinks most.
 */
static const char *slower_text(const plait_cost *run, const plait_cost *other, plait_arena *arena)
{
    report_term before[PLAIT_STEP_TERM_COUNT], after[PLAIT_STEP_TERM_COUNT];
    const double sign = other->step_s < run->step_s ? -1.0 : 1.0;
    double most_s = 0.0;
    char more[UNITS_SIZE];
    int most = 0;

    report_step_term_list(&run->step, before);
    report_step_term_list(&other->step, after);
    for (int t = 0; t < PLAIT_STEP_TERM_COUNT; t++) {
        const double more_s = sign * (after[t].value - before[t].value);

        if (t == 0 || more_s > most_s) {
            most_s = more_s;
            most = t;
        }
    }
    return plait_arena_printf(arena, "%+.1f %%, mostly %s (%c%s)",
                              100.0 * (other->step_s / run->step_s - 1.0), after[most].name,
                              sign < 0.0 ? '-' : '+', units_seconds(most_s, more));
}

/* Search for the best plan with another value of a key; if there is none, store the reason. */
static plait_status search_other(reporting *r, plait_key_id key, const char *value,
                                 plait_error *err)
{
    page_other *const other = &r->other[r->page.others];
    plait_search_options search;
    plait_search_result found;
    plait_error inner = {PLAIT_OK, "", ""};
    plait_status status;

    if (r->page.others == MOST_OTHERS)
        return PLAIT_OK;
    *other =
        (page_other){.asked = plait_arena_printf(r->arena, "%s=%s", plait_keys[key].name, value)};
    PLAIT_TRY(plait_check_allocated(other->asked, err));
    plait_search_options_init(&search);
    search.top = 1;
    search.threads = r->threads;
    progress_attach(&r->shown, &search);
    PLAIT_TRY(plait_search_limit(&search, other->asked, err));
    r->page.others++;
    progress_next(&r->shown);
    status = plait_search(r->problem, &search, r->arena, &found, &inner);
    if (status == PLAIT_OK) {
        const bool fits = found.plans > 0;
        report_plan *const plan = plait_arena_alloc(r->arena, 1, sizeof *plan);
        char lacks[UNITS_SIZE];

        PLAIT_TRY(plait_check_allocated(plan, err));
        if (!fits && !found.has_closest) {
            other->why = "no such plan is legal";
            return PLAIT_OK;
        }
        PLAIT_TRY(report_price(r->problem, fits ? &found.plan[0].plan : &found.closest.plan, 0,
                               r->arena, plan, err));
        other->plan = plan;
        other->why =
            fits ? slower_text(&r->page.plan[r->page.run].cost, &plan->cost, r->arena)
                 : plait_arena_printf(r->arena, "no such plan fits: the smallest needs %s more",
                                      units_gib(plan->cost.missing_bytes, lacks));
        return other->why != NULL ? PLAIT_OK : plait_fail_nomem(err);
    }
    if (status != PLAIT_ERROR_RANGE)
        return plait_fail(err, status, inner.where, "%s", inner.message);
    other->why = plait_arena_text(r->arena, inner.message);
    return other->why != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/*
 * Compute the page's timeline, sensitivities and alternatives of the plan to run. A plan with
 * different stages has no alternatives, since it has no single value of a key to change.
 */
static plait_status search_plans(reporting *r, plait_error *err)
{
    const report_plan *const plan = &r->page.plan[r->page.run];
    char value[16], present[PLAIT_VALUE_SIZE];

    if (plan->verdict == PLAIT_INVALID)
        return PLAIT_OK;
    const plait_degrees *const degrees = &plan->degrees;
    plait_problem problem = *r->problem;
    if (plait_degrees_microbatches(degrees, problem.job.gbs) > 2 * degrees->pp)
        problem.job.gbs = 2 * degrees->pp * degrees->dp * degrees->mbs;
    const int microbatches = plait_degrees_microbatches(degrees, problem.job.gbs);
    plait_cost cost;

    if (plan->degrees.pp != 1) {
        r->page.microbatches = microbatches;
        if (3.0 * microbatches * plan->degrees.pp * plan->degrees.vpp > MOST_DRAWN) {
            r->page.no_timeline =
                "the pipeline has too many actions for a page; `plait eval --plan "
                "FILE --timeline trace.json` writes all actions";
        } else {
            PLAIT_TRY(plait_plan_evaluate(&problem, &plan->plan, NULL, r->arena, &cost, err));
            const plait_status status = plait_plan_simulate(&problem, &plan->plan, &cost, r->arena,
                                                            &r->timeline, &r->no_timeline);
            if (status != PLAIT_OK)
                r->page.no_timeline = r->no_timeline.message;
            else
                r->page.timeline = &r->timeline;
            PLAIT_TRY(faults_only(status, &r->no_timeline, err));
        }
    }
    r->page.other = r->other;
    if (plait_plan_mixed(r->problem, &plan->plan))
        return PLAIT_OK;
    PLAIT_TRY(plait_sensitivities(r->problem, &plan->plan, r->arena, r->sensitivity, err));
    r->page.sensitivity = r->sensitivity;
    r->page.sensitivities = PLAIT_SENSITIVITIES;
    if (r->page.no_alternatives)
        return PLAIT_OK;
    static const plait_key_id keys[] = {PLAIT_KEY_TP, PLAIT_KEY_PP, PLAIT_KEY_VPP,
                                        PLAIT_KEY_CP, PLAIT_KEY_EP, PLAIT_KEY_MBS};
    const plait_degrees *const d = &r->page.plan[r->page.run].degrees;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const int now = plait_key_value(d, keys[k]);

        if (keys[k] == PLAIT_KEY_EP && !plait_key_applies(r->problem, d, keys[k]))
            continue;
        snprintf(value, sizeof value, "%d", now / 2);
        if (now > 1)
            PLAIT_TRY(search_other(r, keys[k], value, err));
        snprintf(value, sizeof value, "%d", 2 * now);
        if (2LL * now <= r->problem->job.gpus || keys[k] == PLAIT_KEY_MBS)
            PLAIT_TRY(search_other(r, keys[k], value, err));
    }
    static const struct {
        plait_key_id key;
        const char *value[3];
    } choices[] = {
        {PLAIT_KEY_ZERO, {"0", "1", "3"}},
        {PLAIT_KEY_RECOMPUTE, {"none", "selective", "full"}},
    };
    for (size_t c = 0; c < sizeof choices / sizeof *choices; c++) {
        plait_degrees_get(&r->page.plan[r->page.run].degrees, choices[c].key, present,
                          sizeof present);
        for (int v = 0; v < 3; v++)
            if (!text_equal(present, choices[c].value[v]))
                PLAIT_TRY(search_other(r, choices[c].key, choices[c].value[v], err));
    }
    return PLAIT_OK;
}

plait_status plans_page_write(const page_plans *plans, const char *output, int threads,
                              plait_arena *arena, plait_error *err)
{
    reporting *const r = plait_arena_alloc(arena, 1, sizeof *r);
    page *made;

    PLAIT_TRY(plait_check_allocated(r, err));
    *r = (reporting){.threads = threads, .arena = arena, .problem = plans->problem, .page = *plans};
    r->shown = progress_of(MOST_OTHERS, "searching");
    PLAIT_TRY(search_plans(r, err));
    progress_clear(&r->shown);
    PLAIT_TRY(page_of_plans(&r->page, arena, &made, err));
    return command_page_write(made, output, err);
}
