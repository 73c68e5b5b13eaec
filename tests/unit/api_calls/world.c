/* world.c - valid arguments for all calls: a plan and a deployment on eight GPUs */
#include "unit/api_calls/calls.h"

#include <string.h>

#include "support/must.h"
#include "plait/data.h"
#include "plait/lowlevel/schedule.h"
#include "plait/lowlevel/simulate.h"

call_world call_world_now;
static call_world whole; /* as it was made */

static void find_parts(call_world *w)
{
    plait_error err;

    must(plait_model_find("mixtral-8x7b", w->arena, &w->model, NULL, &err), &err);
    must(plait_cluster_find("h100-80gb-sxm:2x8", w->arena, &w->cluster, &err), &err);
    must(plait_runtime_find("megatron", w->arena, &w->runtime, &err), &err);
    must(plait_cluster_take(&w->cluster, 16, &err), &err);
    must(plait_evidence_find(w->arena, &w->evidence, &err), &err);
    w->gpu = *w->cluster.group[0].accelerator;
    w->cluster.group[0].accelerator = &w->gpu;
    memcpy(w->kind, w->model.kind, (size_t)w->model.kinds * sizeof *w->kind);
    memcpy(w->layer_kind, w->model.layer_kind, (size_t)w->model.layers);
    w->model.kind = w->kind;
    w->model.layer_kind = w->layer_kind;
    plait_problem_init(&w->problem);
    w->problem.model = &w->model;
    w->problem.cluster = &w->cluster;
    w->problem.runtime = &w->runtime;
    w->problem.job = (plait_job){.seq = 4096, .gbs = 32, .gpus = 16};
    w->regime = plait_regime_of(&w->problem);
}

static void make_plan(call_world *w)
{
    plait_error err;

    w->degrees = plait_degrees_init();
    w->degrees.tp = 4;
    w->degrees.pp = w->degrees.dp = w->degrees.shard_group = 2;
    w->degrees.sp = true;
    w->degrees.ep = 8;
    w->degrees.zero = 1;
    w->degrees.recompute.kind = PLAIT_RECOMPUTE_FULL;
    must(plait_plan_expand(&w->problem, &w->degrees, w->arena, &w->plan, &err), &err);
    memcpy(w->stage, w->plan.stage, sizeof w->stage);
    for (int s = 0; s < 2; s++) {
        w->chunk[s] = *w->stage[s].chunk;
        w->stage[s].chunk = &w->chunk[s];
    }
    w->plan.stage = w->stage;
    must(plait_plan_evaluate(&w->problem, &w->plan, NULL, w->arena, &w->cost, &err), &err);
    assert_string_equal(w->cost.why, "");
    plait_launch_init(&w->launch);
    w->launch.problem = &w->problem;
    w->launch.plan = &w->plan;
    w->launch.cost = &w->cost;
}

static void make_asks(call_world *w)
{
    plait_error err;

    plait_search_options_init(&w->options);
    w->options.top = 1;
    w->options.threads = 1;
    must(plait_search_limit(&w->options, "tp=4,pp=2,ep=8,mbs=1,zero=1,cp=1,recompute=full,vpp=1",
                            &err),
         &err);
    plait_capacity_options_init(&w->ask);
    w->ask.tokens = 1e12;
    w->ask.runs = 10;
    w->ask.search = w->options;
    plait_reliability_init(&w->fleet);
    plait_operators_options_init(&w->operators);
    must(plait_mesh_parse("2x8", &w->operators.mesh, &err), &err);
    w->operators.most_labels = 1000;
    w->shape = (plait_pipeline_shape){PLAIT_1F1B, 4, 1, 8};
    w->run = (plait_run){.id = "a",
                         .source = "b",
                         .sweep = "",
                         .model = "llama-3.1-8b",
                         .accelerator = "h100-80gb-sxm",
                         .framework = "",
                         .runtime = "megatron",
                         .precision = "bf16",
                         .recompute = "full",
                         .attention = "",
                         .notes = "",
                         .layers = 32,
                         .hidden = 4096,
                         .heads = 32,
                         .ffn_hidden = 14336,
                         .vocab = 128256,
                         .seq_len = 4096,
                         .gbs = 8,
                         .mbs = 1,
                         .gpus = 8,
                         .tp = 1,
                         .pp = 1,
                         .sp = -1,
                         .zero = 1,
                         .step_s = 1.0,
                         .peak_bytes = (double)NAN};
    w->sim_action = (plait_action){.kind = PLAIT_ACTION_FORWARD};
    w->sim_actions = (plait_rank_actions){1, &w->sim_action};
    w->sim_stage = (plait_sim_stage){.forward_s = 1.0};
    w->sim = (plait_sim){
        .stages = 1, .microbatches = 1, .actions = &w->sim_actions, .stage = &w->sim_stage};
    w->parts.own = 0.1;
    w->number = 1;
    w->text = "";
}

static void make_serving(call_world *w)
{
    plait_engine *profiles;
    plait_serve_answer *answer = plait_arena_alloc(w->arena, 1, sizeof *answer);
    plait_error err;
    size_t count;

    assert_non_null(answer);
    must(plait_engine_list(w->arena, &profiles, &count, &err), &err);
    w->engine = *plait_engine_of(profiles, count, PLAIT_ENGINE_VLLM, w->gpu.vendor, 0, 0);
    w->request_model = &w->model;
    w->request = (plait_serve_request){1, 128, 16, 1, 1, 2.0};
    w->question = (plait_serve_options){
        .model = &w->model,
        .cluster = &w->cluster,
        .gpus = 16,
        .engines = 1,
        .engine = {&w->engine},
        .weights = 1u << PLAIT_WEIGHT_FP8,
        .kv = 1u << PLAIT_KV_FP8,
        .load = {.kind = PLAIT_LOAD_RATE, .input = 1024, .output = 128, .rate = 2.0},
        .only_aggregated = true,
    };
    must(plait_serve_search(&w->question, w->arena, answer, &err), &err);
    assert_true(answer->plans > 0);
    w->deployment = answer->plan[0];
    plait_fleet_options_init(&w->fleet_ask);
    w->fleet_ask.rate[3] = 2.0;
    w->serve_launch = (plait_serve_launch){.model = &w->model,
                                           .checkpoint = "mistralai/Mixtral-8x7B-v0.1",
                                           .cluster = &w->cluster,
                                           .plan = &w->deployment,
                                           .load = w->question.load};
}

void call_world_make(void)
{
    call_world *const w = &call_world_now;

    w->arena = plait_arena_new();
    assert_non_null(w->arena);
    find_parts(w);
    make_plan(w);
    make_asks(w);
    make_serving(w);
    whole = *w;
}

void call_world_reset(void)
{
    static plait_arena *scratch;

    plait_arena_free(scratch);
    scratch = plait_arena_new();
    assert_non_null(scratch);
    call_world_now = whole;
    call_world_now.scratch = scratch;
}
