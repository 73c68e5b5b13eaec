/* plan_check.c - checks degrees against model, cluster, batch and software */
#include "plait/lowlevel/schedule.h"

#include "base/saturating.h"
#include "rules/kernels.h"
#include "plan/layout.h"
#include "rules/plan_check.h"
#include "plan/problem_check.h"
#include "rules/rules.h"
#include "rules/runtime_features.h"
#include "plan/split.h"
#include "plan/model_queries.h"
#include "plan/ranges.h"

const char *const plait_verdict_name[PLAIT_VERDICTS + 1] = {"fits", "tight", "out_of_memory",
                                                            "invalid", NULL};

// ---- ranks and the batch ---------------------------------------------------------------

static bool world_divides(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    const int64_t model = (int64_t)d->tp * d->pp * d->cp;

    if (model > p->job.gpus || p->job.gpus % model != 0)
        return fail_because(why, "tp %d x pp %d x cp %d = %lld does not divide %d GPUs", d->tp,
                            d->pp, d->cp, (long long)model, p->job.gpus);
    return d->dp == p->job.gpus / model ||
           fail_because(why, "dp must be %d: %d GPUs / (tp x pp x cp)", (int)(p->job.gpus / model),
                        p->job.gpus);
}

static bool batch_divides(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    return plait_degrees_microbatches(d, p->job.gbs) > 0 ||
           fail_because(why, "dp %d x mbs %d = %lld does not divide a batch of %d sequences", d->dp,
                        d->mbs, (long long)d->dp * d->mbs, p->job.gbs);
}

// ---- tensor and context parallelism --------------------------------------------------------

/* @param exchanges  the layer exchanges heads over the ranks of cp */
static bool heads_divide(const plait_degrees *d, int heads, int kv_heads, bool exchanges,
                         const plan_reason *why)
{
    const char *const comm = d->cp_comm == PLAIT_CP_A2A ? " (a2a)" : "";

    if (heads % d->tp != 0)
        return fail_because(why, "tp %d does not divide %d heads", d->tp, heads);
    if (kv_heads % d->tp != 0 && d->tp % kv_heads != 0)
        return fail_because(why, "tp %d and %d key-value heads: neither divides the other", d->tp,
                            kv_heads);
    if (exchanges && heads / d->tp % d->cp != 0)
        return fail_because(why, "cp %d%s does not divide the %d heads per tensor rank", d->cp,
                            comm, heads / d->tp);
    if (exchanges && (kv_heads > d->tp ? kv_heads / d->tp : 1) % d->cp != 0)
        return fail_because(
            why, "cp %d%s does not divide the %d key-value heads per tensor rank (rule P1)", d->cp,
            comm, kv_heads > d->tp ? kv_heads / d->tp : 1);
    return true;
}

/*
 * Megatron-Core and mamba_ssm give each tensor rank whole groups of Mamba-2. Under cp, Megatron-Core
 * copies groups if a tensor rank has fewer than cp. (C.192)
 */
static bool groups_divide(const plait_degrees *d, const plait_mamba *s, const plan_reason *why)
{
    const int own = s->groups / d->tp;

    if (s->heads % d->tp != 0)
        return fail_because(why, "tp %d does not divide %d heads", d->tp, s->heads);
    if (s->groups % d->tp != 0)
        return fail_because(why, "tp %d does not divide %d groups of Mamba heads", d->tp,
                            s->groups);
    if (s->heads / d->tp % d->cp != 0)
        return fail_because(why, "cp %d does not divide the %d heads per tensor rank", d->cp,
                            s->heads / d->tp);
    return own % d->cp == 0 || d->cp % own == 0 ||
           fail_because(why,
                        "cp %d and %d groups of Mamba heads per tensor rank: neither divides the "
                        "other",
                        d->cp, own);
}

static bool channels_divide(const plait_degrees *d, int channels, const char *of,
                            const plan_reason *why)
{
    return channels % d->tp == 0 ||
           fail_because(why, "tp %d does not divide %d %s", d->tp, channels, of);
}

