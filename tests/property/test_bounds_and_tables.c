/*
 * test_bounds_and_tables.c - what a search prices is what a plan costs, and no bound lies above it
 *
 * Random legal points of several models, clusters and runtimes. Each is priced three ways: as a
 * full plan, by a table that remembers the rows of the point before it, and by the bounds that a
 * search skips whole groups on. The same points then see better hardware and finer shards, which
 * must not make them worse.
 */
#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "support/everything.h"
#include "support/few_draws.h"
#include "support/must.h"
#include "plait/data.h"
#include "plait/search.h"
#include "costmodel/stage/stage_cost.h"
#include "support/world.h"
#include "plait/lowlevel/fuse.h"

// ---- random numbers (splitmix64) -----------------------------------------------------------

static uint64_t random_state;

static uint64_t random_bits(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 .. below - 1 */
static int random_below(int below)
{
    return (int)(random_bits() % (uint64_t)below);
}

static bool once_in(int times)
{
    return random_below(times) == 0;
}

/* A divisor of `of` that is at most `most`. */
static int random_divisor(int of, int most)
{
    int divisor[64];
    int count = 0;

    for (int i = 1; i <= of && i <= most && count < 64; i++)
        if (of % i == 0)
            divisor[count++] = i;
    return divisor[random_below(count)];
}

static unsigned char random_bit(unsigned mask)
{
    int bit[32];
    int count = 0;

    for (int i = 0; i < 32; i++)
        if (mask >> i & 1u)
            bit[count++] = i;
    return (unsigned char)(count > 0 ? bit[random_below(count)] : 0);
}

// ---- questions -----------------------------------------------------------------------------

static plait_arena *arena;
static plait_arena *prices; /* of one point */

/* Dense and expert layers, full and windowed, a recurrent one, and a prediction module. */
static const char mixture[] =
    "{\"name\": \"mixture\", \"source\": \"made up\", \"hidden\": 1024, \"vocab\": 32000,"
    " \"norm\": \"rms\", \"tied\": true, \"kinds\": {"
    "  \"dense\": {\"attention\": {\"heads\": 16, \"kv_heads\": 4, \"window\": 512},"
    "              \"mlp\": {\"width\": 4096, \"gated\": true}},"
    "  \"moe\": {\"attention\": {\"heads\": 16, \"kv_heads\": 4},"
    "            \"moe\": {\"experts\": 16, \"topk\": 2, \"width\": 1024, \"shared_width\": 1024,"
    "                      \"gated\": true}},"
    "  \"mamba\": {\"norms\": 1,"
    "              \"mamba\": {\"inner\": 2048, \"state\": 16, \"conv\": 4, \"dt_rank\": 64}}},"
    " \"layers\": [{\"kind\": \"dense\", \"count\": 1},"
    "              {\"pattern\": [\"moe\", \"mamba\", \"dense\", \"moe\"], \"count\": 4},"
    "              {\"kind\": \"moe\", \"count\": 1}]}";

/* Experts apart from attention, so that stages may begin with them. */
static const char apart[] =
    "{\"name\": \"apart\", \"source\": \"made up\", \"hidden\": 1024, \"vocab\": 32000,"
    " \"norm\": \"rms\", \"kinds\": {"
    "  \"attention\": {\"norms\": 1, \"attention\": {\"heads\": 16, \"kv_heads\": 16}},"
    "  \"experts\": {\"norms\": 1, \"moe\": {\"experts\": 16, \"topk\": 1, \"width\": 4096}}},"
    " \"layers\": [{\"pattern\": [\"experts\", \"attention\"], \"count\": 12}]}";

/* Compressed attention, latent and empty experts, and four residual streams. */
static const char streams[] =
    "{\"name\": \"streams\", \"source\": \"made up\", \"hidden\": 1024, \"vocab\": 32000,"
    " \"norm\": \"rms\", \"residual\": {\"streams\": 4}, \"kinds\": {"
    "  \"window\": {\"attention\": {\"heads\": 16, \"kv_heads\": 1, \"head_dim\": 128,"
    "   \"shared_kv\": true, \"q_rank\": 256, \"out_groups\": 4, \"out_rank\": 128, \"window\": "
    "128},"
    "   \"moe\": {\"experts\": 16, \"topk\": 3, \"width\": 512, \"shared_width\": 512,"
    "    \"zero_experts\": 8}},"
    "  \"sparse\": {\"like\": \"window\", \"attention\": {\"heads\": 16, \"kv_heads\": 1,"
    "   \"head_dim\": 128, \"shared_kv\": true, \"q_rank\": 256, \"window\": 128, \"compress\": 4,"
    "   \"index_heads\": 8, \"index_dim\": 64, \"index_topk\": 128}},"
    "  \"heavy\": {\"attention\": {\"heads\": 16, \"kv_heads\": 1, \"head_dim\": 128,"
    "   \"shared_kv\": true, \"q_rank\": 256, \"window\": 128, \"compress\": 128},"
    "   \"mlp\": {\"width\": 4096, \"gated\": true}}},"
    " \"layers\": [{\"pattern\": [\"window\", \"sparse\", \"heavy\"], \"count\": 4}],"
    " \"mtp\": {\"kind\": \"window\"}}";

/* Attention residuals, gated latent attention, latent experts with a norm, and further branches. */
static const char blocks[] =
    "{\"name\": \"blocks\", \"source\": \"made up\", \"hidden\": 1024, \"vocab\": 32000,"
    " \"norm\": \"rms\", \"residual\": {\"block\": 3}, \"embedding\": {\"per_layer_vocab\": 1000},"
    " \"kinds\": {"
    "  \"latent\": {\"mla\": {\"heads\": 16, \"q_rank\": 256, \"kv_rank\": 128, \"nope_dim\": 64,"
    "   \"rope_dim\": 32, \"v_dim\": 64, \"gate\": true}, \"per_layer_dim\": 64,"
    "   \"moe\": {\"experts\": 16, \"topk\": 4, \"width\": 512, \"shared_width\": 512,"
    "    \"latent\": 256, \"latent_norm\": true}},"
    "  \"dense\": {\"attention\": {\"heads\": 16, \"kv_heads\": 16}, \"laurel_rank\": 32,"
    "   \"per_layer_dim\": 64, \"mlp\": {\"width\": 4096, \"gated\": true}}},"
    " \"layers\": [{\"pattern\": [\"latent\", \"dense\"], \"count\": 8}]}";

static const struct {
    const char *name, *text;
} made_up[] = {{"mixture", mixture}, {"apart", apart}, {"streams", streams}, {"blocks", blocks}};

/* The text of a made-up model; NULL: a shipped model. */
static const char *text_of(const char *name)
{
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
        if (strcmp(made_up[i].name, name) == 0)
            return made_up[i].text;
    return NULL;
}

typedef struct question {
    const char *model, *cluster, *runtime;
    int gpus, seq, gbs;
} question;

static const question questions[] = {
    {"gpt-7.5b", "dgx-a100", "megatron", 64, 2048, 64},
    {"gpt-7.5b", "h100-80gb-sxm:16x8", "everything", 128, 2048, 128},
    {"gpt-1.7b", "dgx-2-v100", "megatron-2021", 64, 1024, 64},
    {"gpt2-xl", "h100-80gb-sxm:1x8", "deepspeed", 8, 1024, 64},
    {"llama-3.1-8b", "dgx-h100", "megatron", 128, 8192, 64},
    {"llama-3.1-8b", "dgx-h100", "torchtitan", 64, 8192, 64},
    {"llama-3.1-8b", "tpu-v5p", "xla", 64, 8192, 64},
    {"llama-3.1-8b", "mi300x", "everything", 96, 4096, 96},
    {"llama-3.1-8b", "tpu-v5p", "maxtext", 128, 8192, 64},
    {"mixtral-8x7b", "tests/data/clusters/torus-of-nodes.json", "everything", 128, 4096, 128},
    {"llama-3.1-70b", "gb200-nvl72", "nanotron", 144, 4096, 72},
    {"gemma-2-2b", "dgx-h200", "everything", 32, 4096, 48},
    {"mixtral-8x7b", "dgx-h100", "megatron", 64, 4096, 128},
    {"mixtral-8x7b", "dgx-h100", "everything", 64, 4096, 128},
    {"mixtral-8x7b", "h100-80gb-sxm:8x8", "torchtitan", 64, 4096, 64},
    {"deepseek-v3", "h800", "deepseek", 512, 4096, 1024},
    {"deepseek-v3", "h800", "everything", 256, 4096, 512},
    {"mixture", "dgx-h100", "everything", 48, 2048, 96},
    {"mixture", "a100-80gb-sxm:6x8", "megatron", 48, 2048, 96},
    {"apart", "mi300x", "everything", 32, 2048, 64},
    {"apart", "tpu-v5p", "everything", 64, 2048, 64},
    {"gpt-1.7b", "tpu-v5p", "everything", 64, 512, 64},
    {"streams", "dgx-h100", "everything", 48, 2048, 96},
    {"streams", "gb200-nvl72", "everything", 72, 2048, 72},
    {"blocks", "dgx-h100", "everything", 64, 2048, 64},
    {"tests/data/multimodal_configs/qwen3-vl-8b.json", "dgx-h100", "everything", 64, 8192, 64},
    {"tests/data/multimodal_configs/qwen3-vl-30b-a3b.json", "dgx-h100", "megatron", 64, 8192, 64},
};

enum { QUESTIONS = sizeof questions / sizeof *questions };

/* A question with its own copies of all that a test changes. */
/* All that the model can price, in one runtime without rules. */
static void allow_everything(plait_runtime *r)
{
    everything_allow(r);
    r->can.takes[PLAIT_KEY_RECOMPUTE] = 31;
    r->can.takes[PLAIT_KEY_ORDER] = 3;
    r->can.takes[PLAIT_KEY_FUSION] = 3;
    r->can.etp = true;
    r->can.hsdp = true;
    r->overlap.grad_reduce = false;
}

static double random_share(void)
{
    return random_below(101) / 100.0;
}

/*
 * Any profile that could be loaded, not only those that are shipped: what hides behind what, how it
 * is bucketed, launched and kept. Half of all questions are asked of one.
 */
static void change_profile(plait_runtime *r)
{
    bool *const flags[] = {
        &r->overlap.grad_reduce,        &r->overlap.ddp,
        &r->overlap.param_gather,       &r->overlap.p2p,
        &r->overlap.p2p_scatter,        &r->overlap.moe_dedup,
        &r->kernels.fused_norm,         &r->kernels.compiled_step,
        &r->keep.logits_whole,          &r->kernels.fused_permute,
        &r->kernels.fused_accumulation, &r->kernels.expert_streams,
        &r->kernels.narrow_head,        &r->kernels.recompute_stops,
        &r->keep.quantised_inputs,      &r->kernels.delayed_scaling,
        &r->kernels.rowwise_scaling,    &r->kernels.unpadded_vocab,
    };
    double *const shares[] = {
        &r->overlap.tp_exposed,
        &r->overlap.dp_exposed,
        &r->overlap.ep_exposed,
        &r->overlap.p2p_exposed,
        &r->overlap.window,
        &r->keep.keeps_gathered,
        &r->overlap.tp_exposed_overlapped,
    };

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        *flags[i] = once_in(2);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        *shares[i] = random_share();
    r->can.takes[PLAIT_KEY_GRAD_SYNC] = 7;
    r->overlap.bucket_bytes = once_in(2) ? 1e6 * (1 + random_below(100)) : 0.0;
    r->overlap.bucket_bytes_per_rank = once_in(2) ? 1e5 * (1 + random_below(100)) : 0.0;
    r->factor.host_s *= 4.0 * random_share();
    r->factor.host_backward = 0.1 + 3.0 * random_share();
    r->factor.host_expert_s = 1e-4 * random_share();
    r->factor.ep_imbalance = 1.0 + random_share();
    r->state.replicated = 4.0 * random_share();
}

/* Half of what could be asked in 8 or 4 bits is. */
static plait_precision random_precision(const world *w)
{
    const plait_precision narrow = (plait_precision)(PLAIT_FP8 + random_below(4));

    if (w->gpu.fp16_only)
        return PLAIT_FP16;
    return (w->runtime.can.precision >> narrow & 1u) &&
                   plait_accelerator_runs(&w->gpu, PLAIT_KERNEL_PRECISION + (int)narrow) &&
                   once_in(2)
               ? narrow
               : PLAIT_BF16;
}

/* Pre-training in half of the draws; else adapters, frozen parts, or a reference model. */
static plait_tuning random_tuning(void)
{
    plait_tuning tuning = {.kind = PLAIT_JOB_PRETRAIN};

    if (once_in(2))
        return tuning;
    tuning.kind = (plait_job_kind)random_below(PLAIT_JOB_DISTILL + 1);
    if (tuning.kind == PLAIT_JOB_LORA || tuning.kind == PLAIT_JOB_QLORA) {
        tuning.rank = 1 << random_below(8);
        tuning.targets = 1u + (unsigned)random_below((1 << PLAIT_LORA_TARGETS) - 1);
        tuning.format = (plait_frozen_format)random_below(PLAIT_FROZEN_FORMATS);
    } else if (tuning.kind == PLAIT_JOB_SFT) {
        tuning.frozen = (unsigned)random_below(1 << PLAIT_FREEZE_NORMS);
    } else if (tuning.kind == PLAIT_JOB_DPO || tuning.kind == PLAIT_JOB_DISTILL) {
        tuning.reference = (plait_reference)random_below(PLAIT_REFERENCE_CACHED + 1);
    }
    return tuning;
}

/* Documents in half of the draws of fine-tuning: short and long ones, packed or padded. */
static void random_documents(plait_job *job)
{
    static double length[2], share[2];

    if (job->tuning.kind == PLAIT_JOB_PRETRAIN || once_in(2))
        return;
    length[0] = 1.0 + random_below(job->seq / 4);
    length[1] = length[0] + random_below(job->seq / 2);
    share[0] = 0.1 * (1 + random_below(9));
    share[1] = 1.0 - share[0];
    job->documents =
        (plait_documents){.lengths = 2, .length = length, .share = share, .padded = once_in(2)};
    job->documents.balanced = !job->documents.padded && once_in(2);
    job->document = (int)((share[0] * length[0] * length[0] + share[1] * length[1] * length[1]) /
                          (share[0] * length[0] + share[1] * length[1]));
}

/* Lets measured runs support half, all or nothing of what each value but the first claims. */
static void random_support(plait_support *support)
{
    for (int key = 0; key < PLAIT_KEYS; key++)
        for (int value = 1; value < PLAIT_SUPPORT_VALUES; value++)
            support->unearned[key][value] = 0.5 * random_below(3);
}

static void load(const question *q, world *w)
{
    const bool all = strcmp(q->runtime, "everything") == 0;
    const char *const text = text_of(q->model);
    plait_error err;

    if (text != NULL)
        must(plait_model_parse(text, strlen(text), q->model, arena, &w->model, NULL, &err), &err);
    world_make(w, text != NULL ? NULL : q->model, all ? "megatron" : q->runtime, q->cluster,
               (plait_job){.seq = q->seq, .gbs = q->gbs, .gpus = q->gpus}, arena);
    if (all)
        allow_everything(&w->runtime);
    if (once_in(2))
        change_profile(&w->runtime);
    if (once_in(2))
        random_support(&w->runtime.support);
    w->problem.job.precision = random_precision(w);
    w->problem.job.tuning = random_tuning();
    random_documents(&w->problem.job);
    if (w->model.encoder[PLAIT_VISION].model != NULL)
        w->problem.job.images = random_below(6);
}

// ---- points --------------------------------------------------------------------------------

static plait_recompute random_recompute(const plait_capabilities *can, int layers)
{
    plait_recompute r = {.kind = random_bit(can->takes[PLAIT_KEY_RECOMPUTE])};

    if (r.kind == PLAIT_RECOMPUTE_MODULES && can->module_sets > 0)
        r.modules = can->module_set[random_below(can->module_sets)];
    else if (r.kind == PLAIT_RECOMPUTE_MODULES)
        r.kind = PLAIT_RECOMPUTE_NONE;
    if (r.kind == PLAIT_RECOMPUTE_FULL && can->full_layers && once_in(2))
        r.layers = (short)(1 + random_below(layers));
    return r;
}

static plait_split random_split(const plait_capabilities *can, int layers, int pp)
{
    plait_split split = {.kind = random_bit(can->takes[PLAIT_KEY_SPLIT])};

    if (split.kind == PLAIT_SPLIT_FIRST_LAST) {
        const int middle = 1 + random_below(layers / pp + 1);
        const int rest = layers - (pp - 2) * middle;
        if (rest < 2)
            return (plait_split){.kind = PLAIT_SPLIT_SPREAD};
        split.first = (unsigned short)(1 + random_below(rest - 1));
        split.last = (unsigned short)(rest - split.first);
    }
    return split;
}

static bool has_experts(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == PLAIT_FFN_MOE)
            return true;
    return false;
}

