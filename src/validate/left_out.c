/* left_out.c - errors of each source when predicted without its runs */
#include <math.h>
#include <string.h>

#include "validate/band.h"
#include "plait/validate.h"
#include "validate/statistics.h"

/* Errors of all groups so far. */
typedef struct left_out_sum {
    const plait_evidence *evidence;
    plait_arena *arena;
    double *error;
    double *scratch;
    size_t inside;
    double width;
} left_out_sum;

static bool same_regime(const plait_regime *a, const plait_regime *b)
{
    return strcmp(a->runtime, b->runtime) == 0 && a->narrowest == b->narrowest &&
           a->gpus == b->gpus && a->experts == b->experts && a->calibrated == b->calibrated;
}

/*
 * Counts the rows of a group inside their bands, and sums the widths of bands. Adjacent rows of one
 * regime have the same band, which is computed once.
 */
static plait_status count_inside(const plait_evidence *evidence, size_t begin, size_t end,
                                 plait_arena *arena, size_t *inside, double *width,
                                 plait_error *err)
{
    plait_band band = {0};

    *inside = 0;
    *width = 0.0;
    for (size_t i = begin; i < end; i++) {
        const plait_evidence_row *const row = &evidence->row[i];

        if (i == begin || !same_regime(&row->regime, &row[-1].regime))
            PLAIT_TRY(plait_evidence_band(evidence, &row->regime, row->source, arena, &band, err));
        *inside += band.low <= row->left_out && row->left_out <= band.high;
        *width += band.high - band.low;
    }
    return PLAIT_OK;
}

static plait_status sum_group(left_out_sum *sum, size_t begin, size_t *next, plait_left_out *out,
                              plait_error *err)
{
    const plait_evidence *const evidence = sum->evidence;
    const plait_evidence_row *const first = &evidence->row[begin];
    const size_t end = band_group_end(evidence, begin);
    size_t inside;
    double width;

    PLAIT_TRY(count_inside(evidence, begin, end, sum->arena, &inside, &width, err));
    for (size_t i = begin; i < end; i++)
        sum->error[i] = 1.0 / evidence->row[i].left_out - 1.0;
    *out = (plait_left_out){
        .source = first->source,
        .runtime = first->regime.runtime,
        .calibrated = first->regime.calibrated,
        .errors = statistics_errors(&sum->error[begin], end - begin, sum->scratch),
        .inside = (double)inside / (double)(end - begin),
        .width = width / (double)(end - begin),
    };
    sum->inside += inside;
    sum->width += width;
    *next = end;
    return PLAIT_OK;
}

plait_status plait_evidence_sum(const plait_evidence *evidence, plait_arena *arena,
                                plait_left_out **out, size_t *count, plait_left_out *total,
                                plait_error *err)
{
    const size_t rows = evidence->count + 1;
    plait_left_out *group = plait_arena_alloc(arena, rows, sizeof *group);
    left_out_sum sum = {
        .evidence = evidence,
        .arena = arena,
        .error = plait_arena_alloc(arena, rows, sizeof(double)),
        .scratch = plait_arena_alloc(arena, rows, sizeof(double)),
    };

    PLAIT_TRY(plait_check_allocated(group && sum.error && sum.scratch, err));
    *count = 0;
    for (size_t begin = 0; begin < evidence->count;)
        PLAIT_TRY(sum_group(&sum, begin, &begin, &group[(*count)++], err));
    *out = group;
    *total = (plait_left_out){
        .errors = statistics_errors(sum.error, evidence->count, sum.scratch),
        .inside = evidence->count > 0 ? (double)sum.inside / (double)evidence->count : (double)NAN,
        .width = evidence->count > 0 ? sum.width / (double)evidence->count : (double)NAN,
    };
    return PLAIT_OK;
}