static bool blocks_divide(const plait_degrees *d, const plait_conv *c, const plan_reason *why)
{
    const int ways = d->tp * d->cp;

    return c->blocks == 0 || c->blocks % ways == 0 ||
           fail_because(why, "tp x cp = %d does not divide the %d blocks of a recurrence", ways,
                        c->blocks);
}

static bool mixer_divides(const plait_layer *layer, plait_mixer_kind mixer, const plait_degrees *d,
                          const plan_reason *why)
{
    const bool all_to_all = d->cp > 1 && d->cp_comm == PLAIT_CP_A2A;

    switch (mixer) {
    case PLAIT_MIXER_ATTENTION:
        return heads_divide(d, layer->attention.heads, layer->attention.kv_heads, all_to_all, why);
    case PLAIT_MIXER_MLA:
        return heads_divide(d, layer->mla.heads, layer->mla.heads, all_to_all, why);
    case PLAIT_MIXER_DELTA_NET:
        return heads_divide(d, layer->delta_net.value_heads, layer->delta_net.key_heads, d->cp > 1,
                            why);
    case PLAIT_MIXER_MAMBA:
        return layer->mamba.heads > 0
                   ? groups_divide(d, &layer->mamba, why)
                   : channels_divide(d, layer->mamba.inner, "Mamba channels", why);
    case PLAIT_MIXER_CONV:
        return channels_divide(d, layer->conv.width, "channels of a convolution", why) &&
               blocks_divide(d, &layer->conv, why);
    case PLAIT_MIXER_NONE:
    case PLAIT_MIXER_KINDS:
        break;
    }
    return true;
}

// ---- experts, shards, pipeline -------------------------------------------------------------

static bool sizes_nest(int shard, int ranks)
{
    return shard % ranks == 0 || ranks % shard == 0;
}

bool plan_shards_nest(const plait_problem *p, const plait_degrees *d)
{
    const int holders = d->tp * d->cp / (d->etp * d->ep); // ranks with replicas of one expert

    return sizes_nest(d->shard_group, d->cp) && (!model_has_experts(p->model) || holders < 1 ||
                                                 sizes_nest(plait_expert_shard_group(d), holders));
}

/* Returns a setting of gathers or scatters that has no effect in this plan; NULL: none. */
static const char *idle_traffic(const plait_degrees *d)
{
    if (d->zero < 3 && d->reshard != PLAIT_RESHARD_ALWAYS)
        return "reshard other than always";
    if (d->zero < 3 && d->quantise != PLAIT_QUANTISE_NONE)
        return "quantise";
    if (d->scatter == PLAIT_SCATTER_STEP &&
        (d->zero < 2 || d->quantise >= PLAIT_QUANTISE_GRADIENTS))
        return "scatter step";
    return NULL;
}

static bool shards_divide(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    const int replicas = d->dp * d->cp;

    if (d->shard_group > replicas || replicas % d->shard_group != 0)
        return fail_because(why, "shard_group %d does not divide dp x cp = %d", d->shard_group,
                            replicas);
    if (d->order == PLAIT_ORDER_TP_CP_PP_DP && d->pp > 1 && !plan_shards_nest(p, d))
        return fail_because(why,
                            "with order tp-cp-pp-dp, shard_group %d must be a multiple or a "
                            "divisor of cp %d, and the "
                            "expert shard group a multiple or a divisor of the expert replicas "
                            "within tp x cp (rule P3)",
                            d->shard_group, d->cp);
    if (d->zero == 0 && d->shard_group != replicas)
        return fail_because(why, "ZeRO 0 shards nothing: shard_group must be dp x cp = %d",
                            replicas);
    // Megatron also refuses to gather while MXFP8 parameters share the buffer of the gradients.
    const bool shared = d->fp8_params && p->job.precision == PLAIT_MXFP8;
    if (d->gather_with_step && (d->zero != 1 || d->pp == 1 || d->vpp == 1 ||
                                d->grad_sync != PLAIT_SYNC_BUCKETED || shared))
        return fail_because(why,
                            "gather_with_step 1 needs ZeRO 1, pp > 1, vpp > 1, grad_sync bucketed "
                            "and a separate buffer of parameters, found ZeRO %d, pp %d, vpp %d, "
                            "%s%s (rule P69)",
                            d->zero, d->pp, d->vpp, plait_grad_sync_name[d->grad_sync],
                            shared ? " and mxfp8 parameters" : "");
    const char *const what = idle_traffic(d);
    return what == NULL ||
           fail_because(why, "%s has no effect with ZeRO %d and quantise %s (rule P26)", what,
                        d->zero, plait_quantise_name[d->quantise]);
}