/* Mostly as the software would, else whatever it takes. */
static void random_formats(const plait_problem *p, plait_degrees *d)
{
    static const plait_key_id formats[] = {PLAIT_KEY_GRAD_REDUCE, PLAIT_KEY_OPTIMIZER_STATE,
                                           PLAIT_KEY_OFFLOAD, PLAIT_KEY_FP8_PARAMS};

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        plait_key_put(d, formats[i],
                      once_in(4) ? random_bit(p->runtime->can.takes[formats[i]])
                                 : plait_key_default(p, d, formats[i]));
}

static bool random_on(const plait_capabilities *can, plait_key_id key)
{
    return (can->takes[key] >> 1 & 1u) && once_in(2);
}

/* Keys of what is sharded, synchronised and rebuilt: those that a bound leaves open. */
static void random_shards(const plait_problem *p, plait_degrees *d)
{
    const plait_capabilities *can = &p->runtime->can;

    d->zero = random_bit(can->takes[PLAIT_KEY_ZERO]);
    d->shard_group = d->dp * d->cp;
    if (can->hsdp && d->zero > 0 && once_in(2))
        d->shard_group = random_divisor(d->shard_group, d->shard_group);
    d->grad_sync = random_bit(can->takes[PLAIT_KEY_GRAD_SYNC]);
    random_formats(p, d);
    d->gather_with_step = random_on(can, PLAIT_KEY_GATHER_WITH_STEP);
    d->bucket = random_bit(can->takes[PLAIT_KEY_BUCKET]);
    d->reshard = random_bit(can->takes[PLAIT_KEY_RESHARD]);
    d->scatter = random_bit(can->takes[PLAIT_KEY_SCATTER]);
    d->quantise = random_bit(can->takes[PLAIT_KEY_QUANTISE]);
    d->offload_share = (unsigned char)(once_in(8) ? random_below(PLAIT_OFFLOAD_SHARES) : 0);
    d->recompute = random_recompute(can, p->model->layers);
    d->offload_acts = once_in(3) ? random_bit(can->takes[PLAIT_KEY_OFFLOAD_ACTS]) : 0;
}

