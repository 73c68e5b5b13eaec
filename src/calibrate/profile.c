/* profile.c - the factors of a runtime profile from measured steps of that software */
#include "profile.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "plait/data.h"
#include "plait/units.h"
#include "text.h"

/* Repeats of one plan differ by some percent: residuals below this are noise. */
static const double least_scale = 0.03;

/* One number of a profile: where its file keeps it, and what physics allows. */
typedef struct profile_place {
    const char *block;
    const char *key;
    size_t offset;
    double unit;
    double low, prior, high;
} profile_place;

#define FACTOR(member) offsetof(plait_runtime, factor.member)
#define OVERLAP(member) offsetof(plait_runtime, overlap.member)

/*
 * Priors are rounded medians of the profiles whose runs determine a number, but for rails, nic_ranks and
 * hop_us, which too few do: those are estimates. Bounds are judgement: no kernel of a training step is
 * much faster than its benchmark, no network faster than its wire, and the rest leaves room for the
 * worst software that has runs.
 */
static const profile_place places[PROFILE_MAX_NUMBERS] = {
    {"factors", "gemm", FACTOR(gemm), 1.0, 0.95, 1.15, 1.5},
    {"factors", "memory", FACTOR(memory), 1.0, 0.4, 0.9, 6.0},
    {"factors", "attention", FACTOR(attention), 1.0, 0.6, 1.0, 2.0},
    {"factors", "host_us", FACTOR(host_s), PLAIT_US, 50.0, 400.0, 4000.0},
    {"overlap", "tp_exposed", OVERLAP(tp_exposed), 1.0, 0.1, 1.0, 1.6},
    {"overlap", "dp_exposed", OVERLAP(dp_exposed), 1.0, 0.02, 0.6, 2.0},
    {"factors", "nic", FACTOR(nic), 1.0, 0.08, 0.7, 1.05},
    {"factors", "rails", FACTOR(rails), 1.0, 1.0, 4.0, 16.0},
    {"factors", "nic_ranks", FACTOR(nic_ranks), 1.0, 0.05, 0.3, 1.0},
    {"factors", "hop_us", FACTOR(hop_s), PLAIT_US, 0.5, 2.0, 1000.0},
};

/* One run as it was, but for the numbers that are fitted. */
typedef struct profile_point {
    const plait_run *run;
    plait_problem problem;
    plait_degrees degrees;
} profile_point;

/* What is fitted: a profile; its numbers overlay each run's own copy. */
typedef struct profile_subject {
    plait_runtime runtime;
    plait_arena *scratch;
} profile_subject;

static double *number_at(plait_runtime *runtime, size_t offset)
{
    return (double *)(void *)((char *)runtime + offset);
}

static double value_at(const plait_runtime *runtime, size_t offset)
{
    double value;

    memcpy(&value, (const char *)runtime + offset, sizeof value);
    return value;
}

/* A run's software is the profile with its own switches, so only the numbers are taken over. */
static double step_s(const void *context, const void *what)
{
    const profile_subject *subject = context;
    const profile_point *point = what;
    const plait_arena_mark mark = plait_arena_save(subject->scratch);
    plait_runtime runtime = *point->problem.runtime;
    plait_problem problem = point->problem;
    plait_plan plan;
    plait_cost cost;
    double s = (double)NAN;

    for (int i = 0; i < PROFILE_MAX_NUMBERS; i++)
        *number_at(&runtime, places[i].offset) = value_at(&subject->runtime, places[i].offset);
    problem.runtime = &runtime;
    if (plait_plan_expand(&problem, &point->degrees, subject->scratch, &plan, NULL) == PLAIT_OK &&
        plait_plan_cost(&problem, &plan, subject->scratch, &cost, NULL) == PLAIT_OK &&
        cost.step_s > 0.0)
        s = cost.step_s;
    plait_arena_rewind(subject->scratch, mark);
    return s;
}

/* The points of one fit, side by side. */
typedef struct profile_table {
    fit_point *fit;
    profile_point *point;
    size_t count;
} profile_table;

