/* test_plan_check.c - which plans are legal, and in which words others are refused */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "support/chip.h"
#include "support/everything.h"
#include "plait/runtime.h"

// ---- a question where everything is legal --------------------------------------------------

/* 12 layers of 8 heads (4 for keys and values) and an MLP of 2048; 16 GPUs, 32 sequences of 64. */
typedef struct world {
    plait_layer layer;
    unsigned char layer_kind[12];
    plait_model model;
    plait_accelerator gpu;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
} world;

static void make(world *w)
{
    memset(w, 0, sizeof *w);
    w->layer = (plait_layer){.norms = 2,
                             .mixer = PLAIT_MIXER_ATTENTION,
                             .attention = {.heads = 8, .kv_heads = 4, .head_dim = 64},
                             .ffn = PLAIT_FFN_MLP,
                             .mlp = {.width = 2048}};
    w->model = (plait_model){.name = "small",
                             .hidden = 512,
                             .vocab = 1000,
                             .layers = 12,
                             .kinds = 1,
                             .kind = &w->layer,
                             .layer_kind = w->layer_kind};
    w->gpu = plain_chip();
    w->gpu.peak_flops_per_s[PLAIT_FP8] = 2.0;
    w->cluster = (plait_cluster){
        .name = "cluster",
        .groups = 1,
        .group = {{.accelerator = &w->gpu, .gpus_per_node = 8}},
        .levels = 1,
        .level = {{.gpus = INT_MAX,
                   .link = {.bytes_per_s = 1.0},
                   .efficiency = 1.0,
                   .oversubscription = 1.0}},
        .gpus = 64,
        .pue = 1.0,
        .host_speed = 1.0,
    };
    w->runtime = (plait_runtime){
        .name = "software",
        .can = everything_can(64, 16),
        .factor = {.gemm = 1.0,
                   .memory = 1.0,
                   .attention = 1.0,
                   .host_experts = 1.0,
                   .host_backward = 1.0,
                   .nic = 1.0,
                   .ep_imbalance = 1.0},
        .keep = {.reserved_ratio = 1.0, .fragmentation = 1.0},
    };
    w->problem = (plait_problem){
        .model = &w->model,
        .cluster = &w->cluster,
        .runtime = &w->runtime,
        .job = {.seq = 64, .gbs = 32, .gpus = 16},
    };
}

/* "tp=2 pp=4": dp and shard_group follow unless they are given. */
static plait_degrees point(const world *w, const char *keys)
{
    plait_degrees d = plait_degrees_init();
    bool dp = false;
    bool shard_group = false;

    while (*keys) {
        static char layout[64]; // outlives the point
        char key[24];
        char value[64];
        int length = 0;
        plait_error err;
        assert_int_equal(sscanf(keys, " %23[^=]=%63s%n", key, value, &length), 2);
        if (plait_degrees_set(&d, key, value, &err) != PLAIT_OK)
            fail_msg("%s: %s", err.where, err.message);
        if (d.split.layout != NULL && strcmp(key, "split") == 0)
            d.split.layout = strcpy(layout, d.split.layout);
        dp = dp || strcmp(key, "dp") == 0;
        shard_group = shard_group || strcmp(key, "shard_group") == 0;
        keys += length;
    }
    if (!dp && plait_degrees_dp(w->problem.job.gpus, d.tp, d.pp, d.cp) > 0)
        d.dp = plait_degrees_dp(w->problem.job.gpus, d.tp, d.pp, d.cp);
    if (!shard_group)
        d.shard_group = d.dp * d.cp;
    return d;
}

static void assert_legal(const world *w, const char *keys)
{
    const plait_degrees d = point(w, keys);
    char why[256] = "untouched";

    if (plait_degrees_check(&w->problem, &d, why, sizeof why) != PLAIT_FITS)
        fail_msg("%s: %s", keys, why);
    assert_string_equal(why, "");
}

static void assert_refused(const world *w, const char *keys, const char *sentence)
{
    const plait_degrees d = point(w, keys);
    char why[256] = "";

    assert_int_equal(plait_degrees_check(&w->problem, &d, why, sizeof why), PLAIT_INVALID);
    assert_string_equal(why, sentence);
    assert_int_equal(plait_degrees_check(&w->problem, &d, NULL, 0), PLAIT_INVALID);
}

static void make_moe(world *w)
{
    make(w);
    w->layer.ffn = PLAIT_FFN_MOE;
    w->layer.moe = (plait_moe){.experts = 8, .topk = 2, .width = 512, .shared_width = 512};
}

// ---- legal plans ---------------------------------------------------------------------------

static void test_plans_that_divide__are_legal(void **state)
{
    static const char *const legal[] = {
        "",
        "tp=8",
        "tp=8 sp=1",
        "tp=2 pp=4 cp=2 zero=3",
        "pp=4 schedule=gpipe",
        "pp=4 vpp=3 schedule=interleaved",
        "pp=8 split=spread",
        "pp=4 schedule=dualpipe",
        "cp=4 cp_comm=a2a",
        "zero=1 shard_group=4",
        "recompute=full:12",
        "tp=4 etp=4",
        "pp=2 split=first-last:5,7 order=tp-cp-pp-dp",
    };
    world w;

    (void)state;
    make(&w);
    for (size_t i = 0; i < sizeof legal / sizeof *legal; i++)
        assert_legal(&w, legal[i]);
    make_moe(&w);
    assert_legal(&w, "ep=8");
    assert_legal(&w, "tp=4 etp=2 ep=8");
    assert_legal(&w, "tp=4 etp=1 ep=4 pp=2");
}

// ---- refusals by what does not divide ------------------------------------------------------

static void test_refusals__of_worlds_and_batches(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.problem.job.gpus = 12;
    assert_refused(&w, "tp=8", "tp 8 x pp 1 x cp 1 = 8 does not divide 12 GPUs");
    make(&w);
    assert_refused(&w, "tp=8 pp=4", "tp 8 x pp 4 x cp 1 = 32 does not divide 16 GPUs");
    assert_refused(&w, "tp=2 dp=4", "dp must be 8: 16 GPUs / (tp x pp x cp)");
    assert_refused(&w, "mbs=3", "dp 16 x mbs 3 = 48 does not divide a batch of 32 sequences");
    assert_refused(&w, "mbs=4", "dp 16 x mbs 4 = 64 does not divide a batch of 32 sequences");
}

static void test_refusals__of_layers_that_do_not_divide(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_refused(&w, "tp=16", "tp 16 does not divide 8 heads");
    assert_refused(&w, "tp=4 cp=4 cp_comm=a2a",
                   "cp 4 (a2a) does not divide the 2 heads per tensor rank");
    w.layer.attention.kv_heads = 1;
    assert_refused(&w, "cp=2 cp_comm=a2a",
                   "cp 2 (a2a) does not divide the 1 key-value heads per tensor rank (rule P1)");
    w.layer.attention.kv_heads = 6;
    assert_refused(&w, "tp=4", "tp 4 and 6 key-value heads: neither divides the other");
    make(&w);
    w.layer.mlp.width = 2050;
    assert_refused(&w, "tp=4", "tp 4 does not divide an MLP width of 2050");
    make(&w);
    w.layer.mixer = PLAIT_MIXER_MLA;
    w.layer.mla.heads = 12;
    assert_refused(&w, "tp=8", "tp 8 does not divide 12 heads");
    make(&w);
    w.layer.mixer = PLAIT_MIXER_DELTA_NET;
    w.layer.delta_net = (plait_delta_net){.key_heads = 6, .value_heads = 12};
    assert_refused(&w, "tp=8", "tp 8 does not divide 12 heads");
    assert_refused(&w, "tp=4", "tp 4 and 6 key-value heads: neither divides the other");
    make(&w);
    w.layer.mixer = PLAIT_MIXER_MAMBA;
    w.layer.mamba.inner = 1002;
    assert_refused(&w, "tp=4", "tp 4 does not divide 1002 Mamba channels");
    w.layer.mamba = (plait_mamba){.inner = 1024, .heads = 16, .groups = 2};
    assert_refused(&w, "tp=4", "tp 4 does not divide 2 groups of Mamba heads");
    w.layer.mamba = (plait_mamba){.inner = 1200, .heads = 6, .groups = 6};
    assert_refused(&w, "tp=4", "tp 4 does not divide 6 heads");
    make(&w);
    w.layer.second_mixer = PLAIT_MIXER_MAMBA;
    w.layer.mamba = (plait_mamba){.inner = 1024, .heads = 16, .groups = 1};
    assert_legal(&w, "tp=1");
    assert_refused(&w, "tp=2", "tp 2 does not divide 1 groups of Mamba heads");
    make(&w);
    w.layer.mixer = PLAIT_MIXER_CONV;
    w.layer.conv = (plait_conv){.width = 1024, .kernel = 4, .blocks = 2};
    assert_legal(&w, "tp=2");
    assert_refused(&w, "tp=4", "tp x cp = 4 does not divide the 2 blocks of a recurrence");
    w.layer.conv.width = 1002;
    assert_refused(&w, "tp=4", "tp 4 does not divide 1002 channels of a convolution");
}

