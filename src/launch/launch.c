/*
 * launch.c - the launch targets, and the checks that every plan passes before a target renders it
 */

#include <stdio.h>
#include <string.h>

#include "plait/cost.h"
#include "plait/data.h"
#include "plait/search.h"

#include "base/status.h"
#include "base/text.h"
#include "io/plans/plans.h"
#include "launch/target.h"
#include "plan/problem_check.h"
#include "plan/ranges.h"

typedef struct nearest_found {
    plait_degrees degrees;
    char layout[PLAIT_VALUE_SIZE]; /* text of the layout to which `degrees` points, if any */
    double step_s;                 /* step time of the plan; 0: none found yet */
} nearest_found;

/* Copy a plan out of the arena in which it was completed. */
static void keep_nearest(nearest_found *best, const plait_degrees *degrees, double step_s)
{
    const char *const layout = degrees->split.layout;

    *best = (nearest_found){.degrees = *degrees, .step_s = step_s};
    if (layout == NULL)
        return;
    snprintf(best->layout, sizeof best->layout, "%s", layout);
    best->degrees.split.layout = best->layout;
}

/* Keys that find_nearest may leave open; keys that depend on an open key are left open too. */
static const plait_key_id choices[] = {PLAIT_KEY_SCHEDULE,
                                       PLAIT_KEY_RECOMPUTE,
                                       PLAIT_KEY_SPLIT,
                                       PLAIT_KEY_ZERO,
                                       PLAIT_KEY_CP_COMM,
                                       PLAIT_KEY_GRAD_SYNC,
                                       PLAIT_KEY_ORDER,
                                       PLAIT_KEY_ETP,
                                       PLAIT_KEY_SHARD_GROUP,
                                       PLAIT_KEY_SP,
                                       PLAIT_KEY_VPP,
                                       PLAIT_KEY_MBS,
                                       PLAIT_KEY_CUDA_GRAPH,
                                       PLAIT_KEY_TP_COMM_OVERLAP,
                                       PLAIT_KEY_GATHER_WITH_STEP};

enum { CHOICES = sizeof choices / sizeof *choices };

static plait_key_set without_key(plait_key_set given, plait_key_id key)
{
    given &= ~PLAIT_KEY_BIT(key);
    if (key == PLAIT_KEY_VPP)
        given &= ~(PLAIT_KEY_BIT(PLAIT_KEY_SCHEDULE) | PLAIT_KEY_BIT(PLAIT_KEY_SPLIT));
    if (key == PLAIT_KEY_ZERO)
        given &= ~PLAIT_KEY_BIT(PLAIT_KEY_SHARD_GROUP);
    if (key == PLAIT_KEY_SP)
        given &= ~PLAIT_KEY_BIT(PLAIT_KEY_TP_COMM_OVERLAP);
    if (key == PLAIT_KEY_CUDA_GRAPH)
        given &=
            ~(PLAIT_KEY_BIT(PLAIT_KEY_FP8_ATTENTION) | PLAIT_KEY_BIT(PLAIT_KEY_FUSED_GROUPED_MLP));
    return given;
}

/* Complete and price a plan; an illegal plan gets the verdict PLAIT_INVALID. */
static plait_status price_plan(const plait_problem *problem, plait_key_set given,
                               plait_arena *arena, plait_degrees *degrees, plait_cost *cost,
                               plait_error *err)
{
    plait_plan plan;

    cost->verdict = PLAIT_INVALID;
    PLAIT_TRY(plait_degrees_complete(problem, given, degrees, arena, err));
    if (plait_degrees_check(problem, degrees, NULL, 0) != PLAIT_FITS)
        return PLAIT_OK;
    PLAIT_TRY(plait_plan_expand(problem, degrees, arena, &plan, err));
    return plait_plan_evaluate(problem, &plan, NULL, arena, cost, err);
}