bool plan_formats_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    const bool half = p->job.precision == PLAIT_FP16;

    if ((d->grad_reduce == PLAIT_STATE_BF16 && half) ||
        (d->grad_reduce == PLAIT_STATE_FP16 && !half) || d->grad_reduce == PLAIT_STATE_FP8)
        return fail_because(
            why, "grad_reduce is %s, but a job in %s reduces gradients in fp32 or %s (rule P8)",
            plait_state_format_name[d->grad_reduce], plait_precision_name[p->job.precision],
            half ? "fp16" : "bf16");
    if (d->offload == PLAIT_OFFLOAD_NONE && d->offload_share != 0)
        return fail_because(why, "offload_share %s needs offload (rule P28)",
                            plait_offload_share_name[d->offload_share]);
    if (d->offload == PLAIT_OFFLOAD_PARAMS &&
        (d->zero < 3 || d->reshard == PLAIT_RESHARD_NODE || d->offload_share != 0))
        return fail_because(why,
                            "offload params needs ZeRO 3 without reshard node and without "
                            "offload_share, found %s (rule P53)",
                            d->zero < 3                        ? "ZeRO below 3"
                            : d->reshard == PLAIT_RESHARD_NODE ? "reshard node"
                                                               : "offload_share");
    if (d->optimizer_state == PLAIT_STATE_FP16)
        return fail_because(why, "optimizer_state must be fp32, bf16 or fp8, found fp16");
    if (d->fp8_params && p->job.precision < PLAIT_FP8)
        return fail_because(
            why, "fp8_params 1 needs matrix products in 8 bits or fewer, found %s (rule P9)",
            plait_precision_name[p->job.precision]);
    return true;
}

bool plan_dispatcher_runs(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    static const int kernels[PLAIT_DISPATCHERS] = {
        [PLAIT_DISPATCH_DEEPEP] = PLAIT_KERNEL_DEEPEP,
        [PLAIT_DISPATCH_DEEPEP_FP8] = PLAIT_KERNEL_DEEPEP,
        [PLAIT_DISPATCH_HYBRIDEP] = PLAIT_KERNEL_HYBRIDEP,
    };
    const plait_accelerator *gpu = p->cluster->group[0].accelerator;
    const char *const name = plait_dispatcher_name[d->dispatcher];

    if (d->ep == 1 || !model_has_experts(p->model)) // no tokens are sent
        return true;
    if (kernels[d->dispatcher] > 0 && !plait_accelerator_runs(gpu, kernels[d->dispatcher]))
        return fail_because(why, "%s has no dispatcher %s", gpu->name, name);
    return true;
}