static void test_refusals__of_sequences(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_refused(&w, "sp=1", "sp needs tp > 1");
    w.problem.job.seq = 60;
    assert_refused(&w, "cp=8", "cp 8 does not divide a sequence of 60 tokens");
    make(&w);
    w.layer.mixer = PLAIT_MIXER_MAMBA;
    w.layer.mamba.inner = 1024;
    assert_legal(&w, "cp=2");
    assert_legal(&w, "cp=2 cp_comm=a2a");
}

/* Recurrent layers exchange heads with every cp_comm. Groups are copied for more context ranks. */
static void test_refusals__of_recurrent_heads(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.layer.mixer = PLAIT_MIXER_DELTA_NET;
    w.layer.delta_net = (plait_delta_net){.key_heads = 4, .value_heads = 8};
    assert_legal(&w, "tp=2 cp=2");
    assert_refused(&w, "tp=4 cp=2",
                   "cp 2 does not divide the 1 key-value heads per tensor rank (rule P1)");
    w.layer.delta_net.value_heads = 4;
    assert_refused(&w, "tp=4 cp=4", "cp 4 does not divide the 1 heads per tensor rank");
    make(&w);
    w.layer.mixer = PLAIT_MIXER_MAMBA;
    w.layer.mamba = (plait_mamba){.inner = 3072, .heads = 24, .groups = 4};
    assert_legal(&w, "tp=2 cp=2");
    assert_legal(&w, "tp=2 cp=4");
    assert_refused(&w, "tp=1 cp=16", "cp 16 does not divide the 24 heads per tensor rank");
    w.layer.mamba = (plait_mamba){.inner = 3072, .heads = 48, .groups = 6};
    assert_refused(&w, "tp=2 cp=8",
                   "cp 8 and 3 groups of Mamba heads per tensor rank: neither divides the other");
}

static void test_refusals__of_experts(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_refused(&w, "ep=2", "ep 2, but small has no experts");
    assert_refused(&w, "tp=4 etp=2", "etp 2, but small has no experts");
    make_moe(&w);
    assert_refused(&w, "ep=16", "ep 16 does not divide 8 experts");
    w.layer.moe.width = 510;
    assert_refused(&w, "tp=4 etp=4", "etp 4 does not divide an expert width of 510");
    make_moe(&w);
    w.layer.moe.shared_width = 510;
    assert_refused(&w, "tp=4", "tp 4 does not divide a shared expert width of 510");
    make_moe(&w);
    assert_refused(&w, "pp=4 ep=8", "etp 1 x ep 8 does not divide the 4 GPUs of a stage");
}

/* Also of software without a table of rules, whose `modules:` would recompute nothing. */
static void test_refusals__of_modules_that_the_model_lacks(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_legal(&w, "recompute=modules:mlp+layernorm");
    assert_refused(&w, "recompute=modules:moe_act",
                   "recompute must name only modules that small has, found modules:moe_act "
                   "(rule P70)");
    assert_refused(&w, "recompute=modules:mlp+mla_up_proj",
                   "recompute must name only modules that small has, found "
                   "modules:mla_up_proj+mlp (rule P70)");
    w.layer.attention.q_rank = 64; // DeepSeek-V4: queries are projected up from a latent
    assert_legal(&w, "recompute=modules:mlp+mla_up_proj");
}

/* P61 to P67, each next to a legal plan that differs in one key. */
static void test_refusals__of_graphs_and_fused_experts(void **state)
{
    world w;

    (void)state;
    make_moe(&w);
    w.layer.moe.gated = true;
    w.gpu.peak_flops_per_s[PLAIT_MXFP8] = 2.0;
    w.gpu.missing_kernels = 1u << PLAIT_KERNEL_ANY_WIDTH; // an accelerator with cuDNN
    w.problem.job.precision = PLAIT_MXFP8;
#define FUSED "ep=8 dispatcher=hybridep attention=fused fused_grouped_mlp=1"
    assert_legal(&w, FUSED " cuda_graph=full_iteration recompute=modules:core_attn");
    assert_refused(&w, FUSED " cuda_graph=full_iteration recompute=full",
                   "CUDA graphs do not allow recompute full (rule P61)");
    assert_refused(&w, FUSED " cuda_graph=full_iteration recompute=modules:moe",
                   "CUDA graphs do not allow recompute of moe (rule P61)");
    assert_legal(&w, "ep=8 attention=fused cuda_graph=layers recompute=modules:moe");
    assert_refused(&w, FUSED " offload_acts=moe_act",
                   "fused_grouped_mlp 1 does not allow offload_acts of experts, found moe_act "
                   "(rule P62)");
    assert_legal(&w, "ep=8 attention=fused offload_acts=moe_act");
    assert_legal(&w, "ep=8 attention=fused fp8_attention=1");
    assert_refused(&w, "ep=8 attention=flash2 fp8_attention=1",
                   "fp8_attention 1 needs attention fused, precision fp8 or mxfp8, and an "
                   "accelerator with cuDNN and mxfp8, found flash2 in mxfp8 on chip (rule P63)");
    assert_refused(&w, FUSED " tp=2 etp=2 ep=4",
                   "fused_grouped_mlp 1 needs precision mxfp8, etp 1, and an accelerator with "
                   "cuDNN and mxfp8, found mxfp8 and etp 2 on chip (rule P64)");
    assert_refused(&w, "ep=8 dispatcher=hybridep attention=fused cuda_graph=full_iteration",
                   "cuda_graph full_iteration with experts needs ep > 1, dispatcher hybridep and "
                   "fused_grouped_mlp 1, found ep 8 and hybridep (rule P65)");
    w.layer.moe.gated = false;
    assert_refused(&w, FUSED,
                   "fused_grouped_mlp 1 needs experts with gates or squared ReLU that weigh their "
                   "outputs, and widths that are multiples of 64, found mxfp8 and etp 1 on chip "
                   "(rule P64)");
    w.model.numerics.activation = PLAIT_RELU2;
    assert_legal(&w, FUSED);
    w.layer.moe.gated = true;
    w.gpu.missing_kernels = 0; // as other vendors' accelerators, which run no cuDNN
    assert_refused(&w, "ep=8 attention=fused fp8_attention=1",
                   "fp8_attention 1 needs attention fused, precision fp8 or mxfp8, and an "
                   "accelerator with cuDNN and mxfp8, found fused in mxfp8 on chip (rule P63)");
    assert_refused(&w, FUSED,
                   "fused_grouped_mlp 1 needs precision mxfp8, etp 1, and an accelerator with "
                   "cuDNN and mxfp8, found mxfp8 and etp 1 on chip (rule P64)");
    w.gpu.missing_kernels = 1u << PLAIT_KERNEL_CUDA_GRAPH;
    assert_refused(&w, "ep=8 cuda_graph=layers", "chip has no CUDA graphs");
#undef FUSED
    make(&w);
    assert_refused(&w, "fused_grouped_mlp=1",
                   "fused_grouped_mlp 1 needs a model with experts, found bf16 and etp 1 on chip "
                   "(rule P64)");
    assert_legal(&w, "attention=fused cuda_graph=full_iteration recompute=modules:mlp");
    assert_legal(&w, "attention=fused cuda_graph=layers offload_acts=core_attn");
    assert_refused(&w, "attention=fused cuda_graph=layers offload_acts=attn_norm+mlp_norm",
                   "cuda_graph layers does not allow offload_acts of norms, and no offload_acts "
                   "before full_iteration was added, found attn_norm+mlp_norm (rule P67)");
    w.model.dropout = true;
    assert_refused(&w, "attention=fused cuda_graph=full_iteration recompute=modules:mlp",
                   "CUDA graphs of a model with dropout do not allow recompute of core_attn or "
                   "mlp (rule P66)");
    assert_legal(&w, "attention=fused recompute=modules:mlp");
}

