/* communication.c - volumes of papers, and what they hide behind */
#include "support/assert_near.h"
#include "plait/lowlevel/fuse.h"
#include "costmodel/stage/stage_cost.h"
#include "vectors/theory/theory.h"

/* One microbatch a step of 8 replicas, gradients and parameters of two bytes. */
static plait_cost price_replicas(int zero, world *w)
{
    make_opaque(&w->plain, 1e9);
    ask(w, 8, 1, 8);
    return price(w, replicas(8, zero));
}

/* What one GPU sends, in units of the parameters, for (n-1)/n -> 1. */
static double zero_comm(const json_cursor *in)
{
    static world w;
    const plait_cost cost = price_replicas(integer(in, "stage"), &w);
    double sent = 0.0;

    for (int i = 0; i < cost.volumes; i++)
        sent += cost.volume[i].count * plait_collective_sent_bytes(cost.volume[i].op,
                                                                   cost.volume[i].ranks,
                                                                   cost.volume[i].bytes);
    return sent / (7.0 / 8.0) / (2.0 * plait_model_params(&w.plain.model).total);
}

static double zero3_collectives(const json_cursor *in)
{
    static world w;
    const int op = word(in, "which", plait_collective_name);
    const plait_cost cost = price_replicas(3, &w);
    double calls = 0.0;

    for (int i = 0; i < cost.volumes; i++)
        calls += (int)cost.volume[i].op == op ? cost.volume[i].count : 0.0;
    return calls;
}

/* All-reduce of one shard of the gradients over who holds the same: HSDP across its groups. */
static double hsdp_inter_bytes(const json_cursor *in)
{
    static world w;
    const int shard = integer(in, "shard");
    plait_degrees d = replicas(shard * integer(in, "replicas"), 3);

    make_opaque(&w.plain, 1.0);
    ask(&w, d.dp, 1, d.dp);
    d.shard_group = shard;
    const sync_routes routes = sync_routes_of(&w.problem, &d);
    return plait_collective_sent_bytes(PLAIT_ALL_REDUCE, routes.replicas.ranks,
                                       number(in, "params_bytes") / routes.ways.dense);
}

/* bf16 elements that one rank sends along an axis, in one pass of one layer. */
static double layer_elements(const plain_model *plain, plait_shard shard, plait_pass pass,
                             plait_axis axis, int ranks)
{
    double elements = 0.0;
    plait_block block;

    plait_block_describe(&plain->model, &plain->layer, &shard, pass, &block);
    for (int i = 0; i < block.ops; i++) {
        const plait_op *op = &block.op[i];
        if (op->kind == PLAIT_OP_COLLECTIVE && op->axis == axis)
            elements +=
                op->count * plait_collective_sent_bytes(op->collective, ranks, op->bytes) / 2.0;
    }
    return elements;
}

/* Four all-reduces, or as many pairs of gather and scatter: the same bytes. */
static double tp_layer_elems(const json_cursor *in)
{
    static plain_model gpt;
    const plait_runtime runtime = paper();
    plait_shard shard = shard_alone(&runtime);
    double elements[2];

    make_gpt(&gpt, 1, integer(in, "H"), 8);
    shard.tp = integer(in, "P");
    for (int sp = 0; sp < 2; sp++) {
        shard.sp = sp != 0;
        elements[sp] = 0.0;
        for (int kind = PLAIT_FORWARD; kind <= PLAIT_BACKWARD; kind++)
            elements[sp] += layer_elements(
                &gpt, shard, pass_over((plait_pass_kind)kind, number(in, "B"), number(in, "S")),
                PLAIT_AXIS_TP, shard.tp);
    }
    assert_near_relative(elements[1], elements[0], 1e-12);
    return elements[0];
}