static plait_status collect(const profile_subject *subject, const profile_task *task,
                            plait_arena *arena, profile_table *table, profile_result *out,
                            plait_error *err)
{
    const plait_runs *const runs = task->runs;

    for (size_t i = 0; i < runs->count; i++) {
        profile_point *const point = &table->point[table->count];
        const bool held_out =
            task->without != NULL && strcmp(runs->run[i].source, task->without) == 0;
        plait_run_price price;

        if (!plait_run_timed(&runs->run[i]) || strcmp(runs->run[i].runtime, task->name) != 0)
            continue;
        PLAIT_TRY(plait_run_evaluate(&runs->run[i], arena, &price, err));
        // What has no price would go into the numbers that a fit has.
        if (!price.priced || (price.unmodelled && !held_out))
            continue;
        *point = (profile_point){&runs->run[i], price.problem, price.degrees};
        if (isnan(step_s(subject, point)))
            continue;
        table->fit[table->count++] = (fit_point){
            .what = point, .measured_s = runs->run[i].step_s, .weight = 1.0, .held_out = held_out};
        out->runs += !table->fit[table->count - 1].held_out;
    }
    if (table->count == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, runs->name,
                          "expected timed runs of the runtime %s, found none", task->name);
    return PLAIT_OK;
}

/*
 * Numbers that are zero are switched off, and stay so. Where nothing overlaps, what of the
 * reduction stays exposed is all of it: its share and the network's would be one number twice.
 */
static void choose_numbers(const plait_runtime *runtime, profile_result *out)
{
    for (int i = 0; i < PROFILE_MAX_NUMBERS; i++) {
        const profile_place *place = &places[i];

        if (value_at(runtime, place->offset) <= 0.0 ||
            (place->offset == OVERLAP(dp_exposed) && !runtime->overlap.grad_reduce &&
             !runtime->overlap.ddp))
            continue;
        out->was[out->numbers] = value_at(runtime, place->offset);
        out->number[out->numbers++] = (fit_number){
            .key = place->key,
            .element = -1,
            .offset = offsetof(profile_subject, runtime) + place->offset,
            .unit = place->unit,
            .low = place->low * place->unit,
            .high = place->high * place->unit,
            .scales = true,
        };
    }
}

/* Over the runs that are fitted to; NaN without one. */
static double mean_error(const profile_subject *subject, const profile_table *table)
{
    double sum = 0.0;
    int count = 0;

    for (size_t i = 0; i < table->count; i++) {
        const fit_point *const point = &table->fit[i];

        if (point->held_out)
            continue;
        sum += fabs(step_s(subject, point->what) / point->measured_s - 1.0);
        count++;
    }
    return sum / count;
}

/*
 * What is expected of any software before its runs are looked at; eager frameworks launch each pass
 * of an unfused kernel apart. A fit begins here, not at the file's numbers: a second one changes
 * nothing.
 */
static void start_at_priors(plait_runtime *runtime, const profile_result *out)
{
    for (int i = 0; i < out->numbers; i++) {
        const size_t offset = out->number[i].offset - offsetof(profile_subject, runtime);

        for (int p = 0; p < PROFILE_MAX_NUMBERS; p++)
            if (places[p].offset == offset)
                *number_at(runtime, offset) = places[p].prior * places[p].unit;
    }
    if (!runtime->kernels.fused_norm || !runtime->kernels.fused_activation ||
        !runtime->kernels.fused_rotary)
        runtime->factor.host_s = 1000.0 * PLAIT_US;
}

/* Predictions of the runs that are left out, by the profile as it is now. */
static void guess(const profile_subject *subject, const profile_table *table, size_t member,
                  profile_result *out)
{
    out->left_outs = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (!table->fit[i].held_out)
            continue;
        profile_left_out *const left_out = &out->left_out[out->left_outs++];
        const double s = step_s(subject, &table->point[i]);

        left_out->run = table->point[i].run;
        left_out->problem = &table->point[i].problem;
        memcpy((char *)left_out + member, &s, sizeof s);
    }
}