/* Stages between the replicas: the ranks of one stage are neighbours in blocks of tp cp only. */
/* P68, with each condition of the overlap violated once. */
static void test_refusals__of_overlapped_tensor_parallelism(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.cluster.level[0].gpus = 8;
#define REFUSED(found)                                                                             \
    "tp_comm_overlap 1 needs sp, tp ranks inside one node whose accelerators are joined "          \
    "directly, "                                                                                   \
    "and kernels for accelerator and precision, found " found " on chip (rule P68)"
    assert_legal(&w, "tp=4 sp=1 tp_comm_overlap=1");
    assert_legal(&w, "tp=1 tp_comm_overlap=1");
    assert_legal(&w, "tp=4 sp=0 tp_comm_overlap=0");
    assert_refused(&w, "tp=4 sp=0 tp_comm_overlap=1", REFUSED("tp 4, sp 0 and bf16"));
    w.cluster.group[0].gpus_per_node = 2;
    assert_refused(&w, "tp=4 sp=1 tp_comm_overlap=1", REFUSED("tp 4, sp 1 and bf16"));
    w.cluster.group[0].gpus_per_node = 8;
    w.cluster.level[0].gpus = 2;
    assert_refused(&w, "tp=4 sp=1 tp_comm_overlap=1", REFUSED("tp 4, sp 1 and bf16"));
    w.cluster.level[0].gpus = 8;
    w.gpu.scale_up_pcie = true;
    assert_refused(&w, "tp=4 sp=1 tp_comm_overlap=1", REFUSED("tp 4, sp 1 and bf16"));
    w.gpu.scale_up_pcie = false;
    w.gpu.missing_kernels = 1u << PLAIT_KERNEL_MULTICAST;
    assert_refused(&w, "tp=4 sp=1 tp_comm_overlap=1", REFUSED("tp 4, sp 1 and bf16"));
    w.runtime.rules = PLAIT_RULES_TORCHTITAN;
    assert_legal(&w, "tp=4 sp=1 tp_comm_overlap=1 split=even");
    make(&w);
    w.cluster.level[0].gpus = 8;
    w.gpu.peak_flops_per_s[PLAIT_FP8_BLOCK] = 2.0;
    w.problem.job.precision = PLAIT_FP8_BLOCK;
    assert_refused(&w, "tp=4 sp=1 tp_comm_overlap=1", REFUSED("tp 4, sp 1 and fp8_block"));
#undef REFUSED
}

/* P69, with each condition of the gather violated once. */
static void test_refusals__of_gathers_in_the_optimizer_step(void **state)
{
    world w;

    (void)state;
    make(&w);
#define NEEDS                                                                                      \
    "gather_with_step 1 needs ZeRO 1, pp > 1, vpp > 1, grad_sync bucketed and a separate buffer "  \
    "of "                                                                                          \
    "parameters, found "
#define CHUNKS "pp=2 vpp=2 schedule=interleaved split=even gather_with_step=1 "
    assert_legal(&w, CHUNKS "zero=1 grad_sync=bucketed");
    assert_refused(&w, CHUNKS "zero=0 grad_sync=bucketed",
                   NEEDS "ZeRO 0, pp 2, vpp 2, bucketed (rule P69)");
    assert_refused(&w, CHUNKS "zero=1 grad_sync=shifted",
                   NEEDS "ZeRO 1, pp 2, vpp 2, shifted (rule P69)");
    assert_refused(&w, "pp=2 gather_with_step=1 zero=1 grad_sync=bucketed",
                   NEEDS "ZeRO 1, pp 2, vpp 1, bucketed (rule P69)");
    w.gpu.peak_flops_per_s[PLAIT_MXFP8] = 2.0;
    w.problem.job.precision = PLAIT_MXFP8;
    assert_legal(&w, CHUNKS "zero=1 grad_sync=bucketed fp8_params=0");
    assert_refused(&w, CHUNKS "zero=1 grad_sync=bucketed fp8_params=1",
                   NEEDS "ZeRO 1, pp 2, vpp 2, bucketed and mxfp8 parameters (rule P69)");
#undef CHUNKS
#undef NEEDS
}

static void test_refusals__of_experts_that_reach_into_other_stages(void **state)
{
    world w;

    (void)state;
    make_moe(&w);
    assert_refused(&w, "tp=2 pp=2 ep=4 order=tp-cp-pp-dp",
                   "with order tp-cp-pp-dp, etp x ep must divide tp x cp = 2, found 4 (rule P2)");
    assert_legal(&w, "tp=4 pp=2 ep=4 order=tp-cp-pp-dp");
    assert_legal(&w, "tp=4 pp=2 ep=2 order=tp-cp-pp-dp");
    assert_legal(&w, "tp=2 ep=4 order=tp-cp-pp-dp"); // one stage
    /* blocks of 3: ranks 2 and 3 of a stage are not neighbours */
    w.problem.job.seq = 66;
    w.problem.job.gpus = 12;
    assert_refused(&w, "cp=3 pp=2 ep=2 order=tp-cp-pp-dp",
                   "with order tp-cp-pp-dp, etp x ep must divide tp x cp = 3, found 2 (rule P2)");
}

static void test_refusals__of_shards(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_refused(&w, "tp=2 zero=1 shard_group=3", "shard_group 3 does not divide dp x cp = 8");
    assert_refused(&w, "tp=2 zero=1 shard_group=16", "shard_group 16 does not divide dp x cp = 8");
    assert_refused(&w, "tp=2 shard_group=4",
                   "ZeRO 0 shards nothing: shard_group must be dp x cp = 8");
    /* 4 context ranks, then a whole pipeline away 5 times the same: 6 ranks would be 1.5 of them */
    w.problem.job.gpus = 48;
    w.problem.job.gbs = 48;
    assert_refused(&w, "cp=4 pp=2 zero=1 shard_group=6 order=tp-cp-pp-dp",
                   "with order tp-cp-pp-dp, shard_group 6 must be a multiple or a divisor of cp 4, "
                   "and the expert shard group a multiple or a divisor of the expert replicas "
                   "within tp x cp (rule P3)");
    assert_legal(&w, "cp=4 pp=2 zero=1 shard_group=2 order=tp-cp-pp-dp");
    assert_legal(&w, "cp=4 pp=2 zero=1 shard_group=8 order=tp-cp-pp-dp");
    assert_legal(&w, "cp=4 pp=2 zero=1 shard_group=6"); // all replicas are neighbours
}

static void test_refusals__of_schedules(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_refused(&w, "pp=4 schedule=zb-v", "schedule zb-v needs vpp 2, found vpp 1");
    assert_refused(&w, "pp=4 schedule=v-min", "schedule v-min needs vpp 2, found vpp 1");
    assert_refused(&w, "pp=4 vpp=3", "schedule 1f1b needs vpp 1, found vpp 3");
    assert_refused(&w, "pp=4 schedule=interleaved",
                   "schedule interleaved needs vpp > 1, found vpp 1");
    assert_refused(&w, "schedule=gpipe", "schedule gpipe needs pp > 1");
    assert_refused(&w, "vpp=2 schedule=interleaved", "schedule interleaved needs pp > 1");
    /* 32 sequences over 4 replicas of 2: 4 microbatches, where 2 x 4 are needed */
    assert_refused(&w, "pp=4 mbs=2 schedule=dualpipe",
                   "schedule dualpipe needs an even pp and an even number of microbatches, at "
                   "least 2 pp");
    w.problem.job.gpus = 12;
    w.problem.job.gbs = 48;
    assert_refused(&w, "pp=3 schedule=dualpipe",
                   "schedule dualpipe needs an even pp and an even number of microbatches, at "
                   "least 2 pp");
}

