/*
 * fuzz_answer.c - one of the files of a question is any bytes; where it is accepted the question is
 * answered: searched, priced, launched by its runtime's target, and read back
 *
 * The first byte says which file it is: m model, c cluster, a accelerator, r runtime. What it does not
 * say is shipped: Llama-3.2-3B on 4 H100 with Megatron-LM.
 */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>

#include "plait/data.h"
#include "plait/launch.h"
#include "plait/search.h"
#include "support/read_back.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { GPUS = 4, SEQ = 512, GBS = 8 };

typedef struct question {
    plait_model model;
    plait_cluster cluster;
    plait_accelerator accelerator;
    plait_runtime runtime;
    plait_problem problem;
} question;

static void take_shipped(question *q, plait_arena *arena)
{
    plait_error err;

    assert(plait_model_find("llama-3.2-3b", arena, &q->model, NULL, &err) == PLAIT_OK);
    assert(plait_cluster_find("h100-80gb-sxm:1x8", arena, &q->cluster, &err) == PLAIT_OK);
    assert(plait_runtime_find("megatron", arena, &q->runtime, &err) == PLAIT_OK);
}

/* Puts the input in place of one file; false: it is refused, which needs a reason. */
static bool take_input(question *q, const char *text, size_t size, plait_arena *arena)
{
    const char *warning;
    plait_error err = {PLAIT_OK, "", ""};
    plait_status status = PLAIT_ERROR_SYNTAX;

    switch (text[0]) {
    case 'm':
        status = plait_model_parse(text + 1, size - 1, "input", arena, &q->model, &warning, &err);
        break;
    case 'c':
        status = plait_cluster_parse(text + 1, size - 1, "input", arena, &q->cluster, &err);
        break;
    case 'a':
        status = plait_accelerator_parse(text + 1, size - 1, "input", arena, &q->accelerator, &err);
        for (int g = 0; status == PLAIT_OK && g < q->cluster.groups; g++)
            q->cluster.group[g].accelerator = &q->accelerator;
        break;
    case 'r':
        status = plait_runtime_parse(text + 1, size - 1, "input", arena, &q->runtime, &err);
        break;
    default:
        return false;
    }
    assert(status == PLAIT_OK || err.message[0] != '\0');
    return status == PLAIT_OK && plait_cluster_take(&q->cluster, GPUS, &err) == PLAIT_OK;
}

/* A target may have no words for a plan, and says so. NULL: it has none, else the first file. */
static const char *rendered(const plait_launch *launch, plait_launch_target target,
                            plait_arena *arena)
{
    plait_launch_folder folder;
    plait_error err = {PLAIT_OK, "", ""};
    const plait_status status = plait_launch_render(launch, target, arena, &folder, &err);

    assert(status == PLAIT_OK ? folder.files > 0 : err.message[0] != '\0');
    return status == PLAIT_OK ? folder.file[0].text : NULL;
}

/* What is written of the companion is all of a plan. */
static void check_launches(const plait_problem *problem, const plait_plan *plan,
                           const plait_cost *cost, plait_arena *arena)
{
    plait_launch launch;

    plait_launch_init(&launch);
    launch.problem = problem;
    launch.plan = plan;
    launch.cost = cost;
    (void)rendered(&launch, plait_launch_target_of(problem->runtime), arena);
    const char *const text = rendered(&launch, PLAIT_LAUNCH_COMPANION, arena);
    if (text != NULL)
        assert(read_back_difference(&launch, PLAIT_LAUNCH_COMPANION, text, arena) == NULL);
}

static void check_plan(const plait_problem *problem, const plait_ranked *ranked, plait_arena *arena)
{
    plait_cost cost;
    plait_error err;

    assert(plait_plan_evaluate(problem, &ranked->plan, NULL, arena, &cost, &err) == PLAIT_OK);
    assert(isfinite(cost.step_s) && cost.step_s > 0.0);
    assert(isfinite(cost.memory.peak_bytes) && cost.memory.peak_bytes >= 0.0);
    assert(ranked->price.peak_bytes <= plait_capacity_bytes(problem, problem->risk));
    assert(cost.mfu >= 0.0 && cost.mfu <= 1.0);
    check_launches(problem, &ranked->plan, &cost, arena);
}

static void check_answer(const plait_problem *problem, plait_arena *arena)
{
    plait_search_options options;
    plait_search_result result;
    plait_error err = {PLAIT_OK, "", ""};

    plait_search_options_init(&options);
    options.top = 1;
    options.threads = 1;
    assert(plait_search_limit(&options, "tp=..2,pp=..2,cp=1,ep=..2,mbs=1,vpp=..2", &err) ==
           PLAIT_OK);
    const plait_status status = plait_search(problem, &options, arena, &result, &err);
    assert(status == PLAIT_OK || err.message[0] != '\0');
    for (int i = 0; status == PLAIT_OK && i < result.plans; i++)
        check_plan(problem, &result.plan[i], arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *arena = plait_arena_new();
    question *q = plait_arena_alloc(arena, 1, sizeof *q);

    assert(q != NULL);
    take_shipped(q, arena);
    if (size > 0 && take_input(q, (const char *)data, size, arena)) {
        plait_problem_init(&q->problem);
        q->problem.model = &q->model;
        q->problem.cluster = &q->cluster;
        q->problem.runtime = &q->runtime;
        q->problem.job.gpus = GPUS;
        q->problem.job.seq = SEQ;
        q->problem.job.gbs = GBS;
        check_answer(&q->problem, arena);
    }
    plait_arena_free(arena);
    return 0;
}