bool plan_recompute_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    char recompute[96];

    if (d->recompute.kind == PLAIT_RECOMPUTE_FULL && d->recompute.layers > p->model->layers)
        return fail_because(why, "recompute full:%d exceeds the %d layers of the model",
                            d->recompute.layers, p->model->layers);
    if (d->recompute.kind == PLAIT_RECOMPUTE_FULL && d->recompute.layers % d->vpp != 0)
        return fail_because(why, "recompute full:%d must be a multiple of vpp %d",
                            d->recompute.layers, d->vpp);

    if (d->recompute.kind == PLAIT_RECOMPUTE_MODULES &&
        !model_has_modules(p->model, d->recompute.modules))
        return fail_because(
            why, "recompute must name only modules that %s has, found %s (rule P70)",
            p->model->name, plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, recompute, sizeof recompute));

    // Recomputation runs in the backward pass, so it cannot be paired with a forward pass.
    const bool moe = d->recompute.kind == PLAIT_RECOMPUTE_MODULES &&
                     (d->recompute.modules >> PLAIT_MODULE_moe & 1u);
    if (d->ep_overlap != PLAIT_EP_OVERLAP_NONE &&
        (d->recompute.kind == PLAIT_RECOMPUTE_FULL || moe))
        return fail_because(
            why,
            "ep_overlap %s does not allow recompute %s, which repeats dispatch and combine "
            "in backward (rule P24)",
            plait_ep_overlap_name[d->ep_overlap], moe ? "of moe" : "full");

    // A graph of the whole iteration has buffers of a fixed size for experts, which offload does not
    // know, and a fused kernel of experts keeps its own inputs.
    static const unsigned of_experts = 1u << PLAIT_OFFLOAD_expert_fc1 | 1u << PLAIT_OFFLOAD_moe_act;
    const bool whole = d->switches.cuda_graph == PLAIT_GRAPH_FULL;
    const bool graphs = d->switches.cuda_graph != PLAIT_GRAPH_NONE;
    if (graphs && (d->recompute.kind == PLAIT_RECOMPUTE_FULL || (moe && whole)))
        return fail_because(why, "CUDA graphs do not allow recompute %s (rule P61)",
                            moe ? "of moe" : "full");
    if ((whole || d->switches.fused_grouped_mlp) &&
        (plait_offload_modules(d->offload_acts) & of_experts))
        return fail_because(why, "%s does not allow offload_acts of experts, found %s (rule P62)",
                            whole ? "cuda_graph full_iteration" : "fused_grouped_mlp 1",
                            plait_offload_acts_name[d->offload_acts]);

    // A part that a graph captures and backward computes again must draw no random numbers.
    const unsigned again = d->recompute.kind == PLAIT_RECOMPUTE_SELECTIVE
                               ? 1u << PLAIT_MODULE_core_attn
                           : d->recompute.kind == PLAIT_RECOMPUTE_MODULES ? d->recompute.modules
                                                                          : 0;
    static const unsigned random = 1u << PLAIT_MODULE_core_attn | 1u << PLAIT_MODULE_mlp;
    if (graphs && p->model->dropout && (again & random))
        return fail_because(why, "CUDA graphs of a model with dropout do not allow recompute of "
                                 "core_attn or mlp (rule P66)");

    // Norms are the boundary of the graphs of a layer, so that their inputs stay on the device.
    // Releases without graphs of a whole iteration offload nothing that is inside a graph.
    static const unsigned norms = 1u << PLAIT_OFFLOAD_attn_norm | 1u << PLAIT_OFFLOAD_mlp_norm;
    if (d->switches.cuda_graph == PLAIT_GRAPH_LAYERS && d->offload_acts > 0 &&
        ((plait_offload_modules(d->offload_acts) & norms) ||
         runtime_brought(p->runtime, PLAIT_KEY_CUDA_GRAPH, PLAIT_GRAPH_FULL)))
        return fail_because(why,
                            "cuda_graph layers does not allow offload_acts of norms, and no "
                            "offload_acts before full_iteration was added, found %s (rule P67)",
                            plait_offload_acts_name[d->offload_acts]);

    // The model must have the offloaded modules, and recomputation must keep their inputs.
    const bool there = offload_inputs_exist(p, d->offload_acts);
    return (there && recompute_keeps_inputs(d->offload_acts, d->recompute)) ||
           fail_because(why, "offload_acts %s with recompute %s: %s (rule P27)",
                        plait_offload_acts_name[d->offload_acts],
                        plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, recompute, sizeof recompute),
                        there ? "recomputation does not keep the inputs of these modules"
                              : "the model or the runtime has no separate modules of these names");
}