/* How layers become stages; dp follows. */
static void random_stages(const plait_problem *p, plait_degrees *d)
{
    const plait_capabilities *can = &p->runtime->can;
    const int ranks = p->job.gpus / (d->tp * d->cp);
    const int most =
        can->most[PLAIT_KEY_PP] < p->model->layers ? can->most[PLAIT_KEY_PP] : p->model->layers;

    d->pp = once_in(4) ? 1 : random_divisor(ranks, most);
    d->dp = ranks / d->pp;
    d->schedule = d->pp == 1 ? PLAIT_1F1B : random_bit(can->takes[PLAIT_KEY_SCHEDULE]);
    d->vpp = plait_schedule_takes(d->schedule, 1)   ? 1
             : plait_schedule_takes(d->schedule, 3) ? 2 + random_below(3)
                                                    : 2;
    d->order = random_bit(can->takes[PLAIT_KEY_ORDER]);
    d->split = random_split(can, p->model->layers, d->pp);
}

static void random_placement(const plait_problem *p, plait_degrees *d)
{
    const unsigned char placement = random_bit(p->runtime->can.takes[PLAIT_KEY_PLACEMENT]);

    if (plait_placement_differs(p->cluster, (plait_placement)placement))
        d->placement = placement;
}

/* Software that has one draws nothing, so that its points are those of before. */
static unsigned char random_fusion(const plait_capabilities *can)
{
    return can->takes[PLAIT_KEY_FUSION] > 1 ? random_bit(can->takes[PLAIT_KEY_FUSION]) : 0;
}

static void random_layers(const plait_problem *p, plait_degrees *d)
{
    const plait_capabilities *can = &p->runtime->can;
    const int gpus = p->job.gpus;

    *d = plait_degrees_init();
    d->tp = random_divisor(gpus, can->most[PLAIT_KEY_TP] < 16 ? can->most[PLAIT_KEY_TP] : 16);
    d->cp = once_in(3) ? random_divisor(gpus / d->tp, can->most[PLAIT_KEY_CP]) : 1;
    d->sp = d->tp > 1 && random_bit(can->takes[PLAIT_KEY_SP]);
    d->cp_comm = random_bit(can->takes[PLAIT_KEY_CP_COMM]);
    d->fusion = random_fusion(can);
    d->etp = once_in(2) ? d->tp : 1;
    if (has_experts(p->model))
        d->ep = random_divisor(gpus / d->etp, can->most[PLAIT_KEY_EP]);
    d->mbs = random_divisor(p->job.gbs, 8);
    d->switches = (plait_switches){.cuda_graph = (unsigned char)random_below(PLAIT_GRAPHS),
                                   .fp8_attention = once_in(2),
                                   .fused_grouped_mlp = once_in(2),
                                   .tp_comm_overlap = d->sp && once_in(2),
                                   .permute_fusion = random_on(can, PLAIT_KEY_PERMUTE_FUSION),
                                   .router_fusion = random_on(can, PLAIT_KEY_ROUTER_FUSION)};
    d->attention = once_in(4) ? random_bit(can->takes[PLAIT_KEY_ATTENTION])
                              : (unsigned char)plait_attention_usual(p);
    random_placement(p, d);
}