static plait_status try_without(const plait_problem *problem, const plait_degrees *wanted,
                                plait_key_set given, plait_arena *arena, nearest_found *best,
                                plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_degrees degrees = *wanted;
    plait_error inner;
    plait_cost cost;

    if (!(given & PLAIT_KEY_BIT(PLAIT_KEY_VPP)))
        degrees.vpp = 1;
    degrees.dp = plait_degrees_dp(problem->job.gpus, degrees.tp, degrees.pp, degrees.cp);
    if (degrees.dp <= 0)
        return PLAIT_OK;
    const plait_status status = price_plan(problem, given, arena, &degrees, &cost, &inner);
    if (status == PLAIT_OK && cost.verdict == PLAIT_FITS &&
        (best->step_s == 0.0 || cost.step_s < best->step_s))
        keep_nearest(best, &degrees, cost.step_s);
    plait_arena_rewind(arena, mark);
    return faults_only(status, &inner, err);
}

static plait_status search_all(const plait_problem *problem, plait_arena *arena,
                               nearest_found *best, plait_error *err)
{
    plait_search_options options;
    plait_search_result result;

    plait_search_options_init(&options);
    options.top = 1;
    PLAIT_TRY(plait_search(problem, &options, arena, &result, err));
    if (result.plans > 0)
        keep_nearest(best, &result.plan[0].plan.degrees, result.plan[0].price.step_s);
    return PLAIT_OK;
}

/*
 * Find the plan nearest to `wanted`: leave one key open, then two, then all but the degrees, until
 * the runtime completes a plan that fits. Among plans with equally many open keys `best` receives
 * the fastest.
 */
static plait_status find_nearest(const plait_problem *problem, const plait_degrees *wanted,
                                 plait_arena *arena, nearest_found *best, plait_error *err)
{
    const plait_key_set degrees = PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_CP) | PLAIT_KEY_BIT(PLAIT_KEY_EP) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_DP);
    plait_error inner;

    for (int i = 0; i < CHOICES; i++)
        PLAIT_TRY(try_without(problem, wanted, without_key(PLAIT_ALL_KEYS, choices[i]), arena, best,
                              err));
    for (int i = 0; i < CHOICES && best->step_s == 0.0; i++)
        for (int j = i + 1; j < CHOICES; j++)
            PLAIT_TRY(try_without(problem, wanted,
                                  without_key(without_key(PLAIT_ALL_KEYS, choices[i]), choices[j]),
                                  arena, best, err));
    if (best->step_s == 0.0)
        PLAIT_TRY(try_without(problem, wanted, degrees, arena, best, err));
    return best->step_s == 0.0 ? faults_only(search_all(problem, arena, best, &inner), &inner, err)
                               : PLAIT_OK;
}

static void append_changes(const plait_degrees *wanted, const plait_degrees *found,
                           text_builder *out)
{
    char text[PLAIT_VALUE_SIZE];
    bool any = false;

    for (int k = 0; k < PLAIT_KEYS; k++) {
        if (plait_key_same(found, wanted, (plait_key_id)k))
            continue;
        text_append_printf(out, "%s%s %s", any ? ", " : "", plait_keys[k].name,
                           plait_degrees_get(found, (plait_key_id)k, text, sizeof text));
        any = true;
    }
}

static const launch_target *const targets[PLAIT_LAUNCH_TARGETS] = {
#define X(constant, word, descriptor) [constant] = &descriptor,
    PLAIT_LAUNCH_TARGET_LIST(X)
#undef X
};

const char *const plait_launch_target_name[PLAIT_LAUNCH_TARGETS + 1] = {
#define X(constant, word, descriptor) word,
    PLAIT_LAUNCH_TARGET_LIST(X)
#undef X
        NULL};

const launch_target *launch_target_at(plait_launch_target target)
{
    return targets[target];
}

