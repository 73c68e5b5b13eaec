/* launch.c - the targets, and what is asked of every plan before one of them speaks */
#include <stdio.h>
#include <string.h>

#include "launch/nearest.h"
#include "plait/data.h"
#include "plan/problem_check.h"
#include "base/struct_size.h"
#include "launch/target.h"
#include "base/text.h"
#include "plan/ranges.h"

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
    return PLAIT_LAUNCH_COMPANION; // which takes any plan
}

plait_status folder_add(plait_launch_folder *folder, const char *name, const char *text,
                        bool executable, plait_error *err)
{
    if (text == NULL || folder->files == PLAIT_MAX_LAUNCH_FILES)
        return plait_fail_nomem(err);
    folder->file[folder->files++] = (plait_launch_file){name, text, executable};
    return PLAIT_OK;
}

/* ---- can it be said? ---- */

/* Plans of a runtime with the target's rules are judged by that runtime, others by the target's. */
static plait_status judge_of(const plait_problem *problem, const launch_target *target,
                             plait_arena *arena, plait_problem *judge, plait_error *err)
{
    plait_runtime *runtime;

    *judge = *problem;
    if (target->runtime == NULL || problem->runtime->rules == target->rules)
        return PLAIT_OK;
    runtime = plait_arena_alloc(arena, 1, sizeof *runtime);
    if (runtime == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(plait_runtime_find(target->runtime, arena, runtime, err));
    judge->runtime = runtime;
    return PLAIT_OK;
}

/* Software that has not the plan's kernel of attention takes its own: no config asks for one. */
static plait_status suit_kernel(const plait_problem *judge, const plait_launch *launch,
                                plait_arena *arena, plait_plan *out, plait_error *err)
{
    const unsigned char kernel = (unsigned char)plait_attention_usual(judge);
    const plait_plan *const plan = launch->plan;
    plait_stage *stage;

    *out = *plan;
    if (judge->runtime == launch->problem->runtime ||
        (judge->runtime->can.takes[PLAIT_KEY_ATTENTION] >> plan->degrees.attention & 1U))
        return PLAIT_OK;
    stage = plait_arena_alloc(arena, (size_t)plan->stages + 1, sizeof *stage);
    if (stage == NULL)
        return plait_fail_nomem(err);
    for (int s = 0; s < plan->stages; s++) {
        stage[s] = plan->stage[s];
        stage[s].degrees.attention = kernel;
    }
    out->stage = stage;
    out->degrees.attention = kernel;
    return PLAIT_OK;
}

static plait_status refuse(const plait_problem *judge, const plait_degrees *degrees,
                           const launch_target *target, const char *why, plait_arena *arena,
                           plait_error *err)
{
    const char *nearest;

    PLAIT_TRY(launch_nearest(judge, degrees, arena, &nearest, err));
    return plait_fail(err, PLAIT_ERROR_RANGE, "plan", "expected what %s can say, found: %s%s",
                      target->name, why, nearest);
}

/* Another runtime than the plan's own gives it another price; no evidence speaks of that one. */
static plait_status price_again(plait_problem *judge, const plait_launch *launch,
                                const plait_plan *plan, plait_arena *arena, plait_cost *cost,
                                plait_error *err)
{
    *cost = *launch->cost;
    if (judge->runtime == launch->problem->runtime)
        return PLAIT_OK;
    judge->band = (plait_band){0};
    return plait_plan_cost(judge, plan, arena, cost, err);
}

/* Everything that is asked of a plan before its target renders it: judge, plan and cost. */
static plait_status check(const plait_launch *launch, const launch_target *target,
                          plait_arena *arena, plait_problem *judge, plait_plan *plan,
                          plait_cost *cost, plait_error *err)
{
    const plait_degrees *const degrees = &plan->degrees;
    const char *lacks;
    char why[256];

    if (launch->cost->verdict >= PLAIT_OUT_OF_MEMORY)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan", "expected a plan that fits, found: %s",
                          launch->cost->why);
    PLAIT_TRY(judge_of(launch->problem, target, arena, judge, err));
    PLAIT_TRY(suit_kernel(judge, launch, arena, plan, err));
    if (target->runtime != NULL &&
        !plait_model_check(judge->runtime, judge->model, why, sizeof why))
        return plait_fail(err, PLAIT_ERROR_RANGE, "model", "expected what %s can say, found: %s",
                          target->name, why);
    if (plait_plan_check(judge, plan, why, sizeof why) != PLAIT_FITS)
        return refuse(judge, degrees, target, why, arena, err);
    if (plait_plan_mixed(judge, plan) && !target->stages_differ)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan",
                          "expected stages that are alike: launch files for %s have no words for "
                          "others",
                          target->name);
    lacks = target->lacks != NULL ? target->lacks(launch->problem, plan) : NULL;
    if (lacks != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plan", "expected what %s can say, found: %s",
                          target->name, lacks);
    PLAIT_TRY(price_again(judge, launch, plan, arena, cost, err));
    return cost->verdict < PLAIT_OUT_OF_MEMORY
               ? PLAIT_OK
               : refuse(judge, degrees, target, cost->why, arena, err);
}

/* It stands in YAML, in a directive of SLURM and on a command line: no character has to be quoted. */
static plait_status check_name(const char *what, const char *expected, const char *name,
                               plait_error *err)
{
    if (name == NULL)
        return PLAIT_OK;
    for (const char *c = name; *c != '\0'; c++)
        if (!text_is_alphanumeric(*c) && strchr("._-/:@+#", *c) == NULL)
            return plait_fail(err, PLAIT_ERROR_RANGE, what,
                              "expected the name of %s, of letters, digits and ._-/:@+#, found "
                              "\"%.80s\"",
                              expected, name);
    return text_is_alphanumeric(*name) || *name == '/' || *name == '.'
               ? PLAIT_OK
               : plait_fail(err, PLAIT_ERROR_RANGE, what,
                            "expected the name of %s, found \"%.80s\"", expected, name);
}

void plait_launch_init_sized(plait_launch *launch, size_t size)
{
    const plait_launch empty = {.size = size};

    sized_init(launch, size, &empty, sizeof empty);
}

/* A struct of this version that says everything. */
static plait_status check_launch(const plait_launch *launch, plait_launch_target target,
                                 plait_error *err)
{
    if (launch == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "launch", "expected a launch, found NULL");
    PLAIT_TRY(sized_check("launch", launch->size, sizeof *launch, err));
    if ((unsigned)target >= PLAIT_LAUNCH_TARGETS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "target",
                          "expected one of plait_launch_target, found number %d", (int)target);
    if (launch->plan == NULL || launch->cost == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "launch",
                          "expected a plan and its cost, found NULL");
    PLAIT_TRY(problem_check(launch->problem, err));
    return plan_check_values(launch->plan, err);
}

plait_status plait_launch_render(const plait_launch *launch, plait_launch_target target,
                                 plait_arena *arena, plait_launch_folder *out, plait_error *err)
{
    plait_problem judge;
    plait_plan plan;
    plait_cost cost;

    *out = (plait_launch_folder){0};
    PLAIT_TRY(check_launch(launch, target, err));
    PLAIT_TRY(check_name("container", "an image", launch->container, err));
    PLAIT_TRY(check_name("account", "an account", launch->account, err));
    const launch_target *const to = targets[target];

    PLAIT_TRY(check(launch, to, arena, &judge, &plan, &cost, err));
    return to->render(&(plait_launch){.problem = &judge,
                                      .plan = &plan,
                                      .cost = &cost,
                                      .container = launch->container,
                                      .account = launch->account},
                      arena, out, err);
}