/* Checks a layout: it must have pp * vpp chunks and contain the whole model. */
static bool layout_is_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    plait_error wrong;
    char lacks[160];
    int count;

    if (!d->split.layout)
        return fail_because(why, "split layout needs a text, such as layout:Et*3|(tt|)*29,m|L");
    if (layout_read(d->split.layout, PLAIT_MAX_LAYERS, chunks, &count, &wrong) != PLAIT_OK)
        return fail_because(why, "%s", wrong.message);
    if (count != d->pp * d->vpp)
        return fail_because(why, "the layout has %d chunks, but pp %d x vpp %d = %d", count, d->pp,
                            d->vpp, d->pp * d->vpp);
    return layout_covers_model(p->model, chunks, count, lacks, sizeof lacks) ||
           fail_because(why, "%s (rule P29)", lacks);
}

/* Checks a split: it must fill all chunks, of which there are at most PLAIT_MAX_LAYERS. */
static bool has_few_chunks(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    const int most = split_most_chunks(p->model->layers, (plait_split_kind)d->split.kind);
    const int chunks = saturating_mul(d->pp, d->vpp);

    return (chunks <= most && chunks <= PLAIT_MAX_LAYERS) ||
           fail_because(why, "pp %d x vpp %d chunks are too many for %d layers", d->pp, d->vpp,
                        p->model->layers);
}

bool plan_stages_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    int counts[PLAIT_MAX_LAYERS];
    char split[48];

    if (!has_few_chunks(p, d, why))
        return false;
    if (d->split.kind == PLAIT_SPLIT_LAYOUT)
        return layout_is_legal(p, d, why) && plan_recompute_legal(p, d, why);
    if (!plait_split_layers(p->model, d, counts))
        return fail_because(why,
                            "%d layers cannot be divided into pp %d x vpp %d chunks with split %s",
                            p->model->layers, d->pp, d->vpp,
                            plait_degrees_get(d, PLAIT_KEY_SPLIT, split, sizeof split));
    return plan_recompute_legal(p, d, why);
}

// ---- limits of the software ---------------------------------------------------------

/* Checks one key against the profile. Skips cp_comm without cp, since it then has no effect. */
static bool key_within(const plait_runtime *r, const plait_degrees *d, plait_key_id key,
                       const plan_reason *why)
{
    const plait_key *const row = &plait_keys[key];
    char text[96], brought[RUNTIME_BROUGHT_SIZE];

    if (row->limit_name == NULL || (key == PLAIT_KEY_CP_COMM && d->cp == 1))
        return true;
    if (row->kind == PLAIT_KEY_NUMBER) {
        const char *const name = plait_keys[key].name;
        const int most = r->can.most[key];
        if (plait_key_value(d, key) <= most)
            return true;
        return most == 1 ? fail_because(why, "%s has no %s", r->name, name)
                         : fail_because(why, "%s supports %s up to %d", r->name, name, most);
    }
    if (r->can.takes[key] >> plait_key_value(d, key) & 1u)
        return true;
    return fail_because(why, "%s has no %s %s%s", r->name,
                        row->kind == PLAIT_KEY_SMALL_NUMBER ? row->title : row->name,
                        plait_degrees_get(d, key, text, sizeof text),
                        runtime_brought_text(r, (int)key, plait_key_value(d, key), brought));
}