static bool is_legal(const plait_problem *p, const plait_degrees *d)
{
    return plait_degrees_check(p, d, NULL, 0) == PLAIT_FITS;
}

/* One key of a layer or a stage at a time: a row must not be kept because the others are the same. */
static void random_key(const plait_problem *p, plait_degrees *d)
{
    const plait_capabilities *can = &p->runtime->can;

    switch (random_below(can->takes[PLAIT_KEY_FUSION] > 1 ? 8 : 7)) {
    case 6:
        random_placement(p, d);
        break;
    case 0:
        d->cp_comm = random_bit(can->takes[PLAIT_KEY_CP_COMM]);
        break;
    case 1:
        d->sp = !d->sp;
        break;
    case 2:
        d->etp = d->etp == 1 ? d->tp : 1;
        break;
    case 3:
        d->order = random_bit(can->takes[PLAIT_KEY_ORDER]);
        break;
    case 7:
        d->fusion = random_fusion(can);
        break;
    case 4:
        d->schedule = random_bit(can->takes[PLAIT_KEY_SCHEDULE]);
        break;
    default:
        d->split = random_split(can, p->model->layers, d->pp);
        break;
    }
}

/*
 * Changes a point to another legal one: mostly in its last keys, as a search walks, so that rows
 * are kept and made anew in every combination.
 */
static void next_point(const plait_problem *p, plait_degrees *d)
{
    for (int tries = 0; tries < 100000; tries++) {
        plait_degrees next = *d;
        const int depth = random_below(4);
        if (depth == 0 && tries <= 20)
            random_key(p, &next);
        if (depth > 2 || tries > 20)
            random_layers(p, &next);
        if (depth > 1 || tries > 20)
            random_stages(p, &next);
        if (depth > 0 || tries > 20)
            random_shards(p, &next);
        if (is_legal(p, &next)) {
            *d = next;
            return;
        }
    }
    char why[256] = "";
    plait_degrees_check(p, d, why, sizeof why);
    fail_msg("no legal point of %s on %d GPUs in %s: %s", p->model->name, p->job.gpus,
             plait_precision_name[p->job.precision], why);
}

/* Another value of the keys that a bound leaves open; number formats it goes by, 8-bit or wider. */
static void next_completion(const plait_problem *p, plait_degrees *d)
{
    for (int tries = 0; tries < 1000; tries++) {
        plait_degrees next = *d;
        random_shards(p, &next);
        next.grad_reduce = d->grad_reduce;
        next.optimizer_state = d->optimizer_state;
        next.offload = d->offload;
        next.offload_share = d->offload_share;
        next.fp8_params = d->fp8_params && once_in(2);
        if (is_legal(p, &next)) {
            *d = next;
            return;
        }
    }
}

static const char *spelled(const plait_problem *p, const plait_degrees *d)
{
    static char text[1024];
    char value[96];
    size_t used = (size_t)snprintf(text, sizeof text, "%s, %s:", p->model->name, p->runtime->name);

    for (int k = 0; k < PLAIT_KEYS; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s=%s", plait_keys[k].name,
                                 plait_degrees_get(d, (plait_key_id)k, value, sizeof value));
    return text;
}

static plait_cost full_price(const plait_problem *p, const plait_degrees *d)
{
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    must(plait_plan_expand(p, d, prices, &plan, &err), &err);
    must(plait_plan_evaluate(p, &plan, NULL, prices, &cost, &err), &err);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("%s: %s", spelled(p, d), cost.why);
    return cost;
}

static void assert_same(double value, double expected, double tolerance, const char *what,
                        const plait_problem *p, const plait_degrees *d)
{
    if (!(fabs(value - expected) <= tolerance * fabs(expected)))
        fail_msg("%s: %s is %.15g, expected %.15g", spelled(p, d), what, value, expected);
}

static void assert_at_most(double value, double most, double tolerance, const char *what,
                           const plait_problem *p, const plait_degrees *d)
{
    if (!(value <= most * (1.0 + tolerance)))
        fail_msg("%s: %s is %.15g, expected at most %.15g", spelled(p, d), what, value, most);
}

// ---- tables and bounds ---------------------------------------------------------------------

/* Of each question: 100,000 in all where a build can afford them. */
enum { POINTS = FEW_DRAWS ? 160 : 1600, COMPLETIONS = 4 };

typedef void point_check(world *w, plait_table *table, plait_degrees d);

static void on_random_points(point_check *check, int points)
{
    for (int q = 0; q < QUESTIONS; q++) {
        world w;
        arena = plait_arena_new();
        assert_non_null(arena);
        random_state = 1 + (uint64_t)q;
        load(&questions[q], &w);
        plait_table *table = plait_table_new(&w.problem, arena);
        plait_arena *const memory = plait_arena_new();
        plait_half_bounds *const bounds = plait_half_bounds_new(points, memory);
        assert_true(table && memory && bounds);
        plait_table_remember(table, bounds, memory);
        plait_degrees d;
        random_layers(&w.problem, &d);
        for (int i = 0; i < points; i++) {
            next_point(&w.problem, &d);
            prices = plait_arena_new();
            assert_non_null(prices);
            check(&w, table, d);
            plait_arena_free(prices);
        }
        plait_arena_free(memory);
        plait_arena_free(arena);
    }
}

/* The price, with its pipeline simulated where the table has only a bound. */
static plait_price simulated(plait_table *table, const plait_degrees *d, plait_price price)
{
    plait_error err;

    if (!price.exact)
        must(plait_degrees_simulate(table, d, prices, &price, &err), &err);
    return price;
}

static void check_table(world *w, plait_table *table, plait_degrees d)
{
    const plait_price bound = plait_degrees_cost(table, &d);
    const plait_cost cost = full_price(&w->problem, &d);
    const double host_bytes = plait_degrees_host_bytes(table, &d);
    const plait_price price = simulated(table, &d, bound);

    assert_at_most(bound.step_s, price.step_s, 1e-9, "the bound of an inexact price", &w->problem,
                   &d);
    assert_true(price.step_s > 0.0 && price.peak_bytes > 0.0);
    assert_same(price.step_s, cost.step_s, 1e-9, "step_s of the table", &w->problem, &d);
    assert_same(price.peak_bytes, cost.memory.peak_bytes, 1e-9, "peak_bytes of the table",
                &w->problem, &d);
    assert_same(host_bytes, cost.memory.host_bytes, 1e-9, "host_bytes of the table", &w->problem,
                &d);
    assert_same(price.busy_s, cost.busy_s, 1e-9, "busy_s of the table", &w->problem, &d);
    assert_same(price.moving_s, cost.moving_s, 1e-9, "moving_s of the table", &w->problem, &d);
    assert_at_most(price.busy_s + price.moving_s, price.step_s, 1e-9, "busy and moving time",
                   &w->problem, &d);
}

static void test_tables__price_a_point_like_its_full_plan(void **state)
{
    (void)state;
    on_random_points(check_table, POINTS);
}