static void test_refusals__of_stages(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_refused(&w, "pp=16", "pp 16 x vpp 1 chunks are too many for 12 layers");
    assert_refused(&w, "pp=4 vpp=4 schedule=interleaved",
                   "pp 4 x vpp 4 chunks are too many for 12 layers");
    assert_refused(&w, "pp=8",
                   "12 layers cannot be divided into pp 8 x vpp 1 chunks with split even");
    assert_refused(
        &w, "pp=4 split=first-last:2,3",
        "12 layers cannot be divided into pp 4 x vpp 1 chunks with split first-last:2,3");
    assert_refused(&w, "recompute=full:13", "recompute full:13 exceeds the 12 layers of the model");
}

// ---- refusals by hardware and software -----------------------------------------------------

static void test_refusals__of_number_formats_and_kernels(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.problem.job.precision = PLAIT_NVFP4;
    assert_refused(&w, "", "chip has no nvfp4");
    w.problem.job.precision = PLAIT_FP8;
    assert_legal(&w, "");
    w.runtime.can.precision = 1u << PLAIT_BF16;
    assert_refused(&w, "", "software has no precision fp8");
    make(&w);
    w.gpu.fp16_only = true;
    assert_refused(&w, "", "chip has no bf16; use fp16");
    make(&w);
    w.runtime.can.takes[PLAIT_KEY_ATTENTION] = 1u << PLAIT_ATTENTION_FUSED;
    assert_refused(&w, "attention=flash2", "software has no attention flash2");
}

static void test_refusals__of_degrees_beyond_the_software(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.runtime.can.most[PLAIT_KEY_TP] = 4;
    assert_refused(&w, "tp=8", "software supports tp up to 4");
    make(&w);
    w.runtime.can.most[PLAIT_KEY_PP] = 2;
    assert_refused(&w, "pp=4", "software supports pp up to 2");
    make(&w);
    w.runtime.can.most[PLAIT_KEY_VPP] = 1;
    assert_refused(&w, "pp=2 vpp=2 schedule=interleaved", "software has no vpp");
    make(&w);
    w.runtime.can.most[PLAIT_KEY_CP] = 1;
    assert_refused(&w, "cp=2", "software has no cp");
    make_moe(&w);
    w.runtime.can.most[PLAIT_KEY_EP] = 2;
    assert_refused(&w, "ep=4", "software supports ep up to 2");
}

static void test_refusals__of_words_that_the_software_lacks(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.runtime.can.takes[PLAIT_KEY_SCHEDULE] = 1u << PLAIT_1F1B;
    assert_refused(&w, "pp=2 schedule=gpipe", "software has no schedule gpipe");
    w.runtime.can.takes[PLAIT_KEY_SPLIT] = 1u << PLAIT_SPLIT_EVEN;
    assert_refused(&w, "pp=2 split=spread", "software has no split spread");
    w.runtime.can.takes[PLAIT_KEY_ORDER] = 1u;
    assert_refused(&w, "order=tp-cp-pp-dp", "software has no order tp-cp-pp-dp");
    w.runtime.can.takes[PLAIT_KEY_GRAD_SYNC] = 1u << PLAIT_SYNC_BUCKETED;
    assert_refused(&w, "grad_sync=bulk", "software has no grad_sync bulk");
    w.runtime.can.takes[PLAIT_KEY_CP_COMM] = 1u << PLAIT_CP_P2P;
    assert_refused(&w, "cp=2 cp_comm=a2a", "software has no cp_comm a2a");
    assert_legal(&w, "cp_comm=a2a"); // cp 1 sends nothing
    w.runtime.can.takes[PLAIT_KEY_ZERO] = 3;
    assert_refused(&w, "zero=2", "software has no ZeRO 2");
    w.runtime.can.full_layers = false;
    assert_refused(&w, "recompute=full:3", "software has no recompute full:3");
    assert_legal(&w, "recompute=full");
    w.runtime.can.takes[PLAIT_KEY_RECOMPUTE] = 1u << PLAIT_RECOMPUTE_NONE;
    assert_refused(&w, "recompute=modules:mlp+layernorm",
                   "software has no recompute modules:layernorm+mlp");
}

static void test_refusals__of_switches_that_the_software_fixes(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.runtime.can.takes[PLAIT_KEY_SP] = 2u;
    assert_refused(&w, "tp=2", "software needs sp = 1 with tp > 1");
    assert_legal(&w, "tp=2 sp=1");
    w.runtime.can.takes[PLAIT_KEY_SP] = 1u;
    assert_refused(&w, "tp=2 sp=1", "software needs sp = 0 with tp > 1");
    assert_legal(&w, "tp=2");
    make(&w);
    w.runtime.can.hsdp = false;
    assert_refused(&w, "zero=1 shard_group=4", "software has no shard_group below dp x cp");
    make_moe(&w);
    w.runtime.can.etp = false;
    assert_refused(&w, "tp=4 etp=2", "software has no etp other than 1 and tp");
    assert_legal(&w, "tp=4 etp=4");
}

// ---- rules ---------------------------------------------------------------------------------

static void test_rules__of_megatron(void **state)
{
    world w;

    (void)state;
    make_moe(&w);
    w.runtime.rules = PLAIT_RULES_MEGATRON;
    assert_refused(&w, "tp=2", "experts with tp > 1 need sp = 1 (software, rule M1)");
    assert_legal(&w, "tp=2 sp=1");
    assert_refused(&w, "tp=4 sp=1 pp=2 ep=2 order=tp-cp-pp-dp",
                   "order tp-cp-pp-dp needs tp x cp = etp x ep, or cp = 1 without experts "
                   "(software, rule M3)");
    assert_legal(&w, "tp=4 sp=1 pp=2 ep=4 order=tp-cp-pp-dp");
    /* 16 replicas in 4 instances; 2 replicas of each expert do not divide by 4 */
    assert_refused(&w, "ep=8 zero=1 shard_group=4",
                   "dp x cp / shard_group must divide the number of replicas of an expert "
                   "(software, rule M6)");
    assert_legal(&w, "ep=8 zero=1 shard_group=8");

    make(&w);
    w.runtime.rules = PLAIT_RULES_MEGATRON;
    assert_refused(&w, "pp=2 cp=2 order=tp-cp-pp-dp",
                   "order tp-cp-pp-dp needs tp x cp = etp x ep, or cp = 1 without experts "
                   "(software, rule M3)");
    assert_legal(&w, "tp=2 sp=1 pp=2 order=tp-cp-pp-dp");
    /* 32 sequences over 4 replicas of 4: 2 microbatches in a pipeline of 4 */
    assert_refused(&w, "pp=4 vpp=3 schedule=interleaved mbs=4",
                   "the interleaved schedule needs a number of microbatches that is a multiple of "
                   "pp (software, rule M2)");
    w.problem.job.seq = 68;
    assert_refused(&w, "cp=4",
                   "the sequence length must be a multiple of 2 cp, and with sp = 1 also of "
                   "cp x tp (software, rule M4)");
    assert_refused(&w, "tp=8 sp=1",
                   "the sequence length must be a multiple of 2 cp, and with sp = 1 also of "
                   "cp x tp (software, rule M4)");
    assert_legal(&w, "cp=2");
    w.model.learned_positions = 64;
    assert_refused(
        &w, "",
        "the sequence must not be longer than the table of learned positions (software, rule M5)");
    make(&w);
    w.runtime.rules = PLAIT_RULES_MEGATRON;
    assert_refused(&w, "cp=2 pp=2 order=tp-cp-pp-dp",
                   "order tp-cp-pp-dp needs tp x cp = etp x ep, or cp = 1 without experts "
                   "(software, rule M3)");
    assert_legal(&w, "tp=2 pp=2 order=tp-cp-pp-dp");
    assert_legal(&w, "cp=2 pp=2");
}

