/*
 * keys.c - the keys of a plan, one row for each
 *
 * Parsing, printing, limits, files, completion, reports and help read a key's row. Limits of a
 * runtime are in plait_capabilities, at the index of the key.
 */
#include "plait/plan.h"
#include "plait/runtime.h"
#include "plait/lowlevel/schedule.h"
#include "base/saturating.h"
#include "plan/model_queries.h"

const char *const plait_cp_comm_name[PLAIT_CP_COMMS + 1] = {"p2p", "allgather", "a2a", "a2a+p2p",
                                                            NULL};

const char *const plait_schedule_name[PLAIT_SCHEDULES + 1] = {
#define X(constant, word, descriptor) word,
    PLAIT_SCHEDULE_LIST(X)
#undef X
        NULL};

const char *const plait_grad_sync_name[PLAIT_GRAD_SYNCS + 1] = {"bulk", "bucketed", "shifted",
                                                                NULL};

const char *const plait_split_name[PLAIT_SPLITS + 1] = {
    "even", "embedding", "loss", "both", "first-last", "spread", "cost", "layout", NULL,
};

const char *const plait_order_name[PLAIT_ORDERS + 1] = {"tp-cp-dp-pp", "tp-cp-pp-dp", NULL};

const char *const plait_placement_name[PLAIT_PLACEMENTS + 1] = {"xyz", "xzy", "yxz", "yzx",
                                                                "zxy", "zyx", NULL};

const char *const plait_recompute_name[PLAIT_RECOMPUTE_KINDS + 1] = {"none", "selective", "modules",
                                                                     "sac",  "full",      NULL};

const char *const plait_state_format_name[PLAIT_STATE_FORMATS + 1] = {"fp32", "bf16", "fp16", "fp8",
                                                                      NULL};

const char *const plait_offload_name[PLAIT_OFFLOADS + 1] = {"none", "optimizer", "gradients",
                                                            "params", NULL};