/* The tables of a fresh start and of a long walk give the same bytes. */
static void check_memory_of_rows(world *w, plait_table *table, plait_degrees d)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_table *fresh = plait_table_new(&w->problem, arena);

    assert_non_null(fresh);
    if (once_in(2))
        (void)plait_degrees_bound(table, &d, HUGE_VAL); // a bound must not disturb the rows
    if (once_in(4))
        (void)plait_pipeline_bound(table, &d);
    if (once_in(4))
        (void)plait_choice_bound(table, &d, HUGE_VAL, NULL);
    if (once_in(4))
        (void)plait_shard_bound(table, &d);
    const plait_price walked = plait_degrees_cost(table, &d);
    const plait_price alone = plait_degrees_cost(fresh, &d);
    assert_same(walked.step_s, alone.step_s, 0.0, "step_s after a walk", &w->problem, &d);
    assert_same(walked.peak_bytes, alone.peak_bytes, 0.0, "peak_bytes after a walk", &w->problem,
                &d);
    plait_arena_rewind(arena, mark);
}

static void test_tables__forget_nothing_and_keep_nothing_stale(void **state)
{
    (void)state;
    on_random_points(check_memory_of_rows, POINTS);
}

/* Sums in another order may differ in the last digits; a bound is a bound up to those. */
static const double rounding = 1e-12;

/* Who has less room than a bound's memory is told that memory alone; who has as much, all of it. */
static void check_room(plait_table *table, const plait_degrees *d, plait_price bound,
                       plait_price (*of)(plait_table *, const plait_degrees *, double))
{
    const plait_price enough = of(table, d, bound.peak_bytes);
    const plait_price less = of(table, d, bound.peak_bytes * (1.0 - 1e-9));

    assert_true(enough.step_s == bound.step_s && enough.peak_bytes == bound.peak_bytes);
    assert_true(less.step_s == 0.0 && less.peak_bytes == bound.peak_bytes);
}

/*
 * A choice of recomputation takes at least the time of its layers without the gathers of ZeRO, and
 * the time of layers with these gathers and without recomputation: refinements bound shards by both.
 */
static void check_loads(world *w, plait_table *table, plait_degrees d)
{
    const plait_rank_loads loads = plait_degrees_rank_loads(table, &d);
    plait_degrees plain = d, plainest = d;

    plain.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    plain.offload_acts = 0;
    plainest.zero = 0;
    const plait_rank_loads none = plait_degrees_rank_loads(table, &plain);
    const plait_rank_loads base = plait_degrees_rank_loads(table, &plainest);
    for (int k = 0; k < w->model.kinds; k++) {
        const plait_layer_load *const of = &loads.layer[k];
        const plait_layer_load *const less[] = {&none.layer[k], &base.layer[k]};

        for (int i = 0; i < 2; i++) {
            assert_at_most(less[i]->time.forward_s, of->time.forward_s, rounding, "forward_s",
                           &w->problem, &d);
            assert_at_most(less[i]->time.backward_s, of->time.backward_s, rounding, "backward_s",
                           &w->problem, &d);
            if (d.ep_overlap == PLAIT_EP_OVERLAP_NONE)
                assert_at_most(less[i]->work_s, of->work_s, rounding, "work_s", &w->problem, &d);
        }
        assert_at_most(none.layer[k].state_bytes, of->state_bytes, rounding, "state_bytes",
                       &w->problem, &d);
    }
}

static plait_price choice_bound(plait_table *table, const plait_degrees *d, double most_bytes)
{
    return plait_choice_bound(table, d, most_bytes, NULL);
}

/*
 * The layers of a plan fit its own step and memory, with its own choice of recomputation and with
 * every mixture that contains this choice.
 */
static void check_layers(const plait_problem *p, plait_table *table, const plait_degrees *d,
                         plait_price price)
{
    enum { MANY = 64 };
    const bool some = d->recompute.kind == PLAIT_RECOMPUTE_FULL && d->recompute.layers > 0;
    plait_choice choice[MANY + 3] = {
        {d->recompute, d->offload_acts},
        {{.kind = PLAIT_RECOMPUTE_FULL}, 0},
        {{.kind = PLAIT_RECOMPUTE_NONE}, 0},
    };
    plait_layers_query query = {.most_s = price.step_s, .most_bytes = price.peak_bytes};

    for (int i = 0; i < MANY; i++)
        choice[3 + i] =
            (plait_choice){{.kind = PLAIT_RECOMPUTE_MODULES,
                            .modules = (unsigned char)(i * (1 << PLAIT_MODULES) / MANY)},
                           (unsigned char)(i % PLAIT_OFFLOAD_SETS)};
    for (int any_shard = 0; any_shard < 2; any_shard++) {
        query.any_shard = any_shard != 0;
        query.choice = choice;
        query.choices = some ? 0 : 1;
        query.mix = some ? PLAIT_MIX_FULL : PLAIT_MIX_NONE;
        if (!plait_layers_may_fit(table, d, &query))
            fail_msg("%s: layers do not fit their own plan", spelled(p, d));
        // full:N is a mixture of the second and the third choice
        query.choice = some ? choice + 1 : choice;
        query.choices = 2 + (some ? 0 : 1) + (any_shard ? MANY : 0);
        query.mix = PLAIT_MIX_ALL;
        if (!plait_layers_may_fit(table, d, &query))
            fail_msg("%s: a mixture does not fit a plan that it contains", spelled(p, d));
    }
}

static double exact_step_s(plait_table *table, const plait_degrees *d, plait_price price)
{
    if (!price.exact)
        assert_int_equal(plait_degrees_simulate(table, d, arena, &price, NULL), PLAIT_OK);
    return price.step_s;
}

static void check_bounds(world *w, plait_table *table, plait_degrees d)
{
    const plait_problem *p = &w->problem;
    const plait_price bound = plait_degrees_bound(table, &d, HUGE_VAL);
    const double early_s = plait_pipeline_floor_s(table, &d);
    const double early_bytes = plait_pipeline_floor_bytes(table, &d);
    const plait_price wider = plait_pipeline_bound(table, &d);
    const double floor_bytes = plait_layers_floor_bytes(p, &d);
    plait_degrees chosen = d;

    assert_true(bound.step_s > 0.0 && bound.peak_bytes > 0.0);
    assert_true(wider.step_s > 0.0 && wider.peak_bytes > 0.0 && floor_bytes > 0.0);
    check_room(table, &d, bound, plait_degrees_bound);
    check_room(table, &d, choice_bound(table, &d, HUGE_VAL), choice_bound);
    assert_at_most(early_s, wider.step_s, rounding, "floor of step_s", p, &d);
    assert_at_most(early_bytes, wider.peak_bytes, rounding, "floor of state", p, &d);
    for (int i = 0; i < COMPLETIONS; i++) {
        chosen.recompute = d.recompute;
        chosen.offload_acts = d.offload_acts;
        plait_class_bytes activations, rest;
        const plait_price choice = plait_choice_bound(table, &chosen, HUGE_VAL, &activations);
        const plait_price shard = plait_shard_bound(table, &d);
        const plait_price price = plait_degrees_cost(table, &d);
        check_loads(w, table, d);
        assert_at_most(bound.step_s, price.step_s, rounding, "bound of step_s", p, &d);
        const double shard_bytes = plait_shard_bound_bytes(table, &d, &rest);
        assert_at_most(plait_shard_choice_bytes(&rest, &activations), price.peak_bytes, 0.0,
                       "memory of a shard with a choice", p, &d);
        assert_at_most(shard_bytes, shard.peak_bytes, rounding, "early memory of a shard", p, &d);
        assert_at_most(shard.peak_bytes, shard_bytes, rounding, "memory of a shard", p, &d);
        assert_at_most(shard.step_s, price.step_s, rounding, "shard's bound of step_s", p, &d);
        assert_at_most(shard.peak_bytes, price.peak_bytes, rounding, "shard's bound of peak_bytes",
                       p, &d);
        assert_at_most(bound.step_s, choice.step_s, rounding, "bound of a choice's step_s", p, &d);
        assert_at_most(choice.step_s, price.step_s, rounding, "choice's bound of step_s", p, &d);
        assert_at_most(choice.peak_bytes, price.peak_bytes, rounding,
                       "choice's bound of peak_bytes", p, &d);
        assert_at_most(bound.peak_bytes, price.peak_bytes, rounding, "bound of peak_bytes", p, &d);
        // a bound may exceed a price that is itself a bound, but not the simulated step
        const double step_s =
            wider.step_s > price.step_s ? exact_step_s(table, &d, price) : price.step_s;
        assert_at_most(wider.step_s, step_s, rounding, "pipeline bound of step_s", p, &d);
        assert_at_most(wider.peak_bytes, price.peak_bytes, rounding, "pipeline bound of peak_bytes",
                       p, &d);
        assert_at_most(floor_bytes, price.peak_bytes, rounding, "floor of peak_bytes", p, &d);
        check_layers(p, table, &d, price);
        next_completion(p, &d);
    }
}

