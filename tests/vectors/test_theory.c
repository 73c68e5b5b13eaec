/*
 * test_theory.c - published numbers, computed by the functions that price a plan
 *
 * theory_vectors.json holds formulas of lectures, papers and books with their inputs, the number
 * that the source prints and where the two disagree. Here each formula is a call of the cost
 * model, never the formula again: the bytes of a layer are those of its block, the traffic of
 * ZeRO is what a priced plan lists, and so on. What does not concern a plan of training (quoted
 * measurements, plain arithmetic, serving, failures) is left out, and counted.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "arena_fixture.h"
#include "assert_near.h"
#include "everything.h"
#include "json.h"
#include "must.h"
#include "plait/data.h"
#include "plait/fuse.h"
#include "plait/limits.h"
#include "plait/search.h"
#include "plait/simulate.h"
#include "plait/units.h"
#include "stage_sum.h"

// ---- inputs of a vector --------------------------------------------------------------------

static double number(const json_cursor *inputs, const char *key)
{
    double value = (double)NAN;
    plait_error err;

    if (json_number(inputs, key, JSON_ANY, &value, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return value;
}

static double number_or(const json_cursor *inputs, const char *key, double otherwise)
{
    return json_has(inputs, key) ? number(inputs, key) : otherwise;
}

static int integer(const json_cursor *inputs, const char *key)
{
    return (int)lround(number(inputs, key));
}

static int integer_or(const json_cursor *inputs, const char *key, int otherwise)
{
    return (int)lround(number_or(inputs, key, otherwise));
}

static bool flag_or(const json_cursor *inputs, const char *key, bool otherwise)
{
    bool value = otherwise;

    assert_int_equal(json_bool_optional(inputs, key, &value, NULL), PLAIT_OK);
    return value;
}

static int word(const json_cursor *inputs, const char *key, const char *const *words)
{
    int index = -1;
    plait_error err;

    if (json_word(inputs, key, words, &index, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return index;
}

// ---- models of one kind of layer -----------------------------------------------------------

typedef struct plain_model {
    plait_model model;
    plait_layer layer;
    unsigned char kinds[PLAIT_MAX_LAYERS];
} plain_model;

static void bind(plain_model *out)
{
    out->model.name = "plain";
    out->model.kinds = 1;
    out->model.kind = &out->layer;
    out->model.layer_kind = out->kinds;
}

/* GPT-2's layer, without its embedding. */
static void make_gpt(plain_model *out, int layers, int hidden, int heads)
{
    memset(out, 0, sizeof *out);
    out->model.hidden = hidden;
    out->model.vocab = 1;
    out->model.layers = layers;
    out->model.layer_norm = true;
    out->model.tied = true;
    out->model.dropout = true;
    out->layer.norms = 2;
    out->layer.mixer = PLAIT_MIXER_ATTENTION;
    out->layer.attention = (plait_attention){
        .heads = heads,
        .kv_heads = heads,
        .head_dim = hidden / heads,
        .qkv_bias = true,
        .out_bias = true,
    };
    out->layer.ffn = PLAIT_FFN_MLP;
    out->layer.mlp = (plait_mlp){.width = 4 * hidden, .bias = true};
    bind(out);
}

static void make_llama(plain_model *out, int layers, int hidden, int width, plait_attention a)
{
    make_gpt(out, layers, hidden, 1);
    out->model.layer_norm = false;
    out->model.dropout = false;
    out->model.tied = false;
    out->layer.attention = a;
    out->layer.mlp = (plait_mlp){.width = width, .gated = true};
}

/* One layer of `params` parameters and two FLOPs a parameter and token; ends of width one. */
static void make_opaque(plain_model *out, double params)
{
    memset(out, 0, sizeof *out);
    out->model.hidden = 1;
    out->model.vocab = 1;
    out->model.layers = 1;
    out->layer.opaque = true;
    out->layer.given = (plait_opaque){.params = params, .forward_flops = 2.0 * params};
    bind(out);
}

// ---- software that does what the papers say ------------------------------------------------

/* Everything can be expressed; nothing is kept but what Korthikanti et al. count. */
static plait_runtime paper(void)
{
    return (plait_runtime){
        .name = "paper",
        .can = everything_can(4096, 64),
        .factor = {.gemm = 1.0, .memory = 1.0, .attention = 1.0, .nic = 1.0, .ep_imbalance = 1.0},
        .state = {.weight = 2.0, .gradient = 2.0, .gradient_reduce = 2.0, .gather = 2.0},
        .keep = {.keeps = {[PLAIT_TENSOR_norm_in] = 2.0,
                           [PLAIT_TENSOR_norm_out] = 2.0,
                           [PLAIT_TENSOR_qkv] = 2.0,
                           [PLAIT_TENSOR_keys] = 2.0,
                           [PLAIT_TENSOR_scores] = 2.0,
                           [PLAIT_TENSOR_scores_dropout] = 3.0,
                           [PLAIT_TENSOR_lse] = 4.0,
                           [PLAIT_TENSOR_core_out] = 2.0,
                           [PLAIT_TENSOR_fc1_out] = 2.0,
                           [PLAIT_TENSOR_act_out] = 2.0,
                           [PLAIT_TENSOR_dropout] = 1.0},
                 .reserved_ratio = 1.0,
                 .fragmentation = 1.0},
    };
}