/* Checks combinations of keys against the profile. */
static bool is_expressible(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    const plait_runtime *const r = p->runtime;
    const plait_capabilities *can = &r->can;
    char text[96], brought[RUNTIME_BROUGHT_SIZE];

    if (d->recompute.kind == PLAIT_RECOMPUTE_FULL && d->recompute.layers > 0 && !can->full_layers)
        return fail_because(why, "%s has no recompute %s", r->name,
                            plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, text, sizeof text));
    if (d->tp > 1 && !(can->takes[PLAIT_KEY_SP] >> d->sp & 1u))
        return fail_because(why, "%s needs sp = %d with tp > 1", r->name, !d->sp);
    if (!r->can.hsdp && d->shard_group != d->dp * d->cp)
        return fail_because(why, "%s has no shard_group below dp x cp%s", r->name,
                            runtime_brought_text(r, PLAIT_FEATURE_HSDP, 0, brought));
    if (r->can.etp_is_tp && d->etp != d->tp && model_has_experts(p->model))
        return fail_because(why, "%s has no etp other than tp, found %d%s", r->name, d->etp,
                            runtime_brought_text(r, PLAIT_FEATURE_ETP, 0, brought));
    if (p->model->mtp_layers > 0 && d->cp > 1 && runtime_brought(r, PLAIT_FEATURE_MTP_CP, 0))
        return fail_because(why, "%s has no cp with multi-token prediction%s", r->name,
                            runtime_brought_text(r, PLAIT_FEATURE_MTP_CP, 0, brought));
    if (d->vpp > 1 && d->split.kind == PLAIT_SPLIT_FIRST_LAST &&
        runtime_brought(r, PLAIT_FEATURE_UNEVEN_CHUNKS, 0))
        return fail_because(why, "%s has no vpp > 1 with split first-last%s", r->name,
                            runtime_brought_text(r, PLAIT_FEATURE_UNEVEN_CHUNKS, 0, brought));
    if (!r->can.etp && d->etp != 1 && d->etp != d->tp)
        return fail_because(why, "%s has no etp other than 1 and tp", r->name);

    // Check each module of a set, since the modules came with different releases of the software.
    static const unsigned not_fp8 = 1u << PLAIT_MODULE_layernorm | 1u << PLAIT_MODULE_moe_act;
    for (int m = 0; m < PLAIT_MODULES && d->recompute.kind == PLAIT_RECOMPUTE_MODULES; m++)
        if ((d->recompute.modules >> m & 1u) && runtime_brought(r, PLAIT_FEATURE_MODULE, m))
            return fail_because(why, "%s has no recompute modules:%s%s", r->name,
                                plait_recompute_module_name[m],
                                runtime_brought_text(r, PLAIT_FEATURE_MODULE, m, brought));
    if (d->recompute.kind == PLAIT_RECOMPUTE_MODULES && (d->recompute.modules & not_fp8) &&
        p->job.precision > PLAIT_FP16 && runtime_brought(r, PLAIT_FEATURE_FP8_RECOMPUTE, 0))
        return fail_because(why, "%s has no recompute %s with %s%s", r->name,
                            plait_degrees_get(d, PLAIT_KEY_RECOMPUTE, text, sizeof text),
                            plait_precision_name[p->job.precision],
                            runtime_brought_text(r, PLAIT_FEATURE_FP8_RECOMPUTE, 0, brought));
    return true;
}

static bool rule_holds(const plait_problem *p, const plan_rule *broken, const plan_reason *why)
{
    return !broken || fail_because(why, "%s (%s, rule %s)", broken->condition, p->runtime->name,
                                   broken->number);
}

// ---- the steps -----------------------------------------------------------------------------

bool problem_is_valid(const plait_problem *p, const plan_reason *why)
{
    plait_error wrong;

    return range_check_passed(problem_check(p, &wrong), &wrong, why);
}