static void test_bounds__never_exceed_a_completion(void **state)
{
    (void)state;
    on_random_points(check_bounds, POINTS);
}

/* Bounds that are far too low would pass the test above and prune nothing. */
static double gap_sum, floor_sum;
static int gap_count, floor_count, apart_count, excluded_count;

/* Counts whether the layers of a plan fit in 60 % of its step, and in 90 % of its memory. */
static void count_excluded(plait_table *table, const plait_degrees *d)
{
    const plait_price price = plait_degrees_cost(table, d);
    const plait_choice own = {d->recompute, d->offload_acts};
    plait_layers_query query = {.choices = 1,
                                .choice = &own,
                                .mix = PLAIT_MIX_ALL,
                                .any_shard = true,
                                .most_s = 0.6 * price.step_s,
                                .most_bytes = 10.0 * price.peak_bytes};

    apart_count++;
    excluded_count += !plait_layers_may_fit(table, d, &query);
    query.most_s = 10.0 * price.step_s;
    query.most_bytes = 0.9 * price.peak_bytes;
    apart_count++;
    excluded_count += !plait_layers_may_fit(table, d, &query);
}

static void add_gap(world *w, plait_table *table, plait_degrees d)
{
    (void)w;
    if (d.recompute.kind != PLAIT_RECOMPUTE_FULL || d.recompute.layers == 0)
        count_excluded(table, &d);
    gap_sum +=
        plait_degrees_bound(table, &d, HUGE_VAL).step_s / plait_degrees_cost(table, &d).step_s;
    gap_count++;
    if (d.fusion != PLAIT_FUSION_NONE)
        return;
    floor_sum += plait_pipeline_floor_s(table, &d) / plait_pipeline_bound(table, &d).step_s;
    floor_count++;
}

static void test_bounds__come_near_the_costs(void **state)
{
    (void)state;
    gap_sum = floor_sum = 0.0;
    gap_count = floor_count = apart_count = excluded_count = 0;
    on_random_points(add_gap, 50);
    print_message("bounds are %.0f %% of the step on average\n", 100.0 * gap_sum / gap_count);
    assert_true(gap_sum / gap_count > 0.5);
    print_message("floors are %.0f %% of bounds\n", 100.0 * floor_sum / floor_count);
    assert_true(floor_sum / floor_count > 0.5);
    print_message("layers do not fit %d of %d limits below a plan\n", excluded_count, apart_count);
    assert_true(excluded_count > apart_count / 5);
}

// ---- what a price is made of ---------------------------------------------------------------

static double exposed_of(const plait_cost *cost, const char *term)
{
    double seconds = 0.0;

    for (int v = 0; v < cost->volumes; v++)
        if (strcmp(cost->volume[v].term, term) == 0)
            seconds += cost->volume[v].exposed_s;
    return seconds;
}

