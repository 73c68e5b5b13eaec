/*
 * serve_volume.c - messages between the GPUs that serve one request, by kind of call and by way of
 * counting (published, one GPU, all GPUs)
 *
 *     stage 0: [embedding all-reduce] (mixer, all-reduce, ffn, all-reduce) x layers -> send
 *     stage s: all-gather -> layers -> send      last stage: all-gather -> layers -> gather
 */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/numbers.h"
#include "plait/serve.h"
#include "plan/model_queries.h"
#include "plan/problem_parts.h"

const char *const plait_serve_call_what[] = {
#define X(name, what) what,
    PLAIT_SERVE_CALL_LIST(X)
#undef X
        NULL};
const char *const plait_serve_phase_name[] = {"prefill", "decode", NULL};
const char *const plait_serve_counting_name[] = {"published", "one GPU", "all GPUs", NULL};

enum { MOST_ELEMENT_BYTES = 64 };

static plait_status range_check(const char *where, int value, plait_error *err)
{
    if (value < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected at least 1, found %d", value);
    return PLAIT_OK;
}

/* Number of all-reduces in one pass over the first `layers` layers. */
static int64_t all_reduces(const plait_model *model, int layers)
{
    int64_t count = 0;

    for (int i = 0; i < layers; i++)
        count += layer_sublayers(&model->kind[model->layer_kind[i]]);
    return count;
}

/*
 * Returns the line of a kind of call (C.356): `count` calls on the first stage and `all_count`
 * calls on all stages, with a message of rows x columns. A sending GPU takes part in `one_count`
 * calls and sends `sent` times the message in each. Each call has `senders` sending GPUs.
 */
static plait_serve_line line_of(int64_t count, int64_t all_count, int64_t rows, int64_t columns,
                                double element_bytes, double sent, double one_count, double senders)
{
    const double message_bytes = (double)rows * (double)columns * element_bytes;

    return (plait_serve_line){
        .count = count,
        .all_count = all_count,
        .rows = rows,
        .columns = columns,
        .message_bytes = message_bytes,
        .bytes = {[PLAIT_SERVE_PUBLISHED] = (double)count * sent * message_bytes,
                  [PLAIT_SERVE_ONE_GPU] = one_count * sent * message_bytes,
                  [PLAIT_SERVE_ALL_GPUS] = (double)all_count * senders * sent * message_bytes},
    };
}

static void phase_lines(const plait_model *model, const plait_serve_request *r, int64_t rows,
                        int64_t passes, plait_serve_line line[PLAIT_SERVE_CALLS])
{
    const int first = (model->layers + r->pp - 1) / r->pp;
    const double t = r->tp, bytes = r->element_bytes, each = (double)passes;
    const int64_t sent = llround(model_sent_width(model));
    // Two tensors cross each of the p - 1 boundaries.
    const int64_t crossings = 2 * (int64_t)(r->pp - 1) * passes;
    const double ring = 2.0 * (t - 1.0) / t; // bytes sent by a rank, per byte of a ring all-reduce

    if (passes == 0)
        return;
    if (r->tp > 1) {
        const int64_t reduced = passes * all_reduces(model, first);
        const int64_t all_reduced = passes * all_reduces(model, model->layers);
        // Each rank except the sampling one sends its share of the logits of each sequence's last
        // token.
        const int64_t columns = ((int64_t)model->vocab + r->tp - 1) / r->tp;

        line[PLAIT_SERVE_embedding] =
            line_of(passes, passes, rows, model->hidden, bytes, ring, each, t);
        if (r->pp > 1) // the published study omits this call
            line[PLAIT_SERVE_embedding].bytes[PLAIT_SERVE_PUBLISHED] = 0.0;
        line[PLAIT_SERVE_all_reduce] =
            line_of(reduced, all_reduced, rows, model->hidden, bytes, ring, (double)reduced, t);
        line[PLAIT_SERVE_gather] =
            line_of(passes, passes, r->sequences, columns, bytes, 1.0, each, t - 1.0);
    }
    if (r->pp > 1) // each rank sends its own h/t columns
        line[PLAIT_SERVE_send] =
            line_of(crossings, crossings, rows, sent / r->tp, bytes, 1.0, 2.0 * each, t);
    if (r->tp > 1 && r->pp > 1)
        line[PLAIT_SERVE_all_gather] =
            line_of(crossings, crossings, rows, sent, bytes, (t - 1.0) / t, 2.0 * each, t);
}

plait_status plait_serve_volume_of(const plait_model *model, plait_serve_request request,
                                   plait_serve_volume *out, plait_error *err)
{
    const int64_t sequences = request.sequences;

    memset(out, 0, sizeof *out);
    PLAIT_TRY(model_check_parts(model, err));
    PLAIT_TRY(range_check("sequences", request.sequences, err));
    PLAIT_TRY(range_check("prompt_tokens", request.prompt_tokens, err));
    PLAIT_TRY(range_check("output_tokens", request.output_tokens, err));
    PLAIT_TRY(range_check("tp", request.tp, err));
    PLAIT_TRY(range_check("pp", request.pp, err));
    if (!(request.element_bytes > 0.0 && request.element_bytes <= MOST_ELEMENT_BYTES))
        return plait_fail(err, PLAIT_ERROR_RANGE, "element_bytes",
                          "expected a positive number up to %d, found %g", MOST_ELEMENT_BYTES,
                          request.element_bytes);
    if (model->hidden % request.tp != 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "tp", "%d does not divide the hidden width %d",
                          request.tp, model->hidden);
    if (request.pp > model->layers)
        return plait_fail(err, PLAIT_ERROR_RANGE, "pp", "%d stages exceed the %d layers",
                          request.pp, model->layers);
    phase_lines(model, &request, sequences * request.prompt_tokens, 1,
                out->line[PLAIT_SERVE_PREFILL]);
    phase_lines(model, &request, sequences, request.output_tokens - 1,
                out->line[PLAIT_SERVE_DECODE]);
    for (int phase = 0; phase < PLAIT_SERVE_PHASES; phase++)
        for (int call = 0; call < PLAIT_SERVE_CALLS; call++)
            for (int counting = 0; counting < PLAIT_SERVE_COUNTINGS; counting++)
                out->bytes[counting] += out->line[phase][call].bytes[counting];
    return PLAIT_OK;
}

// ---- seconds, memory and rates ---------------------------------------------------------------

/* Checks the precondition that all numbers are >= 0, which is false for NaN. */
static bool are_amounts(int count, const double *number)
{
    for (int i = 0; i < count; i++)
        if (!(number[i] >= 0.0))
            return false;
    return true;
}

#define ASSERT_AMOUNTS(...)                                                                        \
    assert(are_amounts(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__}))

