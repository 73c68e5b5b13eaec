/* test_memory.c - bytes of one GPU: state under ZeRO, activations, logits, buffers */
#include <stdio.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "support/everything.h"
#include "plait/data.h"
#include "plait/cost.h"
#include "plait/lowlevel/schedule.h"

// ---- a small question ----------------------------------------------------------------------

/*
 * 8 layers of hidden width 64 and 4 heads, without biases: 4 x 64^2 of attention, 8 x 64^2 of MLP,
 * two norms of 64: 49 280 weights a layer. A vocabulary of 1000: 64 000 weights. Two bytes a
 * weight, four a gradient, twelve of optimizer; nothing else stays unless a test says so.
 */
enum { HIDDEN = 64, LAYERS = 8, VOCAB = 1000, SEQ = 32 };
static const double layer_weights = 12.0 * 64 * 64 + 128.0;
static const double table_weights = 64e3;

typedef struct world {
    plait_layer layer;
    unsigned char layer_kind[LAYERS];
    plait_model model;
    plait_layer vision_layer;
    plait_model vision;
    plait_runtime runtime;
    plait_cluster cluster;
    plait_problem problem;
} world;

static void make(world *w, int gpus)
{
    plait_error err;

    memset(w, 0, sizeof *w);
    w->layer = (plait_layer){.norms = 2,
                             .mixer = PLAIT_MIXER_ATTENTION,
                             .attention = {.heads = 4, .kv_heads = 4, .head_dim = 16},
                             .ffn = PLAIT_FFN_MLP,
                             .mlp = {.width = 4 * HIDDEN}};
    w->model = (plait_model){.name = "small",
                             .hidden = HIDDEN,
                             .vocab = VOCAB,
                             .layers = LAYERS,
                             .kinds = 1,
                             .kind = &w->layer,
                             .layer_kind = w->layer_kind};
    w->runtime = (plait_runtime){
        .name = "plain",
        .can = everything_can(64, 8),
        .factor = {.gemm = 1.0,
                   .memory = 1.0,
                   .attention = 1.0,
                   .host_experts = 1.0,
                   .host_backward = 1.0,
                   .nic = 1.0,
                   .ep_imbalance = 1.0},
        .state = {.weight = 2.0,
                  .gradient = 4.0,
                  .gradient_reduce = 4.0,
                  .gather = 2.0,
                  .optimizer = 12.0},
        .keep = {.reserved_ratio = 1.0, .fragmentation = 1.0},
    };
    if (plait_cluster_synthetic("h100-80gb-sxm:64x8", arena, &w->cluster, &err) != PLAIT_OK ||
        plait_cluster_take(&w->cluster, gpus, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    w->problem = (plait_problem){
        .model = &w->model,
        .cluster = &w->cluster,
        .runtime = &w->runtime,
        .job = {.seq = SEQ, .gbs = 64, .gpus = gpus, .precision = PLAIT_BF16},
    };
}

/*
 * An encoder of images of 16 patches: 2 layers of width 32 with 4 heads and MLPs of 64, RMSNorm,
 * patches of 12 numbers. A token is 4 patches; the projector is one matrix [128, 64].
 */
enum { E_HIDDEN = 32, E_LAYERS = 2, E_PATCHES = 16 };
static const double projector_weights = 4.0 * E_HIDDEN * HIDDEN;
static const double encoder_weights =
    E_LAYERS * (4.0 * 32 * 32 + 2.0 * 32 * 64 + 2 * 32) + 12.0 * 32 + 32 + 32 + 32;

static void add_encoder(world *w)
{
    w->vision_layer =
        (plait_layer){.norms = 2,
                      .mixer = PLAIT_MIXER_ATTENTION,
                      .attention = {.heads = 4, .kv_heads = 4, .head_dim = 8, .full_mask = true},
                      .ffn = PLAIT_FFN_MLP,
                      .mlp = {.width = 64}};
    w->vision = (plait_model){.name = "vision",
                              .hidden = E_HIDDEN,
                              .vocab = 1,
                              .tied = true,
                              .layers = E_LAYERS,
                              .kinds = 1,
                              .kind = &w->vision_layer,
                              .layer_kind = w->layer_kind,
                              .patch_dim = 12,
                              .max_seq = E_PATCHES};
    w->model.encoder[PLAIT_VISION] = (plait_encoder){.model = &w->vision,
                                                     .patch = 2,
                                                     .patches_per_token = 4,
                                                     .projector_params = projector_weights};
}

/* "tp=2 pp=4": dp and shard_group follow unless they are given. */
static plait_cost price(const world *w, const char *keys)
{
    plait_degrees d = plait_degrees_init();
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    d.shard_group = 0;
    while (*keys) {
        char key[24];
        char value[64];
        int length = 0;
        assert_int_equal(sscanf(keys, " %23[^=]=%63s%n", key, value, &length), 2);
        if (plait_degrees_set(&d, key, value, &err) != PLAIT_OK)
            fail_msg("%s: %s", err.where, err.message);
        keys += length;
    }
    d.dp = plait_degrees_dp(w->problem.job.gpus, d.tp, d.pp, d.cp);
    if (d.shard_group == 0)
        d.shard_group = d.dp * d.cp;
    if (plait_plan_expand(&w->problem, &d, arena, &plan, &err) != PLAIT_OK ||
        plait_plan_evaluate(&w->problem, &plan, NULL, arena, &cost, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("%s", cost.why);
    return cost;
}

static void assert_state(const plait_cost *cost, double weights, double gradients, double optimizer)
{
    assert_near(cost->memory.weights_bytes, weights, 1e-6);
    assert_near(cost->memory.gradients_bytes, gradients, 1e-6);
    assert_near(cost->memory.optimizer_bytes, optimizer, 1e-6);
}

// ---- encoders ------------------------------------------------------------------------------

/* C.430: 2 bytes a weight, 4 a gradient, 12 of optimizer; pre-training on text has no encoder. */
static void test_encoders__are_in_memory_unless_text_is_pretrained(void **state)
{
    const double p = LAYERS * layer_weights + 2.0 * table_weights + HIDDEN;
    const double both = encoder_weights + projector_weights;
    const double trained = p + both - encoder_weights;
    world w;
    plait_cost cost;

    (void)state;
    make(&w, 1);
    add_encoder(&w);
    assert_near(plait_model_params(&w.model).encoders, both, 0.0);
    cost = price(&w, "mbs=1 zero=0");
    assert_state(&cost, 2.0 * p, 4.0 * p, 12.0 * p);
    w.problem.job.images = 1;
    cost = price(&w, "mbs=1 zero=0");
    assert_state(&cost, 2.0 * (p + both), 4.0 * (p + both), 12.0 * (p + both));
    w.problem.job.images = 0;
    w.problem.job.tuning.kind = PLAIT_JOB_SFT;
    cost = price(&w, "mbs=1 zero=0");
    assert_state(&cost, 2.0 * (p + both), 4.0 * (p + both), 12.0 * (p + both));
    w.problem.job.tuning.frozen = 1u << PLAIT_FREEZE_VISION;
    cost = price(&w, "mbs=1 zero=0");
    assert_state(&cost, 2.0 * (p + both), 4.0 * trained, 12.0 * trained);
}

/* C.432: an encoder that trains keeps 2 bytes of each patch for the input of each layer and of the
 * projector, one that is frozen for the projector alone, and none if the projector is frozen. */
static void test_encoders__keep_the_inputs_of_their_layers(void **state)
{
    const double input = 2.0 * 3.0 * E_PATCHES * E_HIDDEN; // 3 images in a sequence
    world w;
    plait_cost cost;

    (void)state;
    make(&w, 1);
    add_encoder(&w);
    cost = price(&w, "mbs=1 zero=0");
    const double text = cost.memory.activations_bytes;
    w.problem.job.images = 3;
    cost = price(&w, "mbs=1 zero=0");
    assert_near(cost.memory.activations_bytes - text, (E_LAYERS + 1) * input, 1e-6);
    w.problem.job.tuning.frozen = 1u << PLAIT_FREEZE_VISION;
    cost = price(&w, "mbs=1 zero=0");
    assert_near(cost.memory.activations_bytes - text, input, 1e-6);
    w.problem.job.tuning.frozen |= 1u << PLAIT_FREEZE_PROJECTOR;
    cost = price(&w, "mbs=1 zero=0");
    assert_near(cost.memory.activations_bytes - text, 0.0, 1e-6);
}

/* The encoder is on the first of two stages. A frozen one takes time in the forward alone. */
static void test_encoders__run_on_the_first_stage(void **state)
{
    world w;
    plait_error err;
    plait_cost text, both, frozen;

    (void)state;
    make(&w, 2);
    add_encoder(&w);
    text = price(&w, "mbs=1 pp=2 zero=0");
    w.problem.job.images = 8;
    both = price(&w, "mbs=1 pp=2 zero=0");
    w.problem.job.tuning.frozen = 1u << PLAIT_FREEZE_VISION | 1u << PLAIT_FREEZE_PROJECTOR;
    frozen = price(&w, "mbs=1 pp=2 zero=0");
    assert_true(both.stage[0].forward_s > text.stage[0].forward_s);
    assert_true(both.stage[0].backward_s > text.stage[0].backward_s);
    assert_near(both.stage[1].forward_s, text.stage[1].forward_s, 0.0);
    assert_near(both.stage[1].memory_bytes, text.stage[1].memory_bytes, 0.0);
    assert_near(frozen.stage[0].forward_s, both.stage[0].forward_s, 0.0);
    assert_near(frozen.stage[0].backward_s, text.stage[0].backward_s, 0.0);
    w.problem.job.images = 9; // a sequence of 32 holds 8 images of 4 tokens
    plait_plan plan;
    plait_degrees d = plait_degrees_init();
    d.dp = d.shard_group = 2;
    assert_int_equal(plait_plan_expand(&w.problem, &d, arena, &plan, &err), PLAIT_OK);
    assert_int_equal(plait_plan_evaluate(&w.problem, &plan, NULL, arena, &both, &err),
                     PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "images");
}

// ---- state ---------------------------------------------------------------------------------

/* P weights over 8 replicas: 2 P + 4 P + 12 P, of which ZeRO divides one term more a stage. */
static void test_zero__divides_optimizer_then_gradients_then_weights(void **state)
{
    const double p = LAYERS * layer_weights + 2.0 * table_weights + HIDDEN;
    world w;

    (void)state;
    make(&w, 8);
    assert_near(plait_model_params(&w.model).total, p, 0.0);
    plait_cost cost = price(&w, "zero=0");
    assert_state(&cost, 2.0 * p, 4.0 * p, 12.0 * p);
    cost = price(&w, "zero=1");
    assert_state(&cost, 2.0 * p, 4.0 * p, 12.0 * p / 8.0);
    cost = price(&w, "zero=2");
    assert_state(&cost, 2.0 * p, 4.0 * p / 8.0, 12.0 * p / 8.0);
    cost = price(&w, "zero=3");
    assert_state(&cost, 2.0 * p / 8.0, 4.0 * p / 8.0, 12.0 * p / 8.0);
}

// ---- host memory ---------------------------------------------------------------------------

/* A step on the host: 12 bytes of state and a gradient in fp32, once over the 8 GPUs of the node. */
static void test_offload__moves_state_to_the_host(void **state)
{
    const double p = LAYERS * layer_weights + 2.0 * table_weights + HIDDEN;
    world w;

    (void)state;
    make(&w, 8);
    plait_cost cost = price(&w, "zero=3");
    assert_near(cost.memory.host_bytes, 0.0, 0.0);
    cost = price(&w, "zero=1 offload=optimizer");
    assert_state(&cost, 2.0 * p, 4.0 * p, 0.0);
    assert_near(cost.memory.host_bytes, 16.0 * p, 1e-6);
    cost = price(&w, "zero=1 offload=optimizer offload_share=0.5");
    assert_near(cost.memory.host_bytes, 8.0 * p, 1e-6);
    cost = price(&w, "zero=3 offload=gradients");
    assert_state(&cost, 2.0 * p / 8.0, 0.0, 0.0);
    assert_near(cost.memory.host_bytes, 16.0 * p, 1e-6);
    cost = price(&w, "zero=3 offload=params");
    assert_state(&cost, 0.0, 0.0, 0.0);
    assert_near(cost.memory.host_bytes, 18.0 * p, 1e-6);
    w.runtime.state.gradient = 2.0; // which arrives beside the copy that the step reads
    w.runtime.defaults.key[PLAIT_KEY_GRAD_REDUCE] = PLAIT_STATE_BF16;
    cost = price(&w, "zero=3 grad_reduce=bf16 offload=params");
    assert_near(cost.memory.host_bytes, 20.0 * p, 1e-6);
}

/* Two nodes hold half each; shards of 8 are held twice, once by each node. */
static void test_host_memory__is_of_a_node(void **state)
{
    const double p = LAYERS * layer_weights + 2.0 * table_weights + HIDDEN;
    world w;

    (void)state;
    make(&w, 16);
    plait_cost cost = price(&w, "zero=3 offload=params");
    assert_near(cost.memory.host_bytes, 9.0 * p, 1e-6);
    cost = price(&w, "zero=3 shard_group=8 offload=params");
    assert_near(cost.memory.host_bytes, 18.0 * p, 1e-6);
    assert_int_equal(cost.verdict, PLAIT_FITS);
    w.cluster.host_memory_bytes = 17.0 * p;
    cost = price(&w, "zero=3 shard_group=8 offload=params");
    assert_int_equal(cost.verdict, PLAIT_OUT_OF_MEMORY);
    assert_near(cost.missing_bytes, p, 1e-6);
    assert_non_null(strstr(cost.why, "host memory"));
    cost = price(&w, "zero=3 offload=params");
    assert_int_equal(cost.verdict, PLAIT_FITS);
}

/* 16 replicas in shards of 4: each holds a quarter, four of them the same one. */
static void test_hsdp__divides_by_its_group_only(void **state)
{
    const double p = LAYERS * layer_weights + 2.0 * table_weights + HIDDEN;
    world w;

    (void)state;
    make(&w, 16);
    plait_cost cost = price(&w, "zero=3 shard_group=4");
    assert_state(&cost, 2.0 * p / 4.0, 4.0 * p / 4.0, 12.0 * p / 4.0);
    /* context ranks are replicas too */
    cost = price(&w, "cp=4 zero=3");
    assert_state(&cost, 2.0 * p / 16.0, 4.0 * p / 16.0, 12.0 * p / 16.0);
}

static void test_tensor_ranks__divide_matrices_and_repeat_norms(void **state)
{
    const double norms = (2.0 * LAYERS + 1.0) * HIDDEN;
    const double matrices = LAYERS * 12.0 * 64 * 64 + 2.0 * table_weights;
    world w;

    (void)state;
    make(&w, 4);
    const plait_cost cost = price(&w, "tp=4");
    assert_near(cost.memory.weights_bytes, 2.0 * (norms + matrices / 4.0), 1e-6);
}

/* Both stages of DualPipe's two on each rank: the whole model, of which it optimises half. */
static void test_dualpipe__holds_its_stage_and_the_mirrored_one(void **state)
{
    world alone, w;

    (void)state;
    make(&alone, 1);
    make(&w, 2);
    const plait_cost whole = price(&alone, "pp=1");
    const plait_cost dual = price(&w, "pp=2 schedule=dualpipe");
    assert_state(&dual, whole.memory.weights_bytes, whole.memory.gradients_bytes,
                 whole.memory.optimizer_bytes / 2.0);
}

static void make_moe(world *w, int gpus)
{
    make(w, gpus);
    w->layer.ffn = PLAIT_FFN_MOE;
    w->layer.moe = (plait_moe){.experts = 8, .topk = 2, .width = 128};
}

/*
 * 16 GPUs, ep = 8: a rank holds one expert of 2 x 64 x 128 weights a layer and shares it with one
 * other rank, while attention and router have 16 replicas.
 */
static void test_experts__are_sharded_over_their_own_replicas(void **state)
{
    const double expert = LAYERS * 2.0 * 64 * 128;
    const double dense = LAYERS * (4.0 * 64 * 64 + 128.0 + 8.0 * 64) + 2.0 * table_weights + HIDDEN;
    world w;

    (void)state;
    make_moe(&w, 16);
    plait_cost cost = price(&w, "ep=8 zero=1");
    assert_state(&cost, 2.0 * (dense + expert), 4.0 * (dense + expert),
                 12.0 * (dense / 16.0 + expert / 2.0));
    cost = price(&w, "ep=8 zero=3");
    assert_state(&cost, 2.0 * (dense / 16.0 + expert / 2.0), 4.0 * (dense / 16.0 + expert / 2.0),
                 12.0 * (dense / 16.0 + expert / 2.0));
    /* ep = 1: eight times as many experts, 16 replicas of each */
    cost = price(&w, "zero=3");
    assert_near(cost.memory.weights_bytes, 2.0 * (dense + 8.0 * expert) / 16.0, 1e-6);
    /* shards of 8 replicas: two of them, so an expert's two replicas are one a shard */
    cost = price(&w, "ep=8 zero=3 shard_group=8");
    assert_near(cost.memory.weights_bytes, 2.0 * (dense / 8.0 + expert), 1e-6);
}

/* Four shards but only two replicas of an expert: no shard holds it twice, so none divides it. */
static void test_experts__with_fewer_replicas_than_shards_stay_whole(void **state)
{
    const double expert = LAYERS * 2.0 * 64 * 128;
    const double dense = LAYERS * (4.0 * 64 * 64 + 128.0 + 8.0 * 64) + 2.0 * table_weights + HIDDEN;
    world w;

    (void)state;
    make_moe(&w, 16);
    const plait_cost cost = price(&w, "ep=8 zero=3 shard_group=4");
    assert_near(cost.memory.weights_bytes, 2.0 * (dense / 4.0 + expert), 1e-6);
}

/* ---- the ends of the pipeline ---- */

/* A tied table is held by the first stage and, to project on it, by the last; alone once. */
static void test_tied_table__is_held_by_both_ends(void **state)
{
    const double stage = LAYERS / 4.0 * layer_weights;
    world w;

    (void)state;
    make(&w, 4);
    w.model.tied = true;
    const plait_cost together = price(&w, "pp=1");
    assert_near(together.memory.weights_bytes,
                2.0 * (LAYERS * layer_weights + table_weights + HIDDEN), 1e-6);
    const plait_cost apart = price(&w, "pp=4");
    assert_int_equal(apart.stages, 4);
    assert_near(apart.stage[0].memory_bytes, 18.0 * (stage + table_weights), 20000.0);
    assert_near(apart.stage[1].memory_bytes, 18.0 * stage, 20000.0);
    assert_near(apart.stage[3].memory_bytes, 18.0 * (stage + table_weights + HIDDEN), 20000.0);
}

/* 4 bytes x 64 sequences / 2 of tokens x 1000 entries, on the last stage; by tp unless whole. */
static void test_logits__lie_on_the_last_stage_only(void **state)
{
    world w;

    (void)state;
    make(&w, 4);
    const plait_cost without = price(&w, "pp=2 tp=2 mbs=2");
    w.runtime.keep.logits = 4.0;
    const plait_cost with = price(&w, "pp=2 tp=2 mbs=2");
    const double bytes = 4.0 * 2 * SEQ * VOCAB;
    assert_near(with.stage[0].memory_bytes, without.stage[0].memory_bytes, 1e-6);
    assert_near(with.stage[1].memory_bytes - without.stage[1].memory_bytes, bytes / 2.0, 1e-6);
    w.runtime.keep.logits_whole = true;
    const plait_cost whole = price(&w, "pp=2 tp=2 mbs=2");
    assert_near(whole.stage[1].memory_bytes - without.stage[1].memory_bytes, bytes, 1e-6);
}

// ---- activations ---------------------------------------------------------------------------

/* Bytes a token of one layer: norms' inputs and outputs 4 h each, q k v 6 h, output 2 h, fc1 8 h,
 * activation 8 h, and 4 bytes a head. */
static const double kept_a_token = 32.0 * HIDDEN + 4.0 * 4;

static void keep_all(world *w)
{
    static const plait_tensor bf16[] = {
        PLAIT_TENSOR_norm_in,  PLAIT_TENSOR_norm_out, PLAIT_TENSOR_qkv,    PLAIT_TENSOR_keys,
        PLAIT_TENSOR_core_out, PLAIT_TENSOR_fc1_out,  PLAIT_TENSOR_act_out};

    for (size_t i = 0; i < sizeof bf16 / sizeof *bf16; i++)
        w->runtime.keep.keeps[bf16[i]] = 2.0;
    w->runtime.keep.keeps[PLAIT_TENSOR_lse] = 4.0;
}

/* The head keeps the input and output of its norm, 4 h a token, on the last stage. */
static void test_activations__of_one_gpu_by_hand(void **state)
{
    world w;

    (void)state;
    make(&w, 1);
    keep_all(&w);
    const plait_cost cost = price(&w, "mbs=2");
    assert_near(cost.memory.activations_bytes, 2.0 * SEQ * (LAYERS * kept_a_token + 4.0 * HIDDEN),
                1e-6);
}

/* Queries, keys and values of four microbatches in flight on the first of four stages, two layers each. */
static void test_host_memory__holds_activations(void **state)
{
    world w;

    (void)state;
    make(&w, 4);
    keep_all(&w);
    const plait_cost kept = price(&w, "pp=4");
    const plait_cost away = price(&w, "pp=4 offload_acts=core_attn");
    const double each = away.memory.host_bytes / (4 * 4 * 2);

    assert_near(each, 3.0 * 2.0 * SEQ * HIDDEN, 1e-6);
    assert_near(kept.memory.activations_bytes - away.memory.activations_bytes,
                4 * 2 * each - 2.0 * each, 1e-6); // two layers' are on their way
}

/* Stage s of 4 holds 4 - s microbatches of its two layers. */
static void test_activations__are_those_of_the_microbatches_in_flight(void **state)
{
    world w;

    (void)state;
    make(&w, 4);
    const plait_cost without = price(&w, "pp=4 mbs=2");
    keep_all(&w);
    const plait_cost with = price(&w, "pp=4 mbs=2");
    for (int s = 0; s < 4; s++) {
        const double layers = 2.0 * SEQ * 2.0 * kept_a_token;
        const double head = s == 3 ? 2.0 * SEQ * 4.0 * HIDDEN : 0.0;
        assert_near(with.stage[s].in_flight, 4.0 - s, 0.0);
        assert_near(with.stage[s].memory_bytes - without.stage[s].memory_bytes,
                    (4.0 - s) * (layers + head), 1e-6);
    }
}

/* A rebuilt layer is there once, beside the inputs of all layers: 2 h a token each. */
static void test_full_recompute__keeps_inputs_and_one_live_layer(void **state)
{
    world w;

    (void)state;
    make(&w, 1);
    keep_all(&w);
    const double tokens = 2.0 * SEQ;
    const plait_cost full = price(&w, "mbs=2 recompute=full");
    assert_near(full.memory.activations_bytes,
                tokens * (LAYERS * 2.0 * HIDDEN + 4.0 * HIDDEN + kept_a_token - 2.0 * HIDDEN),
                1e-6);
    const plait_cost some = price(&w, "mbs=2 recompute=full:3");
    assert_near(some.memory.activations_bytes,
                tokens * (3.0 * 2.0 * HIDDEN + 5.0 * kept_a_token + 4.0 * HIDDEN + kept_a_token -
                          2.0 * HIDDEN),
                1e-6);
}

static void test_recompute__keeps_less_the_more_it_repeats(void **state)
{
    static const char *const less_and_less[] = {"mbs=2 recompute=none", "mbs=2 recompute=selective",
                                                "mbs=2 recompute=modules:core_attn+layernorm",
                                                "mbs=2 recompute=modules:core_attn+layernorm+mlp",
                                                "mbs=2 recompute=full"};
    world w;

    (void)state;
    make(&w, 1);
    keep_all(&w);
    for (int i = 1; i < 5; i++) {
        const plait_cost more = price(&w, less_and_less[i - 1]);
        const plait_cost less = price(&w, less_and_less[i]);
        assert_true(less.memory.activations_bytes < more.memory.activations_bytes);
        assert_true(less.step_s > more.step_s);
        assert_true(less.step.recompute_s > more.step.recompute_s);
    }
}

/* full:N repeats N layers of each chunk, and modules for further tokens are not among them. */
static void test_recompute__of_some_layers_leaves_modules(void **state)
{
    char some[32];
    world w;

    (void)state;
    make(&w, 1);
    keep_all(&w);
    snprintf(some, sizeof some, "recompute=full:%d", LAYERS);
    const plait_cost all_without = price(&w, "recompute=full");
    const plait_cost some_without = price(&w, some);
    w.model.mtp_layers = 1;
    const plait_cost all = price(&w, "recompute=full");
    const plait_cost some_of = price(&w, some);
    assert_near(some_without.step.recompute_s, all_without.step.recompute_s, 1e-12);
    assert_near(some_of.step.recompute_s, some_without.step.recompute_s, 1e-12);
    assert_true(all.step.recompute_s > some_of.step.recompute_s);
    assert_true(all.memory.activations_bytes < some_of.memory.activations_bytes);
}

// ---- buffers and the runtime ---------------------------------------------------------------

/* ZeRO-3 gathers two layers ahead (weights and gradients), and the table and head. */
static void test_gathers__hold_whole_layers(void **state)
{
    world w;

    (void)state;
    make(&w, 8);
    w.runtime.keep.transient_layers = 2.0;
    const plait_cost sharded = price(&w, "zero=3");
    assert_near(sharded.memory.buffers_bytes,
                2.0 * (2.0 + 4.0) * layer_weights + 2.0 * (2.0 * table_weights + HIDDEN), 1e-6);
    const plait_cost whole = price(&w, "zero=2");
    assert_near(whole.memory.buffers_bytes, 0.0, 0.0);
}

/*
 * 8 experts of 2 x 64 x 256 weights, in FP32 gradients. With ep 8 on 8 GPUs a rank keeps its expert
 * whole and gathers the rest of two layers: 4 x 64^2, norms of 128, a router of 512.
 */
static void test_gathers__leave_out_experts_that_one_rank_keeps(void **state)
{
    const double expert = 2.0 * 64 * 256, rest = 4.0 * 64 * 64 + 128.0 + 512.0;
    const double ends = 2.0 * (2.0 * table_weights + HIDDEN);
    world w;

    (void)state;
    make(&w, 8);
    w.runtime.keep.transient_layers = 2.0;
    w.layer.ffn = PLAIT_FFN_MOE;
    w.layer.moe = (plait_moe){.experts = 8, .topk = 2, .width = 256};
    const plait_cost whole = price(&w, "ep=8 zero=3");
    assert_near(whole.memory.buffers_bytes, 2.0 * (2.0 + 4.0) * rest + ends, 1e-6);
    const plait_cost cut = price(&w, "ep=4 zero=3");
    assert_near(cut.memory.buffers_bytes, 2.0 * (2.0 + 4.0) * (rest + 2.0 * expert) + ends, 1e-6);
}

/* With one replica nothing is gathered or reduced, so all stages of ZeRO need the same memory. */
static void test_gathers__need_replicas(void **state)
{
    static const char *const equal[] = {"zero=1", "zero=2 scatter=step", "zero=3",
                                        "zero=3 reshard=never", "zero=3 reshard=node"};
    world w;

    (void)state;
    make(&w, 8);
    w.runtime.keep.transient_layers = 2.0;
    w.runtime.state.gradient = 2.0;
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        char keys[64];

        snprintf(keys, sizeof keys, "pp=8 %s", equal[i]);
        assert_near(price(&w, keys).memory.peak_bytes, price(&w, "pp=8 zero=0").memory.peak_bytes,
                    0.0);
    }
}

/* Gradients of 2 bytes that are reduced in FP32 after the last microbatch wait in FP32. */
static void test_gradients__wait_in_the_format_of_their_reduction(void **state)
{
    const double all = LAYERS * layer_weights + 2.0 * table_weights + HIDDEN;
    world w;

    (void)state;
    make(&w, 8);
    w.runtime.state.gradient = 2.0;
    assert_near(price(&w, "zero=3").memory.gradients_bytes, 2.0 * all / 8.0, 1e-6);
    assert_near(price(&w, "zero=3 scatter=step").memory.gradients_bytes, 4.0 * all, 1e-6);
}

/*
 * With one microbatch, gradients of 4/8 bytes replace the parameters of 2 bytes that backward
 * frees.
 */
static void test_gradients__replace_gathered_parameters_in_one_microbatch(void **state)
{
    world w;

    (void)state;
    make(&w, 8);
    w.runtime.keep.gradients_freed = true;
    assert_near(price(&w, "zero=3 reshard=never mbs=8").memory.gradients_bytes, 0.0, 0.0);
    assert_true(price(&w, "zero=3 reshard=never mbs=4").memory.gradients_bytes > 0.0);
    assert_true(price(&w, "zero=3 mbs=8").memory.gradients_bytes > 0.0);
}

/* A message in and one out: 2 bytes x tokens x h each, by tp under sp. */
static void test_pipeline__holds_its_messages(void **state)
{
    world w;

    (void)state;
    make(&w, 4);
    const plait_cost cost = price(&w, "pp=2 tp=2 mbs=2");
    assert_near(cost.memory.buffers_bytes, 2.0 * 2.0 * 2.0 * SEQ * HIDDEN, 1e-6);
    const plait_cost cut = price(&w, "pp=2 tp=2 sp=1 mbs=2");
    assert_near(cut.memory.buffers_bytes, 2.0 * 2.0 * SEQ * HIDDEN, 1e-6);
}

/* 6 % on what is allocated cannot be given back, 1 GB of context, 50 MB for each group that leaves its
 * node: the replicas of 16 GPUs do, tensor ranks do not. What is reserved is no part of the peak. */
static void test_runtime__needs_more_than_is_allocated(void **state)
{
    world w;

    (void)state;
    make(&w, 16);
    w.runtime.keep.reserved_ratio = 1.2;
    w.runtime.keep.fragmentation = 1.06;
    w.runtime.keep.context_bytes = 1e9;
    w.runtime.keep.nccl_bytes = 50e6;
    const plait_cost cost = price(&w, "tp=2");
    const plait_memory *m = &cost.memory;
    const double allocated = m->weights_bytes + m->gradients_bytes + m->optimizer_bytes +
                             m->activations_bytes + m->buffers_bytes;
    assert_near_relative(m->runtime_bytes, 0.06 * allocated + 1.05e9, 1e-12);
    assert_near_relative(m->peak_bytes, 1.06 * allocated + 1.05e9, 1e-12);
    assert_near_relative(m->reserved_bytes, 1.2 * allocated, 1e-12);
    const plait_cost one_node = price(&w, "tp=4 pp=4"); // pp crosses nodes, replicas are alone
    assert_near_relative(one_node.memory.runtime_bytes,
                         0.06 / 1.06 * (one_node.memory.peak_bytes - 1.05e9) + 1.05e9, 1e-9);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_encoders__are_in_memory_unless_text_is_pretrained),
        TEST(test_encoders__keep_the_inputs_of_their_layers),
        TEST(test_encoders__run_on_the_first_stage),
        TEST(test_offload__moves_state_to_the_host),
        TEST(test_host_memory__is_of_a_node),
        TEST(test_host_memory__holds_activations),
        TEST(test_zero__divides_optimizer_then_gradients_then_weights),
        TEST(test_hsdp__divides_by_its_group_only),
        TEST(test_tensor_ranks__divide_matrices_and_repeat_norms),
        TEST(test_dualpipe__holds_its_stage_and_the_mirrored_one),
        TEST(test_experts__are_sharded_over_their_own_replicas),
        TEST(test_experts__with_fewer_replicas_than_shards_stay_whole),
        TEST(test_tied_table__is_held_by_both_ends),
        TEST(test_logits__lie_on_the_last_stage_only),
        TEST(test_activations__of_one_gpu_by_hand),
        TEST(test_activations__are_those_of_the_microbatches_in_flight),
        TEST(test_full_recompute__keeps_inputs_and_one_live_layer),
        TEST(test_recompute__keeps_less_the_more_it_repeats),
        TEST(test_recompute__of_some_layers_leaves_modules),
        TEST(test_gathers__hold_whole_layers),
        TEST(test_gathers__leave_out_experts_that_one_rank_keeps),
        TEST(test_gathers__need_replicas),
        TEST(test_gradients__wait_in_the_format_of_their_reduction),
        TEST(test_gradients__replace_gathered_parameters_in_one_microbatch),
        TEST(test_pipeline__holds_its_messages),
        TEST(test_runtime__needs_more_than_is_allocated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
