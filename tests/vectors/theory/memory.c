/* memory.c - parameters, state and activations of papers */
#include "plait/lowlevel/fuse.h"
#include "costmodel/stage/stage_cost.h"
#include "vectors/theory/theory.h"

static void ask_state(world *w, const json_cursor *in)
{
    const int n = integer(in, "n");

    ask(w, n, 1, n);
    w->runtime.state = (plait_state_bytes){.weight = number_or(in, "w", 2.0),
                                           .gradient = number_or(in, "g", 2.0),
                                           .optimizer = number_or(in, "k", 12.0)};
}

static double zero_bytes(const json_cursor *in)
{
    static world w;

    make_opaque(&w.plain, 1e9);
    ask_state(&w, in);
    const plait_memory memory = price(&w, replicas(integer(in, "n"), integer(in, "stage"))).memory;
    return (memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes) /
           plait_model_params(&w.plain.model).total;
}

/* The largest model whose plan still fits, found by halving. */
static double zero_max_params(const json_cursor *in)
{
    static world w;
    double fits = 0.0;
    double too_large = number(in, "mem");

    make_opaque(&w.plain, 1.0);
    ask_state(&w, in);
    w.accelerator.memory_bytes = 1.0; // the vectors fill a GPU to the brim: no headroom
    w.accelerator.memory_bytes = number(in, "mem") / plait_capacity_bytes(&w.problem, 0.5);
    for (int i = 0; i < 64; i++) {
        const double middle = (fits + too_large) / 2.0;
        w.plain.layer.given.params = middle;
        const plait_cost cost = price(&w, replicas(integer(in, "n"), integer(in, "stage")));
        *(cost.verdict <= PLAIT_TIGHT ? &fits : &too_large) = middle;
    }
    w.plain.layer.given.params = fits;
    return plait_model_params(&w.plain.model).total;
}

/* Bytes that one layer keeps of one microbatch. */
static double kept_bytes(world *w, const plait_degrees *d, plait_recompute_kind recompute)
{
    static layer_row row;
    const layer_gather nothing = {0};

    layer_row_fill(&w->problem, layer_key_of(d), &row);
    return layer_time_of(&w->problem, &row.price[0], &nothing,
                         (plait_choice){.recompute = {.kind = (unsigned char)recompute}})
        .saved_bytes;
}

static void ask_layer(world *w, const json_cursor *in)
{
    make_gpt(&w->plain, 1, integer(in, "h"), integer(in, "a"));
    ask(w, 8, integer(in, "s"), integer(in, "b"));
}

static double act_layer(const json_cursor *in)
{
    static const char *const modes[] = {"none", "tp", "tpsp", "tp_sel", "tpsp_sel", "full", NULL};
    static const plait_recompute_kind recompute[] = {
        PLAIT_RECOMPUTE_NONE,      PLAIT_RECOMPUTE_NONE,      PLAIT_RECOMPUTE_NONE,
        PLAIT_RECOMPUTE_SELECTIVE, PLAIT_RECOMPUTE_SELECTIVE, PLAIT_RECOMPUTE_FULL,
    };
    static world w;
    const int mode = word(in, "mode", modes);
    plait_degrees d = plait_degrees_init();

    ask_layer(&w, in);
    d.mbs = integer(in, "b");
    d.tp = integer_or(in, "t", 1);
    d.sp = mode == 2 || mode == 4;
    d.attention = PLAIT_ATTENTION_UNFUSED;
    return kept_bytes(&w, &d, recompute[mode]);
}

#define TENSOR(name) (1u << PLAIT_TENSOR_##name)

