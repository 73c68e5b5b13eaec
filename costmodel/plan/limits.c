/*
 * limits.c - communication limits of one point: the least tokens, widths and layers with which
 * compute hides communication
 */
#include "plait/lowlevel/limits.h"

#include <math.h>

#include "costmodel/layer/layer_row.h"
#include "base/numbers.h"
#include "plait/lowlevel/block.h"
#include "plait/runtime.h"
#include "plan/model_queries.h"

/* The point, its hardware, and means over the model's layers, computed once. */
typedef struct limits_of {
    const plait_problem *problem;
    const plait_degrees *degrees;
    plait_state_bytes state;
    double flops_per_s;
    double layer_flops;   /* FLOPs of the mean layer's forward, per token */
    double tensor_width;  /* width F of the mean layer (C.127) */
    const plait_moe *moe; /* experts of the model's first MoE layer; NULL: none */
    plait_comm_limit *limit;
    int count;
} limits_of;

static void add(limits_of *of, plait_comm_limit limit)
{
    if (isfinite(limit.least) && limit.value > 0.0)
        of->limit[of->count++] = limit;
}

/* ---- the model ---- */

/*
 * Returns the width F of C.127. That formula assumes one gather and one scatter of 2 h bytes per
 * token for 4 h F FLOPs. A layer does one gather and one scatter for each mixer (attention), and one
 * more pair if tp shards its feed-forward part.
 */
static double layer_width(const plait_problem *problem, const plait_degrees *d,
                          const plait_layer *layer)
{
    const unsigned experts = 1u << PLAIT_PART_expert_fc1 | 1u << PLAIT_PART_expert_fc2;
    const unsigned apart = d->etp > 1 ? 0u : experts;
    const bool dense = layer->ffn == PLAIT_FFN_MLP || d->etp > 1 || layer->moe.shared_width > 0;
    const int trips = (layer->mixer != PLAIT_MIXER_NONE) +
                      (layer->second_mixer != PLAIT_MIXER_NONE) +
                      (layer->ffn != PLAIT_FFN_NONE && dense && !layer->parallel_residual);

    if (trips == 0)
        return 0.0;
    return plait_layer_flops_per_token(problem->model, layer, plait_job_reach(&problem->job),
                                       ~apart) /
           (4.0 * problem->model->hidden * trips);
}

static void count_model(limits_of *of)
{
    const plait_model *const model = of->problem->model;

    for (int i = 0; i < model->layers; i++) {
        const plait_layer *const layer = &model->kind[model->layer_kind[i]];

        of->layer_flops +=
            plait_layer_flops_per_token(model, layer, plait_job_reach(&of->problem->job), ~0u) /
            model->layers;
        of->tensor_width += layer_width(of->problem, of->degrees, layer) / model->layers;
        if (of->moe == NULL && layer->ffn == PLAIT_FFN_MOE)
            of->moe = &layer->moe;
    }
}

/* Returns the limit of C.125 with the bandwidth of a group's links. */
static double tokens_of(const limits_of *of, plait_group_shape group)
{
    const plait_route route = plait_route_of(of->problem->cluster, group);

    return plait_limit_tokens(of->flops_per_s, plait_route_wire_bytes_per_s(&route));
}

/* ---- data parallelism ---- */

/*
 * Returns the factor that scales C.126 to other formats and ZeRO stages. The formula assumes 2
 * bytes per parameter for the gather during forward, and 2 + 2 bytes for the scatter of gradients
 * and the gather during backward.
 */
static double format_share(const limits_of *of)
{
    const double gather = of->state.gather / 2.0;
    const double reduce = of->state.gradient_reduce / 4.0;

    switch (of->degrees->zero) {
    case 0:
        return 2.0 * reduce;
    case 3:
        return larger(gather, reduce + of->state.gather / 4.0);
    default:
        return larger(gather, reduce);
    }
}

/*
 * Tokens per GPU that hide an exchange of gradients: those of a microbatch if each microbatch
 * exchanges (ZeRO-2 and -3), else those of a step.
 */
