/* page_plans.c - builds the page of a file of plans: answer, ranking, price of the plan to run, alternatives */

#include <math.h>
#include <stdio.h>

#include "page/pages.h"
#include "plan/choices.h"
#include "report/report_private.h"
#include "report/timeline.h"
#include "report/units.h"

static void add_answer(page *out, const page_plans *of)
{
    const plait_problem *const problem = of->problem;
    const report_plan *const best = &of->plan[of->run];
    const bool runs = best->verdict != PLAIT_INVALID;
    const bool fits = best->verdict == PLAIT_FITS;
    char line[REPORT_LINE_SIZE], step[UNITS_SIZE];

    report_line(problem, &best->degrees, line);
    if (fits)
        page_answer(out, "Run %s on %d GPU%s of %s with %s: a step takes %s.", problem->model->name,
                    problem->job.gpus, problem->job.gpus == 1 ? "" : "s", problem->cluster->name,
                    line, units_seconds(best->cost.step_s, step));
    else
        page_answer(out, "%s on %d GPU%s of %s with %s %s: %s", problem->model->name,
                    problem->job.gpus, problem->job.gpus == 1 ? "" : "s", problem->cluster->name,
                    line,
                    !runs                          ? "cannot run"
                    : best->verdict == PLAIT_TIGHT ? "may run out of memory"
                                                   : "does not fit",
                    best->why);
    if (runs) {
        const plait_cost *const cost = &best->cost;
        char a[UNITS_SIZE], b[UNITS_SIZE], c[UNITS_SIZE], peak[256];

        page_peak_text(problem, peak, sizeof peak);
        units_seconds(cost->step_s, a);
        if (isfinite(cost->step_low_s))
            page_figure(out, "step time", a, "%s: %s to %s",
                        problem->runtime->natural_routing ? "estimated band" : "80 % band",
                        units_seconds(cost->step_low_s, b), units_seconds(cost->step_high_s, c));
        else
            page_figure(out, "step time", a, "no band: no comparable measured runs");
        page_figure(out, "MFU", units_percent(cost->mfu, a), "of %s", peak);
        page_figure(out, "memory of the fullest GPU", units_gib(cost->memory.peak_bytes, a),
                    "of %s that plans may use", units_gib(cost->memory.capacity_bytes, b));
    }
    page_assume_plan(out, problem, best);
    page_assume_prices(out, problem->cluster,
                       plait_cluster_groups(problem->cluster, problem->job.gpus), 0.0);
}

/* ---- the ranking ---- */

static bool key_differs(const page_plans *of, plait_key_id key)
{
    for (int i = 1; i < of->plans; i++)
        if (!plait_key_same(&of->plan[0].degrees, &of->plan[i].degrees, key))
            return true;
    return false;
}

/*
 * Returns whether a key is a column: several plans differ in it, or it distinguishes a single plan
 * from others.
 */
static bool is_shown(const page_plans *of, plait_key_id key)
{
    return of->plans > 1 ? key_differs(of, key)
                         : key == PLAIT_KEY_DP || (plait_distinct_keys() & PLAIT_KEY_BIT(key)) != 0;
}

/* Adds the values of keys that all plans share and that apply. */
static void add_shared_keys(page *out, const page_plans *of)
{
    const plait_degrees *const first = &of->plan[0].degrees;
    const char *lead = "Same in all plans: ";
    char word[PLAIT_VALUE_SIZE];
    FILE *stream = page_begin_printed(out);

    for (int k = 0; k < PLAIT_KEYS && stream != NULL; k++) {
        const plait_key_id key = (plait_key_id)k;

        if (is_shown(of, key) || !plait_key_applies(of->problem, first, key))
            continue;
        fprintf(stream, "%s%s %s", lead, plait_keys[k].title,
                plait_degrees_get(first, key, word, sizeof word));
        lead = ", ";
    }
    page_end_printed(out, stream);
}

/* Returns `value`; NaN if the plan is invalid. */
static double value_if_runs(const report_plan *plan, double value)
{
    return plan->verdict == PLAIT_INVALID ? (double)NAN : value;
}

