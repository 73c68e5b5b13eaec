/*
 * serve_latency.c - results of a simulated deployment: mean and percentiles of latencies, and the
 * share of the load that the deployment serves
 */
#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "costmodel/serving/serve_sim.h"

static plait_latency_stats seen_of(double *values, int count)
{
    double sum = 0.0;

    if (count == 0)
        return (plait_latency_stats){0};
    for (int i = 0; i < count; i++)
        sum += values[i];
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return (plait_latency_stats){sum / count, values[count / 2], values[(int)(0.95 * (count - 1))],
                                 values[(int)(0.99 * (count - 1))]};
}

/*
 * Mean seconds from arrival to last token, over the requests in one quarter (0 to 3) of the
 * arrivals.
 */
static double quarter_mean_s(const sim *s, int quarter)
{
    const int first = s->issued / 4 * quarter, end = first + s->issued / 4;
    double sum = 0.0;

    for (int i = first; i < end; i++)
        sum += s->requests[i].last - s->requests[i].arrived;
    return sum / larger(end - first, 1.0);
}

/*
 * Returns the share of the load that the deployment serves (C.364). If it is below 1, each request
 * takes longer than the one before it by the share of the arrival interval that is not served. The
 * function compares the last quarter of the arrivals with the third, when the run has filled up.
 * The time of a quarter of n random arrivals varies by 2/sqrt(n) of itself, so the caller ignores
 * smaller deficits.
 */
static double carried_of(const sim *s)
{
    const int quarter = s->issued / 4;

    if (s->load.kind != PLAIT_LOAD_RATE || s->finished < s->issued || quarter < 1)
        return 1.0;
    const double longer_s = quarter_mean_s(s, 3) - quarter_mean_s(s, 2);
    const double between_s = s->requests[3 * quarter].arrived - s->requests[2 * quarter].arrived;
    return between_s > 0.0 ? 1.0 / (1.0 + larger(longer_s, 0.0) / between_s) : 1.0;
}

plait_status serve_sum_up(const sim *s, plait_serve_sim_result *out, plait_error *err)
{
    const size_t n = (size_t)s->issued + 1;
    double *ttft = plait_arena_alloc(s->arena, n, sizeof *ttft);
    double *tpot = plait_arena_alloc(s->arena, n, sizeof *tpot);
    double *e2e = plait_arena_alloc(s->arena, n, sizeof *e2e);
    double tokens = 0.0;
    int count = 0, several = 0;

    PLAIT_TRY(plait_check_allocated(ttft && tpot && e2e, err));
    for (int i = 0; i < s->issued; i++) {
        const request *q = &s->requests[i];
        if (q->last <= 0.0)
            continue;
        tokens += q->output;
        if (i < s->draws.warmup_requests && s->issued > s->draws.warmup_requests)
            continue;
        ttft[count] = q->first - q->arrived;
        e2e[count++] = q->last - q->arrived;
        if (q->output > 1.0)
            tpot[several++] = (q->last - q->first) / (q->output - 1.0);
    }
    out->requests = s->finished;
    out->preempted = s->preempted;
    out->steps = s->steps;
    out->seconds = s->now;
    out->carried = carried_of(s);
    out->full = out->carried < 1.0 - 2.0 / sqrt(larger(s->issued, 1.0));
    out->ttft = seen_of(ttft, count);
    out->tpot = seen_of(tpot, several);
    out->e2e = seen_of(e2e, count);
    out->output_tokens_per_s = s->now > 0.0 ? tokens / s->now : 0.0;
    return PLAIT_OK;
}