bool plan_layers_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    // The software and the accelerator must support the job's number format.
    const plait_accelerator *gpu = p->cluster->group[0].accelerator;
    const plait_precision precision = p->job.precision;
    const char *format = plait_precision_name[precision];
    char brought[RUNTIME_BROUGHT_SIZE];

    if (!plait_cluster_priced(p->cluster, p->job.gpus, why->text, why->size))
        return !p->runtime->can.stages_differ
                   ? false
                   : fail_because(
                         why,
                         "%d GPUs of %s span two kinds of nodes, whose stages need separate "
                         "degrees: use a plan that plait search wrote",
                         p->job.gpus, p->cluster->name);
    if (gpu->fp16_only && precision == PLAIT_BF16)
        return fail_because(why, "%s has no bf16; use fp16", gpu->name);
    if (!plait_accelerator_runs(gpu, PLAIT_KERNEL_PRECISION + (int)precision))
        return fail_because(why, "%s has no %s", gpu->name, format);
    if (!plan_experts_run(p, why))
        return false;
    if (!(p->runtime->can.precision >> precision & 1u))
        return fail_because(
            why, "%s has no precision %s%s", p->runtime->name, format,
            runtime_brought_text(p->runtime, PLAIT_FEATURE_PRECISION, (int)precision, brought));

    if (!plan_attention_runs(p, d, why) || !plan_switches_run(p, d, why))
        return false;
    // The default placement is the only one if the cluster has no grid, or a grid of equal sides.
    if (d->placement != PLAIT_PLACE_XYZ &&
        !plait_placement_differs(p->cluster, (plait_placement)d->placement))
        return fail_because(
            why,
            "placement %s is redundant on %.80s: it places every rank as an earlier value "
            "does (rule P15)",
            plait_placement_name[d->placement], p->cluster->name);
    for (int k = 0; k < p->model->kinds; k++) {
        const plait_layer *const layer = &p->model->kind[k];

        if (!mixer_divides(layer, layer->mixer, d, why) ||
            !mixer_divides(layer, layer->second_mixer, d, why))
            return false;
        if (layer->ffn == PLAIT_FFN_MLP && layer->mlp.width % d->tp != 0)
            return fail_because(why, "tp %d does not divide an MLP width of %d", d->tp,
                                layer->mlp.width);
        if (layer->ffn == PLAIT_FFN_MOE) {
            if (layer->moe.experts % d->ep != 0)
                return fail_because(why, "ep %d does not divide %d experts", d->ep,
                                    layer->moe.experts);
            if (layer->moe.width % d->etp != 0)
                return fail_because(why, "etp %d does not divide an expert width of %d", d->etp,
                                    layer->moe.width);
            if (layer->moe.shared_width % d->tp != 0)
                return fail_because(why, "tp %d does not divide a shared expert width of %d", d->tp,
                                    layer->moe.shared_width);
        }
    }
    if (d->sp && d->tp == 1)
        return fail_because(why, "sp needs tp > 1");
    if (p->job.seq % d->cp != 0)
        return fail_because(why, "cp %d does not divide a sequence of %d tokens", d->cp,
                            p->job.seq);

    // cp_comm a2a+p2p needs an all-to-all among neighbours and a ring across their groups, each of
    // at least two ranks.
    return d->cp == 1 || d->cp_comm != PLAIT_CP_A2A_P2P ||
           plait_context_inner(p, d->tp, d->cp) > 1 ||
           fail_because(
               why,
               "cp %d (a2a+p2p) has no divisor from 2 to cp / 2 that divides the heads per "
               "tensor rank and fits a scale-up domain together with tp %d (rule P25)",
               d->cp, d->tp);
}

static bool software_takes(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    return is_expressible(p, d, why) && rule_holds(p, plan_rule_broken(p, d), why);
}

bool plan_shards_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    return shards_divide(p, d, why) && plan_formats_legal(p, d, why) && software_takes(p, d, why);
}

static bool grid_divides(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    if (!world_divides(p, d, why))
        return false;
    const int64_t stage = (int64_t)d->tp * d->cp * d->dp;
    if (!model_has_experts(p->model)) {
        if (d->ep > 1)
            return fail_because(why, "ep %d, but %s has no experts", d->ep, p->model->name);
        if (d->etp != d->tp && d->etp != 1)
            return fail_because(why, "etp %d, but %s has no experts", d->etp, p->model->name);
    } else if (stage % ((int64_t)d->etp * d->ep) != 0) {
        return fail_because(why, "etp %d x ep %d does not divide the %lld GPUs of a stage", d->etp,
                            d->ep, (long long)stage);
    }
    return plan_formats_legal(p, d, why);
}

static bool keys_within(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    for (int key = 0; key < PLAIT_KEYS; key++)
        if (!key_within(p->runtime, d, (plait_key_id)key, why))
            return false;
    return true;
}

bool plan_grid_divides(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    return grid_divides(p, d, why) && keys_within(p, d, why);
}

