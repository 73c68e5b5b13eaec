/*
 * cmd_explain.c - plait explain: prints every term of a plan and its limits, and compares it with
 * other plans
 */
#include <stdio.h>

#include "cli/plan_request.h"
#include "cli/command.h"
#include "base/status.h"
#include "report/json_plan.h"
#include "report/lines.h"

typedef struct explain_values {
    plan_request_flags asked;
    const char *versus;
    const char *why_not;
    int threads;
    bool json;
} explain_values;

_Static_assert(offsetof(explain_values, asked) == 0,
               "the rows of PLAN_REQUEST_OPTIONS count on it");

static const opt options[] = {
    PLAN_REQUEST_OPTIONS,
    OPT_HEADING("comparisons"),
    OPT_OF_TEXT(explain_values, versus, "versus", 0, "FILE[:RANK]",
                "compare with this plan, term by term"),
    OPT_OF_LIST(
        explain_values, why_not, "why-not", "KEY=VALUE,...",
        "explain why the search does not choose a plan with these values, such as "
        "tp=4,pp=2; if no other option sets a plan, the best plan of the search is explained"),
    OPT_HEADING("the answer"),
    OPT_OF_INT(explain_values, threads, "threads", "N", 1, 1024,
               "threads of a search (default: OMP_NUM_THREADS or all processors)"),
    OPT_OF_FLAG(explain_values, json, "json", "one JSON document on standard output"),
    OPT_END,
};

/* Storage for everything that the report refers to. */
typedef struct explanation {
    const explain_values *flags;
    plait_arena *arena;
    plan_request asked;
    plan_request versus;
    plait_search_options search;
    plait_sensitivity sensitivity[PLAIT_SENSITIVITIES];
    plait_comm_limit limit[PLAIT_MAX_COMM_LIMITS];
    plait_relaxation relaxation[PLAIT_MAX_RELAXATIONS];
    plait_timeline timeline;
    plait_error no_timeline;
    plait_why why;
    report_plan why_not_plan;
    report_plan winner;
    report_explained report;
} explanation;

/* ---- changes with which the plan fits ---- */

static plait_status find_relaxations(explanation *e, plait_error *err)
{
    char limits[96], less[96], more[96];
    report_plan found;
    plait_plan plan;

    e->report.relaxation = e->relaxation;
    if (e->asked.plan.verdict == PLAIT_INVALID)
        return plan_request_remedies(&e->asked, e->arena, e->relaxation, &e->report.relaxations,
                                     err);
    if (e->asked.plan.verdict == PLAIT_FITS)
        return PLAIT_OK;
    // Report the least recomputation with which the plan fits.
    const report_plan *const requested = &e->asked.plan;
    plait_relaxation *const relaxation = &e->relaxation[0];
    PLAIT_TRY(
        plait_plan_choose_recompute(&e->asked.problem, &requested->plan, e->arena, &plan, err));
    PLAIT_TRY(report_price(&e->asked.problem, &plan, 0, e->arena, &found, err));
    if (found.verdict == PLAIT_FITS) {
        *relaxation = (plait_relaxation){.job = e->asked.problem.job};
        relaxation->best.plan = plan;
        relaxation->best.price.step_s = found.cost.step_s;
        relaxation->best.price.peak_bytes = found.cost.memory.peak_bytes;
        snprintf(relaxation->change, sizeof relaxation->change, "recompute %.60s instead of %.60s",
                 plait_degrees_get(&plan.degrees, PLAIT_KEY_RECOMPUTE, more, sizeof more),
                 plait_degrees_get(&requested->degrees, PLAIT_KEY_RECOMPUTE, less, sizeof less));
        e->report.relaxations = 1;
    }
    if (e->report.relaxations > 0)
        return PLAIT_OK;
    // Find changes of the job with which a plan of these degrees fits, or else a plan of any
    // degrees.
    const plait_degrees *const d = &e->asked.plan.degrees;
    plait_search_options limited = e->search;
    snprintf(limits, sizeof limits, "tp=%d,pp=%d,cp=%d,ep=%d", d->tp, d->pp, d->cp, d->ep);
    PLAIT_TRY(plait_search_limit(&limited, limits, err));
    PLAIT_TRY(plait_relaxations(&e->asked.problem, &limited, e->arena, e->relaxation,
                                &e->report.relaxations, err));
    if (e->report.relaxations > 0)
        return PLAIT_OK;
    return plait_relaxations(&e->asked.problem, &e->search, e->arena, e->relaxation,
                             &e->report.relaxations, err);
}

/* ---- comparisons ---- */

/* Search for the best plan; e->report.winner stays NULL if no plan fits. */
static plait_status find_winner(const plait_problem *problem, explanation *e, plait_error *err)
{
    plait_search_result result;

    PLAIT_TRY(plait_search(problem, &e->search, e->arena, &result, err));
    if (result.plans == 0)
        return PLAIT_OK;
    e->report.winner = &e->winner;
    return report_price(problem, &result.plan[0].plan, 0, e->arena, &e->winner, err);
}