/* Attention that no kernel of Transformer Engine computes. */
static void test_rules__of_megatron_about_kernels(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.runtime.rules = PLAIT_RULES_MEGATRON;
    assert_refused(&w, "cp=2 attention=unfused",
                   "cp > 1 needs attention fused, flash2 or flash3 (software, rule M12)");
    assert_legal(&w, "cp=2 attention=flash3");
    w.layer.attention.sinks = true;
    assert_refused(
        &w, "attention=flash3",
        "the model needs sinks, which attention flash3 under software does not support (rule P56)");
    assert_legal(&w, "cp=2 cp_comm=a2a");
    w.layer.mixer = PLAIT_MIXER_MLA;
    w.layer.mla =
        (plait_mla){.heads = 8, .kv_rank = 64, .nope_dim = 64, .rope_dim = 32, .v_dim = 64};
    assert_legal(&w, "cp=2");
    assert_refused(&w, "attention=flash2",
                   "MLA needs attention fused, flash3 or unfused (software, rule M14)");
    w.layer.mla.index_heads = 4;
    assert_refused(&w, "cp=2",
                   "with cp > 1, sparse attention with an indexer needs cp_comm allgather "
                   "(software, rule M11)");
    assert_legal(&w, "cp=2 cp_comm=allgather");
}

static void test_rules__of_torchtitan(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.runtime.rules = PLAIT_RULES_TORCHTITAN;
    assert_refused(&w, "tp=8", "tp must divide the key-value heads (software, rule T1)");
    assert_legal(&w, "tp=4");
    w.model.tied = true;
    assert_refused(&w, "pp=2", "tied embeddings need pp = 1 (software, rule T3)");
    w.problem.job.seq = 66;
    assert_refused(&w, "tp=4 sp=1",
                   "the sequence length must be a multiple of tp (with sp) x 2 cp (with cp > 1) "
                   "(software, rule T4)");
    make_moe(&w);
    w.runtime.rules = PLAIT_RULES_TORCHTITAN;
    assert_refused(&w, "ep=8 zero=3 shard_group=4",
                   "ep must divide shard_group x tp (software, rule T2)");
    assert_legal(&w, "ep=8 zero=3 shard_group=8");
    make(&w);
    w.runtime.rules = PLAIT_RULES_TORCHTITAN;
    assert_refused(&w, "zero=2 shard_group=1",
                   "shard_group must be at least 2 (software, rule T14)");
    assert_legal(&w, "zero=2 shard_group=2");
}

static void test_rules__of_automodel(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.runtime.rules = PLAIT_RULES_AUTOMODEL;
    assert_refused(&w, "zero=2", "ZeRO 2 needs scatter step (software, rule A5)");
    assert_legal(&w, "zero=2 scatter=step");
    assert_refused(&w, "zero=3 shard_group=1",
                   "shard_group must be a multiple of cp, and at least 2 cp if dp is above 1 "
                   "(software, rule A4)");
    assert_refused(&w, "tp=2 cp=8 zero=3 shard_group=2",
                   "shard_group must be a multiple of cp, and at least 2 cp if dp is above 1 "
                   "(software, rule A4)");
    assert_legal(&w, "tp=2 cp=8 zero=3 shard_group=8");
    make_moe(&w);
    w.runtime.rules = PLAIT_RULES_AUTOMODEL;
    assert_refused(&w, "ep=2 tp=2 etp=2 sp=0 zero=3", "experts need etp = 1 (software, rule A2)");
    assert_refused(&w, "ep=2 tp=2 etp=1 sp=1 zero=3",
                   "models with experts need sp = 0 (software, rule A3)");
    assert_legal(&w, "ep=2 tp=2 etp=1 sp=0 zero=3");
}

static void test_rules__of_fsdp_and_deepspeed(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.runtime.rules = PLAIT_RULES_FSDP;
    w.problem.job.seq = 68;
    assert_refused(&w, "cp=4",
                   "the sequence length must be a multiple of 2 cp (software, rule F1)");
    make(&w);
    w.runtime.rules = PLAIT_RULES_DEEPSPEED;
    assert_refused(&w, "pp=2 zero=2", "the pipeline engine needs ZeRO 0 or 1 (software, rule D1)");
    assert_legal(&w, "pp=2 zero=1");
    assert_legal(&w, "zero=3");
}

// ---- whole plans ---------------------------------------------------------------------------

/* A plan and a copy of its parts to change. */
typedef struct changed_plan {
    plait_plan plan;
    plait_stage stage[8];
    plait_chunk chunk[8][4];
    plait_recompute recompute[8][12];
} changed_plan;

static plait_arena *arena;

static void expand(const world *w, const char *keys, changed_plan *out)
{
    const plait_degrees d = point(w, keys);
    plait_error err;

    memset(out, 0, sizeof *out);
    if (plait_plan_expand(&w->problem, &d, arena, &out->plan, &err) != PLAIT_OK)
        fail_msg("%s: %s", keys, err.message);
    for (int s = 0; s < d.pp; s++) {
        const plait_stage *const stage = &out->plan.stage[s];
        memcpy(out->chunk[s], stage->chunk, (size_t)stage->chunks * sizeof *stage->chunk);
        memcpy(out->recompute[s], stage->recompute,
               (size_t)stage->layers * sizeof *stage->recompute);
        out->stage[s] = *stage;
        out->stage[s].chunk = out->chunk[s];
        out->stage[s].recompute = out->recompute[s];
    }
    out->plan.stage = out->stage;
}

static void assert_plan(const world *w, const changed_plan *plan, const char *expected)
{
    char why[256] = "?";

    assert_int_equal(plait_plan_check(&w->problem, &plan->plan, NULL, why, sizeof why),
                     *expected ? PLAIT_INVALID : PLAIT_FITS);
    assert_string_equal(why, expected);
}

static void test_plans__that_expand_from_legal_degrees_are_legal(void **state)
{
    static const char *const plans[] = {
        "tp=2 pp=4", "pp=2 vpp=3 schedule=interleaved", "pp=4 split=spread order=tp-cp-pp-dp",
        "pp=3 split=first-last:3,5 recompute=full:2", "pp=5 split=cost recompute=modules:mlp"};
    changed_plan plan;
    world w;

    (void)state;
    make(&w);
    w.cluster.gpus = 240;
    w.problem.job.gpus = 240;
    w.problem.job.gbs = 240;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        expand(&w, plans[i], &plan);
        assert_plan(&w, &plan, "");
    }
}

/* tp 8, mbs 4, ZeRO 0 in one stage among others at tp 4 once cost what all of them cost. */
static void test_stages__have_the_degrees_of_the_plan(void **state)
{
    changed_plan plan;
    world w;

    (void)state;
    make(&w);
    expand(&w, "tp=4 pp=4 zero=1", &plan);
    plan.stage[2].degrees.tp = 8;
    assert_plan(&w, &plan,
                "stage 2 has tp 8, but the plan has 4: the runtime needs the same degrees in all "
                "stages (rule P6)");
    plan.stage[2].degrees = plan.plan.degrees;
    plan.stage[3].degrees.zero = 0;
    assert_plan(&w, &plan,
                "stage 3 has zero 0, but the plan has 1: the runtime needs the same degrees in all "
                "stages (rule P6)");
    plan.stage[3].degrees = plan.plan.degrees;
    plan.plan.order[2] = PLAIT_AXIS_PP;
    assert_plan(&w, &plan, "axis 2 of the rank order is pp, but order tp-cp-dp-pp has dp");
    plan.plan.order[2] = PLAIT_GROUPS;
    assert_plan(&w, &plan, "axis 2 of the rank order is none, but order tp-cp-dp-pp has dp");
    plan.plan.order[2] = PLAIT_AXIS_DP;
}