/*
 * Seconds of an amount at a rate. An amount of 0 takes no time at any rate, and any other amount
 * takes infinite time at a rate of 0.
 */
static double seconds_at(double amount, double rate)
{
    return amount == 0.0 ? 0.0 : rate > 0.0 ? amount / rate : HUGE_VAL;
}

double plait_serve_decode_s(double batch, double cached_bytes, double params, double weight_bytes,
                            double bytes_per_s, double flops_per_s)
{
    ASSERT_AMOUNTS(batch, cached_bytes, params, weight_bytes, bytes_per_s);
    assert(params == 0.0 || flops_per_s >= 0.0);
    const double multiply_s = params > 0.0 ? seconds_at(2.0 * batch * params, flops_per_s) : 0.0;

    return seconds_at(batch * cached_bytes, bytes_per_s) +
           larger(multiply_s, seconds_at(weight_bytes, bytes_per_s));
}

double plait_serve_prefill_s(double params, double tokens, double flops_per_s)
{
    ASSERT_AMOUNTS(params, tokens, flops_per_s);
    return seconds_at(2.0 * params * tokens, flops_per_s);
}

double plait_serve_exchange_s(double tokens, double copies, double hidden, double out_bytes,
                              double back_bytes, double bytes_per_s)
{
    ASSERT_AMOUNTS(tokens, copies, hidden, out_bytes, back_bytes, bytes_per_s);
    return seconds_at(tokens * copies * hidden * (out_bytes + back_bytes), bytes_per_s);
}

double plait_serve_cached_bytes(double bytes_per_token, double tokens, double sequences)
{
    ASSERT_AMOUNTS(bytes_per_token, tokens, sequences);
    return bytes_per_token * tokens * sequences;
}

double plait_serve_most_sequences(double memory_bytes, double weight_bytes, double cached_bytes)
{
    ASSERT_AMOUNTS(memory_bytes, weight_bytes, cached_bytes);
    return seconds_at(larger(memory_bytes - weight_bytes, 0.0), cached_bytes);
}

double plait_serve_evicted_tokens(double sequences, double prompt_tokens, double output_tokens)
{
    ASSERT_AMOUNTS(sequences, prompt_tokens, output_tokens);
    return seconds_at(sequences * (prompt_tokens + output_tokens), output_tokens);
}

double plait_serve_tokens_per_s(double sequences, double step_s)
{
    ASSERT_AMOUNTS(sequences, step_s);
    return seconds_at(sequences, step_s);
}

double plait_serve_prefill_servers(double prefill_s, double sequences, double step_s,
                                   double output_tokens)
{
    ASSERT_AMOUNTS(prefill_s, sequences, step_s, output_tokens);
    return seconds_at(prefill_s * sequences, step_s * output_tokens);
}