static plait_status ask_why_not(explanation *e, plait_error *err)
{
    const plait_problem *const problem = &e->asked.problem;
    plait_error inner = {PLAIT_OK, "", ""};
    char where[sizeof inner.where + 16];

    if (e->flags->why_not == NULL)
        return PLAIT_OK;
    if (e->report.winner == NULL)
        PLAIT_TRY(find_winner(problem, e, err));
    if (plait_why_not(problem, &e->search, e->flags->why_not, e->arena, &e->why, &inner) !=
        PLAIT_OK) {
        snprintf(where, sizeof where, "--why-not %s", inner.where);
        return plait_fail(err, inner.status, where, "%s", inner.message);
    }
    e->report.why_not = &e->why;
    e->report.why_not_asked = e->flags->why_not;
    if (!e->why.any)
        return PLAIT_OK;
    e->report.why_not_plan = &e->why_not_plan;
    return report_price(problem, &e->why.best.plan, 0, e->arena, &e->why_not_plan, err);
}

enum { MOST_DRAWN_ACTIONS = 1 << 21 };

/* ---- the command ---- */

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    explanation *e = plait_arena_alloc(arena, 1, sizeof *e);
    const plan_request_flags *request;
    json_writer json;

    PLAIT_TRY(plait_check_allocated(e, err));
    e->flags = values;
    e->arena = arena;
    request = &e->flags->asked;
    plait_search_options_init(&e->search);
    e->search.top = 1;
    e->search.threads = e->flags->threads;
    // With --why-not and without options of a plan, explain the best plan of the search.
    if (e->flags->why_not != NULL && !plan_request_any(request)) {
        PLAIT_TRY(
            problem_resolve(&request->problem, operands, NULL, arena, &e->asked.problem, err));
        PLAIT_TRY(find_winner(&e->asked.problem, e, err));
        e->asked.plan = e->winner;
        e->asked.plan.rank = 1;
    }
    if (e->report.winner == NULL)
        PLAIT_TRY(plan_request_resolve(request, operands, arena, &e->asked, err));
    e->report.plan = &e->asked.plan;
    PLAIT_TRY(report_natural(&e->asked.problem, arena, &e->asked.plan, err));
    if (e->asked.plan.verdict != PLAIT_INVALID) {
        const plait_problem *const problem = &e->asked.problem;
        const report_plan *const plan = &e->asked.plan;

        // Simulate the pipeline for its drawing. If the simulation fails, the report has the reason
        // instead of the drawing.
        const report_plan *const drawn = &e->asked.plan;
        const plait_problem *const asked = &e->asked.problem;
        const double microbatches = plait_degrees_microbatches(&drawn->degrees, asked->job.gbs);
        if (!e->flags->json && drawn->degrees.pp != 1) {
            if (3.0 * microbatches * drawn->degrees.pp * drawn->degrees.vpp > MOST_DRAWN_ACTIONS) {
                e->report.no_timeline = "the pipeline has too many actions";
            } else {
                const plait_status status = plait_plan_simulate(
                    asked, &drawn->plan, &drawn->cost, e->arena, &e->timeline, &e->no_timeline);
                if (status != PLAIT_OK)
                    e->report.no_timeline = e->no_timeline.message;
                else
                    e->report.timeline = &e->timeline;
                PLAIT_TRY(faults_only(status, &e->no_timeline, err));
            }
        }
        if (plait_plan_mixed(problem, &plan->plan)) {
            e->report.no_limits =
                "since both are computed only for one kind of node and uniform stages";
        } else {
            PLAIT_TRY(plait_sensitivities(problem, &plan->plan, e->arena, e->sensitivity, err));
            e->report.sensitivity = e->sensitivity;
            e->report.sensitivities = PLAIT_SENSITIVITIES;
            e->report.limit = e->limit;
            e->report.limits = plait_comm_limits(problem, &plan->degrees, e->limit);
        }
    }
    if (e->flags->versus != NULL) {
        PLAIT_TRY(plan_request_versus(e->flags->versus, &e->asked.problem, arena, &e->versus, err));
        e->report.versus = &e->versus.plan;
        e->report.versus_problem = &e->versus.problem;
        e->report.versus_name = e->versus.file->where;
    }
    PLAIT_TRY(ask_why_not(e, err));
    PLAIT_TRY(find_relaxations(e, err));
    *no = e->asked.plan.verdict >= PLAIT_OUT_OF_MEMORY;
    if (!e->flags->json)
        return report_explain(&e->asked.problem, &e->report, lines_out(), err);
    command_begin_json(&json, arena);
    json_explain(&json, &e->asked.problem, &e->report);
    return command_deliver_json(&json, NULL, true, err);
}

const command command_explain = {
    .usage = {.command = "explain",
              .synopsis = "MODEL CLUSTER --seq S --gbs B [--gpus N] --tp 8 --pp 4 ... | "
                          "--plan FILE[:RANK]",
              .summary = "Explain a plan's price: every term, bottlenecks, why not another plan.",
              .about = "Each term has the number of its equation in costmodel/README.md. Exit "
                       "status 1 when the\nplan does not fit or cannot run.",
              .max_operands = 2,
              .operand = {OPT_NAMES(PLAIT_DATA_MODELS), OPT_NAMES(PLAIT_DATA_CLUSTERS)},
              .options = options},
    .values_size = sizeof(explain_values),
    .run = run,
};