/* A question about one model; the cluster of H100 nodes only has to be large enough. */
typedef struct world {
    plain_model plain;
    plait_runtime runtime;
    plait_accelerator accelerator;
    plait_cluster cluster;
    plait_problem problem;
} world;

static void ask(world *w, int gpus, int seq, int gbs)
{
    plait_error err;

    if (plait_cluster_synthetic(gpus > 8 ? "h100-80gb-sxm:1024x8" : "h100-80gb-sxm:1x8", arena,
                                &w->cluster, &err) != PLAIT_OK ||
        plait_cluster_take(&w->cluster, gpus, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    w->accelerator = *w->cluster.group[0].accelerator;
    w->cluster.group[0].accelerator = &w->accelerator;
    w->runtime = paper();
    w->problem = (plait_problem){
        .model = &w->plain.model,
        .cluster = &w->cluster,
        .runtime = &w->runtime,
        .job = {.seq = seq, .gbs = gbs, .gpus = gpus, .precision = PLAIT_BF16},
    };
}

static plait_cost price(const world *w, plait_degrees degrees)
{
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    if (plait_plan_expand(&w->problem, &degrees, arena, &plan, &err) != PLAIT_OK ||
        plait_plan_cost(&w->problem, &plan, arena, &cost, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("not a legal plan: %s", cost.why);
    return cost;
}

// ---- memory --------------------------------------------------------------------------------

static plait_degrees replicas(int dp, int zero)
{
    plait_degrees d = plait_degrees_init();

    d.dp = dp;
    d.shard_group = dp;
    d.zero = (unsigned char)zero;
    return d;
}

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
                         (plait_recompute){.kind = (unsigned char)recompute})
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

static plait_shard shard_alone(const plait_runtime *runtime)
{
    return (plait_shard){.tp = 1,
                         .cp = 1,
                         .ep = 1,
                         .etp = 1,
                         .attention = PLAIT_ATTENTION_UNFUSED,
                         .runtime = runtime};
}

static plait_pass pass_over(plait_pass_kind kind, double sequences, double tokens)
{
    return (plait_pass){kind, sequences, tokens, tokens};
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

    return word(in, "what", words) == 0 ? plait_schedule_copies(PLAIT_DUALPIPE)
                                        : plait_schedule_in_flight(PLAIT_DUALPIPE, p, 0, 1, 2 * p);
}

// ---- communication -------------------------------------------------------------------------

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

// ---- collectives ---------------------------------------------------------------------------

/* A naive all-reduce is 2(n-1) sends of the whole buffer: so many seconds at a byte a second. */
static double coll_bytes(const json_cursor *in)
{
    const plait_collective_op op = (plait_collective_op)word(in, "op", plait_collective_name);
    const int ranks = integer(in, "P");
    const double bytes = number(in, "D");

    return json_has(in, "algo") ? plait_naive_all_reduce_s((plait_link){0.0, 1.0}, ranks, bytes)
                                : plait_collective_sent_bytes(op, ranks, bytes);
}

static double busbw_factor(const json_cursor *in)
{
    return plait_bus_factor((plait_collective_op)word(in, "op", plait_collective_name),
                            integer(in, "n"));
}

static double ag_time(const json_cursor *in)
{
    return plait_switch_all_gather_s(number(in, "bytes"), number(in, "W"), integer_or(in, "n", 0));
}

static double ar_time(const json_cursor *in)
{
    return plait_switch_all_reduce_s(number(in, "bytes"), number(in, "W"), integer_or(in, "n", 0),
                                     flag_or(in, "sharp", false));
}

static double a2a_node(const json_cursor *in)
{
    return plait_switch_all_to_all_s(number(in, "bytes"), number(in, "W"), integer(in, "n"),
                                     integer_or(in, "k", 0));
}

static double a2a_cross(const json_cursor *in)
{
    return plait_switch_all_to_all_s(number(in, "bytes"), number(in, "W"), integer(in, "m"), 0);
}

static double tree_ag_bw(const json_cursor *in)
{
    json_cursor levels, level, entry;
    double rate[PLAIT_MAX_LEVELS] = {0};
    double pair[2] = {0};
    int degree[PLAIT_MAX_LEVELS] = {0};
    int count = 0;

    assert_int_equal(json_array(in, "levels", &levels, NULL), PLAIT_OK);
    for (bool more = json_first(&levels, &level); more; more = json_next(&level), count++) {
        assert_true(count < PLAIT_MAX_LEVELS && json_count(&level) == 2);
        for (bool next = json_first(&level, &entry); next; next = json_next(&entry))
            assert_int_equal(json_as_number(&entry, JSON_ANY, &pair[entry.index], NULL), PLAIT_OK);
        degree[count] = (int)lround(pair[0]);
        rate[count] = pair[1];
    }
    return plait_tree_all_gather_bytes_per_s(degree, rate, count);
}

static double hier_ar_time(const json_cursor *in)
{
    const plait_link inner = {number_or(in, "lat_i", 0.0), number(in, "Wi")};
    const plait_link outer = {number_or(in, "lat_e", 0.0), number(in, "We")};

    return plait_hierarchical_all_reduce_s(number(in, "D"), inner, integer(in, "g"), outer,
                                           integer(in, "G"));
}

static double torus2d_ar_time(const json_cursor *in)
{
    const int size[] = {integer(in, "X"), integer(in, "Y")};

    return plait_torus_all_reduce_s(number(in, "D"), size, 2, number(in, "W"),
                                    flag_or(in, "both_axes", true));
}

static double ring_ag_time(const json_cursor *in)
{
    return plait_torus_ring_all_gather_s(number(in, "D"), integer(in, "n"), number(in, "w1"),
                                         flag_or(in, "wrap", true));
}

static double ring_latency(const json_cursor *in)
{
    return plait_torus_ring_latency_s(integer(in, "n"), number(in, "t_hop"),
                                      flag_or(in, "wrap", true));
}

static double nccl_latency(const json_cursor *in)
{
    static const char *const algorithms[] = {"ring", "tree", "nvls", NULL};
    static const char *const protocols[] = {"LL", "LL128", "Simple", NULL};

    return plait_nccl_latency_s((plait_collective_op)word(in, "coll", plait_collective_name),
                                (plait_nccl_algorithm)word(in, "algo", algorithms),
                                (plait_nccl_protocol)word(in, "proto", protocols), integer(in, "n"),
                                integer(in, "nodes"),
                                number_or(in, "net_overhead", 1.0) * PLAIT_US) /
           PLAIT_US;
}

// ---- schedules -----------------------------------------------------------------------------

/* Ranks all alike, one microbatch of which takes f and b. */
static double even_pipeline_s(plait_schedule schedule, int ranks, int microbatches, int chunks,
                              double f_s, double b_s)
{
    const plait_chunk_time chunk = {f_s / chunks, b_s / chunks, 0.0};
    const plait_rank_run run = {ranks, {f_s, b_s, 0.0}, chunk, chunk};
    const plait_pipeline_load load = {
        .ranks = ranks, .chunks = chunks, .microbatches = microbatches, .runs = 1, .run = &run};

    assert_true(plait_pipeline_exact(schedule, &load));
    return plait_pipeline_s(schedule, &load);
}

/* Idle over busy time of one device. */
static double idle_ratio(int stages, int microbatches, int chunks)
{
    return even_pipeline_s(chunks > 1 ? PLAIT_INTERLEAVED : PLAIT_1F1B, stages, microbatches,
                           chunks, 0.25, 0.75) /
               microbatches -
           1.0;
}

static plait_sim_result simulated_stages(plait_pipeline_shape shape, const plait_sim_stage *stage,
                                         double pair_share)
{
    plait_rank_actions *actions = plait_arena_alloc(arena, (size_t)shape.ranks, sizeof *actions);
    const plait_sim sim = {.ranks = shape.ranks,
                           .stages = shape.ranks * shape.chunks,
                           .microbatches = shape.microbatches,
                           .actions = actions,
                           .stage = stage,
                           .pair_share = pair_share};
    plait_sim_result result;
    plait_error err;

    assert_non_null(actions);
    must(plait_schedule_actions(&shape, arena, actions, &err), &err);
    must(plait_simulate(&sim, arena, &result, &err), &err);
    return result;
}

/* F, I and W of one action each; pair_s: what a forward and a backward take at once, 0: apart. */
static plait_sim_result simulated(plait_pipeline_shape shape, double f_s, double i_s, double w_s,
                                  double pair_s)
{
    const int stages = shape.ranks * shape.chunks;
    plait_sim_stage *stage = plait_arena_alloc(arena, (size_t)stages, sizeof *stage);

    assert_non_null(stage);
    for (int s = 0; s < stages; s++)
        stage[s] = (plait_sim_stage){.forward_s = f_s, .input_s = i_s, .weight_s = w_s};
    return simulated_stages(shape, stage, pair_s / (f_s + i_s + w_s));
}

static double most_idle_s(plait_pipeline_shape shape, const plait_sim_result *result)
{
    double idle_s = 0.0;

    for (int rank = 0; rank < shape.ranks; rank++)
        idle_s = fmax(idle_s, result->rank[rank].idle_s);
    return idle_s;
}

/* Gradients of every stage: inside its last backward, or behind it. */
static double sim_with_gradients(plait_pipeline_shape shape, const json_cursor *in)
{
    const bool shifts = flag_or(in, "shift", false);
    plait_sim_stage *stage = plait_arena_alloc(arena, (size_t)shape.ranks, sizeof *stage);
    double *g_s = plait_arena_alloc(arena, (size_t)shape.ranks, sizeof *g_s);
    double end_s = 0.0;
    json_cursor list, g;

    assert_true(stage != NULL && g_s != NULL);
    assert_int_equal(json_array(in, "g", &list, NULL), PLAIT_OK);
    assert_int_equal(json_count(&list), shape.ranks);
    for (bool more = json_first(&list, &g); more; more = json_next(&g)) {
        assert_int_equal(json_as_number(&g, JSON_POSITIVE, &g_s[g.index], NULL), PLAIT_OK);
        stage[g.index] = (plait_sim_stage){.forward_s = number(in, "f"),
                                           .input_s = number(in, "b"),
                                           .reduce_s = shifts ? 0.0 : g_s[g.index]};
    }
    const plait_sim_result result = simulated_stages(shape, stage, 0.0);
    for (int rank = 0; rank < shape.ranks; rank++) {
        const plait_sim_rank *const own = &result.rank[rank];
        const double last_s = result.event[own->first + own->count - 1].end_s;
        end_s = fmax(end_s, last_s + (shifts ? g_s[rank] : 0.0));
    }
    return end_s;
}

static double sim_pipe(const json_cursor *in)
{
    static const char *const words[] = {"gpipe", "1f1b", "inter", NULL};
    static const plait_schedule schedules[] = {PLAIT_GPIPE, PLAIT_1F1B, PLAIT_INTERLEAVED};
    const int v = integer_or(in, "v", 1);
    const plait_pipeline_shape shape = {schedules[word(in, "kind", words)], integer(in, "p"), v,
                                        integer(in, "m")};

    if (json_has(in, "g"))
        return sim_with_gradients(shape, in);
    return simulated(shape, number(in, "f") / v, number(in, "b") / v, 0.0, 0.0).pipeline_s;
}

/* Idle time of the rank that idles most, between its first action and its last. */
static double split_idle_s(plait_schedule schedule, int ranks, int microbatches,
                           const json_cursor *in, double input_s)
{
    const plait_pipeline_shape shape = {schedule, ranks, 1, microbatches};
    const plait_sim_result result =
        simulated(shape, number(in, "F_"), input_s, number(in, "W_"), 0.0);

    return most_idle_s(shape, &result);
}

static const char *const zb_words[] = {"1f1b", "zbh1", "zbh2", NULL};
static const plait_schedule zb_schedules[] = {PLAIT_1F1B, PLAIT_ZB_H1, PLAIT_ZB_H2};

static double sim_zb_idle(const json_cursor *in)
{
    return split_idle_s(zb_schedules[word(in, "sched", zb_words)], integer(in, "p"),
                        integer(in, "m"), in, number(in, "B_"));
}

/* In a long step. B is the input gradient. */
static double zb_bubble(const json_cursor *in)
{
    const int p = integer(in, "p");

    return split_idle_s(zb_schedules[word(in, "sched", zb_words)], p, 4 * p, in, number(in, "B_"));
}

/* B is here the whole backward, and FB what a pair takes; idle until the last rank ends. */
static double dual_idle_s(const json_cursor *in, int microbatches)
{
    const plait_pipeline_shape shape = {PLAIT_DUALPIPE, integer(in, "P"), 1, microbatches};
    const double w_s = number(in, "W_");
    const plait_sim_result result =
        simulated(shape, number(in, "F_"), number(in, "B_") - w_s, w_s, number(in, "FB"));
    double idle_s = 0.0;

    for (int rank = 0; rank < shape.ranks; rank++)
        idle_s = fmax(idle_s, result.pipeline_s - result.rank[rank].busy_s);
    return idle_s;
}

static double sim_dualpipe_bubble(const json_cursor *in)
{
    return dual_idle_s(in, integer(in, "M"));
}

/* DualPipe's README compares it with 1F1B and with ZB-H1, there ZB1P. */
static double dualpipe_bubble(const json_cursor *in)
{
    static const char *const words[] = {"1f1b", "zb1p", "dualpipe", NULL};
    const int schedule = word(in, "sched", words);
    const int p = integer(in, "P");

    return schedule == 2 ? dual_idle_s(in, 4 * p)
                         : split_idle_s(zb_schedules[schedule], p, 4 * p, in,
                                        number(in, "B_") - number(in, "W_"));
}

static double bubble_ratio(const json_cursor *in)
{
    return idle_ratio(integer(in, "p"), integer(in, "m"), integer_or(in, "v", 1));
}

static double bubble_frac(const json_cursor *in)
{
    const double ratio = bubble_ratio(in);

    return ratio / (1.0 + ratio);
}

static double layerwise_util(const json_cursor *in)
{
    return 1.0 / even_pipeline_s(PLAIT_NAIVE, integer(in, "n"), 1, 1, 0.25, 0.75);
}

/* Without chunks GPipe and 1F1B take the same time. */
static double pipe_time(const json_cursor *in)
{
    const int p = integer(in, "p"), m = integer(in, "m"), v = integer_or(in, "v", 1);
    const double f = number(in, "f"), b = number(in, "b");

    if (v > 1)
        return even_pipeline_s(PLAIT_INTERLEAVED, p, m, v, f, b);
    assert_near_relative(even_pipeline_s(PLAIT_GPIPE, p, m, 1, f, b),
                         even_pipeline_s(PLAIT_1F1B, p, m, 1, f, b), 1e-12);
    return even_pipeline_s(PLAIT_1F1B, p, m, 1, f, b);
}

// ---- models, FLOPs and layouts -------------------------------------------------------------

/* The GPT family of Narayanan et al.: a vocabulary of 51200, 2048 positions. */
static void make_megatron(plain_model *out, const json_cursor *in)
{
    make_gpt(out, integer(in, "l"), integer(in, "h"), 1);
    out->model.vocab = integer_or(in, "V", 51200);
    out->model.learned_positions = integer_or(in, "s", 2048);
}

static double gpt_params(const json_cursor *in)
{
    static plain_model gpt;

    make_megatron(&gpt, in);
    return plait_model_params(&gpt.model).total;
}

static double llama_params(const json_cursor *in)
{
    static plain_model llama;
    const plait_attention attention = {
        .heads = integer(in, "N"), .kv_heads = integer(in, "K"), .head_dim = integer(in, "H")};

    make_llama(&llama, integer(in, "L"), integer(in, "D"), integer(in, "Fd"), attention);
    llama.model.vocab = integer(in, "V");
    llama.model.tied = flag_or(in, "tied", false);
    return plait_model_params(&llama.model).total;
}

/* GPT-J: attention and MLP side by side behind one norm, no biases in attention. */
static void make_gptj(plain_model *out)
{
    out->model.tied = false;
    out->model.head_bias = true;
    out->model.learned_positions = 0;
    out->layer.norms = 1;
    out->layer.parallel_residual = true;
    out->layer.attention.qkv_bias = false;
    out->layer.attention.out_bias = false;
}

static void make_mamba(plain_model *out)
{
    const int hidden = out->model.hidden;

    out->model.layer_norm = false;
    out->model.learned_positions = 0;
    out->layer.norms = 1;
    out->layer.ffn = PLAIT_FFN_NONE;
    out->layer.mixer = PLAIT_MIXER_MAMBA;
    out->layer.mamba =
        (plait_mamba){.inner = 2 * hidden, .state = 16, .conv = 4, .dt_rank = (hidden + 15) / 16};
}

/* Patches of 16 x 16 pixels in three colours. */
static void make_vit(plain_model *out)
{
    out->model.tied = false;
    out->model.head_bias = true;
    out->model.patch_dim = 16 * 16 * 3;
    out->layer.attention.full_mask = true;
}

static double exact_params(const json_cursor *in)
{
    static const char *const kinds[] = {"gpt2", "gptj", "mamba", "vit", NULL};
    static plain_model plain;
    const int kind = word(in, "kind", kinds);

    make_megatron(&plain, in);
    plain.model.learned_positions = integer_or(in, "s", 1024);
    if (kind == 1)
        make_gptj(&plain);
    else if (kind == 2)
        make_mamba(&plain);
    else if (kind == 3)
        make_vit(&plain);
    return plait_model_params(&plain.model).total;
}

static double step_flops(const json_cursor *in, bool recompute)
{
    static plain_model gpt;
    const plait_job job = {.seq = integer(in, "s"), .gbs = integer(in, "B")};

    make_megatron(&gpt, in);
    return plait_job_tokens(&job) *
           plait_model_flops_per_token(&gpt.model, number(in, "s"), recompute);
}

static double gpt_step_time(const json_cursor *in)
{
    return step_flops(in, true) / (number(in, "n") * number(in, "tflops") * PLAIT_TFLOP);
}

static double mfu_from_time(const json_cursor *in)
{
    const double peak = number(in, "n") * number(in, "peak") * PLAIT_TFLOP;

    return 100.0 * step_flops(in, false) / number(in, "time") / peak;
}

/* Eight FLOPs a parameter and token: forward, backward, and the forward again. */
static double train_days_8tp(const json_cursor *in)
{
    static plain_model opaque;

    make_opaque(&opaque, number(in, "params"));
    return plait_model_flops_per_token(&opaque.model, 2048.0, true) * number(in, "tokens") /
           (number(in, "n") * number(in, "tflops") * PLAIT_TFLOP) / PLAIT_DAY;
}

static double dp_size(const json_cursor *in)
{
    return plait_degrees_dp(integer(in, "n"), integer_or(in, "t", 1), integer_or(in, "p", 1),
                            integer_or(in, "c", 1));
}

// ---- when communication binds, and gradients moved out of the last backward ---------------

static double sb_alpha(const json_cursor *in)
{
    return plait_limit_tokens(number(in, "C"), number(in, "W"));
}

static double sb_tp_max(const json_cursor *in)
{
    return plait_limit_tensor_ranks(number(in, "Fd"), number(in, "alpha"));
}

/* Two axes of links for the data, one for the tensor ranks. */
static double sb_mixed_min(const json_cursor *in)
{
    const double alpha = number(in, "alpha");

    return plait_limit_mixed_tokens(alpha / 2.0, alpha, number(in, "Fd"));
}

static double sb_xopt(const json_cursor *in)
{
    return plait_limit_mixed_shards(number(in, "B"), number(in, "Fd"), 2.0, number(in, "N"));
}

static double sb_moe_dp(const json_cursor *in)
{
    return plait_limit_data_tokens(number(in, "alpha"), 0, number(in, "E"), number(in, "k"));
}

static double sb_dp_small(const json_cursor *in)
{
    return plait_limit_data_tokens(number(in, "alpha"), integer(in, "X"), 1.0, 1.0);
}

static double sb_decode_tp(const json_cursor *in)
{
    return plait_limit_decode_ranks(number(in, "Fd"), number(in, "B"), number(in, "beta"));
}

static double sb_2dws_N(const json_cursor *in)
{
    return plait_limit_two_way_chips(number(in, "Fd"), number(in, "D"));
}

static double commshift_implied(const json_cursor *in)
{
    return plait_sync_share(integer(in, "p"), number(in, "speedup"));
}

/* Equal stages whose gradients take g[s] to reduce: the pipeline, and what of g the price exposes. */
static double commshift_time(const json_cursor *in)
{
    const int stages = integer(in, "p");
    const bool shifts = flag_or(in, "shift", false);
    const plait_degrees d = {
        .pp = stages, .zero = 0, .grad_sync = shifts ? PLAIT_SYNC_SHIFTED : PLAIT_SYNC_BULK};
    const plait_runtime runtime = paper();
    const plait_problem problem = {.runtime = &runtime};
    stage_load load[16] = {{0}};
    stage_sync sync[16] = {{0}};
    json_cursor list, g;

    assert_true(stages <= 16);
    assert_int_equal(json_array(in, "g", &list, NULL), PLAIT_OK);
    for (bool more = json_first(&list, &g); more; more = json_next(&g)) {
        assert_true(g.index < (size_t)stages);
        load[g.index] = (stage_load){.index = (int)g.index, .count = 1};
        load[g.index].backward_s = number(in, "b");
        assert_int_equal(json_as_number(&g, JSON_POSITIVE, &sync[g.index].reduce_s, NULL),
                         PLAIT_OK);
    }
    return pipe_time(in) + sync_exposed_s(&problem, &d, load, sync, stages);
}

// ---- topology -----------------------------------------------------------------------------

/* One level of so many units that send `bytes_per_s` each. */
static plait_cluster one_level(plait_level_kind kind, int units, double bytes_per_s)
{
    return (plait_cluster){.levels = 1,
                           .level = {{.kind = kind,
                                      .gpus = units,
                                      .link = {0.0, bytes_per_s},
                                      .efficiency = 1.0,
                                      .oversubscription = 1.0,
                                      .ports = 1}},
                           .gpus = units};
}

/* As the reader makes it: the sides of an axis of two face each other on one link. */
static plait_graph grid_of(const json_cursor *in, bool torus)
{
    plait_cluster cluster = one_level(torus ? PLAIT_LEVEL_TORUS : PLAIT_LEVEL_MESH, 1, 1.0);
    plait_level *const level = &cluster.level[0];
    json_cursor list, side;

    for (int a = 0; a < PLAIT_MAX_SIDES; a++)
        level->side[a] = 1;
    assert_int_equal(json_array(in, "dims", &list, NULL), PLAIT_OK);
    for (bool more = json_first(&list, &side); more; more = json_next(&side)) {
        assert_int_equal(json_as_int(&side, 1, 64, &level->side[side.index], NULL), PLAIT_OK);
        level->wrap[side.index] = torus;
        level->gpus *= level->side[side.index];
    }
    return plait_level_graph(&cluster, 0);
}

/* Leaves of dims[0] accelerators, dims[1] of them under a spine. */
static plait_graph leaves_of(const json_cursor *in)
{
    plait_cluster cluster = one_level(PLAIT_LEVEL_SWITCH, 1, 1.0);
    json_cursor list, count;

    cluster.levels = 2;
    cluster.level[1] = cluster.level[0];
    assert_int_equal(json_array(in, "dims", &list, NULL), PLAIT_OK);
    for (bool more = json_first(&list, &count); more; more = json_next(&count)) {
        int n = 0;
        assert_int_equal(json_as_int(&count, 1, 64, &n, NULL), PLAIT_OK);
        cluster.gpus *= n;
        cluster.level[count.index].gpus = cluster.gpus;
    }
    return plait_cluster_graph(&cluster);
}

static double topo(const json_cursor *in)
{
    static const char *const kinds[] = {"mesh", "torus", "fattree2", NULL};
    static const char *const facts[] = {"nodes",     "links",    "diameter",
                                        "bisection", "avg_hops", NULL};
    const int kind = word(in, "kind", kinds);
    const plait_graph graph = kind == 2 ? leaves_of(in) : grid_of(in, kind == 1);
    const double value[] = {graph.nodes, graph.links, graph.diameter, graph.cut_links,
                            graph.mean_hops};

    return value[word(in, "what", facts)];
}

/* Both halves behind switches that are short of nothing. */
static double bisection(const json_cursor *in)
{
    const plait_cluster cluster =
        one_level(PLAIT_LEVEL_SWITCH, integer(in, "n"), number(in, "uni"));

    return plait_level_graph(&cluster, 0).bisection_bytes_per_s;
}

/* All links of one unit that has one to each of so many others, each half of a pair's two ends. */
static double node_bw(const json_cursor *in)
{
    const int units = integer(in, "links") + 1;
    const plait_cluster cluster = one_level(PLAIT_LEVEL_FULL, units, 1.0);

    return 2.0 * plait_level_graph(&cluster, 0).links / units * number(in, "per_link");
}

static double fattree(const json_cursor *in)
{
    static const char *const parts[] = {"endpoints", "switches", "links", NULL};
    const plait_fat_tree tree = plait_fat_tree_of(integer(in, "k"), integer(in, "layers"));
    const double value[] = {tree.endpoints, tree.switches, tree.links};

    return value[word(in, "what", parts)];
}

// ---- fused communication -------------------------------------------------------------------

/* What one device sends by one parallelism's own collective. */
static double chimera(const json_cursor *in)
{
    static const char *const words[] = {"TP", "SP", "RS", "EP", "PP", "M2MS", NULL};
    static const plait_collective_op ops[] = {
        PLAIT_ALL_REDUCE, PLAIT_ALL_GATHER, PLAIT_REDUCE_SCATTER,
        PLAIT_ALL_TO_ALL, PLAIT_P2P,        PLAIT_M2MS};
    const int op = word(in, "op", words);
    const bool routed = ops[op] == PLAIT_ALL_TO_ALL || ops[op] == PLAIT_M2MS;

    return plait_collective_sent_bytes(ops[op], integer(in, "N"),
                                       (routed ? number(in, "k") : 1.0) * number(in, "B") *
                                           number(in, "S") * number(in, "H"));
}

/* The vectors call SP+EP+SP by its first two. */
static double chimera_pair(const json_cursor *in)
{
    static const char *const pairs[] = {"TP+SP", "TP+PP", "TP+EP", "PP+EP", "SP+PP", "SP+EP", NULL};
    static const char *const whats[] = {"base", "fused", "ratio", NULL};
    const plait_fusion_row *rule = &plait_fusion_rules[word(in, "pair", pairs)];
    const int ranks = integer(in, "N");
    const int all = integer_or(in, "G", ranks);
    const int topk = integer_or(in, "k", 1);
    const double base = plait_fusion_sent(&rule->before, ranks, all, topk, 1.0);
    const double fused = plait_fusion_sent(&rule->after, ranks, all, topk, 1.0);

    assert_memory_equal(rule->name, pairs[rule - plait_fusion_rules], 5);
    switch (word(in, "what", whats)) {
    case 0:
        return base;
    case 1:
        return fused;
    default:
        return base / fused;
    }
}

// ---- experts ----------------------------------------------------------------------------

static double expected_nodes(const json_cursor *in)
{
    return plait_reached_groups(number(in, "N"), number(in, "k"), number(in, "E"));
}

/*
 * Of one dispatch, what a rank sends to others. `E` counts ranks; `bytes` are those of an element, of
 * which a copy here has two.
 */
static double ep_a2a_bytes(const json_cursor *in)
{
    static plain_model gpt;
    const plait_runtime runtime = {.rules = PLAIT_RULES_GENERIC};
    const int ranks = integer(in, "E");
    const plait_shard shard = {.tp = 1, .cp = 1, .ep = ranks, .etp = 1, .runtime = &runtime};

    make_gpt(&gpt, 1, integer(in, "h"), 64);
    gpt.layer.ffn = PLAIT_FFN_MOE;
    gpt.layer.moe = (plait_moe){.experts = ranks, .topk = integer(in, "k"), .width = 1};
    const plait_op op = plait_block_exchange(&gpt.model, &gpt.layer, &shard,
                                             pass_over(PLAIT_FORWARD, 1.0, number(in, "tokens")),
                                             PLAIT_PART_dispatch);
    return plait_collective_sent_bytes(op.collective, ranks, op.bytes) * number(in, "bytes") / 2.0;
}

// ---- the table -----------------------------------------------------------------------------

typedef double theory_value(const json_cursor *inputs);

#define THEORY_FORMULAS(X)                                                                         \
    X(zero_bytes)                                                                                  \
    X(zero_max_params)                                                                             \
    X(zero_comm)                                                                                   \
    X(zero3_collectives)                                                                           \
    X(act_layer)                                                                                   \
    X(act_gated)                                                                                   \
    X(act_term)                                                                                    \
    X(act_interleave_factor)                                                                       \
    X(zb_mem)                                                                                      \
    X(zb_peak)                                                                                     \
    X(dualpipe_mem)                                                                                \
    X(tp_layer_elems)                                                                              \
    X(pp_elems)                                                                                    \
    X(hsdp_inter_bytes)                                                                            \
    X(ulysses_elems)                                                                               \
    X(megatron_sp_elems)                                                                           \
    X(ring_cp_elems)                                                                               \
    X(ridge)                                                                                       \
    X(attn_intensity)                                                                              \
    X(coll_bytes)                                                                                  \
    X(busbw_factor)                                                                                \
    X(ag_time)                                                                                     \
    X(ar_time)                                                                                     \
    X(a2a_node)                                                                                    \
    X(a2a_cross)                                                                                   \
    X(tree_ag_bw)                                                                                  \
    X(hier_ar_time)                                                                                \
    X(torus2d_ar_time)                                                                             \
    X(ring_ag_time)                                                                                \
    X(ring_latency)                                                                                \
    X(nccl_latency)                                                                                \
    X(bubble_ratio)                                                                                \
    X(sim_pipe)                                                                                    \
    X(sim_zb_idle)                                                                                 \
    X(sim_dualpipe_bubble)                                                                         \
    X(zb_bubble)                                                                                   \
    X(dualpipe_bubble)                                                                             \
    X(bubble_frac)                                                                                 \
    X(layerwise_util)                                                                              \
    X(pipe_time)                                                                                   \
    X(gpt_params)                                                                                  \
    X(llama_params)                                                                                \
    X(exact_params)                                                                                \
    X(gpt_step_time)                                                                               \
    X(mfu_from_time)                                                                               \
    X(train_days_8tp)                                                                              \
    X(dp_size)                                                                                     \
    X(sb_alpha)                                                                                    \
    X(sb_tp_max)                                                                                   \
    X(sb_mixed_min)                                                                                \
    X(sb_xopt)                                                                                     \
    X(sb_moe_dp)                                                                                   \
    X(sb_dp_small)                                                                                 \
    X(sb_decode_tp)                                                                                \
    X(sb_2dws_N)                                                                                   \
    X(commshift_time)                                                                              \
    X(commshift_implied)                                                                           \
    X(topo)                                                                                        \
    X(bisection)                                                                                   \
    X(node_bw)                                                                                     \
    X(fattree)                                                                                     \
    X(chimera)                                                                                     \
    X(chimera_pair)                                                                                \
    X(expected_nodes)                                                                              \
    X(ep_a2a_bytes)

static const struct {
    const char *formula;
    theory_value *value;
} theory[] = {
#define X(name) {#name, name},
    THEORY_FORMULAS(X)
#undef X
        {"ring_min_block", ridge}, /* tokens a rank needs so that a ring hides: the same quotient */
};

enum { FORMULAS = sizeof theory / sizeof *theory };

static int formula_of(const char *name)
{
    for (int f = 0; f < FORMULAS; f++)
        if (strcmp(theory[f].formula, name) == 0)
            return f;
    return -1;
}

static bool among(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(*words, name) == 0)
            return true;
    return false;
}

/* Serving and failures are other subjects. */
static bool concerns_plans(const char *group)
{
    static const char *const others[] = {"inference", "reliability", NULL};

    return !among(group, others);
}

static bool is_arithmetic(const char *formula)
{
    static const char *const names[] = {"mul",   "div",   "sub",        "pct",
                                        "share", "total", "ratio_gain", NULL};

    return among(formula, names);
}

// ---- the vectors ---------------------------------------------------------------------------

static bool is_near(double value, double other, const json_cursor *tolerance)
{
    return fabs(value - other) <=
           number_or(tolerance, "abs", 0.0) + number_or(tolerance, "rel", 0.0) * fabs(other);
}

/* Does our value say what the verdict says? */
static bool holds(const json_cursor *vector, double value, char *why, size_t size)
{
    static const char *const verdicts[] = {"agrees", "disagrees", NULL};
    const bool disagrees = word(vector, "verdict", verdicts) == 1;
    const double expected = number(vector, "expected");
    const double right = disagrees ? number(vector, "formula_value") : expected;
    json_cursor tolerance;

    assert_int_equal(json_object(vector, "tolerance", &tolerance, NULL), PLAIT_OK);
    snprintf(why, size, "%.12g, expected %.12g", value, right);
    if (!is_near(value, right, &tolerance))
        return false;
    snprintf(why, size, "%.12g as in the source, whose own formula gives %.12g", value, right);
    return !disagrees || !is_near(value, expected, &tolerance);
}

static bool check(const json_cursor *vector, int formula)
{
    const char *id = "?";
    char why[128];
    json_cursor inputs;

    assert_int_equal(json_string(vector, "id", arena, &id, NULL), PLAIT_OK);
    assert_int_equal(json_object(vector, "inputs", &inputs, NULL), PLAIT_OK);
    if (holds(vector, theory[formula].value(&inputs), why, sizeof why))
        return true;
    print_error("%s: %s is %s\n", id, theory[formula].formula, why);
    return false;
}

/* What became of the vectors. */
typedef struct tally {
    int all, checked, wrong;
    int quoted, arithmetic, elsewhere;
    int of_formula[FORMULAS];
} tally;

static void take(const json_cursor *vector, tally *t)
{
    const char *group = "";
    const char *formula = NULL;

    t->all++;
    assert_int_equal(json_string(vector, "group", arena, &group, NULL), PLAIT_OK);
    assert_int_equal(json_string_optional(vector, "formula", arena, &formula, NULL), PLAIT_OK);
    if (!formula) {
        t->quoted++;
    } else if (is_arithmetic(formula)) {
        t->arithmetic++;
    } else if (!concerns_plans(group)) {
        t->elsewhere++;
    } else {
        const int f = formula_of(formula);
        if (f < 0)
            fail_msg("no function computes %s", formula);
        t->checked++;
        t->of_formula[f]++;
        t->wrong += !check(vector, f);
    }
}

static void test_vectors__are_what_the_cost_model_computes(void **state)
{
    json_document document;
    json_cursor root, vectors, vector;
    plait_error err;
    tally t = {0};

    (void)state;
    if (json_document_read("tests/vectors/theory_vectors.json", arena, &document, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    root = json_document_root(&document);
    assert_int_equal(json_array(&root, "vectors", &vectors, NULL), PLAIT_OK);
    for (bool more = json_first(&vectors, &vector); more; more = json_next(&vector))
        take(&vector, &t);
    json_document_free(&document);

    print_message("%d vectors: %d checked; left out: %d quoted, %d plain arithmetic, %d of other "
                  "subjects\n",
                  t.all, t.checked, t.quoted, t.arithmetic, t.elsewhere);
    for (int f = 0; f < FORMULAS; f++)
        if (t.of_formula[f] == 0)
            fail_msg("no vector of %s", theory[f].formula);
    if (t.wrong > 0)
        fail_msg("%d of %d vectors are wrong", t.wrong, t.checked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_vectors__are_what_the_cost_model_computes, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