static void add_ranking(page *out, const page_plans *of)
{
    char columns[4096] = "rank>plan|step_s>step|mfu>MFU|memory_bytes>memory";
    plait_key_id shown[PLAIT_KEYS];
    page_table *rows;
    int keys = 0;

    for (int k = 0; k < PLAIT_KEYS; k++)
        if (is_shown(of, (plait_key_id)k)) {
            shown[keys++] = (plait_key_id)k;
            report_append(columns, sizeof columns, "|%s%c%s", plait_keys[k].name,
                          plait_keys[k].words == NULL ? '>' : '=', plait_keys[k].title);
        }
    report_append(columns, sizeof columns, "%s",
                  "|step_low_s>band, low|step_high_s>band, high|"
                  "tokens_per_s_per_gpu>tokens/s/GPU|risk>risk|verdict=verdict");
    rows = page_table_add(out, "ranking", "Plans, fastest first", columns, NULL);
    for (int i = 0; i < of->plans; i++) {
        const report_plan *const plan = &of->plan[i];
        const plait_cost *const cost = &plan->cost;

        PAGE_ROW(rows, as_int(plan->rank), as_seconds(value_if_runs(plan, cost->step_s)),
                 as_percent(value_if_runs(plan, cost->mfu)),
                 as_gib(value_if_runs(plan, cost->memory.peak_bytes)));
        for (int k = 0; k < keys; k++) {
            char word[PLAIT_VALUE_SIZE];

            if (plait_keys[shown[k]].words == NULL)
                PAGE_ROW(rows, as_int(plait_key_value(&plan->degrees, shown[k])));
            else
                page_word(rows, "%s",
                          plait_degrees_get(&plan->degrees, shown[k], word, sizeof word));
        }
        PAGE_ROW(rows, as_seconds(value_if_runs(plan, cost->step_low_s)),
                 as_seconds(value_if_runs(plan, cost->step_high_s)),
                 as_format("%.0f", value_if_runs(plan, cost->tokens_per_s_per_gpu)),
                 as_percent(value_if_runs(plan, cost->risk)),
                 as_text(plait_verdict_name[plan->verdict]));
    }
}

static void add_terms(page *out, const page_plans *of)
{
    enum { PLANS_DRAWN = 10 };
    page_table *rows =
        page_table_add(out, "terms", "Step time of each plan by term",
                       "rank>plan|term=term|seconds>time|share>share of step|order>", "terms");

    for (int i = 0; i < of->plans && i < PLANS_DRAWN; i++) {
        report_term term[PLAIT_STEP_TERM_COUNT];

        report_step_term_list(&of->plan[i].cost.step, term);
        for (int t = 0; t < PLAIT_STEP_TERM_COUNT; t++) {
            if (!(term[t].value > 0.0))
                continue;
            PAGE_ROW(rows, as_int(of->plan[i].rank), as_text(term[t].name),
                     as_seconds(term[t].value), as_percent(term[t].value / of->plan[i].cost.step_s),
                     as_int(t));
        }
    }
}

/* ---- the price of the plan to run ---- */

/*
 * Returns the bytes that a plan may use on a GPU of the stage's nodes, at the accepted risk of the
 * problem.
 */
static double stage_capacity_bytes(const plait_problem *problem, const plait_stage *stage)
{
    plait_problem alone = *problem;
    plait_cluster nodes;

    if (problem->cluster->groups == 1)
        return plait_capacity_bytes(problem, problem->risk);
    nodes = plait_cluster_of_group(problem->cluster, stage->group, 1);
    alone.cluster = &nodes;
    return plait_capacity_bytes(&alone, problem->risk);
}