static plait_status fit_table(profile_subject *subject, const profile_table *table,
                              plait_arena *arena, profile_result *out, plait_error *err)
{
    const fit_problem problem = {
        .subject = subject,
        .number = out->number,
        .numbers = out->numbers,
        .point = table->fit,
        .points = (int)table->count,
        .predict_s = step_s,
        .least_scale = least_scale,
    };

    out->before = mean_error(subject, table);
    guess(subject, table, offsetof(profile_left_out, shipped_s), out);
    start_at_priors(&subject->runtime, out);
    PLAIT_TRY(fit_run(&problem, arena, &out->errors, err));
    out->after = mean_error(subject, table);
    guess(subject, table, offsetof(profile_left_out, step_s), out);
    out->runtime = subject->runtime;
    return PLAIT_OK;
}

static plait_status fit_numbers(profile_subject *subject, const profile_task *task,
                                plait_arena *arena, profile_result *out, plait_error *err)
{
    const size_t most = task->runs->count + 1;
    profile_table table = {plait_arena_alloc(arena, most, sizeof *table.fit),
                           plait_arena_alloc(arena, most, sizeof *table.point), 0};

    out->left_out = plait_arena_alloc(arena, most, sizeof *out->left_out);
    if (table.fit == NULL || table.point == NULL || out->left_out == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(collect(subject, task, arena, &table, out, err));
    choose_numbers(&subject->runtime, out);
    return fit_table(subject, &table, arena, out, err);
}

plait_status profile_fit(const profile_task *task, plait_arena *arena, profile_result *out,
                         plait_error *err)
{
    profile_subject subject = {.scratch = plait_arena_new()};

    *out = (profile_result){.runs = 0};
    if (subject.scratch == NULL)
        return plait_fail_nomem(err);
    plait_status status = plait_runtime_find(task->name, arena, &subject.runtime, err);
    if (status == PLAIT_OK)
        status = fit_numbers(&subject, task, arena, out, err);
    plait_arena_free(subject.scratch);
    return status;
}

double profile_number(const profile_result *result, int i)
{
    return value_at(&result->runtime,
                    result->number[i].offset - offsetof(profile_subject, runtime));
}

/* What the numbers were fitted on, and which of them those runs say nothing about. */
static const char *source_of(const profile_result *result, plait_arena *arena)
{
    text_builder text;
    int priors = 0;

    text_builder_init(&text, arena);
    text_append_printf(&text,
                       "fitted with tp_exposed and dp_exposed to the %zu trusted runs of this "
                       "software in tests/validation/runs.csv, mean error %.1f %%",
                       result->runs, 100.0 * result->after);
    for (int i = 0; i < result->numbers; i++)
        if (!result->number[i].determined)
            text_append_printf(
                &text, "%s%s",
                priors++ > 0 ? ", " : "; priors that they do not move: ", result->number[i].key);
    text_append(&text, "; nic stands on top of the cluster's efficiency, hop_us of its latency; ");
    if (result->runtime.factor.host_expert_s > 0.0)
        text_append(&text, "host_experts, host_moe_us, host_expert_us: C.305; host_backward");
    else
        text_append(&text, "host_experts, host_backward");
    text_append(&text, " as in the prototype's fit to published training runs");
    return text_builder_finish(&text, NULL);
}

plait_status profile_apply(const profile_result *result, json_tree *tree, plait_arena *arena,
                           plait_error *err)
{
    for (int i = 0; i < PROFILE_MAX_NUMBERS; i++) {
        const profile_place *place = &places[i];
        json_tree *block = json_tree_member(tree, place->block);
        const double value = value_at(&result->runtime, place->offset);

        if (value <= 0.0 || block == NULL)
            continue;
        if (!json_tree_set_number(block, place->key, value / place->unit, arena))
            return plait_fail_nomem(err);
    }
    json_tree *factors = json_tree_member(tree, "factors");
    const char *source = source_of(result, arena);
    if (source == NULL ||
        (factors != NULL && !json_tree_set_text(factors, "source", source, arena)))
        return plait_fail_nomem(err);
    return PLAIT_OK;
}
