/* page_plan.c - the price of one plan: its terms, its memory, its stages, what it sends */
#include <stdio.h>

#include "plan/choices.h"
#include "page/page_plans.h"
#include "report/units.h"

static void add_step(page *out, const plait_cost *cost)
{
    static const page_column columns[] = {{"term", "term", false},
                                          {"seconds", "time", true},
                                          {"share", "of the step", true},
                                          {"equation", "equation", false},
                                          {"what", "what", false}};
    report_term term[PLAIT_STEP_TERM_COUNT];
    page_table *rows =
        page_table_add(out, "step", "The terms of the first plan's step", columns, 5, NULL);

    report_step_term_list(&cost->step, term);
    for (int t = 0; t < PLAIT_STEP_TERM_COUNT; t++) {
        if (term[t].value == 0.0)
            continue;
        page_word(rows, "%s", term[t].name);
        page_seconds(rows, term[t].value);
        page_percent(rows, term[t].value / cost->step_s);
        page_word(rows, "%s", term[t].equation);
        page_word(rows, "%s", term[t].what);
    }
}

static void add_memory(page *out, const plait_cost *cost)
{
    static const page_column columns[] = {{"part", "part", false},
                                          {"bytes", "memory", true},
                                          {"equation", "equation", false},
                                          {"what", "what", false}};
    report_term term[PLAIT_MEMORY_TERM_COUNT];
    page_table *rows = page_table_add(out, "memory", "Memory of the fullest GPU, by what holds it",
                                      columns, 4, "parts");

    report_memory_term_list(&cost->memory, term);
    for (int t = 0; t < PLAIT_MEMORY_TERM_COUNT; t++) {
        if (term[t].value == 0.0)
            continue;
        page_word(rows, "%s", term[t].name);
        page_gib(rows, term[t].value);
        page_word(rows, "%s", term[t].equation);
        page_word(rows, "%s", term[t].what);
    }
}

/* "9", or "5+5" of two chunks. */
static void layers_text(const plait_stage *stage, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int c = 0; c < stage->chunks && used < size; c++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", c > 0 ? "+" : "",
                                 stage->chunk[c].last - stage->chunk[c].first);
}

/* What plans may use of a GPU of a stage's nodes, at the problem's risk. */
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
    static const page_column columns[] = {
        {"stage", "stage", true},
        {"accelerator", "GPU", false},
        {"tp", "tp", true},
        {"dp", "dp", true},
        {"layers", "layers", false},
        {"forward_s", "forward", true},
        {"backward_s", "backward", true},
        {"memory_bytes", "memory", true},
        {"capacity_bytes", "may use", true},
        {"in_flight", "in flight", true},
        {"recompute", "recompute", false},
    };
    const plait_cost *const cost = &plan->cost;
    page_table *rows = page_table_add(
        out, "stages", "Memory of each pipeline stage; the mark is what plans may use", columns, 11,
        "stages");

    for (int s = 0; s < cost->stages && s < plan->plan.stages; s++) {
        const plait_stage *const stage = &plan->plan.stage[s];
        char layers[128], word[PLAIT_VALUE_SIZE];

        layers_text(stage, layers, sizeof layers);
        page_count(rows, s);
        page_word(rows, "%s", problem->cluster->group[stage->group].accelerator->name);
        page_count(rows, stage->degrees.tp);
        page_count(rows, stage->degrees.dp);
        page_word(rows, "%s", layers);
        page_seconds(rows, cost->stage[s].forward_s);
        page_seconds(rows, cost->stage[s].backward_s);
        page_gib(rows, cost->stage[s].memory_bytes);
        page_gib(rows, stage_capacity_bytes(problem, stage));
        page_number(rows, cost->stage[s].in_flight, "%.3g", cost->stage[s].in_flight);
        page_word(rows, "%s",
                  stage_chooses(&plan->plan, stage)
                      ? "its own"
                      : plait_degrees_get(&stage->degrees, PLAIT_KEY_RECOMPUTE, word, sizeof word));
    }
}

static void add_communication(page *out, const plait_cost *cost)
{
    static const page_column columns[] = {
        {"what", "what", false},        {"group", "group", false},  {"ranks", "ranks", true},
        {"count", "calls", true},       {"bytes", "a call", true},  {"seconds", "time", true},
        {"exposed_s", "exposed", true}, {"term", "in term", false},
    };
    page_table *rows;
    char text[UNITS_SIZE];

    if (cost->volumes == 0)
        return;
    rows = page_table_add(out, "communication", "What one GPU of the slowest stage sends in a step",
                          columns, 8, NULL);
    for (int v = 0; v < cost->volumes; v++) {
        const plait_volume *const volume = &cost->volume[v];

        page_word(rows, "%s", volume->what);
        page_word(rows, "%s", plait_axis_name[volume->axis]);
        page_count(rows, volume->ranks);
        page_count(rows, volume->count);
        page_number(rows, volume->bytes, "%s", units_bytes(volume->bytes, text));
        page_seconds(rows, volume->seconds);
        page_seconds(rows, volume->exposed_s);
        page_word(rows, "%s", volume->term);
    }
}

void page_plan_price(page *out, const page_plans *of)
{
    const report_plan *const plan = &of->plan[0];

    page_section(out, "price", "The first plan's step");
    add_step(out, &plan->cost);
    page_section(out, "room", "Memory");
    add_memory(out, &plan->cost);
    add_stages(out, of->problem, plan);
    page_section(out, "volumes", "Communication");
    add_communication(out, &plan->cost);
}