static void add_stages(page *out, const plait_problem *problem, const report_plan *plan)
{
    const plait_cost *const cost = &plan->cost;
    page_table *rows = page_table_add(
        out, "stages", "Memory of each pipeline stage; the mark is the memory that plans may use",
        "stage>stage|accelerator=GPU|tp>tp|dp>dp|layers=layers|"
        "forward_s>forward|backward_s>backward|memory_bytes>memory|"
        "capacity_bytes>limit|in_flight>in flight|"
        "recompute=recompute",
        "stages");

    for (int s = 0; s < cost->stages && s < plan->plan.stages; s++) {
        const plait_stage *const stage = &plan->plan.stage[s];
        char layers[128], word[PLAIT_VALUE_SIZE];

        layers[0] = '\0';
        for (int c = 0; c < stage->chunks; c++)
            report_append(layers, sizeof layers, "%s%d", c > 0 ? "+" : "",
                          stage->chunk[c].last - stage->chunk[c].first);
        PAGE_ROW(rows, as_int(s), as_text(problem->cluster->group[stage->group].accelerator->name),
                 as_int(stage->degrees.tp), as_int(stage->degrees.dp), as_text(layers),
                 as_seconds(cost->stage[s].forward_s), as_seconds(cost->stage[s].backward_s),
                 as_gib(cost->stage[s].memory_bytes), as_gib(stage_capacity_bytes(problem, stage)),
                 as_format("%.3g", cost->stage[s].in_flight),
                 as_text(stage_chooses(&plan->plan, stage)
                             ? "by layer"
                             : plait_degrees_get(&stage->degrees, PLAIT_KEY_RECOMPUTE, word,
                                                 sizeof word)));
    }
}

static void add_price(page *out, const page_plans *of)
{
    const report_plan *const plan = &of->plan[of->run];
    report_term term[PLAIT_STEP_TERM_COUNT], part[PLAIT_MEMORY_TERM_COUNT];
    page_table *volumes;

    page_section(out, "price", "Step time of the plan to run");
    page_table *rows =
        page_table_add(out, "step", "Step time of the plan to run by term",
                       "term=term|seconds>time|share>share of step|equation=equation|"
                       "what=meaning",
                       NULL);
    report_step_term_list(&plan->cost.step, term);
    for (int t = 0; t < PLAIT_STEP_TERM_COUNT; t++) {
        if (term[t].value == 0.0)
            continue;
        PAGE_ROW(rows, as_text(term[t].name), as_seconds(term[t].value),
                 as_percent(term[t].value / plan->cost.step_s), as_text(term[t].equation),
                 as_text(term[t].what));
    }
    page_section(out, "room", "Memory");
    page_table *parts =
        page_table_add(out, "memory", "Memory of the fullest GPU by part",
                       "part=part|bytes>memory|equation=equation|what=meaning", "parts");
    report_memory_term_list(&plan->cost.memory, part);
    for (int t = 0; t < PLAIT_MEMORY_TERM_COUNT; t++) {
        if (part[t].value == 0.0)
            continue;
        PAGE_ROW(parts, as_text(part[t].name), as_gib(part[t].value), as_text(part[t].equation),
                 as_text(part[t].what));
    }
    add_stages(out, of->problem, plan);
    page_section(out, "volumes", "Communication");
    if (plan->cost.volumes == 0)
        return;
    volumes = page_table_add(
        out, "communication", "Communication of one GPU of the slowest stage in a step",
        "what=operation|group=group|ranks>ranks|count>calls|bytes>size of a call|"
        "seconds>time|exposed_s>exposed|term=term",
        NULL);
    for (int v = 0; v < plan->cost.volumes; v++) {
        const plait_volume *const volume = &plan->cost.volume[v];

        PAGE_ROW(volumes, as_text(volume->what), as_text(plait_axis_name[volume->axis]),
                 as_int(volume->ranks), as_int(volume->count), as_bytes(volume->bytes),
                 as_seconds(volume->seconds), as_seconds(volume->exposed_s), as_text(volume->term));
    }
}

/* ---- alternatives ---- */

static plait_status add_timeline(page *out, const page_plans *of, plait_arena *arena,
                                 plait_error *err)
{
    const char *svg;
    size_t length;

    if (of->timeline == NULL && of->no_timeline == NULL)
        return PLAIT_OK;
    page_section(out, "timeline", "Timeline of a step");
    if (of->timeline == NULL) {
        page_text(out, "There is no timeline: %s.", of->no_timeline);
        return PLAIT_OK;
    }
    const int microbatches =
        plait_degrees_microbatches(&of->plan[of->run].degrees, of->problem->job.gbs);
    if (microbatches > of->microbatches)
        page_text(out,
                  "Drawn with %d microbatches instead of %d; the start and the end of the step are "
                  "the same.",
                  of->microbatches, microbatches);
    PLAIT_TRY(timeline_svg(of->timeline, arena, &svg, &length, err));
    page_drawing(out, "Actions of each stage in a step and their dependencies", svg);
    return PLAIT_OK;
}

