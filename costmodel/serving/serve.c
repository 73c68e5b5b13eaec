/*
 * serve.c - seconds of one engine step: the value of the step table plus the overhead of the
 * engine's software (C.362)
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/numbers.h"
#include "plait/serve.h"
#include "plait/units.h"
#include "costmodel/serving/serve_grid.h"

#define X(constant, word) word,
const char *const plait_weight_name[] = {PLAIT_WEIGHT_LIST(X) NULL};
const char *const plait_serve_bind_name[] = {PLAIT_SERVE_BIND_LIST(X) NULL};
#undef X
#define X(name, what) what,
const char *const plait_step_part_name[] = {PLAIT_STEP_PART_LIST(X) NULL};
#undef X
const char *const plait_engine_name[] = {"vllm", "sglang", "trtllm", NULL};

void plait_engine_assume(plait_engine *engine)
{
#define X(field, word, unit, least, most, assumed) engine->field = (assumed) * (unit);
    PLAIT_ENGINE_NUMBERS(X)
#undef X
}

void plait_engine_on(plait_engine *engine, const plait_accelerator *gpu)
{
    static const double few_sequences = 256.0; // vLLM before 0.9 on every accelerator
    const double gib = gpu->memory_bytes / PLAIT_GIB;
    const bool small = gib < 70.0 || strncmp(gpu->name, "a100", 4) == 0;

    if (engine->kind == PLAIT_ENGINE_VLLM && small && engine->max_sequences > few_sequences) {
        engine->chunk_tokens = 2048.0;
        engine->max_sequences = few_sequences;
    }
    if (engine->kind == PLAIT_ENGINE_SGLANG)
        engine->chunk_tokens = gib < 35.0    ? 2048.0
                               : gib < 60.0  ? 4096.0
                               : gib < 160.0 ? 8192.0
                                             : 16384.0;
}

int plait_worker_gpus(plait_worker worker)
{
    return worker.tp * worker.pp * worker.dp_attention;
}

double serve_kv_bytes(plait_kv_format format)
{
    return format == PLAIT_KV_FP8 ? 1.0 : 2.0;
}

// ---- grid points ---------------------------------------------------------------------------

double serve_grid_point(int i)
{
    const double octave = (double)(UINT64_C(1) << (i + 1) / 2);

    if (i == 0)
        return 1.0;
    return i % 2 == 1 ? octave : 1.5 * octave;
}

/* A position between two neighbouring grid points. */
typedef struct grid_spot {
    int low;
    double share; /* fraction of the distance from point `low` to point low + 1 */
    double scale; /* x / last point if x is above the last point, else 1 */
} grid_spot;

/*
 * Returns the position of x. Below the first point the first value applies. Above the last point
 * the last value grows in proportion to x.
 */
static grid_spot grid_find(int points, double x)
{
    const double last = serve_grid_point(points - 1);
    uint64_t bits;

    if (!(x > 1.0))
        return (grid_spot){.scale = 1.0};
    if (x >= last)
        return (grid_spot){.low = points - 2, .share = 1.0, .scale = x / last};
    memcpy(&bits, &x, sizeof bits); // x = mantissa * 2^exponent, 1 <= mantissa < 2 (IEEE 754)
    const int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
    double mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    if (exponent == 0) // the grid has no point between 1 and 2
        return (grid_spot){.share = x - 1.0, .scale = 1.0};
    const bool upper = mantissa >= 1.5;
    return (grid_spot){.low = 2 * exponent - 1 + upper,
                       .share = 2.0 * (mantissa - (upper ? 1.5 : 1.0)),
                       .scale = 1.0};
}

static double grid_value(const double *values, grid_spot at)
{
    return at.scale * (values[at.low] + at.share * (values[at.low + 1] - values[at.low]));
}

// ---- a step --------------------------------------------------------------------------------

/*
 * Seconds of attention over a prompt's first `tokens` tokens. Between grid points the time per
 * token is interpolated linearly.
 */
static double prompt_s(const plait_step_table *table, double tokens)
{
    if (tokens <= 1.0)
        return tokens > 0.0 ? table->prompt_s[0] * tokens : 0.0;
    const grid_spot at = grid_find(PLAIT_STEP_CONTEXTS, tokens);
    const double a = serve_grid_point(at.low), b = serve_grid_point(at.low + 1);
    const double share = (tokens - a) / (b - a);
    return tokens *
           ((1.0 - share) * table->prompt_s[at.low] / a + share * table->prompt_s[at.low + 1] / b);
}

