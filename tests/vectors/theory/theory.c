/* theory.c - inputs of a vector, models of one kind of layer, software that does what papers say */
#include <string.h>

#include "support/everything.h"
#include "plait/data.h"
#include "plait/lowlevel/fuse.h"
#include "costmodel/stage/stage_cost.h"
#include "vectors/theory/theory.h"

plait_arena *theory_arena;

// ---- inputs of a vector --------------------------------------------------------------------

double number(const json_cursor *inputs, const char *key)
{
    double value = (double)NAN;
    plait_error err;

    if (json_number(inputs, key, JSON_ANY, &value, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return value;
}

double number_or(const json_cursor *inputs, const char *key, double otherwise)
{
    return json_has(inputs, key) ? number(inputs, key) : otherwise;
}

int integer(const json_cursor *inputs, const char *key)
{
    return (int)lround(number(inputs, key));
}

int integer_or(const json_cursor *inputs, const char *key, int otherwise)
{
    return (int)lround(number_or(inputs, key, otherwise));
}

bool flag_or(const json_cursor *inputs, const char *key, bool otherwise)
{
    bool value = otherwise;

    assert_int_equal(json_bool_optional(inputs, key, &value, NULL), PLAIT_OK);
    return value;
}

int word(const json_cursor *inputs, const char *key, const char *const *words)
{
    int index = -1;
    plait_error err;

    if (json_word(inputs, key, words, &index, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return index;
}

// ---- models of one kind of layer -----------------------------------------------------------

static void bind(plain_model *out)
{
    out->model.name = "plain";
    out->model.kinds = 1;
    out->model.kind = &out->layer;
    out->model.layer_kind = out->kinds;
}

/* GPT-2's layer, without its embedding. */
void make_gpt(plain_model *out, int layers, int hidden, int heads)
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

void make_llama(plain_model *out, int layers, int hidden, int width, plait_attention a)
{
    make_gpt(out, layers, hidden, 1);
    out->model.layer_norm = false;
    out->model.dropout = false;
    out->model.tied = false;
    out->layer.attention = a;
    out->layer.mlp = (plait_mlp){.width = width, .gated = true};
}

/* One layer of `params` parameters and two FLOPs a parameter and token; ends of width one. */
void make_opaque(plain_model *out, double params)
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
plait_runtime paper(void)
{
    return (plait_runtime){
        .name = "paper",
        .can = everything_can(4096, 64),
        .factor = {.gemm = 1.0,
                   .memory = 1.0,
                   .attention = 1.0,
                   .host_experts = 1.0,
                   .host_backward = 1.0,
                   .nic = 1.0,
                   .ep_imbalance = 1.0},
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

void ask(world *w, int gpus, int seq, int gbs)
{
    plait_error err;

    if (plait_cluster_synthetic(gpus > 8 ? "h100-80gb-sxm:1024x8" : "h100-80gb-sxm:1x8",
                                theory_arena, &w->cluster, &err) != PLAIT_OK ||
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

plait_cost price(const world *w, plait_degrees degrees)
{
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    if (plait_plan_expand(&w->problem, &degrees, theory_arena, &plan, &err) != PLAIT_OK ||
        plait_plan_evaluate(&w->problem, &plan, NULL, theory_arena, &cost, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    if (cost.verdict == PLAIT_INVALID)
        fail_msg("not a legal plan: %s", cost.why);
    return cost;
}

plait_degrees replicas(int dp, int zero)
{
    plait_degrees d = plait_degrees_init();

    d.dp = dp;
    d.shard_group = dp;
    d.zero = (unsigned char)zero;
    return d;
}

plait_shard shard_alone(const plait_runtime *runtime)
{
    return (plait_shard){.tp = 1,
                         .cp = 1,
                         .ep = 1,
                         .etp = 1,
                         .attention = PLAIT_ATTENTION_UNFUSED,
                         .runtime = runtime};
}

plait_pass pass_over(plait_pass_kind kind, double sequences, double tokens)
{
    return (plait_pass){kind, sequences, tokens, tokens};
}