/* Checks what pairs of microbatches require of the pipeline and the experts. */
static bool pairs_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    const char *const name = plait_ep_overlap_name[d->ep_overlap];

    if (d->ep_overlap == PLAIT_EP_OVERLAP_NONE)
        return true;
    if (d->ep == 1 || !model_has_experts(p->model))
        return fail_because(why, "ep_overlap %s needs ep > 1 (rule P21)", name);
    if (!plait_schedule_has_pairs((plait_schedule)d->schedule, d->pp, d->vpp))
        return fail_because(why,
                            "ep_overlap %s needs pp 1 or schedule interleaved (vpp > 1) or "
                            "dualpipe, found %s with pp %d (rule P22)",
                            name, plait_schedule_name[d->schedule], d->pp);
    if (d->dispatcher == PLAIT_DISPATCH_ALLGATHER)
        return fail_because(why, "ep_overlap %s needs a dispatcher other than allgather (rule P23)",
                            name);
    return true;
}

bool plan_kind_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    const plait_schedule schedule = (plait_schedule)d->schedule;

    if (model_has_experts(p->model) && d->order == PLAIT_ORDER_TP_CP_PP_DP && d->pp > 1 &&
        (int64_t)d->tp * d->cp % ((int64_t)d->etp * d->ep) != 0)
        return fail_because(
            why, "with order tp-cp-pp-dp, etp x ep must divide tp x cp = %d, found %lld (rule P2)",
            d->tp * d->cp, (long long)d->etp * d->ep);
    if (!shards_divide(p, d, why))
        return false;
    if (!plait_schedule_takes(schedule, d->vpp))
        return fail_because(why, "schedule %s needs %s, found vpp %d",
                            plait_schedule_name[schedule],
                            plait_schedule_chunks(schedule) == 1   ? "vpp 1"
                            : plait_schedule_chunks(schedule) == 2 ? "vpp 2"
                                                                   : "vpp > 1",
                            d->vpp);
    return plan_dispatcher_runs(p, d, why) && pairs_legal(p, d, why) && software_takes(p, d, why);
}

bool plan_grid_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    // Report first that shards do not divide: then values of other keys need not be supported.
    return grid_divides(p, d, why) && shards_divide(p, d, why) && keys_within(p, d, why) &&
           plan_kind_legal(p, d, why);
}

bool plan_batch_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    if (!batch_divides(p, d, why))
        return false;

    const plait_schedule schedule = (plait_schedule)d->schedule;
    const char *const needs =
        plait_schedule_needs(schedule, d->pp, plait_degrees_microbatches(d, p->job.gbs));
    if (needs != NULL)
        return fail_because(why, "schedule %s needs %s", plait_schedule_name[schedule], needs);
    return rule_holds(p, batch_rule_broken(p, d), why);
}

bool plan_ranks_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    // Check divisibility of the batch first; most later failures are consequences of it.
    return world_divides(p, d, why) && batch_divides(p, d, why) && plan_grid_legal(p, d, why) &&
           plan_batch_legal(p, d, why);
}

bool plan_degrees_legal(const plait_problem *p, const plait_degrees *d, const plan_reason *why)
{
    plait_error wrong;

    // All values must be within their ranges, and the number of chunks within PLAIT_MAX_LAYERS.
    if (!range_check_passed(degrees_check_ranges(d, &wrong), &wrong, why) ||
        (saturating_mul(d->pp, d->vpp) > PLAIT_MAX_LAYERS && !has_few_chunks(p, d, why)))
        return false;
    return plan_layers_legal(p, d, why) && plan_ranks_legal(p, d, why) &&
           plan_stages_legal(p, d, why);
}

plait_verdict plait_degrees_check(const plait_problem *p, const plait_degrees *d, char *why,
                                  size_t size)
{
    const plan_reason reason = {why, size};

    if (size > 0 && why)
        why[0] = '\0';
    return problem_is_valid(p, &reason) && plan_degrees_legal(p, d, &reason) ? PLAIT_FITS
                                                                             : PLAIT_INVALID;
}