/* FlagScale counts whole layers a stage; what a layer recomputes of itself is said for all of them. */
static void test_stages__recompute_alike_what_is_said_once(void **state)
{
    changed_plan plan;
    world w;

    (void)state;
    make(&w);
    w.runtime.can.recompute_alike = 1u << PLAIT_RECOMPUTE_SELECTIVE;
    expand(&w, "pp=4 recompute=selective", &plan);
    assert_plan(&w, &plan, "");
    plan.recompute[1][0].kind = PLAIT_RECOMPUTE_FULL;
    assert_plan(&w, &plan,
                "layer 0 of stage 0 has recompute selective and another layer full: software "
                "allows the first of these in all layers or in none (rule P40)");
    expand(&w, "pp=4 recompute=full", &plan);
    plan.recompute[1][0].kind = PLAIT_RECOMPUTE_NONE;
    assert_plan(&w, &plan, "");
}

/* Three layers a stage: full in one of them, in the first, or in others. */
static void test_stages__recompute_as_the_software_can(void **state)
{
    const plait_recompute full = {.kind = PLAIT_RECOMPUTE_FULL};
    const plait_recompute mlp = {PLAIT_RECOMPUTE_MODULES, 1 << PLAIT_MODULE_mlp, 0};
    const plait_recompute norms = {PLAIT_RECOMPUTE_MODULES, 1 << PLAIT_MODULE_layernorm, 0};
    changed_plan plan;
    world w;

    (void)state;
    make(&w);
    expand(&w, "pp=4", &plan);
    plan.recompute[1][0] = full;
    assert_plan(&w, &plan, "");
    w.runtime.can.recompute_by = PLAIT_BY_STAGE;
    assert_plan(&w, &plan, ""); // full:1 of stage 1
    w.runtime.can.full_layers = false;
    assert_plan(&w, &plan,
                "layer 1 of stage 1 has recompute none, but its stage has full: software has one "
                "choice per stage (rule P36)");
    w.runtime.can.full_layers = true;
    plan.recompute[1][2] = full; // not the first ones
    assert_plan(&w, &plan,
                "layer 2 of stage 1 has recompute full, but its stage has none: software has one "
                "choice per stage (rule P36)");
    plan.recompute[1][0] = plan.recompute[1][1] = plan.recompute[1][2] = mlp;
    assert_plan(&w, &plan, "");
    plan.recompute[1][1] = norms;
    assert_plan(&w, &plan,
                "layer 1 of stage 1 has recompute modules:layernorm, but its stage has "
                "modules:mlp: software has one choice per stage (rule P36)");
    w.runtime.can.recompute_by = PLAIT_BY_LAYER;
    assert_plan(&w, &plan, "");
    w.runtime.can.recompute_by = PLAIT_BY_PLAN;
    assert_plan(&w, &plan,
                "layer 0 of stage 1 has recompute modules:mlp, but its plan has none: software has "
                "one choice per plan (rule P35)");
}

/* 16 GPUs on 2 stages: tp 2 leaves dp 4, so that 8 sequences pass a stage at mbs 2. */
static void test_layers__are_cut_as_the_software_can(void **state)
{
    plait_cut cut[6];
    changed_plan plan;
    world w;

    (void)state;
    make(&w);
    expand(&w, "tp=2 sp=1 pp=2 mbs=2 zero=2", &plan);
    for (int i = 0; i < 6; i++)
        cut[i] = (plait_cut){.tp = 2, .zero = 2};
    plan.stage[1].cut = cut;
    assert_plan(&w, &plan, "");
    cut[3].tp = 4;
    assert_plan(&w, &plan,
                "layer 3 of stage 1 has tp 4, but the plan has 2: software needs the same in all "
                "layers (rule P44)");
    w.runtime.can.tp_by = PLAIT_BY_LAYER;
    assert_plan(&w, &plan, "");
    cut[4].zero = 3;
    assert_plan(&w, &plan,
                "layer 4 of stage 1 has ZeRO 3, but the plan has 2: software needs the same in all "
                "layers (rule P44)");
    w.runtime.can.zero_by = PLAIT_BY_LAYER;
    assert_plan(&w, &plan, "");
    cut[4].zero = 1;
    assert_plan(&w, &plan,
                "layer 4 of stage 1 has ZeRO 1: expected 2 as in the plan, or 3 (rule P47)");
    cut[4].zero = 3;
    cut[3].tp = 1; // 8 sequences to 8 GPUs
    assert_plan(&w, &plan, "");
    cut[3].tp = 16;
    assert_plan(&w, &plan,
                "layer 3 of stage 1 has tp 16, which cannot divide 8 sequences per microbatch "
                "evenly among 8 GPUs (rule P45)");
    w.runtime.can.most[PLAIT_KEY_TP] = 2;
    cut[3].tp = 8;
    assert_plan(&w, &plan, "layer 3 of stage 1: software supports tp up to 2");
}

static void test_layers_cut_otherwise__have_a_price_beside_plain_keys(void **state)
{
    static const struct {
        const char *keys, *why;
    } rows[] = {
        {"tp=2 sp=1 pp=2 mbs=2 vpp=3 schedule=interleaved",
         "vpp 3 cannot be priced with layers that have their own tp or ZeRO stage (rule P46)"},
        {"tp=2 sp=1 pp=2 mbs=2 schedule=zb-h1", "schedule zb-h1 cannot be priced with layers that "
                                                "have their own tp or ZeRO stage (rule P46)"},
        {"tp=2 sp=0 pp=2 mbs=2",
         "sp 0 cannot be priced with layers that have their own tp or ZeRO stage (rule P46)"}};
    const plait_cut cut[6] = {{4, 0}, {4, 0}, {4, 0}, {4, 0}, {4, 0}, {4, 0}};
    changed_plan plan;
    world w;

    (void)state;
    make(&w);
    w.runtime.can.tp_by = PLAIT_BY_LAYER;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expand(&w, rows[i].keys, &plan);
        plan.stage[0].cut = cut;
        assert_plan(&w, &plan, rows[i].why);
    }
}

static void test_stages__choose_what_a_plan_may(void **state)
{
    changed_plan plan;
    world w;

    (void)state;
    make(&w);
    expand(&w, "pp=4", &plan);
    plan.recompute[2][1].kind = PLAIT_RECOMPUTE_SAC;
    w.runtime.can.takes[PLAIT_KEY_RECOMPUTE] = 1u << PLAIT_RECOMPUTE_NONE;
    assert_plan(&w, &plan, "software has no recompute sac");
}

static void test_stages__offload_as_the_software_can(void **state)
{
    changed_plan plan;
    world w;

    (void)state;
    make(&w);
    expand(&w, "pp=4 zero=1", &plan);
    plan.stage[0].degrees.offload_acts = 1;
    plan.stage[3].degrees.offload = PLAIT_OFFLOAD_OPTIMIZER;
    plan.stage[3].degrees.offload_share = 5;
    assert_plan(&w, &plan, "");
    plan.recompute[0][0].kind = PLAIT_RECOMPUTE_FULL; // which has nothing to offload
    assert_plan(&w, &plan, "");
    plan.stage[0].degrees.offload_acts = 5;
    assert_plan(&w, &plan,
                "offload_acts moe_act with recompute none: the model or the runtime has no "
                "separate modules of these names (rule P27)");
    w.runtime.can.offload_by = PLAIT_BY_PLAN;
    assert_plan(&w, &plan,
                "stage 0 has offload_acts moe_act, but the plan has none: the runtime needs the "
                "same value in all stages (rule P37)");
}

static void test_parameters__wait_on_the_host_of_all_stages_or_none(void **state)
{
    changed_plan plan;
    world w;

    (void)state;
    make(&w);
    expand(&w, "pp=4 zero=3 offload=params", &plan);
    assert_plan(&w, &plan, "");
    plan.stage[1].degrees.offload = PLAIT_OFFLOAD_NONE;
    assert_plan(&w, &plan,
                "stage 1 has offload none, but the plan has params: offload params must be in all "
                "stages or in none (rule P54)");
}

/* Under DualPipe the ranks of a stage hold the mirrored one too. */
static void test_stages__mirrored_offload_alike(void **state)
{
    changed_plan plan;
    world w;

    (void)state;
    make(&w);
    expand(&w, "pp=4 schedule=dualpipe", &plan);
    plan.stage[0].degrees.offload_acts = 1;
    assert_plan(&w, &plan,
                "stages 0 and 3 are on the same ranks but offload differently (rule P38)");
    plan.stage[3].degrees.offload_acts = 1;
    assert_plan(&w, &plan, "");
}