static double megatron_sp_elems(const json_cursor *in)
{
    static plain_model gpt;
    const plait_runtime runtime = paper();
    plait_shard shard = shard_alone(&runtime);

    make_gpt(&gpt, 1, integer(in, "h"), 64);
    shard.tp = integer(in, "P");
    shard.sp = true;
    return layer_elements(&gpt, shard, pass_over(PLAIT_FORWARD, 1.0, number(in, "N")),
                          PLAIT_AXIS_TP, shard.tp);
}

static double context_elements(plain_model *gpt, plait_cp_comm comm, int ranks, double tokens)
{
    const plait_runtime runtime = paper();
    plait_shard shard = shard_alone(&runtime);

    shard.cp = ranks;
    shard.cp_comm = comm;
    return layer_elements(gpt, shard, pass_over(PLAIT_FORWARD, 1.0, tokens), PLAIT_AXIS_CP, ranks);
}

static double ulysses_elems(const json_cursor *in)
{
    static plain_model gpt;

    make_gpt(&gpt, 1, integer(in, "h"), 64);
    return context_elements(&gpt, PLAIT_CP_A2A, integer(in, "P"), number(in, "N"));
}

/* A ring and a gather send the same. */
static double ring_cp_elems(const json_cursor *in)
{
    static plain_model gpt;
    const int ranks = integer(in, "P");

    make_gpt(&gpt, 1, 8192, 64);
    gpt.layer.attention.kv_heads = integer(in, "hkv") / gpt.layer.attention.head_dim;
    const double ring = context_elements(&gpt, PLAIT_CP_P2P, ranks, number(in, "N"));
    assert_near_relative(context_elements(&gpt, PLAIT_CP_ALLGATHER, ranks, number(in, "N")), ring,
                         1e-12);
    return ring;
}

static double pp_elems(const json_cursor *in)
{
    static world w;
    plait_degrees d = plait_degrees_init();

    make_gpt(&w.plain, 2, integer(in, "H"), 96);
    ask(&w, 2, integer(in, "S"), integer(in, "B"));
    d.pp = 2;
    d.mbs = integer(in, "B");
    const plait_cost cost = price(&w, d);
    for (int i = 0; i < cost.volumes; i++)
        if (cost.volume[i].axis == PLAIT_AXIS_PP)
            return cost.volume[i].bytes / 2.0;
    return (double)NAN;
}

static double ridge(const json_cursor *in)
{
    return plait_ridge_flops_per_byte(number(in, "flops"), number(in, "bw"));
}

/* S keys, T queries that see all of them. */
static double attn_intensity(const json_cursor *in)
{
    static plain_model gpt;
    const double keys = number(in, "S");
    const double queries = number(in, "T");
    const plait_pass pass = {queries < keys ? PLAIT_DECODE : PLAIT_FORWARD, 1.0, queries, keys};
    const plait_runtime runtime = paper();
    plait_shard shard = shard_alone(&runtime);
    plait_block block;

    make_gpt(&gpt, 1, 4096, 32);
    gpt.layer.attention.full_mask = true;
    shard.attention = PLAIT_ATTENTION_FUSED;
    plait_block_describe(&gpt.model, &gpt.layer, &shard, pass, &block);
    for (int i = 0; i < block.ops; i++)
        if (block.op[i].kind == PLAIT_OP_ATTENTION)
            return block.op[i].flops / block.op[i].bytes;
    return (double)NAN;
}

const theory_formula theory_communication[] = {
    {THEORY(zero_comm)},
    {THEORY(zero3_collectives)},
    {THEORY(tp_layer_elems)},
    {THEORY(pp_elems)},
    {THEORY(hsdp_inter_bytes)},
    {THEORY(ulysses_elems)},
    {THEORY(megatron_sp_elems)},
    {THEORY(ring_cp_elems)},
    {THEORY(ridge)},
    {THEORY(attn_intensity)},
    {"ring_min_block", ridge}, // tokens a rank needs so that a ring hides: the same quotient
    {NULL, NULL},
};