plait_launch_target plait_launch_target_of(const plait_runtime *runtime)
{
    for (int t = 0; t < PLAIT_LAUNCH_TARGETS; t++)
        if (targets[t]->runtime != NULL && targets[t]->rules == runtime->rules)
            return (plait_launch_target)t;
    return PLAIT_LAUNCH_COMPANION; // the companion takes any plan
}

/* ---- checks of a plan ---- */

/*
 * Replace the plan's attention kernel by the target runtime's default if that runtime lacks the
 * kernel.
 */
static plait_status choose_kernel(const plait_problem *target_problem, const plait_launch *launch,
                                  plait_arena *arena, plait_plan *out, plait_error *err)
{
    const unsigned char kernel = (unsigned char)plait_attention_usual(target_problem);
    const plait_plan *const plan = launch->plan;
    plait_stage *stage;

    *out = *plan;
    if (target_problem->runtime == launch->problem->runtime ||
        (target_problem->runtime->can.takes[PLAIT_KEY_ATTENTION] >> plan->degrees.attention & 1U))
        return PLAIT_OK;
    stage = plait_arena_alloc(arena, (size_t)plan->stages + 1, sizeof *stage);
    PLAIT_TRY(plait_check_allocated(stage, err));
    for (int s = 0; s < plan->stages; s++) {
        stage[s] = plan->stage[s];
        stage[s].degrees.attention = kernel;
    }
    out->stage = stage;
    out->degrees.attention = kernel;
    return PLAIT_OK;
}

static plait_status fail_with_reason(const plait_problem *target_problem,
                                     const plait_degrees *degrees, const launch_target *target,
                                     const char *why, plait_arena *arena, plait_error *err)
{
    nearest_found best = {.step_s = 0.0};
    const char *nearest = "";
    text_builder text;

    PLAIT_TRY(find_nearest(target_problem, degrees, arena, &best, err));
    if (best.step_s != 0.0) {
        text_builder_init(&text, arena);
        text_append_printf(&text, "; the nearest plan that %s runs has ",
                           target_problem->runtime->name);
        append_changes(degrees, &best.degrees, &text);
        text_append_printf(&text, ": %.4g s per step", best.step_s);
        nearest = text_builder_finish(&text, NULL);
        PLAIT_TRY(plait_check_allocated(nearest, err));
    }
    return plait_fail(err, PLAIT_ERROR_RANGE, "plan",
                      "expected a plan that %s can run, found: %s%s", target->name, why, nearest);
}

/*
 * Check a plan before its target renders it; *target_problem, *plan and *cost receive the values
 * under the target's runtime.
 */