static double prompts_s(const plait_step_table *table, plait_step step)
{
    const double prompts = larger(step.prompts, 1.0);

    if (step.prompt <= 0.0)
        return 0.0;
    return prompts *
           (prompt_s(table, step.before + step.prompt / prompts) - prompt_s(table, step.before));
}

/*
 * Seconds of all-reduces in a step (C.362). Within a scale-up domain the engines reduce small
 * messages with their own kernels. The latency of these kernels grows by 15 % with each rank beyond
 * the second (9 to 12 us for two ranks, measured on the kernels of four engines). NCCL reduces
 * large messages.
 */
static double reduce_s(const plait_step_table *table, const plait_engine *engine, double tokens,
                       grid_spot at)
{
    static const double more_a_rank = 0.15;
    const double nccl = grid_value(table->reduce_s, at);
    const double t = table->worker.tp;

    if (t <= 1.0 || table->bus_bytes_per_s <= 0.0)
        return nccl;
    const double latency = engine->reduce_s * (1.0 + more_a_rank * (t - 2.0));
    const double wire = 2.0 * (t - 1.0) / t * table->reduce_bytes * tokens / table->bus_bytes_per_s;
    return smaller(nccl, table->all_reduces * (latency + wire));
}

/*
 * Returns the ratio of kernel time to table time (C.362). It changes from `few` for small batches
 * to engine->compute for large ones, and is their mean at `half_way` tokens.
 */
static double factor_at(const plait_engine *engine, double few, double tokens, double half_way)
{
    return few + (engine->compute - few) * tokens / (tokens + half_way);
}

/*
 * Returns the ratio of kernel time to table time for experts (C.362). A kernel that multiplies
 * 4-bit weights in 16 bits widens them first, and then takes 1.6 times as long (gpt-oss on H100 and
 * H200).
 */
static double expert_factor(const plait_step_table *table, const plait_engine *engine,
                            double tokens)
{
    static const double half_way = 2000.0, widening = 1.6;
    const double few = table->four_bits ? engine->experts_4bit : engine->experts;

    return (table->widened ? widening : 1.0) * factor_at(engine, few, tokens, half_way);
}

/* Seconds of attention in a decode step, which reads the KV caches. (C.361) */
static double decode_attention_s(const plait_step_table *table, const plait_engine *engine,
                                 double sequences, double context)
{
    if (sequences <= 0.0)
        return 0.0;
    const grid_spot at = grid_find(PLAIT_STEP_CONTEXTS, context);

    return (sequences * grid_value(table->decode_s, at) + grid_value(table->few_s, at)) /
           engine->attention;
}

/* Seconds that the host needs for the decoding sequences of all attention ranks. (C.362) */
static double sequences_s(const plait_step_table *table, const plait_engine *engine,
                          double sequences)
{
    return engine->sequence_s * sequences * table->worker.dp_attention;
}

double serve_host_s(const plait_step_table *table, const plait_engine *engine, double sequences)
{
    return engine->step_s + (engine->host_overlap ? 0.0 : sequences_s(table, engine, sequences));
}

/*
 * C.385: replaces the parts of a step by those of two halves of its batch. While one half computes
 * attention and dense layers, or experts, the tokens of the other half are dispatched or combined.
 * The two halves alternate, so each pair lasts as long as its slower member.
 *
 * @param half      parts of one half of the batch
 * @param dispatch  seconds of its dispatch, included in the exchange
 */
static void overlap_halves(const plait_step_table *table, const plait_engine *engine,
                           const double half[PLAIT_STEP_PARTS], double dispatch,
                           double part[PLAIT_STEP_PARTS])
{
    static const plait_step_part twice[] = {PLAIT_STEP_linear, PLAIT_STEP_experts,
                                            PLAIT_STEP_decode_attention,
                                            PLAIT_STEP_prompt_attention, PLAIT_STEP_reduce};
    const double combine = half[PLAIT_STEP_exchange] - dispatch;
    const double experts = half[PLAIT_STEP_experts];
    const double others = half[PLAIT_STEP_linear] + half[PLAIT_STEP_decode_attention] +
                          half[PLAIT_STEP_prompt_attention] + half[PLAIT_STEP_reduce];

    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
        part[twice[i]] = 2.0 * half[twice[i]];
    part[PLAIT_STEP_exchange] = larger(dispatch - others, 0.0) + larger(dispatch - experts, 0.0) +
                                larger(combine - experts, 0.0) + larger(combine - others, 0.0);
    part[PLAIT_STEP_launch] +=
        table->layers * engine->layer_s + table->moe_layers * engine->moe_layer_s;
}

