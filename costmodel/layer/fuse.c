/*
 * fuse.c - fusion of collectives of adjacent parallelisms: all rules, and those inside a layer
 *
 *     after attention         all-reduce -> each rank takes its tokens -> experts    TP+EP, TP+SP
 *     after shared experts    all-reduce -> each rank adds those of its tokens       TP+SP
 *
 * An all-reduce is a reduce-scatter and an all-gather. If each tensor rank continues with its own
 * tokens alone, the result of the gather is discarded; norm and router, which read one token at a
 * time, then run before it. fuse_boundary.c has the rules between stages.
 */
#include "costmodel/layer/fuse.h"
#include "plait/lowlevel/fuse.h"
#include "plait/runtime.h"

// ---- what each rule sends ------------------------------------------------------------------

#define ONE(operation)                                                                             \
    {                                                                                              \
        .op = operation                                                                            \
    }
#define ALL_SHARE(operation)                                                                       \
    {                                                                                              \
        .op = operation, .all = true, .share = true, .copies = true                                \
    }

/*
 * C.141: the transfers that each rule replaces (before) and their replacement (after). A fused send
 * reaches only the experts of its own stage, so `all` is false there.
 */
const plait_fusion_row plait_fusion_rules[PLAIT_FUSION_RULES] = {
#define X(constant, rule, what)                                                                    \
    [PLAIT_FUSE_##constant] = {.name = rule, .does = what, SIDES_##constant},
#define SIDES_TP_SP                                                                                \
    .before = {1, {ONE(PLAIT_ALL_REDUCE)}}, .after = {1, {ONE(PLAIT_REDUCE_SCATTER)}}
#define SIDES_TP_PP                                                                                \
    .before = {3,                                                                                  \
               {ONE(PLAIT_ALL_REDUCE), {.op = PLAIT_M2MS, .share = true}, ONE(PLAIT_ALL_GATHER)}}, \
    .after = {                                                                                     \
        3, {ONE(PLAIT_REDUCE_SCATTER), {.op = PLAIT_M2MS, .share = true}, ONE(PLAIT_ALL_GATHER)}}
#define SIDES_TP_EP                                                                                \
    .before = {2, {ONE(PLAIT_ALL_REDUCE), ALL_SHARE(PLAIT_ALL_TO_ALL)}},                           \
    .after = {2, {ONE(PLAIT_REDUCE_SCATTER), ALL_SHARE(PLAIT_ALL_TO_ALL)}}
#define SIDES_PP_EP                                                                                \
    .before = {2, {ONE(PLAIT_P2P), {.op = PLAIT_ALL_TO_ALL, .copies = true}}},                     \
    .after = {1, {{.op = PLAIT_M2MS, .copies = true}}}
#define SIDES_SP_PP                                                                                \
    .before = {2, {ONE(PLAIT_ALL_GATHER), ONE(PLAIT_P2P)}}, .after = {1, {ONE(PLAIT_M2MS)}}
#define SIDES_SP_EP_SP                                                                             \
    .before = {4,                                                                                  \
               {ONE(PLAIT_ALL_GATHER),                                                             \
                ALL_SHARE(PLAIT_ALL_TO_ALL),                                                       \
                ALL_SHARE(PLAIT_ALL_TO_ALL),                                                       \
                {.op = PLAIT_ALL_TO_ALL, .share = true}}},                                         \
    .after = {2, {ALL_SHARE(PLAIT_ALL_TO_ALL), ALL_SHARE(PLAIT_ALL_TO_ALL)}}
    PLAIT_FUSION_LIST(X)
#undef X
};

const char *const plait_fusion_fate_name[PLAIT_FUSION_FATES + 1] = {"no transition", "already",
                                                                    "declined", "fused", NULL};

double plait_fusion_sent(const plait_fusion_side *side, int ranks, int all, int topk, double bytes)
{
    double sent = 0.0;

    for (int i = 0; i < side->count; i++) {
        const plait_fusion_transfer *one = &side->transfer[i];
        const double whole = bytes * (one->copies ? topk : 1.0) / (one->share ? ranks : 1.0);
        sent += plait_collective_sent_bytes(one->op, one->all ? all : ranks, whole);
    }
    return sent;
}

// ---- inside a layer ------------------------------------------------------------------------

/*
 * C.20: without sp, each tensor rank sends its own share of the tokens to the experts if etp = 1.
 */
static bool deals_tokens(const plait_layer *layer, const plait_shard *shard)
{
    return layer->ffn == PLAIT_FFN_MOE && !layer->parallel_residual && !layer->opaque &&
           shard->tp > 1 && !shard->sp && shard->etp == 1;
}

/*
 * Shared experts read all tokens on every rank, so attention's sums must be complete before them.
 */
static bool sends_to_experts(const plait_layer *layer, const plait_shard *shard)
{
    return deals_tokens(layer, shard) && layer->moe.shared_width == 0 && shard->ep > 1;
}

static bool keeps_its_tokens(const plait_layer *layer, const plait_shard *shard)
{
    return deals_tokens(layer, shard) && layer->moe.shared_width == 0 && shard->ep == 1;
}

static bool adds_shared_experts(const plait_layer *layer, const plait_shard *shard)
{
    return deals_tokens(layer, shard) && layer->moe.shared_width > 0;
}

/* C.142: the all-reduce after this part becomes a reduce-scatter in the forward pass. */
static const struct {
    plait_fusion_rule rule;
    plait_part part;
    bool (*holds)(const plait_layer *layer, const plait_shard *shard);
} layer_rules[] = {
    {PLAIT_FUSE_TP_EP, PLAIT_PART_attn_out, sends_to_experts},
    {PLAIT_FUSE_TP_SP, PLAIT_PART_attn_out, keeps_its_tokens},
    {PLAIT_FUSE_TP_SP, PLAIT_PART_shared, adds_shared_experts},
};

enum { LAYER_RULES = sizeof layer_rules / sizeof *layer_rules };

/* The all-reduce that a rule replaces; NULL: this layer has none. */
static plait_op *reduced_by(int rule, const plait_layer *layer, const plait_shard *shard,
                            plait_block *block)
{
    if (!layer_rules[rule].holds(layer, shard))
        return NULL;
    for (int i = 0; i < block->ops; i++) {
        plait_op *op = &block->op[i];
        if (op->kind == PLAIT_OP_COLLECTIVE && op->part == layer_rules[rule].part &&
            op->axis == PLAIT_AXIS_TP && op->collective == PLAIT_ALL_REDUCE)
            return op;
    }
    return NULL;
}

static plait_op scattered(const plait_op *reduce)
{
    plait_op op = *reduce;

    op.collective = PLAIT_REDUCE_SCATTER;
    return op;
}

unsigned fuse_choose(const plait_problem *problem, const layer_row *row, int kind)
{
    const plait_layer *layer = &problem->model->kind[kind];
    unsigned rules = 0;
    plait_block block;

    row_describe(problem, row, kind, PLAIT_FORWARD, &block);
    for (int r = 0; r < LAYER_RULES; r++) {
        const plait_op *reduce = reduced_by(r, layer, &row->shard, &block);
        if (!reduce)
            continue;
        const plait_op scatter = scattered(reduce);
        if (collective_time_of(problem, row, &scatter, 0.0).exposed_s <
            collective_time_of(problem, row, reduce, 0.0).exposed_s)
            rules |= 1u << layer_rules[r].rule;
    }
    return rules;
}

void fuse_block(const plait_layer *layer, const plait_shard *shard, plait_pass_kind pass,
                unsigned rules, plait_block *block)
{
    for (int r = 0; r < LAYER_RULES && pass == PLAIT_FORWARD; r++) {
        plait_op *reduce =
            rules >> layer_rules[r].rule & 1u ? reduced_by(r, layer, shard, block) : NULL;
        if (reduce)
            *reduce = scattered(reduce);
    }
}

// ---- report --------------------------------------------------------------------------------

static void report_rule(const plait_problem *problem, const layer_row *row, int kind, int rule,
                        double calls, plait_fused fused[PLAIT_FUSION_RULES])
{
    const plait_layer *layer = &problem->model->kind[kind];
    plait_fused *out = &fused[layer_rules[rule].rule];
    plait_block block;

    plait_block_describe(problem->model, layer, &row->shard,
                         pass_of(problem, &row->key, PLAIT_FORWARD), &block);
    const plait_op *reduce = reduced_by(rule, layer, &row->shard, &block);
    if (!reduce)
        return;
    const plait_op scatter = scattered(reduce);
    out->fate = row->fused[kind] >> layer_rules[rule].rule & 1u ? PLAIT_FUSED : PLAIT_DECLINED;
    out->calls += calls;
    out->before_bytes +=
        calls * plait_collective_sent_bytes(PLAIT_ALL_REDUCE, row->shard.tp, reduce->bytes);
    out->after_bytes +=
        calls * plait_collective_sent_bytes(PLAIT_REDUCE_SCATTER, row->shard.tp, reduce->bytes);
    out->before_s += calls * collective_time_of(problem, row, reduce, 0.0).seconds;
    out->after_s += calls * collective_time_of(problem, row, &scatter, 0.0).seconds;
}

/* Rules that sp applies already: sums are scattered, and experts receive tokens from the shards. */
static void report_already(const layer_row *row, const plait_layer *layer,
                           plait_fused fused[PLAIT_FUSION_RULES])
{
    if (!row->shard.sp)
        return;
    fused[PLAIT_FUSE_TP_SP].fate = PLAIT_FUSED_ALREADY;
    if (layer->ffn == PLAIT_FFN_MOE && row->shard.ep > 1 && row->shard.etp == 1)
        fused[PLAIT_FUSE_SP_EP_SP].fate = PLAIT_FUSED_ALREADY;
}

void fuse_layer_report(const plait_problem *problem, const layer_row *row, int kind, double times,
                       plait_fused fused[PLAIT_FUSION_RULES])
{
    report_already(row, &problem->model->kind[kind], fused);
    for (int r = 0; r < LAYER_RULES; r++)
        report_rule(problem, row, kind, r, times, fused);
}