static plait_status check_launch(const plait_launch *launch, const launch_target *target,
                                 plait_arena *arena, plait_problem *target_problem,
                                 plait_plan *plan, plait_cost *cost, plait_error *err)
{
    const plait_degrees *const degrees = &plan->degrees;
    const char *unsupported;
    char why[256];

    if (launch->cost->verdict >= PLAIT_OUT_OF_MEMORY)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan", "expected a plan that fits, found: %s",
                          launch->cost->why);
    const plait_tuning *const tuning = &launch->problem->job.tuning;
    if (!target->tunes && (tuning->kind != PLAIT_JOB_PRETRAIN || plait_tuning_freezes(tuning)))
        return plait_fail(err, PLAIT_ERROR_RANGE, "job",
                          "expected a job that %s can train, found %s; other targets train it: "
                          "megatron-bridge, ms-swift, trl, llama-factory, torchtune",
                          target->name, plait_job_name[tuning->kind]);
    // check plans of a runtime with the target's rules against that runtime, and other plans
    // against the target's runtime
    *target_problem = *launch->problem;
    const plait_rules rules = launch->problem->runtime->rules;
    if (target->runtime != NULL && rules != target->rules &&
        (target->also == PLAIT_RULES_GENERIC || rules != target->also)) {
        plait_runtime *const runtime = plait_arena_alloc(arena, 1, sizeof *runtime);
        PLAIT_TRY(plait_check_allocated(runtime, err));
        PLAIT_TRY(plait_runtime_find(target->runtime, arena, runtime, err));
        target_problem->runtime = runtime;
    }
    PLAIT_TRY(choose_kernel(target_problem, launch, arena, plan, err));
    if (target->runtime != NULL &&
        !plait_model_check(target_problem->runtime, target_problem->model, why, sizeof why))
        return plait_fail(err, PLAIT_ERROR_RANGE, "model",
                          "expected a model that %s can run, found: %s", target->name, why);
    if (plait_plan_check(target_problem, plan, NULL, why, sizeof why) != PLAIT_FITS)
        return fail_with_reason(target_problem, degrees, target, why, arena, err);
    if (plait_plan_mixed(target_problem, plan) && !target->stages_differ)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "plan",
            "expected equal stages, found different ones, which launch files for %s cannot express",
            target->name);
    unsupported = target->unsupported != NULL ? target->unsupported(launch->problem, plan) : NULL;
    if (unsupported != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan",
                          "expected a plan that %s can run, found: %s", target->name, unsupported);
    // a plan has another price under another runtime, for which no measured band exists
    *cost = *launch->cost;
    if (target_problem->runtime != launch->problem->runtime) {
        target_problem->band = (plait_band){0};
        PLAIT_TRY(plait_plan_evaluate(target_problem, plan, NULL, arena, cost, err));
    }
    return cost->verdict < PLAIT_OUT_OF_MEMORY
               ? PLAIT_OK
               : fail_with_reason(target_problem, degrees, target, cost->why, arena, err);
}

/*
 * The name is written into YAML, a directive of SLURM and a command line: allow only characters
 * that need no quotes.
 */
static plait_status check_name(const char *what, const char *expected, const char *name,
                               plait_error *err)
{
    if (name == NULL)
        return PLAIT_OK;
    for (const char *c = name; *c != '\0'; c++)
        if (!text_is_alphanumeric(*c) && strchr("._-/:@+#", *c) == NULL)
            return plait_fail(
                err, PLAIT_ERROR_RANGE, what,
                "expected the name of %s to have only letters, digits and ._-/:@+#, found "
                "\"%.80s\"",
                expected, name);
    return text_is_alphanumeric(*name) || *name == '/' || *name == '.'
               ? PLAIT_OK
               : plait_fail(
                     err, PLAIT_ERROR_RANGE, what,
                     "expected the name of %s to begin with a letter, a digit, \"/\" or \".\"; "
                     "found \"%.80s\"",
                     expected, name);
}

void plait_launch_init(plait_launch *launch)
{
    *launch = (plait_launch){0};
}

plait_status plait_launch_render(const plait_launch *launch, plait_launch_target target,
                                 plait_arena *arena, plait_launch_folder *out, plait_error *err)
{
    plait_problem target_problem;
    plait_plan plan;
    plait_cost cost;

    *out = (plait_launch_folder){0};
    if (launch == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "launch", "expected a launch, found NULL");
    if ((unsigned)target >= PLAIT_LAUNCH_TARGETS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "target",
                          "expected a value of plait_launch_target, found %d", (int)target);
    if (launch->plan == NULL || launch->cost == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "launch",
                          "expected a plan and its cost, found NULL");
    PLAIT_TRY(problem_check(launch->problem, err));
    PLAIT_TRY(plan_check_ranges(launch->plan, err));
    PLAIT_TRY(check_name("container", "an image", launch->container, err));
    PLAIT_TRY(check_name("account", "an account", launch->account, err));
    const launch_target *const to = targets[target];

    PLAIT_TRY(check_launch(launch, to, arena, &target_problem, &plan, &cost, err));
    return to->render(&(plait_launch){.problem = &target_problem,
                                      .plan = &plan,
                                      .cost = &cost,
                                      .container = launch->container,
                                      .account = launch->account},
                      arena, out, err);
}