static double act_term(const json_cursor *in)
{
    static const char *const terms[] = {"matmul", "pointwise", "attn", NULL};
    static const unsigned tensors[] = {
        TENSOR(qkv) | TENSOR(keys) | TENSOR(core_out) | TENSOR(fc1_out) | TENSOR(act_out),
        TENSOR(norm_in) | TENSOR(norm_out) | TENSOR(dropout),
        TENSOR(scores) | TENSOR(scores_dropout),
    };
    static plain_model gpt;
    const plait_runtime runtime = paper();
    const plait_shard shard = shard_alone(&runtime);
    plait_block block;

    make_gpt(&gpt, 1, integer(in, "h"), integer(in, "a"));
    plait_block_describe(&gpt.model, &gpt.layer, &shard,
                         pass_over(PLAIT_FORWARD, number(in, "b"), number(in, "s")), &block);
    return plait_block_saved_bytes(&block, &shard, ~tensors[word(in, "term", terms)]);
}

/* One token of a Llama-shaped layer under a fused attention kernel. */
static double act_gated(const json_cursor *in)
{
    static plain_model llama;
    const plait_attention attention = {
        .heads = integer(in, "a"), .kv_heads = integer(in, "kv"), .head_dim = integer(in, "d")};
    const plait_runtime runtime = paper();
    plait_shard shard = shard_alone(&runtime);
    plait_block block;

    make_llama(&llama, 1, integer(in, "h"), integer(in, "Fd"), attention);
    shard.attention = PLAIT_ATTENTION_FUSED;
    plait_block_describe(&llama.model, &llama.layer, &shard, pass_over(PLAIT_FORWARD, 2.0, 4096.0),
                         &block);
    return plait_block_saved_bytes(&block, &shard, 0) / (2.0 * 4096.0);
}

static double act_interleave_factor(const json_cursor *in)
{
    const int p = integer(in, "p");

    return plait_schedule_in_flight(PLAIT_INTERLEAVED, p, 0, integer(in, "v"), 100 * p) /
           plait_schedule_in_flight(PLAIT_1F1B, p, 0, 1, 100 * p);
}

static double zb_peak(const json_cursor *in)
{
    static const char *const words[] = {"1f1b", "zbh1", "zbh2", NULL};
    static const plait_schedule schedules[] = {PLAIT_1F1B, PLAIT_ZB_H1, PLAIT_ZB_H2};
    const int p = integer(in, "p");

    return plait_schedule_in_flight(schedules[word(in, "sched", words)], p, 0, 1, 100 * p);
}

/* M_B is what a layer keeps; M_W what its weight gradients still read: the inputs of those. */
static double zb_mem(const json_cursor *in)
{
    static const char *const words[] = {"MB", "MW", NULL};
    static plain_model gpt;
    const plait_runtime runtime = paper();
    const plait_shard shard = shard_alone(&runtime);
    plait_block block;
    double bytes = 0.0;

    make_gpt(&gpt, 1, integer(in, "h"), integer(in, "a"));
    plait_block_describe(&gpt.model, &gpt.layer, &shard,
                         pass_over(PLAIT_BACKWARD_WEIGHT, number(in, "b"), number(in, "s")),
                         &block);
    if (word(in, "which", words) == 0)
        return plait_block_saved_bytes(&block, &shard, 0);
    for (int i = 0; i < block.ops; i++)
        if (block.op[i].layout == PLAIT_BACKWARD_WEIGHT)
            bytes += 2.0 * block.op[i].k * (block.op[i].m + block.op[i].n);
    return bytes;
}

static double dualpipe_mem(const json_cursor *in)
{
    static const char *const words[] = {"params", "acts", NULL};
    const int p = integer(in, "P");

    return word(in, "what", words) == 0 ? plait_schedule_replicas(PLAIT_DUALPIPE)
                                        : plait_schedule_in_flight(PLAIT_DUALPIPE, p, 0, 1, 2 * p);
}

const theory_formula theory_memory[] = {
    {THEORY(zero_bytes)}, {THEORY(zero_max_params)}, {THEORY(act_layer)},
    {THEORY(act_gated)},  {THEORY(act_term)},        {THEORY(act_interleave_factor)},
    {THEORY(zb_mem)},     {THEORY(zb_peak)},         {THEORY(dualpipe_mem)},
    {NULL, NULL},
};