const char *const plait_offload_share_name[PLAIT_OFFLOAD_SHARES + 1] = {
    "1", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", NULL};

const char *const plait_bucket_name[PLAIT_BUCKETS + 1] = {"default", "1e7", "2e7", "5e7",
                                                          "1e8",     "2e8", "1e9", NULL};

#define X(name) #name,
const char *const plait_offload_module_name[PLAIT_OFFLOAD_MODULES + 1] = {
    PLAIT_OFFLOAD_MODULE_LIST(X) NULL};
#undef X

const char *const plait_reshard_name[PLAIT_RESHARDS + 1] = {"always", "never", "node", NULL};

const char *const plait_scatter_name[PLAIT_SCATTERS + 1] = {"microbatch", "step", NULL};

const char *const plait_quantise_name[PLAIT_QUANTISES + 1] = {"none", "weights", "gradients",
                                                              "both", NULL};

const char *const plait_dispatcher_name[PLAIT_DISPATCHERS + 1] = {
    "alltoall", "allgather", "deepep", "deepep-fp8", "hybridep", NULL};

const char *const plait_ep_overlap_name[PLAIT_EP_OVERLAPS + 1] = {"none", "pairs",
                                                                  "pairs-delayed-wgrad", NULL};

static const char *const cuda_graph_name[PLAIT_GRAPHS + 1] = {"none", "layers", "full_iteration",
                                                              NULL};

static const char *const fusion_name[PLAIT_FUSIONS + 1] = {"none", "auto", NULL};

#define X(name, what) #name,
const char *const plait_recompute_module_name[PLAIT_MODULES + 1] = {PLAIT_RECOMPUTE_MODULE_LIST(X)
                                                                        NULL};
#undef X

// ---- whether a key has an effect, given the other keys --------------------------------------

static bool several_tensor_ranks(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->tp > 1;
}

static bool several_context_ranks(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->cp > 1;
}

static bool has_experts(const plait_problem *problem, const plait_degrees *d)
{
    (void)d;
    return model_has_experts(problem->model);
}

static bool several_expert_ranks(const plait_problem *problem, const plait_degrees *d)
{
    return d->ep > 1 && model_has_experts(problem->model);
}

/* ZeRO stages differ only if there are replicas. */
static bool has_replicas(const plait_problem *problem, const plait_degrees *d)
{
    return saturating_mul(d->dp, d->cp) != 1 || model_has_experts(problem->model); // dp 0: unknown
}

static bool shards_apart(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->zero > 0 && d->shard_group != saturating_mul(d->dp, d->cp);
}

/*
 * Returns whether gradients are communicated: among replicas, or between the first and last stage,
 * which share a tied embedding.
 */
static bool gradients_travel(const plait_problem *problem, const plait_degrees *d)
{
    return has_replicas(problem, d) || (problem->model->tied && d->pp > 1);
}

/*
 * Returns whether ranks can finish a step at different times, as in pipelines with zero-bubble or
 * dual schedules.
 */
static bool ranks_end_apart(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->pp > 1 && d->schedule >= PLAIT_ZB_H1;
}

static bool stages_and_replicas(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->pp > 1 && d->dp > 1;
}

/* Placements differ only if the axes of the grid have different lengths. */
static bool sides_differ(const plait_problem *problem, const plait_degrees *d)
{
    (void)d;
    return plait_placement_differs(problem->cluster, PLAIT_PLACEMENTS);
}

static bool products_are_narrow(const plait_problem *problem, const plait_degrees *d)
{
    (void)d;
    return problem->job.precision >= PLAIT_FP8;
}

/* Parameters are gathered from replicas, or from the host. */
static bool weights_are_gathered(const plait_problem *problem, const plait_degrees *d)
{
    return d->zero == 3 && (has_replicas(problem, d) || d->offload == PLAIT_OFFLOAD_PARAMS);
}

static bool gradients_are_sharded(const plait_problem *problem, const plait_degrees *d)
{
    return d->zero >= 2 && has_replicas(problem, d);
}

static bool is_offloaded(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->offload != PLAIT_OFFLOAD_NONE;
}

static bool inputs_are_offloaded(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->offload_acts > 0;
}

static bool tensor_traffic_can_hide(const plait_problem *problem, const plait_degrees *d)
{
    return tp_overlap_runs(problem, d->tp, d->sp);
}

/* Only the first of several chunks can be gathered during the optimizer step of others. */
static bool gathers_first_chunk(const plait_problem *problem, const plait_degrees *d)
{
    return d->zero == 1 && d->pp > 1 && d->vpp > 1 && has_replicas(problem, d);
}

/*
 * Gradients or parameters of a whole step are exchanged in buckets: under ZeRO 3 only among the ranks
 * that hold the same shard.
 */
static bool buckets_travel(const plait_problem *problem, const plait_degrees *d)
{
    return problem->runtime->can.takes[PLAIT_KEY_BUCKET] > 1u && // values other than the default
           (d->zero == 1 || d->zero == 2 || (d->zero == 3 && shards_apart(problem, d))) &&
           has_replicas(problem, d);
}

static bool software_has_graphs(const plait_problem *problem, const plait_degrees *d)
{
    (void)d;
    return problem->runtime->can.takes[PLAIT_KEY_CUDA_GRAPH] != 1u << PLAIT_GRAPH_NONE;
}

static bool is_fused(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->fusion != PLAIT_FUSION_NONE;
}

// ---- the rows ------------------------------------------------------------------------------

#define NAMED(field) .name = #field, .offset = offsetof(plait_degrees, field)
#define DEGREE_UP_TO(most) .kind = PLAIT_KEY_NUMBER, .low = 1, .high = most, .value = "N"
#define DEGREE DEGREE_UP_TO(PLAIT_MAX_DEGREE)
#define FOLLOWS DEGREE_UP_TO(PLAIT_MAX_GPUS) // computed from the GPUs and other degrees
#define WORD(list) .kind = PLAIT_KEY_WORD, .words = list
#define NAMED_SWITCH(field)                                                                        \
    .name = #field, .offset = offsetof(plait_degrees, switches.field), .kind = PLAIT_KEY_SWITCH,   \
    .high = 1, .value = "0|1"
#define NOTHING_PLAIN .absent_value = -1

// clang-format off: one key a stanza
const plait_key plait_keys[PLAIT_KEYS] = {
    [PLAIT_KEY_TP] = {NAMED(tp), DEGREE, .limit_name = "max_tp", NOTHING_PLAIN, .title = "tp",
                      .help = "tensor parallelism"},
    [PLAIT_KEY_SP] =
        {NAMED(sp), .kind = PLAIT_KEY_SWITCH, .high = 1, .absent_value = 1,
         .matters = several_tensor_ranks, .title = "sp", .value = "0|1",
         .help = "sequence parallelism within the tensor-parallel group (default: 1 if tp > 1)"},
    [PLAIT_KEY_PP] = {NAMED(pp), DEGREE, .limit_name = "max_pp", NOTHING_PLAIN, .title = "pp",
                      .help = "pipeline stages"},
    [PLAIT_KEY_VPP] = {NAMED(vpp), DEGREE, .limit_name = "max_vpp", .absent_value = 1,
                       .title = "vpp",
                       .help = "model chunks per pipeline rank; 1 means not interleaved"},
    [PLAIT_KEY_CP] = {NAMED(cp), DEGREE, .limit_name = "max_cp", .absent_value = 1, .title = "cp",
                      .help = "context parallelism"},
    [PLAIT_KEY_CP_COMM] = {NAMED(cp_comm), WORD(plait_cp_comm_name), .limit_name = "cp_comm",
                           .has_default = true, NOTHING_PLAIN, .matters = several_context_ranks,
                           .title = "cp comm", .value = "HOW",
                           .help =
                               "communication of context parallelism: p2p (ring), allgather, a2a "
                               "(Ulysses), a2a+p2p (both)"},
    [PLAIT_KEY_EP] = {NAMED(ep), DEGREE, .limit_name = "max_ep", .absent_value = 1, .title = "ep",
                      .help = "expert parallelism; shares the ranks of tp, cp and dp"},
    [PLAIT_KEY_ETP] = {NAMED(etp), DEGREE, NOTHING_PLAIN, .matters = has_experts, .title = "etp",
                       .help = "tensor parallelism inside an expert"},
    [PLAIT_KEY_DISPATCHER] = {NAMED(dispatcher), WORD(plait_dispatcher_name),
                              .limit_name = "dispatcher", .has_default = true,
                              .absent_value = PLAIT_DISPATCH_ALLTOALL,
                              .matters = several_expert_ranks, .title = "dispatcher",
                              .value = "HOW",
                              .help = "method that sends tokens to experts: alltoall, allgather, "
                                      "deepep, deepep-fp8, hybridep (default: the runtime's)"},
    [PLAIT_KEY_EP_OVERLAP] = {NAMED(ep_overlap), WORD(plait_ep_overlap_name),
                              .limit_name = "ep_overlap", .has_default = true,
                              .absent_value = PLAIT_EP_OVERLAP_NONE,
                              .matters = several_expert_ranks, .title = "ep overlap",
                              .value = "HOW",
                              .help = "overlap of expert communication with the compute of another "
                                      "microbatch: none, pairs (a forward with a backward), "
                                      "pairs-delayed-wgrad (also delays weight gradients)"},
    [PLAIT_KEY_DP] =
        {NAMED(dp), FOLLOWS, NOTHING_PLAIN, .title = "dp",
         .help =
             "data parallelism; follows from the other degrees, so a given value is only checked"},
    [PLAIT_KEY_ZERO] = {NAMED(zero), .kind = PLAIT_KEY_SMALL_NUMBER, .high = 3,
                        .limit_name = "zero", .has_default = true, NOTHING_PLAIN,
                        .matters = has_replicas, .title = "ZeRO", .value = "0..3",
                        .help = "ZeRO stage"},
    [PLAIT_KEY_SHARD_GROUP] =
        {NAMED(shard_group), FOLLOWS, NOTHING_PLAIN, .matters = shards_apart, .title = "shard",
         .help = "number of ranks that share one set of ZeRO shards (default: dp times cp)"},
    [PLAIT_KEY_RESHARD] =
        {NAMED(reshard), WORD(plait_reshard_name), .limit_name = "reshard",
         .absent_value = PLAIT_RESHARD_ALWAYS, .matters = weights_are_gathered, .title = "reshard",
         .value = "WHEN",
         .help =
             "when ZeRO-3 frees gathered parameters: always (after forward and after backward), "
             "never (only after backward), node (as always, but each node keeps a sharded copy)"},
    [PLAIT_KEY_SCATTER] = {NAMED(scatter), WORD(plait_scatter_name), .limit_name = "scatter",
                           .absent_value = PLAIT_SCATTER_MICROBATCH,
                           .matters = gradients_are_sharded, .title = "scatter", .value = "WHEN",
                           .help = "when ZeRO-2 and ZeRO-3 reduce-scatter gradients: microbatch "
                                   "(after each microbatch), step (once per step)"},
    [PLAIT_KEY_QUANTISE] = {NAMED(quantise), WORD(plait_quantise_name), .limit_name = "quantise",
                            .numerics = true, .absent_value = PLAIT_QUANTISE_NONE,
                            .matters = weights_are_gathered, .title = "quantise", .value = "WHAT",
                            .help = "communication in fewer bits under ZeRO-3 (ZeRO++): none, "
                                    "weights (8 bits), gradients (4 bits), both"},
    [PLAIT_KEY_MBS] = {NAMED(mbs), DEGREE, NOTHING_PLAIN, .title = "mbs",
                       .help = "sequences per microbatch on each data-parallel rank"},
    [PLAIT_KEY_ATTENTION] =
        {NAMED(attention), WORD(plait_attention_kernel_name), .limit_name = "attention",
         .has_default = true, NOTHING_PLAIN, .title = "attention", .value = "KERNEL",
         .help = "kernel of the core attention: unfused, unfused-softmax-kernel, flash, flash2, "
                 "flash3, fused"},
    [PLAIT_KEY_FP8_ATTENTION] = {NAMED_SWITCH(fp8_attention), .limit_name = "fp8_attention",
                                 .numerics = true, .absent_value = 0,
                                 .matters = products_are_narrow, .title = "fp8 attention",
                                 .help = "core attention in 8 bits, in jobs whose matrix products "
                                         "have 8 bits or fewer (default of a "
                                         "plan: 0)"},
    [PLAIT_KEY_FUSED_GROUPED_MLP] = {NAMED_SWITCH(fused_grouped_mlp),
                                     .limit_name = "fused_grouped_mlp", .absent_value = 0,
                                     .matters = has_experts, .title = "fused MLP",
                                     .help = "one kernel for both products of experts and the "
                                             "activation between them (default of a "
                                             "plan: 0)"},
    [PLAIT_KEY_TP_COMM_OVERLAP] = {NAMED_SWITCH(tp_comm_overlap), .limit_name = "tp_comm_overlap",
                                   .absent_value = 0, .matters = tensor_traffic_can_hide,
                                   .title = "TP overlap",
                                   .help = "matrix products hide the communication of tensor "
                                           "parallelism (default of a plan: 0)"},
    [PLAIT_KEY_PERMUTE_FUSION] = {NAMED_SWITCH(permute_fusion), .limit_name = "permute_fusion",
                                  .has_default = true, .absent_value = 0, .matters = has_experts,
                                  .title = "fused permute",
                                  .help = "one kernel puts tokens in the order of their experts, "
                                          "and one puts them back (default: the runtime's)"},
    [PLAIT_KEY_ROUTER_FUSION] = {NAMED_SWITCH(router_fusion), .limit_name = "router_fusion",
                                 .has_default = true, .absent_value = 0, .matters = has_experts,
                                 .title = "fused router",
                                 .help = "the router's scores, choice of experts and loss take one "
                                         "kernel each (default: the runtime's)"},
    [PLAIT_KEY_CUDA_GRAPH] = {.name = "cuda_graph",
                              .offset = offsetof(plait_degrees, switches.cuda_graph),
                              WORD(cuda_graph_name),
                              .limit_name = "cuda_graph",
                              .has_default = true,
                              .absent_value = PLAIT_GRAPH_NONE,
                              .matters = software_has_graphs,
                              .title = "CUDA graph",
                              .value = "WHAT",
                              .help = "launches that CUDA graphs replay: none, layers (all parts "
                                      "of layers but experts), full_iteration (the whole step)"},
    [PLAIT_KEY_RECOMPUTE] = {NAMED(recompute), .kind = PLAIT_KEY_OF_RECOMPUTE,
                             .words = plait_recompute_name, .limit_name = "recompute",
                             NOTHING_PLAIN, .title = "recompute", .value = "WHAT",
                             .help = "activations that backward recomputes: none, selective, full, "
                                     "full:N (N layers per stage), modules:a+b, sac (default: the "
                                     "least that fits)"},
    [PLAIT_KEY_OFFLOAD_ACTS] =
        {NAMED(offload_acts), WORD(plait_offload_acts_name), .limit_name = "offload_acts",
         .absent_value = 0, .matters = inputs_are_offloaded, .title = "offload acts",
         .value = "MODULES",
         .help = "modules whose inputs are kept in host memory until backward: none, core_attn, "
                 "core_attn+attn_proj, expert_fc1, moe_act, ..."},
    [PLAIT_KEY_SCHEDULE] =
        {NAMED(schedule), WORD(plait_schedule_name), .limit_name = "schedules", NOTHING_PLAIN,
         .title = "schedule", .value = "NAME",
         .help = "pipeline schedule: naive, gpipe, 1f1b, interleaved, zb-h1, zb-h2, dualpipe, ... "
                 "(default: 1f1b, or interleaved if vpp > 1)"},
    [PLAIT_KEY_POST_VALIDATION] = {NAMED(post_validation), .kind = PLAIT_KEY_SWITCH, .high = 1,
                                   .limit_name = "post_validation", .absent_value = 0,
                                   .matters = ranks_end_apart, .title = "post-validation",
                                   .value = "0|1",
                                   .help = "check gradients after the optimizer step instead of "
                                           "before it, so that ranks do not wait for each "
                                           "other (default: 0)"},
    [PLAIT_KEY_GRAD_SYNC] =
        {NAMED(grad_sync), WORD(plait_grad_sync_name), .limit_name = "grad_sync",
         .has_default = true, .absent_value = PLAIT_SYNC_BUCKETED, .matters = gradients_travel,
         .title = "grad sync", .value = "HOW",
         .help = "how gradients are reduced: bulk (at once at the end of the last backward), "
                 "bucketed (in buckets during the last backward), shifted (after the last "
                 "backward) (default: the runtime's)"},
    [PLAIT_KEY_GATHER_WITH_STEP] = {NAMED(gather_with_step), .kind = PLAIT_KEY_SWITCH, .high = 1,
                                    .limit_name = "gather_with_step", .absent_value = 0,
                                    .matters = gathers_first_chunk, .title = "gather with step",
                                    .value = "0|1",
                                    .help = "gather the parameters of the first chunk of a stage "
                                            "during the optimizer step of the others (default of "
                                            "a plan: 0)"},
    [PLAIT_KEY_BUCKET] =
        {NAMED(bucket), WORD(plait_bucket_name), .limit_name = "bucket", .absent_value = 0,
         .matters = buckets_travel, .title = "bucket", .value = "ELEMENTS",
         .help = "elements of a bucket of gradients and of parameters: 1e7, 2e7, 5e7, 1e8, 2e8, "
                 "1e9 (default: the runtime's)"},
    [PLAIT_KEY_FUSION] =
        {NAMED(fusion), WORD(fusion_name), .limit_name = "fusion",
         .absent_value = PLAIT_FUSION_NONE, .matters = is_fused, .title = "fusion", .value = "WHAT",
         .help = "fusion of collectives of adjacent parallelisms: none, or auto (if it is faster)"},
    [PLAIT_KEY_SPLIT] =
        {NAMED(split), .kind = PLAIT_KEY_OF_SPLIT, .words = plait_split_name,
         .limit_name = "splits", .absent_value = PLAIT_SPLIT_EVEN, .title = "split", .value = "HOW",
         .help =
             "assignment of layers to stages: even, embedding, loss, both, first-last:F,L, spread, "
             "cost, layout:TEXT as in Megatron-LM (default: the one that balances the stages)"},
    [PLAIT_KEY_ORDER] = {NAMED(order), WORD(plait_order_name), .limit_name = "orders",
                         .absent_value = PLAIT_ORDER_TP_CP_DP_PP, .matters = stages_and_replicas,
                         .title = "order", .value = "AXES",
                         .help = "order of the ranks, innermost first: tp-cp-dp-pp or tp-cp-pp-dp"},
    [PLAIT_KEY_PLACEMENT] = {NAMED(placement), WORD(plait_placement_name),
                             .limit_name = "placements", .absent_value = PLAIT_PLACE_XYZ,
                             .matters = sides_differ, .title = "placement", .value = "AXES",
                             .help = "order in which ranks fill the axes of a torus or mesh whose "
                                     "sides differ: xyz (default), xzy, yxz, yzx, zxy, zyx"},
    [PLAIT_KEY_GRAD_REDUCE] =
        {NAMED(grad_reduce), WORD(plait_state_format_name), .limit_name = "grad_reduce",
         .has_default = true, .numerics = true, .absent_value = PLAIT_STATE_FP32, .title = "grads",
         .value = "FORMAT",
         .help =
             "format of gradients and their reduction: fp32, bf16, fp16 (default: the runtime's)"},
    [PLAIT_KEY_OPTIMIZER_STATE] = {NAMED(optimizer_state), WORD(plait_state_format_name),
                                   .limit_name = "optimizer_state", .numerics = true,
                                   .absent_value = PLAIT_STATE_FP32, .title = "moments",
                                   .value = "FORMAT",
                                   .help =
                                       "format of Adam's moments: fp32, bf16, fp8 (precision-aware "
                                       "optimizer); master weights stay in fp32"},
    [PLAIT_KEY_FP8_PARAMS] = {NAMED(fp8_params), .kind = PLAIT_KEY_SWITCH, .high = 1,
                              .limit_name = "fp8_params", .numerics = true, .absent_value = 0,
                              .matters = products_are_narrow, .title = "fp8 params", .value = "0|1",
                              .help = "store and gather parameters in the job's 8-bit format "
                                      "(default: 1 if the runtime supports it)"},
    [PLAIT_KEY_OFFLOAD] =
        {NAMED(offload), WORD(plait_offload_name), .limit_name = "offload", .numerics = true,
         .absent_value = PLAIT_OFFLOAD_NONE, .title = "offload", .value = "WHAT",
         .help =
             "state in host memory: none, optimizer (its state and step), gradients (also "
             "gradients, as DeepSpeed's offload_optimizer), params (also parameters, with ZeRO-3)"},
    [PLAIT_KEY_OFFLOAD_SHARE] =
        {NAMED(offload_share), WORD(plait_offload_share_name), .numerics = true, .absent_value = 0,
         .matters = is_offloaded, .title = "offload share", .value = "SHARE",
         .help = "share of the optimizer that --offload moves to the host, 0.1 to 1 (default: 1)"},
};
// clang-format on