static void test_stages__hold_each_layer_once(void **state)
{
    changed_plan plan;
    world w;

    (void)state;
    make(&w);
    expand(&w, "pp=4", &plan);
    plan.chunk[0][0].last = 4;
    assert_plan(&w, &plan, "stage 0 has 3 layers, but its chunks have 4");
    plan.stage[0].layers = 4;
    assert_plan(&w, &plan, "the stages have 13 layers, but small has 12");
    plan.chunk[1][0].first = 4;
    plan.stage[1].layers = 2;
    assert_plan(&w, &plan,
                "chunk 0 has layers 0 to 4, but split even assigns 0 to 3: omit `split` to choose "
                "the stages yourself");
    plan.plan.degrees.split =
        (plait_split){.kind = PLAIT_SPLIT_LAYOUT, .layout = "Et*4|tt|ttt|tttL"};
    for (int s = 0; s < 4; s++)
        plan.stage[s].degrees.split = plan.plan.degrees.split;
    assert_plan(&w, &plan, "");
    plan.chunk[1][0].first = 5; // layer 4 is nobody's, layer 6 twice
    plan.chunk[1][0].last = 7;
    assert_plan(&w, &plan,
                "chunk 1 has layers 5 to 7, but split layout:Et*4|tt|ttt|tttL assigns 4 to 6: omit "
                "`split` to choose the stages yourself");
    plan.chunk[1][0] = (plait_chunk){.first = 4, .last = 6, .mtp = 1};
    assert_int_equal(plait_plan_check(&w.problem, &plan.plan, NULL, NULL, 0), PLAIT_INVALID);
    plan.chunk[1][0].mtp = 0;
    plan.stage[1].chunks = 2;
    assert_plan(&w, &plan, "stage 1 has 2 chunks, but vpp is 1");
    plan.plan.stages = 3;
    assert_plan(&w, &plan, "the plan has 3 stages, but pp is 4");
}

/* An empty stage, and one that holds only the loss, are stages too. */
static void test_layouts__may_leave_chunks_empty(void **state)
{
    plait_plan plan;
    plait_error err;
    world w;

    (void)state;
    make(&w);
    const plait_degrees d = point(&w, "pp=4 split=layout:Et*7||t*5|L");
    assert_int_equal(plait_degrees_check(&w.problem, &d, NULL, 0), PLAIT_FITS);
    assert_int_equal(plait_plan_expand(&w.problem, &d, arena, &plan, &err), PLAIT_OK);
    assert_int_equal(plait_plan_check(&w.problem, &plan, NULL, NULL, 0), PLAIT_FITS);
    assert_int_equal(plan.stage[1].layers, 0);
    assert_true(plan.stage[3].chunk[0].loss);
    w.runtime.can.takes[PLAIT_KEY_SPLIT] &= ~(1u << PLAIT_SPLIT_LAYOUT);
    assert_int_equal(plait_plan_check(&w.problem, &plan, NULL, NULL, 0), PLAIT_INVALID);
}

static void test_layouts__deal_the_model_to_all_chunks(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_refused(&w, "pp=4 split=layout:Et*6|t*5|L",
                   "the layout has 3 chunks, but pp 4 x vpp 1 = 4");
    assert_refused(&w, "pp=2 split=layout:Et*6|t*5L",
                   "the layout has 11 layers, but small has 12 (rule P29)");
    assert_refused(&w, "pp=2 split=layout:Et*6|t*6mL",
                   "the layout has 1 multi-token prediction modules, but small has 0 (rule P29)");
}

/* Megatron-LM builds the ends in the first and the last chunk, and modules in a rank's last chunk. */
static void test_layouts__of_megatron_have_their_ends_outside(void **state)
{
    static const char ends[] = "a layout must have the embedding in its first chunk and the loss "
                               "in its last (software, rule M22)";
    static const char modules[] = "a layout must have all multi-token prediction modules in one of "
                                  "its last pp chunks (software, rule M23)";
    world w;

    (void)state;
    make(&w);
    w.runtime.rules = PLAIT_RULES_MEGATRON;
    assert_legal(&w, "pp=4 split=layout:E|t*6|t*6|L");
    assert_refused(&w, "pp=4 split=layout:|Et*6|t*6|L", ends);
    assert_refused(&w, "pp=4 split=layout:Et*6||t*6L|", ends);
    w.model.mtp_layers = 2;
    assert_legal(&w, "pp=2 vpp=2 schedule=interleaved split=layout:Et*4|t*8|mm|L");
    assert_legal(&w, "pp=2 vpp=2 schedule=interleaved split=layout:Et*4|t*4|t*4|mmL");
    assert_refused(&w, "pp=2 vpp=2 schedule=interleaved split=layout:Et*4|t*8mm||L", modules);
    assert_refused(&w, "pp=2 vpp=2 schedule=interleaved split=layout:Et*4|t*8|m|mL", modules);
}

static void test_layouts__of_others_leave_no_chunk_empty(void **state)
{
    static const char titan[] =
        "each chunk needs a layer, the embedding or the loss, with the embedding in the first "
        "chunk and the loss in the last (software, rule T13)";
    static const char galvatron[] = "each stage needs a layer, with the embedding in the first "
                                    "stage and the loss in the last (software, rule G4)";
    world w;

    (void)state;
    make(&w);
    w.runtime.rules = PLAIT_RULES_TORCHTITAN;
    assert_legal(&w, "pp=4 split=layout:E|t*6|t*6|L");
    assert_refused(&w, "pp=4 split=layout:Et*6||t*6|L", titan);
    assert_refused(&w, "pp=4 split=layout:|Et*6|t*6|L", titan);
    w.runtime.rules = PLAIT_RULES_GALVATRON;
    assert_legal(&w, "pp=4 zero=0 split=layout:Et|t*5|t*5|tL");
    assert_refused(&w, "pp=4 zero=0 split=layout:E|t*6|t*5|tL", galvatron);
}