static void add_others(page *out, const page_plans *of)
{
    page_table *rows;
    char line[REPORT_LINE_SIZE];

    if (of->others == 0)
        return;
    page_section(out, "why-not", "Alternatives");
    rows = page_table_add(out, "others", "Best plan for another value of one key",
                          "asked=key set to|verdict=verdict|step_s>step|memory_bytes>memory|"
                          "why=reason|plan=best plan",
                          NULL);
    for (int i = 0; i < of->others; i++) {
        const report_plan *const plan = of->other[i].plan;

        PAGE_ROW(rows, as_text(of->other[i].asked),
                 as_text(plait_verdict_name[plan != NULL ? plan->verdict : PLAIT_INVALID]),
                 as_seconds(plan != NULL ? plan->cost.step_s : (double)NAN),
                 as_gib(plan != NULL ? plan->cost.memory.peak_bytes : (double)NAN),
                 as_text(of->other[i].why),
                 as_text(plan != NULL ? report_line(of->problem, &plan->degrees, line) : "-"));
    }
}

plait_status page_of_plans(const page_plans *of, plait_arena *arena, page **out, plait_error *err)
{
    const plait_problem *const problem = of->problem;
    page *made = page_new(arena, "%s on %d GPU%s of %s", problem->model->name, problem->job.gpus,
                          problem->job.gpus == 1 ? "" : "s", problem->cluster->name);
    page_table *rows;
    char line[REPORT_LINE_SIZE];

    *out = made;
    PLAIT_TRY(plait_check_allocated(made, err));
    add_answer(made, of);
    FILE *stream = page_begin_printed(made);

    if (stream != NULL)
        report_question(of->problem, stream);
    page_end_printed(made, stream);
    if (of->plan[of->run].verdict != PLAIT_INVALID) {
        stream = page_begin_printed(made);
        if (stream != NULL)
            report_choices(&of->plan[of->run].plan, stream);
        page_end_printed(made, stream);
    }
    page_section(made, "plans", "Plans");
    if (of->run > 0)
        page_text(made,
                  "Run plan %d: plan 1 is better by at most 1 %%, but has a layout, offload, more "
                  "techniques or more memory.",
                  of->plan[of->run].rank);
    add_shared_keys(made, of);
    add_ranking(made, of);
    add_terms(made, of);
    if (of->front != 0) {
        page_section(made, "front", "Step time against memory");
        page_text(made,
                  "No searched plan is faster than one of these plans and also uses less memory.");
        rows = page_table_add(made, "pareto", "Pareto front of step time and memory",
                              "step_s>step|memory_bytes>memory|plan=plan", "front");
        for (int i = 0; i < of->front; i++) {
            PAGE_ROW(rows, as_seconds(of->front_plan[i].cost.step_s),
                     as_gib(of->front_plan[i].cost.memory.peak_bytes),
                     as_text(report_line(of->problem, &of->front_plan[i].degrees, line)));
        }
    }
    if (of->plan[of->run].verdict != PLAIT_INVALID) {
        add_price(made, of);
        PLAIT_TRY(page_plan_ranks(made, of, arena, err));
        PLAIT_TRY(add_timeline(made, of, arena, err));
    }
    add_others(made, of);
    if (of->sensitivities != 0) {
        page_section(made, "sensitivity", "Sensitivity to resources");
        rows = page_table_add(made, "resources", "Step time saved by 10 % more of each resource",
                              "resource=10 % more of|step_s>step|gain>saved", "sensitivity");
        for (int i = 0; i < of->sensitivities; i++) {
            PAGE_ROW(rows, as_text(of->sensitivity[i].resource),
                     as_seconds(of->sensitivity[i].step_s), as_percent(of->sensitivity[i].gain));
        }
    }
    page_grounds(made);
    page_text(made, "Equation numbers refer to plait's costmodel/README.md.");
    page_command(made, of->command);
    return PLAIT_OK;
}
