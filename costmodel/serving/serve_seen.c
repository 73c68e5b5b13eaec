/* serve_seen.c - what was seen of a simulated deployment: means, and the slowest of a hundred */
#include <stdlib.h>

#include "numbers.h"
#include "serve_sim.h"

static plait_serve_seen seen_of(double *values, int count)
{
    double sum = 0.0;

    if (count == 0)
        return (plait_serve_seen){0};
    for (int i = 0; i < count; i++)
        sum += values[i];
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return (plait_serve_seen){sum / count, values[count / 2], values[(int)(0.99 * (count - 1))]};
}

plait_status serve_sum_up(const sim *s, plait_serve_drawn *out, plait_error *err)
{
    const size_t n = (size_t)s->issued + 1;
    double *ttft = plait_arena_alloc(s->arena, n, sizeof *ttft);
    double *tpot = plait_arena_alloc(s->arena, n, sizeof *tpot);
    double *e2e = plait_arena_alloc(s->arena, n, sizeof *e2e);
    double tokens = 0.0, late = 0.0;
    int count = 0, several = 0;

    if (ttft == NULL || tpot == NULL || e2e == NULL)
        return plait_fail_nomem(err);
    for (int i = 0; i < s->issued; i++) {
        const request *q = &s->requests[i];
        if (q->last <= 0.0)
            continue;
        tokens += q->output;
        if (i < s->draws.unseen && s->issued > s->draws.unseen)
            continue;
        ttft[count] = q->first - q->arrived;
        late = larger(late, ttft[count]);
        e2e[count++] = q->last - q->arrived;
        if (q->output > 1.0)
            tpot[several++] = (q->last - q->first) / (q->output - 1.0);
    }
    out->requests = s->finished;
    out->preempted = s->preempted;
    out->steps = s->steps;
    out->seconds = s->now;
    out->full = s->load.kind == PLAIT_LOAD_RATE && late > s->now / 2.0;
    out->ttft = seen_of(ttft, count);
    out->tpot = seen_of(tpot, several);
    out->e2e = seen_of(e2e, count);
    out->output_tokens_per_s = s->now > 0.0 ? tokens / s->now : 0.0;
    return PLAIT_OK;
}
