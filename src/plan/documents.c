/* documents.c - statistics of the documents of a job (C.416, C.418) */
#include "plan/documents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/status.h"

/*
 * C.416: the work of a pack, the sum of l^2 over its documents, if documents come in random order.
 * By the renewal reward theorem its variance is S E[(l^2 - r l)^2] / E[l], r the reach.
 */
static void add_packs(const plait_job *job, double sequences, document_load *out)
{
    const plait_documents *const d = &job->documents;
    double mean = 0.0, spread = 0.0;

    for (int i = 0; i < d->lengths; i++) {
        const double length = smaller(d->length[i], job->seq);
        const double excess = length * (length / out->reach - 1.0);
        mean += d->share[i] * length;
        spread += d->share[i] * excess * excess;
    }
    out->work_deviation = sqrt(spread / (mean * job->seq * sequences));
    out->work_most = larger(0.0, smaller(d->length[d->lengths - 1], job->seq) / out->reach - 1.0);
}

/* C.418: the longest of the sequences of a microbatch, to which the others are padded. */
static void add_padded(const plait_job *job, double sequences, document_load *out)
{
    const plait_documents *const d = &job->documents;
    const double longest = smaller(d->length[d->lengths - 1], job->seq);
    double moment[5] = {0.0}, below = 0.0, above = 0.0;

    for (int i = 0; i < d->lengths; i++) {
        above = smaller(1.0, above + d->share[i]);
        const double share = pow(above, sequences) - pow(below, sequences);
        double power = share;
        for (int k = 0; k < 5; k++, power *= smaller(d->length[i], job->seq))
            moment[k] += power;
        below = above;
    }
    for (int k = 4; k >= 0; k--)
        moment[k] /= moment[0]; // shares that were written with few digits sum to about 1
    out->tokens = moment[1];
    out->reach = moment[2] / moment[1];
    out->token_deviation = sqrt(larger(0.0, moment[2] / (moment[1] * moment[1]) - 1.0));
    out->work_deviation = sqrt(larger(0.0, moment[4] / (moment[2] * moment[2]) - 1.0));
    out->token_most = longest / moment[1] - 1.0;
    out->work_most = longest * longest / moment[2] - 1.0;
}

document_load document_load_of(const plait_job *job, int mbs)
{
    const double sequences = mbs * plait_job_unit_tokens(job) / job->seq;
    document_load out = {.tokens = job->seq, .reach = plait_job_reach(job)};

    if (job->documents.lengths > 0)
        (job->documents.padded ? add_padded : add_packs)(job, sequences, &out);
    return out;
}

// ---- the documents of a job ----------------------------------------------------------------

enum { BINS_OF_AN_OCTAVE = 16, MOST_BINS = 31 * BINS_OF_AN_OCTAVE };

/*
 * Lengths are kept as the mean and the share of each sixteenth of an octave, within which they
 * differ by 4 %.
 */
plait_status job_set_documents(plait_job *job, const double *length, int count, plait_arena *arena,
                               plait_error *err)
{
    double *const mean = plait_arena_alloc(arena, MOST_BINS, sizeof *mean);
    double *const share = plait_arena_alloc(arena, MOST_BINS, sizeof *share);
    double sum = 0.0, squares = 0.0;
    int used = 0;

    PLAIT_TRY(plait_check_allocated(mean, err));
    PLAIT_TRY(plait_check_allocated(share, err));
    memset(mean, 0, MOST_BINS * sizeof *mean);
    memset(share, 0, MOST_BINS * sizeof *share);
    for (int i = 0; i < count; i++) {
        const double tokens = smaller(length[i], job->seq);
        const int bin = (int)(log2(tokens) * BINS_OF_AN_OCTAVE);
        mean[bin] += tokens;
        share[bin] += 1.0;
        sum += tokens;
        squares += tokens * tokens;
    }
    for (int b = 0; b < MOST_BINS; b++) {
        if (share[b] == 0.0)
            continue;
        mean[used] = mean[b] / share[b];
        share[used++] = share[b] / count;
    }
    job->documents.lengths = used;
    job->documents.length = mean;
    job->documents.share = share;
    job->document = (int)(squares / sum + 0.5);
    return PLAIT_OK;
}

plait_status job_check_documents(const plait_job *job, plait_error *err)
{
    const plait_documents *const d = &job->documents;
    bool valid = d->lengths >= 0 && (d->lengths == 0 || (d->length != NULL && d->share != NULL));

    for (int i = 0; valid && i < d->lengths; i++)
        valid = d->length[i] >= (i > 0 ? d->length[i - 1] : 1.0) && d->length[i] <= PLAIT_MAX_SEQ &&
                d->share[i] > 0.0 && d->share[i] <= 1.0;
    if (!valid)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "documents",
            "expected ascending lengths from 1 to %d, each with a share above 0, found "
            "others",
            PLAIT_MAX_SEQ);
    if ((d->padded || d->balanced) && d->lengths == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "documents",
                          "expected lengths of %s documents, found none",
                          d->padded ? "padded" : "balanced");
    if (d->padded && d->balanced)
        return plait_fail(err, PLAIT_ERROR_RANGE, "documents",
                          "expected packed documents if ranks are balanced, found padded ones");
    return PLAIT_OK;
}