static double data_tokens(const limits_of *of)
{
    const plait_degrees *const d = of->degrees;
    const double step =
        plait_job_tokens(&of->problem->job) / ((double)d->tp * d->pp * d->cp * d->dp);

    return d->zero < 2 ? step : step / plait_degrees_microbatches(d, of->problem->job.gbs);
}

static void add_data(limits_of *of)
{
    const plait_degrees *const d = of->degrees;
    const plait_group_shape all = plait_group_replicas(d);
    const plait_group_shape group = d->zero == 3 ? plait_group_inner(all, d->shard_group) : all;
    const double tokens = tokens_of(of, group) * format_share(of);

    if (group.ranks < 2)
        return;
    add(of, (plait_comm_limit){
                .parallelism = d->zero == 3 ? "FSDP" : "DP",
                .counts = d->zero < 2 ? "tokens a GPU" : "tokens a GPU, a microbatch",
                .equation = "C.126",
                .ranks = group.ranks,
                .value = data_tokens(of),
                .least = plait_limit_data_tokens(tokens, 0, 1.0, 1.0) / (d->tp * d->pp),
            });
}

/*
 * Adds the limit for experts. They are sharded over more ranks than the other layers, and each
 * receives fewer tokens.
 */
static void add_expert_data(limits_of *of)
{
    const plait_degrees *const d = of->degrees;
    const plait_group_shape all = plait_group_of(d, PLAIT_AXIS_EDP);
    const plait_group_shape group =
        d->zero == 3 ? plait_group_inner(all, plait_expert_shard_group(d)) : all;

    if (of->moe == NULL || group.ranks < 2)
        return;
    add(of, (plait_comm_limit){
                .parallelism = d->zero == 3 ? "FSDP of experts" : "DP of experts",
                .counts = d->zero < 2 ? "tokens a GPU" : "tokens a GPU, a microbatch",
                .equation = "C.126",
                .ranks = group.ranks,
                .value = data_tokens(of),
                .least = plait_limit_data_tokens(tokens_of(of, group) * format_share(of), 0,
                                                 of->moe->experts, moe_mean_topk(of->moe)) /
                         ((double)d->ep * d->etp * d->pp),
            });
}

/* ---- inside a layer ---- */

static void add_tensor(limits_of *of)
{
    const plait_degrees *const d = of->degrees;
    const plait_group_shape group = plait_group_of(d, PLAIT_AXIS_TP);

    if (d->tp < 2)
        return;
    const double tokens = tokens_of(of, group);
    add(of, (plait_comm_limit){
                .parallelism = "TP",
                .counts = "width a rank",
                .equation = "C.127",
                .ranks = d->tp,
                .value = of->tensor_width / d->tp,
                .least = of->tensor_width / plait_limit_tensor_ranks(of->tensor_width, tokens),
            });
    if (d->dp * d->cp < 2)
        return;
    add(of, (plait_comm_limit){
                .parallelism = "DP x TP, best split",
                .counts = d->zero < 2 ? "tokens a GPU" : "tokens a GPU, a microbatch",
                .equation = "C.128",
                .ranks = d->dp * d->cp * d->tp,
                .value = data_tokens(of),
                .least = plait_limit_mixed_tokens(tokens_of(of, plait_group_replicas(d)), tokens,
                                                  of->tensor_width) /
                         d->pp,
            });
}

/*
 * Copies of a token that leave a domain. With moe_dedup the software sends only one copy to each
 * node (C.57).
 */
static double copies_beyond(const limits_of *of, double nodes)
{
    const plait_moe *const moe = of->moe;
    const double topk = moe_mean_topk(moe);
    const double most = moe->group_topk > 0 ? moe->group_topk : topk;
    const double sent = of->problem->runtime->overlap.moe_dedup
                            ? smaller(most, plait_expected_nodes(nodes, topk))
                            : topk;

    return sent * (nodes - 1.0) / nodes;
}

/*
 * Adds the limit for expert parallelism. The slower of two levels decides: links inside the domain,
 * or links between domains.
 */
