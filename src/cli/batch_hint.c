/* batch_hint.c - a batch near the one asked for that more replicas divide
 *
 * dp divides the GPUs and the batch, so it is at most their greatest common divisor wherever all degrees
 * divide the GPUs. The limits are chosen: a batch within a twentieth is the same training to most, and
 * below four times as many replicas the other degrees make up for it.
 */
#include "cli/batch_hint.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "cli/terminal.h"

enum { REACH_SHARE = 20, MOST_REACH = 1 << 16, LEAST_GAIN = 4 };

/* Compares by the most replicas, then by what is left for microbatches, then by distance. */
static bool divides_better(const plait_job *job, int64_t batch, int64_t best)
{
    const int64_t gpus = job->gpus;
    const int64_t replicas = common_divisor(batch, gpus) - common_divisor(best, gpus);
    const int64_t rest = common_divisor(batch, gpus * gpus) - common_divisor(best, gpus * gpus);

    if (replicas != 0)
        return replicas > 0;
    return rest != 0 ? rest > 0 : llabs(batch - job->gbs) < llabs(best - job->gbs);
}

void batch_hint(const plait_job *job, int dp)
{
    const int64_t shared = common_divisor(job->gbs, job->gpus);
    int64_t best = job->gbs, reach = job->gbs / REACH_SHARE;

    if (dp > 0 && dp != shared)
        return;
    reach = reach < job->gpus ? reach : job->gpus; // which has a multiple of every divisor
    reach = reach < MOST_REACH ? reach : MOST_REACH;
    for (int64_t batch = job->gbs - reach; batch <= job->gbs + reach; batch++)
        if (batch > 0 && divides_better(job, batch, best))
            best = batch;
    if (common_divisor(best, job->gpus) >= LEAST_GAIN * shared)
        print_warning(
            "--gbs %d: dp is at most %lld, as %d GPUs and the batch share no larger divisor; "
            "with --gbs %lld it is up to %lld",
            job->gbs, (long long)shared, job->gpus, (long long)best,
            (long long)common_divisor(best, job->gpus));
}