/* Fills the parts of a step on the accelerator for the tokens of one rank. */
static void kernel_parts(const plait_step_table *table, const plait_engine *engine, plait_step step,
                         double sequences, double share, double part[PLAIT_STEP_PARTS])
{
    static const double half_way = 400.0;
    const double stages = table->worker.pp;
    const double decoded = share * sequences * larger(step.verified, 1.0);
    const double tokens = decoded + share * step.prompt / stages;
    const double factor = factor_at(engine, engine->linear, tokens, half_way);
    const grid_spot at = grid_find(PLAIT_STEP_POINTS, tokens);

    part[PLAIT_STEP_linear] = factor * grid_value(table->linear_s, at);
    part[PLAIT_STEP_experts] =
        expert_factor(table, engine, tokens) * grid_value(table->experts_s, at);
    part[PLAIT_STEP_decode_attention] =
        decode_attention_s(table, engine, share * sequences, step.context);
    part[PLAIT_STEP_prompt_attention] = share * engine->compute * prompts_s(table, step) / stages;
    part[PLAIT_STEP_reduce] = reduce_s(table, engine, tokens, at);
    part[PLAIT_STEP_exchange] = grid_value(table->exchange_s, at);
}

double plait_step_s(const plait_step_table *table, const plait_engine *engine, plait_step step,
                    double parts[PLAIT_STEP_PARTS])
{
    const double stages = table->worker.pp;
    // With fewer sequences than stages some stages are idle, and the others have one sequence each.
    const double sequences = larger(step.sequences / stages, smaller(step.sequences, 1.0));
    const double decoded = sequences * larger(step.verified, 1.0);
    const double tokens = decoded + step.prompt / stages;
    const double rows = sequences + (step.prompt > 0.0 ? 1.0 : 0.0);
    static const double half_way = 400.0;
    const double factor = factor_at(engine, engine->linear, tokens, half_way);
    const double host_s = serve_host_s(table, engine, sequences);
    const grid_spot at = grid_find(PLAIT_STEP_POINTS, tokens);
    double part[PLAIT_STEP_PARTS];
    double sum = 0.0;

    kernel_parts(table, engine, step, sequences, 1.0, part);
    part[PLAIT_STEP_stages] = grid_value(table->stages_s, at);
    part[PLAIT_STEP_head] = factor * grid_value(table->head_s, grid_find(PLAIT_STEP_POINTS, rows));
    part[PLAIT_STEP_launch] =
        host_s + table->layers * engine->layer_s + table->moe_layers * engine->moe_layer_s;
    if (engine->two_batch_overlap && table->worker.ep > 1 && tokens >= 2.0) {
        double half[PLAIT_STEP_PARTS];
        kernel_parts(table, engine, step, sequences, 0.5, half);
        overlap_halves(table, engine, half,
                       grid_value(table->dispatch_s, grid_find(PLAIT_STEP_POINTS, tokens / 2.0)),
                       part);
    }
    for (int p = 0; p < PLAIT_STEP_PARTS; p++)
        sum += part[p];
    if (engine->host_overlap) {
        const double busy_s = sequences_s(table, engine, sequences);
        part[PLAIT_STEP_launch] += larger(busy_s - sum, 0.0);
        sum = larger(sum, busy_s);
    }
    if (step.prompt > 0.0) { // no CUDA graph covers prompts, so the host launches each kernel
        const double launches_s = table->kernels * engine->launch_s;
        part[PLAIT_STEP_launch] += larger(launches_s - sum, 0.0);
        sum = larger(sum, launches_s);
    }
    if (table->worker.pp > 1) {
        const double end_s = part[PLAIT_STEP_head] + host_s;
        // wait_s is the time that the vocabulary layer on the last stage and the host add to one
        // round of the pipeline (C.362). All batches in flight wait for the slowest stage, and a
        // batch waits for those before it.
        const double layers_s = sum - end_s;
        const double batches = smaller(stages, step.sequences + (step.prompt > 0.0 ? 1.0 : 0.0));
        const double wait_s =
            larger(batches * (layers_s / stages + end_s) - (layers_s + end_s), 0.0);
        part[PLAIT_STEP_stages] += wait_s;
        sum += wait_s;
    }
    if (parts != NULL)
        memcpy(parts, part, sizeof part);
    return sum;
}