static void add_expert(limits_of *of)
{
    const plait_degrees *const d = of->degrees;

    if (of->moe == NULL || d->ep < 2)
        return;
    const plait_moe *const moe = of->moe;
    const plait_route route =
        plait_route_of(of->problem->cluster, plait_group_of(d, PLAIT_AXIS_EP));
    const double nodes = plait_route_nodes(&route);
    const double matrices = moe->gated ? 3.0 : 2.0;
    const double topk = moe_mean_topk(moe);
    double least = 0.0;

    for (int l = 0; l < route.levels; l++) {
        const plait_level *const level = &route.cluster->level[l];
        const double tokens = plait_limit_tokens(
            of->flops_per_s, level->link.bytes_per_s / larger(level->oversubscription, 1.0));
        const double copies =
            l > 0 ? copies_beyond(of, nodes) : topk * (route.joined[0] - 1.0) / route.ranks;
        least = larger(least, plait_limit_expert_width(tokens, copies, topk, matrices));
    }
    add(of, (plait_comm_limit){.parallelism = "EP",
                               .counts = "width of an expert",
                               .equation = "C.130",
                               .ranks = d->ep,
                               .value = (double)moe->width / d->etp,
                               .least = least});
}

/* ---- between stages and along the sequence ---- */

/* Bandwidth between neighbours of a group, at the lowest level that contains both. */
static double neighbour_bytes_per_s(const plait_cluster *cluster, plait_group_shape group)
{
    int l = 0;

    while (l + 1 < cluster->levels && cluster->level[l].gpus <= group.run[0].stride)
        l++;
    return cluster->level[l].link.bytes_per_s / larger(cluster->level[l].oversubscription, 1.0);
}

static void add_pipeline(limits_of *of)
{
    const plait_degrees *const d = of->degrees;

    if (d->pp < 2)
        return;
    const bool whole = !d->sp && !of->problem->runtime->overlap.p2p_scatter;
    const double tokens = plait_limit_tokens(
        of->flops_per_s,
        neighbour_bytes_per_s(of->problem->cluster, plait_group_of(d, PLAIT_AXIS_PP)));
    add(of, (plait_comm_limit){.parallelism = "PP",
                               .counts = "layers of a chunk",
                               .equation = "C.131",
                               .ranks = d->pp,
                               .value = (double)of->problem->model->layers / (d->pp * d->vpp),
                               .least = plait_limit_chunk_layers(
                                   tokens,
                                   2.0 * model_sent_width(of->problem->model) * (whole ? d->tp : 1),
                                   of->layer_flops)});
}

/*
 * Adds the limit for context parallelism. Only a ring of keys and values (cp_comm p2p) overlaps
 * attention, so other exchanges have no such limit.
 */
static void add_ring(limits_of *of)
{
    const plait_degrees *const d = of->degrees;
    const plait_layer *const layer = &of->problem->model->kind[of->problem->model->layer_kind[0]];

    if (d->cp < 2 || d->cp_comm != PLAIT_CP_P2P || layer->mixer != PLAIT_MIXER_ATTENTION)
        return;
    const double tokens = plait_limit_tokens(
        of->flops_per_s,
        neighbour_bytes_per_s(of->problem->cluster, plait_group_of(d, PLAIT_AXIS_CP)));
    add(of, (plait_comm_limit){.parallelism = "CP",
                               .counts = "tokens of a sequence a rank",
                               .equation = "C.132",
                               .ranks = d->cp,
                               .value = (double)of->problem->job.seq / d->cp,
                               .least = plait_limit_ring_tokens(tokens, layer->attention.heads,
                                                                layer->attention.kv_heads)});
}

int plait_comm_limits(const plait_problem *problem, const plait_degrees *degrees,
                      plait_comm_limit limit[PLAIT_MAX_COMM_LIMITS])
{
    const plait_accelerator *const gpu = plait_cluster_accelerator(problem->cluster, 0);
    limits_of of = {.problem = problem,
                    .degrees = degrees,
                    .state = plait_state_of(problem, degrees),
                    .flops_per_s = gpu->peak_flops_per_s[problem->job.precision],
                    .limit = limit};

    count_model(&of);
    add_data(&of);
    add_expert_data(&of);
    add_tensor(&of);
    add_expert(&of);
    add_pipeline(&of);
    add_ring(&of);
    return of.count;
}