/* Terms are never negative and sum to the step; lines of communication sum to the term they name. */
static void check_terms(world *w, plait_table *table, plait_degrees d)
{
    const plait_problem *p = &w->problem;
    const plait_cost cost = full_price(p, &d);
    double step_s = 0.0;

    (void)table;
#define X(name, equation, what)                                                                    \
    if (!(cost.step.name##_s >= 0.0))                                                              \
        fail_msg("%s: " #name " is %g s", spelled(p, &d), cost.step.name##_s);                     \
    step_s += cost.step.name##_s;
    PLAIT_STEP_TERMS(X)
#undef X
    assert_same(step_s, cost.step_s, 1e-9, "sum of the terms", p, &d);
    assert_same(exposed_of(&cost, "tp_comm"), cost.step.tp_comm_s, 1e-9, "lines of tp_comm", p, &d);
    assert_same(exposed_of(&cost, "cp_comm"), cost.step.cp_comm_s, 1e-9, "lines of cp_comm", p, &d);
    assert_same(exposed_of(&cost, "ep_comm"), cost.step.ep_comm_s, 1e-9, "lines of ep_comm", p, &d);
    assert_same(exposed_of(&cost, "pp_comm"), cost.step.pp_comm_s, 1e-9, "lines of pp_comm", p, &d);
    assert_same(exposed_of(&cost, "dp_comm"), cost.step.dp_comm_s, 1e-9, "lines of dp_comm", p, &d);
    assert_same(exposed_of(&cost, "gather"), cost.step.gather_s, 1e-9, "lines of gather", p, &d);
    assert_at_most(exposed_of(&cost, "recompute"), cost.step.recompute_s, 1e-9,
                   "communication that runs again", p, &d);
    for (int v = 0; v < cost.volumes; v++)
        assert_true(cost.volume[v].exposed_s >= 0.0);
}

static void test_terms__sum_to_the_step_and_lines_to_their_term(void **state)
{
    (void)state;
    on_random_points(check_terms, POINTS);
}

/* C.64: all that are charged, hidden or not, and 2 m v of a rank at least. */
static double sends_of(const world *w, const plait_degrees *d)
{
    const double own = (double)plait_degrees_microbatches(d, w->problem.job.gbs) * d->vpp;
    const double others = 2.0 * (d->pp - 1.0);

    if (d->schedule == PLAIT_NAIVE)
        return others * own;
    if (!w->runtime.overlap.p2p)
        return 2.0 * own + others - 2.0;
    return own > others ? 2.0 * own : own + others;
}

/* Whatever a profile says, shares above 1 too; and as many sends as are charged. */
static void check_lines(world *w, plait_table *table, plait_degrees d)
{
    world slow = *w;
    plait_overlaps *const overlap = &slow.runtime.overlap;
    double *const shares[] = {&overlap->tp_exposed, &overlap->dp_exposed, &overlap->ep_exposed,
                              &overlap->p2p_exposed};

    (void)table;
    slow.problem.runtime = &slow.runtime;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        *shares[i] *= once_in(2) ? 1.0 : 3.0;
    const plait_cost cost = full_price(&slow.problem, &d);
    for (int v = 0; v < cost.volumes; v++) {
        const plait_volume *const line = &cost.volume[v];

        assert_at_most(line->exposed_s, line->seconds, 0.0, line->what, &slow.problem, &d);
        if (strcmp(line->what, "PP send") == 0)
            assert_same(line->count, sends_of(&slow, &d), 1e-12, line->what, &slow.problem, &d);
    }
}

static void test_lines__are_never_exposed_longer_than_they_take(void **state)
{
    (void)state;
    on_random_points(check_lines, POINTS / 2);
}

// ---- fused communication -------------------------------------------------------------------

/* How often each rule was fused and how often declined: a test of nothing would pass. */
static int fates[PLAIT_FUSION_RULES][PLAIT_FUSION_FATES];

static void check_fusion(world *w, plait_table *table, plait_degrees d)
{
    const plait_problem *p = &w->problem;

    if (!(w->runtime.can.takes[PLAIT_KEY_FUSION] >> PLAIT_FUSION_AUTO & 1u))
        return;
    d.fusion = PLAIT_FUSION_NONE;
    const plait_price apart_price = plait_degrees_cost(table, &d);
    d.fusion = PLAIT_FUSION_AUTO;
    const plait_price price = plait_degrees_cost(table, &d);
    const plait_cost cost = full_price(p, &d);
    assert_at_most(price.step_s, apart_price.step_s, 1e-12, "step_s fused", p, &d);
    assert_same(price.peak_bytes, apart_price.peak_bytes, 1e-12, "peak_bytes fused", p, &d);
    for (int r = 0; r < PLAIT_FUSION_RULES; r++)
        fates[r][cost.fused[r].fate]++;
}

static void test_fusion__never_lengthens_a_step(void **state)
{
    (void)state;
    memset(fates, 0, sizeof fates);
    on_random_points(check_fusion, FEW_DRAWS ? 4 * POINTS : POINTS);
    for (int r = 0; r < PLAIT_FUSION_RULES; r++)
        print_message("%s: fused %d, declined %d, already %d\n", plait_fusion_rules[r].name,
                      fates[r][PLAIT_FUSED], fates[r][PLAIT_DECLINED],
                      fates[r][PLAIT_FUSED_ALREADY]);
    for (int r = 0; r < PLAIT_FUSION_RULES; r++)
        assert_true(fates[r][r == PLAIT_FUSE_SP_EP_SP ? PLAIT_FUSED_ALREADY : PLAIT_FUSED] > 0);
}

// ---- values that the space leaves out ------------------------------------------------------

static int dominated_pairs[2];

/*
 * S.121: bucketed reductions take no longer than bulk ones, validation after the step no longer than
 * before it, both with equal memory.
 */
static void check_dominated(world *w, plait_table *table, plait_degrees d)
{
    const plait_problem *p = &w->problem;
    plait_degrees better = d, worse = d;

    if (w->runtime.can.takes[PLAIT_KEY_GRAD_SYNC] >> PLAIT_SYNC_BUCKETED & 1u) {
        better.grad_sync = PLAIT_SYNC_BUCKETED;
        worse.grad_sync = PLAIT_SYNC_BULK;
        const plait_price price = plait_degrees_cost(table, &better);
        const plait_price other = plait_degrees_cost(table, &worse);
        assert_at_most(price.step_s, other.step_s, 1e-12, "step_s bucketed", p, &d);
        assert_same(price.peak_bytes, other.peak_bytes, 1e-12, "peak_bytes bucketed", p, &d);
        dominated_pairs[0] += price.step_s < other.step_s;
    }
    better = worse = d;
    if (d.pp > 1 && d.schedule >= PLAIT_ZB_H1) {
        w->runtime.can.takes[PLAIT_KEY_POST_VALIDATION] |= 1u << 1;
        better.post_validation = 1;
        worse.post_validation = 0;
        const plait_cost cost = full_price(p, &better), other = full_price(p, &worse);
        assert_at_most(cost.step_s, other.step_s, 1e-9, "step_s validated after", p, &d);
        assert_same(cost.memory.peak_bytes, other.memory.peak_bytes, 1e-12,
                    "peak_bytes validated after", p, &d);
        dominated_pairs[1] += cost.step_s < other.step_s;
    }
}

static void test_dominated_values__are_never_better(void **state)
{
    (void)state;
    memset(dominated_pairs, 0, sizeof dominated_pairs);
    on_random_points(check_dominated, FEW_DRAWS ? 4 * POINTS : POINTS);
    print_message("bucketed faster %d, validated after faster %d\n", dominated_pairs[0],
                  dominated_pairs[1]);
    assert_true(dominated_pairs[0] > 0 && dominated_pairs[1] > 0);
}

// ---- better hardware -----------------------------------------------------------------------

/* Each makes one resource half as much again. */
static void more_matrix_peak(world *w)
{
    for (int p = 0; p < PLAIT_PRECISIONS; p++)
        w->gpu.peak_flops_per_s[p] *= 1.5;
}

static void more_hbm_bandwidth(world *w)
{
    w->gpu.hbm_bytes_per_s *= 1.5;
}

static void more_scale_up_bandwidth(world *w)
{
    w->cluster.level[0].link.bytes_per_s *= 1.5;
}

static void more_network_bandwidth(world *w)
{
    for (int l = 1; l < w->cluster.levels; l++)
        w->cluster.level[l].link.bytes_per_s *= 1.5;
}

static void faster_host(world *w)
{
    w->cluster.host_speed *= 1.5;
}

static void shorter_latencies(world *w)
{
    for (int l = 0; l < w->cluster.levels; l++)
        w->cluster.level[l].link.latency_s /= 1.5;
}

/*
 * Zero-bubble schedules fill their bubble with weight gradients, of which only the computation
 * counts. Where a stage waits for its host or its gathers, faster products shorten what fills the
 * bubble and not the stage, and a step may take longer, which is left out here.
 */
static bool fills_its_bubble(const plait_degrees *d)
{
    return d->schedule >= PLAIT_ZB_H1;
}

/*
 * A boundary is fused where that is faster by itself, too: with faster links it may no longer be, and
 * a step that felt only what it shortened takes a little longer.
 */
static double decided_apart(const plait_degrees *d)
{
    return d->fusion == PLAIT_FUSION_AUTO && d->pp > 1 ? 1e-3 : 1e-9;
}

static void check_better_hardware(world *w, plait_table *table, plait_degrees d)
{
    static void (*const better[])(world *) = {
        more_matrix_peak,       more_hbm_bandwidth, more_scale_up_bandwidth,
        more_network_bandwidth, faster_host,        shorter_latencies,
    };
    static const char *const names[] = {"matrix peak", "HBM",  "scale-up",
                                        "network",     "host", "latency"};
    const int i = random_below((int)(sizeof better / sizeof *better));
    const plait_cost before = full_price(&w->problem, &d);
    char what[64];

    (void)table;
    if (fills_its_bubble(&d))
        return;
    world improved = *w;
    improved.problem.cluster = &improved.cluster;
    improved.cluster.group[0].accelerator = &improved.gpu;
    better[i](&improved);
    const plait_cost after = full_price(&improved.problem, &d);
    snprintf(what, sizeof what, "step_s with better %s", names[i]);
    assert_at_most(after.step_s, before.step_s, decided_apart(&d), what, &w->problem, &d);
    assert_same(after.memory.peak_bytes, before.memory.peak_bytes, 1e-12, "its memory", &w->problem,
                &d);
}

static void test_better_hardware__never_slows_a_step(void **state)
{
    (void)state;
    on_random_points(check_better_hardware, POINTS);
}

// ---- shares and work -----------------------------------------------------------------------

static void check_shares(world *w, plait_table *table, plait_degrees d)
{
    const plait_problem *p = &w->problem;
    const plait_cost cost = full_price(p, &d);

    (void)table;
    assert_at_most(0.0, cost.mfu, 0.0, "nothing", p, &d);
    assert_at_most(cost.mfu, cost.hfu, 1e-9, "mfu", p, &d);
    assert_at_most(cost.hfu, 1.0, 1e-9, "hfu", p, &d);
    assert_at_most(cost.busy_s + cost.moving_s, cost.step_s, 1e-9, "busy and moving time", p, &d);
    assert_at_most(cost.risk, 1.0, 0.0, "risk", p, &d);
    assert_at_most(0.0, cost.risk, 0.0, "no risk", p, &d);
}

static void test_shares__are_none_above_the_whole(void **state)
{
    (void)state;
    on_random_points(check_shares, POINTS);
}

/* Twice as many sequences, or sequences twice as long, where such a plan is legal, too. */
static void check_more_work(world *w, plait_table *table, plait_degrees d)
{
    const plait_cost before = full_price(&w->problem, &d);
    const bool longer = once_in(2);
    world more = *w;

    (void)table;
    more.problem.job.gbs *= longer ? 1 : 2;
    more.problem.job.seq *= longer ? 2 : 1;
    if (fills_its_bubble(&d) || !is_legal(&more.problem, &d))
        return;
    assert_at_most(before.step_s, full_price(&more.problem, &d).step_s, decided_apart(&d),
                   longer ? "step_s of half as long sequences" : "step_s of half as many sequences",
                   &w->problem, &d);
}

static void test_more_work__never_takes_less_time(void **state)
{
    (void)state;
    on_random_points(check_more_work, POINTS);
}

// ---- finer shards --------------------------------------------------------------------------

static double state_bytes(const plait_memory *m)
{
    return m->weights_bytes + m->gradients_bytes + m->optimizer_bytes;
}

/*
 * ZeRO-3 holds a few gathered layers beside its shards, so only the state itself must shrink, on a
 * pipeline whose fullest stage stays the same.
 */
static void check_zero(world *w, plait_table *table, plait_degrees d)
{
    plait_cost before = {0};
    bool first = true;

    (void)table;
    d.shard_group = d.dp * d.cp;
    for (d.zero = 0; d.zero <= 3; d.zero++) {
        if (!is_legal(&w->problem, &d))
            continue;
        const plait_cost now = full_price(&w->problem, &d);
        if (!first && now.fullest_stage == before.fullest_stage)
            assert_at_most(state_bytes(&now.memory), state_bytes(&before.memory), rounding,
                           "state under a higher ZeRO stage", &w->problem, &d);
        if (!first && d.zero < 3)
            assert_at_most(now.memory.peak_bytes, before.memory.peak_bytes, rounding,
                           "memory under a higher ZeRO stage", &w->problem, &d);
        before = now;
        first = false;
    }
}

static void test_higher_zero_stages__never_need_more_memory(void **state)
{
    (void)state;
    on_random_points(check_zero, POINTS / 4);
}

static void check_shard_group(world *w, plait_table *table, plait_degrees d)
{
    const int replicas = d.dp * d.cp;
    double before = HUGE_VAL;

    (void)table;
    for (d.shard_group = 1; d.shard_group <= replicas; d.shard_group++) {
        if (replicas % d.shard_group != 0 || !is_legal(&w->problem, &d))
            continue;
        const double now = full_price(&w->problem, &d).memory.peak_bytes;
        assert_at_most(now, before, rounding, "memory of a larger shard group", &w->problem, &d);
        before = now;
    }
}

static void test_larger_shard_groups__never_need_more_memory(void **state)
{
    (void)state;
    on_random_points(check_shard_group, POINTS / 4);
}

/*
 * Twice the tensor ranks on twice the GPUs: every replica and stage stays. Communicators that now
 * leave their node have buffers of their own, so the runtime's bytes are left out. Points whose
 * experts have replicas only on twice the GPUs are skipped, since ZeRO-3 then gathers them.
 */
static void check_tensor(world *w, plait_table *table, plait_degrees d)
{
    world larger = *w;
    plait_degrees wide = d;
    const plait_cost before = full_price(&w->problem, &d);

    (void)table;
    wide.tp *= 2;
    wide.etp = d.etp == d.tp ? wide.tp : d.etp;
    larger.problem.job.gpus *= 2;
    larger.problem.cluster = &larger.cluster;
    larger.cluster.gpus = larger.problem.job.gpus;
    if ((d.tp == 1) != (wide.tp == 1))
        wide.sp = larger.runtime.can.takes[PLAIT_KEY_SP] >> 1 & 1u;
    if (!is_legal(&larger.problem, &wide) || (plait_group_of(&d, PLAIT_AXIS_EDP).ranks == 1 &&
                                              plait_group_of(&wide, PLAIT_AXIS_EDP).ranks > 1))
        return;
    const plait_cost after = full_price(&larger.problem, &wide);
    assert_at_most(after.memory.peak_bytes - after.memory.runtime_bytes,
                   before.memory.peak_bytes - before.memory.runtime_bytes, rounding,
                   "memory of twice the tensor ranks", &w->problem, &d);
}

static void test_more_tensor_ranks__never_need_more_memory(void **state)
{
    (void)state;
    on_random_points(check_tensor, POINTS / 2);
}

/* Embedding and head of a large vocabulary, all on one rank: their parameters are never narrow. */
static void test_bounds__leave_the_ends_in_16_bits(void **state)
{
    static const question ends = {"nemotron-4-15b", "h200-141gb-sxm:1x8", "megatron", 8, 512, 8};
    world w;

    (void)state;
    for (int precision = PLAIT_FP8; precision <= PLAIT_MXFP8; precision++)
        for (int narrow = 0; narrow < 2; narrow++) {
            plait_degrees d = plait_degrees_init();
            arena = plait_arena_new();
            assert_non_null(arena);
            random_state = 2;
            load(&ends, &w);
            w.problem.job.precision = (plait_precision)precision;
            plait_table *table = plait_table_new(&w.problem, arena);
            assert_non_null(table);
            d.dp = d.shard_group = 8;
            d.zero = 1;
            d.fp8_params = narrow != 0;
            d.recompute.kind = PLAIT_RECOMPUTE_FULL;
            const plait_price bound = plait_pipeline_bound(table, &d);
            assert_at_most(bound.peak_bytes, plait_degrees_cost(table, &d).peak_bytes, rounding,
                           "bound of a pipeline", &w.problem, &d);
            plait_arena_free(arena);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables__price_a_point_like_its_full_plan),
        cmocka_unit_test(test_tables__forget_nothing_and_keep_nothing_stale),
        cmocka_unit_test(test_bounds__never_exceed_a_completion),
        cmocka_unit_test(test_bounds__come_near_the_costs),
        cmocka_unit_test(test_bounds__leave_the_ends_in_16_bits),
        cmocka_unit_test(test_terms__sum_to_the_step_and_lines_to_their_term),
        cmocka_unit_test(test_lines__are_never_exposed_longer_than_they_take),
        cmocka_unit_test(test_fusion__never_lengthens_a_step),
        cmocka_unit_test(test_dominated_values__are_never_better),
        cmocka_unit_test(test_better_hardware__never_slows_a_step),
        cmocka_unit_test(test_shares__are_none_above_the_whole),
        cmocka_unit_test(test_more_work__never_takes_less_time),
        cmocka_unit_test(test_higher_zero_stages__never_need_more_memory),
        cmocka_unit_test(test_larger_shard_groups__never_need_more_memory),
        cmocka_unit_test(test_more_tensor_ranks__never_need_more_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
