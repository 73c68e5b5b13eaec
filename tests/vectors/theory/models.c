/* models.c - parameters, FLOPs and layouts of models */
#include "costmodel/stage/stage_cost.h"
#include "plait/units.h"
#include "vectors/theory/theory.h"

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

const theory_formula theory_models[] = {
    {THEORY(gpt_params)},    {THEORY(llama_params)},
    {THEORY(exact_params)},  {THEORY(gpt_step_time)},
    {THEORY(mfu_from_time)}, {THEORY(train_days_8tp)},
    {THEORY(dp_size)},       {NULL, NULL},
};
