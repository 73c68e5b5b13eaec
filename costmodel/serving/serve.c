/* serve.c - seconds of an engine's step: its table, and what the engine's software adds (C.362) */
#include <math.h>

#include "numbers.h"
#include "plait/serve.h"
#include "serve_grid.h"

#define X(constant, word) word,
const char *const plait_weight_name[] = {PLAIT_WEIGHT_LIST(X) NULL};
const char *const plait_serve_bind_name[] = {PLAIT_SERVE_BIND_LIST(X) NULL};
#undef X
#define X(name, what) what,
const char *const plait_step_part_name[] = {PLAIT_STEP_PART_LIST(X) NULL};
#undef X
const char *const plait_kv_name[] = {"bf16", "fp8", NULL};
const char *const plait_engine_name[] = {"vllm", "sglang", "trtllm", NULL};

int plait_worker_gpus(plait_worker worker)
{
    return worker.tp * worker.pp * worker.dp_attention;
}

double serve_kv_bytes(plait_kv_format format)
{
    return format == PLAIT_KV_FP8 ? 1.0 : 2.0;
}

// ---- points --------------------------------------------------------------------------------

double serve_grid_point(int i)
{
    if (i == 0)
        return 1.0;
    return i % 2 == 1 ? ldexp(1.0, (i + 1) / 2) : ldexp(1.5, i / 2);
}

double serve_grid_at(const double *values, int points, double x)
{
    const double last = serve_grid_point(points - 1);
    int exponent;

    if (x <= 1.0)
        return values[0];
    if (x >= last)
        return values[points - 1] * x / last;
    const double mantissa = 2.0 * frexp(x, &exponent); // x = mantissa 2^(exponent - 1), 1 .. 2
    const int octave = 2 * (exponent - 1) - 1;
    if (octave < 0) // between one and two there is no point
        return values[0] + (x - 1.0) * (values[1] - values[0]);
    const bool upper = mantissa >= 1.5;
    const double share = upper ? (mantissa - 1.5) * 2.0 : (mantissa - 1.0) * 2.0;
    const double *v = &values[octave + upper];
    return v[0] + share * (v[1] - v[0]);
}

// ---- a step --------------------------------------------------------------------------------

/* Attention of a prompt's first `tokens`: between points its time over tokens is a line. */
static double prompt_s(const plait_step_table *table, double tokens)
{
    if (tokens <= 0.0)
        return 0.0;
    if (tokens <= 1.0)
        return table->prompt_s[0] * tokens;
    int low = 0;
    while (low + 2 < PLAIT_STEP_CONTEXTS && serve_grid_point(low + 1) <= tokens)
        low++;
    const double a = serve_grid_point(low);
    const double b = serve_grid_point(low + 1);
    const double share = (tokens - a) / (b - a);
    return tokens *
           ((1.0 - share) * table->prompt_s[low] / a + share * table->prompt_s[low + 1] / b);
}

/*
 * C.362: all-reduces of few bytes are the engines' own kernels inside a domain, whose latency grows by 0.15 with each
 * rank beyond the second (9 to 12 us for two, measured on four engines' kernels); large ones are NCCL's.
 */
static double reduce_s(const plait_step_table *table, const plait_engine *engine, double tokens)
{
    static const double more_a_rank = 0.15;
    const double nccl = serve_grid_at(table->reduce_s, PLAIT_STEP_POINTS, tokens);
    const double t = table->worker.tp;

    if (t <= 1.0 || table->bus_bytes_per_s <= 0.0)
        return nccl;
    const double latency = engine->reduce_s * (1.0 + more_a_rank * (t - 2.0));
    const double wire = 2.0 * (t - 1.0) / t * table->reduce_bytes * tokens / table->bus_bytes_per_s;
    return smaller(nccl, table->all_reduces * (latency + wire));
}

/* Between the factor of few tokens and that of many: half way at so many. */
static double product_factor(const plait_engine *engine, double tokens)
{
    static const double half_way = 400.0;

    return engine->linear + (engine->compute - engine->linear) * tokens / (tokens + half_way);
}

double plait_step_s(const plait_step_table *table, const plait_engine *engine, plait_step step,
                    double parts[PLAIT_STEP_PARTS])
{
    const double stages = table->worker.pp;
    // of fewer sequences than stages some stages are idle, and one sequence is in the others
    const double sequences = larger(step.sequences / stages, smaller(step.sequences, 1.0));
    const double decoded = sequences * larger(step.verified, 1.0);
    const double tokens = decoded + step.prompt / stages;
    const double rows = sequences + (step.prompt > 0.0 ? 1.0 : 0.0);
    const double factor = product_factor(engine, tokens);
    double part[PLAIT_STEP_PARTS];
    double sum = 0.0;

    part[PLAIT_STEP_linear] = factor * serve_grid_at(table->linear_s, PLAIT_STEP_POINTS, tokens);
    part[PLAIT_STEP_experts] =
        engine->experts * serve_grid_at(table->experts_s, PLAIT_STEP_POINTS, tokens);
    part[PLAIT_STEP_decode_attention] =
        sequences * serve_grid_at(table->decode_s, PLAIT_STEP_CONTEXTS, step.context) /
        engine->attention;
    part[PLAIT_STEP_prompt_attention] =
        engine->compute *
        (prompt_s(table, step.before + step.prompt) - prompt_s(table, step.before)) / stages;
    part[PLAIT_STEP_reduce] = reduce_s(table, engine, tokens);
    part[PLAIT_STEP_exchange] = serve_grid_at(table->exchange_s, PLAIT_STEP_POINTS, tokens);
    part[PLAIT_STEP_stages] = serve_grid_at(table->stages_s, PLAIT_STEP_POINTS, tokens);
    part[PLAIT_STEP_head] = factor * serve_grid_at(table->head_s, PLAIT_STEP_POINTS, rows);
    part[PLAIT_STEP_launch] =
        engine->step_s + table->layers * engine->layer_s + table->moe_layers * engine->moe_layer_s;
    for (int p = 0; p < PLAIT_STEP_PARTS; p++) {
        sum += part[p];
        if (parts != NULL)
            parts[p] = part[p];
    }
    return sum;
}