/* Two dense layers ahead of ten with experts, of 64 tokens a window. */
static void test_rules__of_mindspeed(void **state)
{
    unsigned char of[12] = {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    plait_layer kind[2];
    world w;

    (void)state;
    make_moe(&w);
    kind[0] = kind[1] = w.layer;
    kind[0].ffn = PLAIT_FFN_MLP;
    w.model.kind = kind;
    w.model.kinds = 2;
    w.model.layer_kind = of;
    w.runtime.rules = PLAIT_RULES_MINDSPEED;
    assert_legal(&w, "pp=4");
    of[2] = 0;
    assert_refused(&w, "pp=4",
                   "the dense layers before the first expert layer must be fewer than the layers "
                   "of a stage (software, rule MS2)");
    assert_legal(&w, "pp=2");
    kind[1].attention.window = w.problem.job.seq / 2;
    assert_refused(&w, "cp=2 cp_comm=a2a",
                   "attention windows shorter than the sequence need cp = 1 (software, rule MS1)");
    kind[1].attention.window = w.problem.job.seq;
    assert_legal(&w, "cp=2 cp_comm=a2a");
}

// ---- clusters without a price --------------------------------------------------------------

static void test_clusters__of_two_sorts_are_refused_where_a_job_reaches_both(void **state)
{
    plait_accelerator other;
    world w;

    (void)state;
    make(&w);
    other = w.gpu;
    other.name = "small chip";
    other.memory_bytes += 1.0;
    w.cluster.groups = 2;
    w.cluster.group[0].nodes = 2;
    w.cluster.group[1] = (plait_node_group){.accelerator = &other, .gpus_per_node = 8, .nodes = 2};
    assert_legal(&w, "tp=2 pp=4"); // the 16 of the first group
    w.problem.job.gpus = 32;
    assert_refused(
        &w, "tp=2 pp=4",
        "32 GPUs of cluster span two kinds of nodes, 8 x chip and 8 x small chip with different "
        "constants: only the runtimes flagscale and companion support this (rule P4)");
    w.cluster.group[1].accelerator = &w.gpu;
    assert_legal(&w, "tp=2 pp=4");
    w.cluster.group[1].gpus_per_node = 4;
    assert_refused(&w, "tp=2 pp=4",
                   "32 GPUs of cluster span two kinds of nodes, 8 x chip and 4 x chip: only the "
                   "runtimes flagscale and companion support this (rule P4)");
    w.runtime.can.stages_differ = true;
    assert_refused(&w, "tp=2 pp=4",
                   "32 GPUs of cluster span two kinds of nodes, whose stages need separate "
                   "degrees: use a plan that plait search wrote");
}

/* Each file of a cluster brings its own copy, under a name that two may share. */
static void test_clusters__of_two_sorts_are_told_by_constants_not_by_names(void **state)
{
    static const size_t numbers[] = {
        offsetof(plait_accelerator, peak_flops_per_s[PLAIT_NVFP4]),
        offsetof(plait_accelerator, vector_flops_per_s),
        offsetof(plait_accelerator, memory_bytes),
        offsetof(plait_accelerator, hbm_bytes_per_s),
        offsetof(plait_accelerator, wgrad_ratio),
        offsetof(plait_accelerator, gemm[PLAIT_BF16].emax),
        offsetof(plait_accelerator, gemm[PLAIT_NVFP4].cq),
        offsetof(plait_accelerator, attention[PLAIT_ATTENTION_FUSED].e[0]),
        offsetof(plait_accelerator, attention[PLAIT_ATTENTION_FUSED].backward_ratio),
        offsetof(plait_accelerator, grouped[PLAIT_NVFP4].permute_passes),
        offsetof(plait_accelerator, memory_op_t0_s),
        offsetof(plait_accelerator, collective[PLAIT_ALL_TO_ALL].nvls_bytes_per_s),
        offsetof(plait_accelerator, p2p.latency_s),
        offsetof(plait_accelerator, p2p.bytes_per_s),
        offsetof(plait_accelerator, scale_up_bytes_per_s),
        offsetof(plait_accelerator, nic_bytes_per_s),
        offsetof(plait_accelerator, host_bytes_per_s),
        offsetof(plait_accelerator, host_adam_s),
    };
    plait_accelerator first, other;
    world w;

    (void)state;
    make(&w);
    first = w.gpu;
    other = w.gpu;
    w.cluster.groups = 2;
    w.cluster.group[0] = (plait_node_group){.accelerator = &first, .gpus_per_node = 8, .nodes = 2};
    w.cluster.group[1] = (plait_node_group){.accelerator = &other, .gpus_per_node = 8, .nodes = 2};
    w.problem.job.gpus = 32;
    other.name = "chip by another name";
    memset((char *)&other.gemm[0].measured + 1, 0x5a, offsetof(plait_gemm_fit, emax) - 1);
    assert_legal(&w, "tp=2 pp=4");
    other.name = first.name;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double *const number = (double *)(void *)((char *)&other + numbers[i]);
        const double before = *number;

        *number += 1.0;
        assert_refused(
            &w, "tp=2 pp=4",
            "32 GPUs of cluster span two kinds of nodes, 8 x chip and 8 x chip with different "
            "constants: only the runtimes flagscale and companion support this (rule P4)");
        *number = before;
    }
    other.sms++;
    assert_false(plait_cluster_priced(&w.cluster, 32, NULL, 0));
    other = first;
    other.missing_kernels ^= 1u;
    assert_false(plait_cluster_priced(&w.cluster, 32, NULL, 0));
    other = first;
    other.torus[2]++;
    assert_false(plait_cluster_priced(&w.cluster, 32, NULL, 0));
}

/* Sides of 2 and 8: x first and y first differ, z is no side; sides of 4 and 4 know one placement. */
static void test_placement__says_something_where_sides_differ(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_refused(
        &w, "tp=2 pp=4 placement=yxz",
        "placement yxz is redundant on cluster: it places every rank as an earlier value "
        "does (rule P15)");
    w.cluster.levels = 1;
    w.cluster.level[0] = (plait_level){.name = "grid",
                                       .kind = PLAIT_LEVEL_TORUS,
                                       .gpus = 16,
                                       .link = {.bytes_per_s = 1.0},
                                       .efficiency = 1.0,
                                       .oversubscription = 1.0,
                                       .side = {2, 8, 1, 1, 1, 1},
                                       .wrap = {true, true},
                                       .ports = 3};
    assert_legal(&w, "tp=2 pp=4 placement=yxz");
    assert_refused(
        &w, "tp=2 pp=4 placement=xzy",
        "placement xzy is redundant on cluster: it places every rank as an earlier value "
        "does (rule P15)");
    w.cluster.level[0].side[0] = w.cluster.level[0].side[1] = 4;
    assert_refused(
        &w, "tp=2 pp=4 placement=yxz",
        "placement yxz is redundant on cluster: it places every rank as an earlier value "
        "does (rule P15)");
}

static int make_arena(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena ? 0 : -1;
}

static int free_arena(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_that_divide__are_legal),
        cmocka_unit_test(test_refusals__of_worlds_and_batches),
        cmocka_unit_test(test_refusals__of_layers_that_do_not_divide),
        cmocka_unit_test(test_refusals__of_sequences),
        cmocka_unit_test(test_refusals__of_recurrent_heads),
        cmocka_unit_test(test_refusals__of_experts),
        cmocka_unit_test(test_refusals__of_modules_that_the_model_lacks),
        cmocka_unit_test(test_refusals__of_graphs_and_fused_experts),
        cmocka_unit_test(test_refusals__of_overlapped_tensor_parallelism),
        cmocka_unit_test(test_refusals__of_gathers_in_the_optimizer_step),
        cmocka_unit_test(test_refusals__of_experts_that_reach_into_other_stages),
        cmocka_unit_test(test_refusals__of_shards),
        cmocka_unit_test(test_refusals__of_schedules),
        cmocka_unit_test(test_refusals__of_stages),
        cmocka_unit_test(test_refusals__of_number_formats_and_kernels),
        cmocka_unit_test(test_refusals__of_degrees_beyond_the_software),
        cmocka_unit_test(test_refusals__of_words_that_the_software_lacks),
        cmocka_unit_test(test_refusals__of_switches_that_the_software_fixes),
        cmocka_unit_test(test_plans__that_expand_from_legal_degrees_are_legal),
        cmocka_unit_test(test_stages__have_the_degrees_of_the_plan),
        cmocka_unit_test(test_stages__recompute_as_the_software_can),
        cmocka_unit_test(test_layers__are_cut_as_the_software_can),
        cmocka_unit_test(test_layers_cut_otherwise__have_a_price_beside_plain_keys),
        cmocka_unit_test(test_stages__recompute_alike_what_is_said_once),
        cmocka_unit_test(test_stages__choose_what_a_plan_may),
        cmocka_unit_test(test_stages__offload_as_the_software_can),
        cmocka_unit_test(test_parameters__wait_on_the_host_of_all_stages_or_none),
        cmocka_unit_test(test_stages__mirrored_offload_alike),
        cmocka_unit_test(test_stages__hold_each_layer_once),
        cmocka_unit_test(test_layouts__may_leave_chunks_empty),
        cmocka_unit_test(test_layouts__deal_the_model_to_all_chunks),
        cmocka_unit_test(test_layouts__of_megatron_have_their_ends_outside),
        cmocka_unit_test(test_rules__of_mindspeed),
        cmocka_unit_test(test_layouts__of_others_leave_no_chunk_empty),
        cmocka_unit_test(test_clusters__of_two_sorts_are_refused_where_a_job_reaches_both),
        cmocka_unit_test(test_clusters__of_two_sorts_are_told_by_constants_not_by_names),
        cmocka_unit_test(test_placement__says_something_where_sides_differ),
        cmocka_unit_test(test_rules__of_megatron),
        cmocka_unit_test(test_rules__of_megatron_about_kernels),
        cmocka_unit_test(test_rules__of_torchtitan),
        cmocka_unit_test(test_rules__of_automodel),
        cmocka_unit_test(test_rules__of_fsdp_and_deepspeed),
    };

    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
