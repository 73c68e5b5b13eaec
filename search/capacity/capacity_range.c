/*
 * capacity_range.c - the smallest and the cheapest of a range of numbers of GPUs
 *
 * Guarantee: if each search of a number finds its best plan, then no number of the range, with any
 * of its batches, is smaller within deadline and budget, or cheaper within the deadline, than the
 * rows in the result. A number n is skipped if lower bounds on its time T(n) and its dollars are
 * too high:
 *
 *     T(n) >= steps L(n) g(n),   dollars >= price (n + spares) T(n)                  (S.112)
 *
 * L(n) is the bound of S.81, and g(n) is C.323 without waiting for nodes and with checkpoints of no
 * bytes. All other numbers are searched, from the fewest GPUs on, for a plan that is fast enough to
 * make the number the smallest or the cheapest.
 *
 * With more than MOST_EXACT_PAIRS pairs of number and batch, the guarantee depends on an
 * assumption, and the result has `assumed` set. The assumption is that doublings of a node divide
 * best: a number n between the doublings d and 2d needs at least as many GPU seconds per sequence,
 * w(n), as the straight line between w(d) and w(2d), less a margin. In this case a number counts as
 * cheaper only if it saves 4 %:
 *
 *     L(n) = max(L(n), 0.96 gbs w(n) / n),   w(n) = w(d) + log2(n/d) max(0, w(2d) - w(d))    (S.113)
 *
 * Each number is then searched with the first batch, and with the one of the others that has the
 * largest divisor in common with the number.
 */
#include "search/capacity/capacity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "plait/units.h"
#include "plan/model_queries.h"
#include "plan/problem_check.h"
#include "search/explain/gpus_bound.h"
#include "plait/lowlevel/goodput.h"

enum {
    MOST_EXACT_PAIRS = 64, /* pairs of GPUs and batch above which S.113 is assumed */
    MOST_ODD_PART = 16,    /* limit for batches; S.113 assumes nothing about batches with a larger
                            * odd part */
    /* Searches before the bounds S.81 are computed, which take as long as a few of them, and with
     * experts as long as 50. Both were chosen by measured times. */
    SEARCHES_FIRST = 4,
    SEARCHES_FIRST_WITH_EXPERTS = 150,
    MOST_SEARCHES = 256 /* limit for one range, a few minutes; if it is reached, `whole` is false */
};

static const double similar_batch =
    1.07; /* ratio of batches within which GPU seconds per sequence differ by less than `margin` */
static const double margin = 0.04;      /* margin of S.113 */
static const double least_saved = 0.04; /* share of dollars that a cheaper number must save under
                                         * S.113 */
static const double rounding = 1e-9;    /* tolerance for sums in another order */

typedef struct gpu_number {
    int gpus, gbs;
    double assumed_s; /* assumed lower bound on a step (S.113); 0: none */
    bool done;        /* searched, answered by a row, or left out */
} gpu_number;

/*
 * The array `row` has the caller's `known` rows, then at most PLAIT_CAPACITY_FOUND rows of this
 * search, then room for the row that is being computed.
 */
typedef struct range_search {
    const plait_capacity_options *ask;
    const plait_capacity_range *range;
    plait_arena *arena, *scratch;
    gpu_number *number;
    int numbers;
    plait_problem largest; /* problem of the largest number of GPUs */
    gpus_bound bound;      /* bounds of S.81 for all numbers and batches */
    bool bounded;          /* whether `bound` is computed; if not, its bounds are 0 */
    const char *cluster;
    int node;                /* GPUs of one node */
    double checkpoint_bytes; /* checkpoint bytes of a row on a doubling */
    plait_capacity_row *row;
    int known, rows;
    plait_capacity_range_result *out;
} range_search;

// ---- bounds --------------------------------------------------------------------------------

/*
 * Returns whether a row of the caller has the result for this problem. A cluster that is listed
 * twice has two prices; a row with another price is valid only if no plan fits, which does not
 * depend on the price.
 */
static bool has_row(const range_search *s, const plait_problem *problem)
{
    const double usd = plait_capacity_usd_per_gpu_hour(s->ask, problem);

    for (int i = 0; i < s->known; i++) {
        const plait_capacity_row *const row = &s->row[i];

        if (row->problem->job.gpus == problem->job.gpus &&
            row->problem->job.gbs == problem->job.gbs &&
            strcmp(row->problem->cluster->name, problem->cluster->name) == 0 &&
            (!row->fits || isnan(usd) || row->usd_per_gpu_hour == usd))
            return true;
    }
    return false;
}

/*
 * Appends all numbers of the range for which some plan divides layers and the batch `gbs`, and
 * marks them in `divides`.
 */
static plait_status list_batch(range_search *s, int gbs, bool *divides, plait_error *err)
{
    const plait_capacity_range *const range = s->range;
    plait_problem *const largest = plait_arena_alloc(s->scratch, 1, sizeof *largest);

    PLAIT_TRY(plait_check_allocated(largest, err));
    PLAIT_TRY(range->question(range->context, range->to, gbs, s->scratch, largest, err));
    PLAIT_TRY(problem_check(largest, err));
    for (int n = range->from; n <= range->to; n += range->step) {
        plait_cluster cluster = *largest->cluster;
        plait_problem problem = *largest;

        problem.cluster = &cluster;
        problem.job.gpus = n;
        if (plait_cluster_take(&cluster, n, NULL) != PLAIT_OK)
            continue;
        s->out->numbers += gbs == range->gbs[0];
        if (!isfinite(gpus_bound_s(&s->bound, n, gbs)))
            continue;
        divides[(n - range->from) / range->step] = true;
        s->number[s->numbers++] = (gpu_number){n, gbs, .done = has_row(s, &problem)};
    }
    return PLAIT_OK;
}

/* Lists the numbers of all batches, and marks in `divides` those that some batch has. */
static plait_status list_numbers(range_search *s, bool *divides, plait_error *err)
{
    const plait_capacity_range *const range = s->range;

    PLAIT_TRY(
        range->question(range->context, range->to, range->gbs[0], s->scratch, &s->largest, err));
    PLAIT_TRY(problem_check(&s->largest, err));
    s->cluster = s->largest.cluster->name;
    s->node = s->largest.cluster->group[0].gpus_per_node;
    PLAIT_TRY(gpus_bound_make(&s->largest, &s->ask->search, range->gbs, range->batches, s->scratch,
                              &s->bound, err));
    for (int b = 0; b < range->batches; b++)
        PLAIT_TRY(list_batch(s, range->gbs[b], divides, err));
    return PLAIT_OK;
}

static int fewest_first(const void *left, const void *right)
{
    const gpu_number *const a = left, *const b = right;

    return a->gpus != b->gpus ? a->gpus - b->gpus : a->gbs - b->gbs;
}

// ---- one number ----------------------------------------------------------------------------

/*
 * Returns the duration, in seconds on the calendar, below which a run on `gpus` GPUs gets a row; 0
 * if no duration does.
 */
static double most_wall_s(const range_search *s, int gpus, double usd_per_s, bool smallest)
{
    const plait_capacity_options *const ask = s->ask;
    const plait_capacity_verdict v = capacity_pick(s->row, s->rows);
    const double deadline_s = ask->deadline_s > 0.0 ? ask->deadline_s : (double)INFINITY;
    const double budget_s = ask->budget_usd > 0.0 ? ask->budget_usd / usd_per_s : (double)INFINITY;
    double most_s = 0.0;

    if (v.smallest < 0 || gpus < s->row[v.smallest].problem->job.gpus)
        most_s = fmin(deadline_s, budget_s);
    else if (gpus == s->row[v.smallest].problem->job.gpus)
        most_s = fmin(fmin(deadline_s, budget_s), s->row[v.smallest].wall_s);
    if (smallest || isnan(usd_per_s))
        return most_s;
    const double usd = v.cheapest < 0 ? (double)INFINITY : s->row[v.cheapest].usd;
    const double worth = s->out->assumed ? 1.0 - least_saved : 1.0;
    return fmax(most_s, fmin(deadline_s, worth * usd / usd_per_s));
}

/* Removes those rows of this search that are neither the smallest nor the cheapest. */
static void keep_best(range_search *s)
{
    const plait_capacity_verdict v = capacity_pick(s->row, s->rows);
    int kept = s->known;

    for (int i = s->known; i < s->rows; i++)
        if (i == v.smallest || i == v.cheapest)
            s->row[kept++] = s->row[i];
    s->rows = kept;
}

/*
 * Makes the problem of a number in the caller's arena, since a row of the result may point to it.
 */
static plait_status make_problem(range_search *s, const gpu_number *number, plait_problem **out,
                                 plait_error *err)
{
    *out = plait_arena_alloc(s->arena, 1, sizeof **out);
    PLAIT_TRY(plait_check_allocated(*out, err));
    return s->range->question(s->range->context, number->gpus, number->gbs, s->arena, *out, err);
}

/* Searches the best plan with a step below `below_s`, and appends its row if there is one. */
static plait_status find_row(range_search *s, gpu_number *number, const plait_problem *problem,
                             double below_s, bool *found, plait_error *err)
{
    plait_capacity_options ask = *s->ask;

    number->done = true;
    s->out->searches++;
    ask.runs = 0;
    ask.search.progress = NULL;
    PLAIT_TRY(capacity_find_below(&ask, problem, below_s, s->arena, &s->row[s->rows], err));
    *found = s->row[s->rows].fits;
    s->row[s->rows].between = true;
    s->rows += *found;
    return PLAIT_OK;
}

// ---- doublings of a node (S.113) -----------------------------------------------------------

/* Returns the largest odd divisor: 1 for 8, 3 for 6, 9 for 2304. */
static int odd_part(int number)
{
    while (number % 2 == 0)
        number /= 2;
    return number;
}

/*
 * GPU seconds per sequence on a doubling, and the batches of the rows from which they were
 * computed.
 */
typedef struct doubling {
    double work;     /* minimum over the rows; infinite: no row */
    int largest_gbs; /* largest batch of the rows; 0: no row */
    int odd;         /* smallest odd part of a batch */
} doubling;

static void add_row(range_search *s, const plait_capacity_row *row, doubling *at)
{
    const int gbs = row->problem->job.gbs, odd = odd_part(gbs);

    at->work = fmin(at->work, row->cost.step_s * row->problem->job.gpus / gbs);
    at->largest_gbs = gbs > at->largest_gbs ? gbs : at->largest_gbs;
    at->odd = odd < at->odd ? odd : at->odd;
    s->checkpoint_bytes = row->checkpoint_bytes;
}

/*
 * Computes the GPU seconds per sequence on a doubling; *work is 0 if no batch close to the largest
 * has a plan. If the known rows have no batch that is close to the largest, or none that divides as
 * well, one more row is searched.
 */
static plait_status find_work(range_search *s, int64_t gpus, double *work, plait_error *err)
{
    const double least_gbs = s->range->gbs[s->range->batches - 1] / similar_batch;
    gpu_number *number = NULL; // smallest odd part among batches of at least least_gbs

    for (int i = 0; i < s->numbers; i++) {
        gpu_number *const n = &s->number[i];

        if (n->gpus == gpus && n->gbs >= least_gbs &&
            (!number || odd_part(n->gbs) <= odd_part(number->gbs)))
            number = n;
    }
    doubling at = {.work = (double)INFINITY, .odd = PLAIT_MAX_GBS};
    plait_problem *problem;
    bool found = false;

    for (int i = 0; i < s->known; i++)
        if (s->row[i].fits && s->row[i].problem->job.gpus == gpus &&
            strcmp(s->row[i].problem->cluster->name, s->cluster) == 0)
            add_row(s, &s->row[i], &at);
    if (number && !number->done && (at.largest_gbs < least_gbs || odd_part(number->gbs) < at.odd)) {
        PLAIT_TRY(make_problem(s, number, &problem, err));
        PLAIT_TRY(find_row(s, number, problem, (double)INFINITY, &found, err));
    }
    if (found) {
        add_row(s, &s->row[s->rows - 1], &at);
        keep_best(s);
    }
    *work = isfinite(at.work) && at.odd <= MOST_ODD_PART ? at.work : 0.0;
    return PLAIT_OK;
}

/*
 * Marks all batches of each number as done, except the first batch and the one of the others with
 * the largest divisor in common with the number. Requires numbers in the order of fewest_first.
 */
static void keep_two_batches(range_search *s)
{
    for (int i = 0, end; i < s->numbers; i = end) {
        const int gpus = s->number[i].gpus;
        int64_t largest = 0;
        int best = i;

        for (end = i; end < s->numbers && s->number[end].gpus == gpus; end++) {
            const int64_t divisor = common_divisor(gpus, s->number[end].gbs);
            if (s->number[end].gbs == s->range->gbs[0] || divisor <= largest)
                continue;
            largest = divisor;
            best = end;
        }
        for (int k = i; k < end; k++)
            if (k != best && s->number[k].gbs != s->range->gbs[0])
                s->number[k].done = true;
    }
}

// ---- the range -----------------------------------------------------------------------------

/*
 * Returns the longest step in seconds with which a number gets a row; 0 if the assumption S.113
 * excludes the number.
 */
static double most_step_s(const range_search *s, const gpu_number *number,
                          const plait_problem *problem, bool smallest)
{
    plait_reliability luckiest = s->ask->fleet;
    const int nodes = capacity_nodes(problem);
    const double steps = ceil(s->ask->tokens / plait_job_tokens(&problem->job));

    // S.112: the bound assumes that no run waits for nodes, and counts only the spares that the
    // caller sets. S.113: the run is computed as for a row, with the assumed step.
    luckiest.node_loss = 0.0;
    luckiest.spares = s->ask->fleet.spares > 0 ? s->ask->fleet.spares : 0;
    const plait_goodput run = number->assumed_s > 0.0
                                  ? plait_goodput_of(&s->ask->fleet, nodes,
                                                     steps * number->assumed_s, s->checkpoint_bytes)
                                  : plait_goodput_of(&luckiest, nodes, 1.0, 0.0);
    const double usd_per_s = plait_capacity_usd_per_gpu_hour(s->ask, problem) *
                             (number->gpus + (double)run.spares * s->node) / PLAIT_HOUR;
    const double most_s = most_wall_s(s, number->gpus, usd_per_s, smallest) * (1.0 + rounding);
    const double step_s = most_s / (steps * plait_goodput_wall_s(&run, 1.0));

    return step_s > number->assumed_s ? step_s : 0.0;
}

/*
 * Computes whether the bound S.81 of a number exceeds a step. After a few searches the bounds are
 * computed, of all numbers at once.
 */
static plait_status is_excluded(range_search *s, const gpu_number *number, double most_s,
                                bool *excluded, plait_error *err)
{
    // The bound holds for uniform layers only, not for plans in which each layer has its own tp
    // (C.91).
    const bool uniform = s->largest.runtime->can.tp_by != PLAIT_BY_LAYER;
    const int first =
        model_has_experts(s->largest.model) ? SEARCHES_FIRST_WITH_EXPERTS : SEARCHES_FIRST;

    *excluded = most_s <= 0.0;
    if (*excluded || !uniform || s->out->searches < first)
        return PLAIT_OK;
    if (!s->bounded)
        PLAIT_TRY(gpus_bound_price(&s->bound, err));
    s->bounded = true;
    *excluded = gpus_bound_s(&s->bound, number->gpus, number->gbs) >= most_s;
    return PLAIT_OK;
}

/* Searches a number unless its bounds exclude it. */
static plait_status search_number(range_search *s, gpu_number *number, bool smallest,
                                  plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(s->arena);
    plait_problem *problem;
    bool excluded, found = false;

    PLAIT_TRY(make_problem(s, number, &problem, err));
    const double most_s = most_step_s(s, number, problem, smallest);
    PLAIT_TRY(is_excluded(s, number, most_s, &excluded, err));
    if (!excluded)
        PLAIT_TRY(find_row(s, number, problem, most_s, &found, err));
    if (found)
        keep_best(s);
    else
        plait_arena_rewind(s->arena, mark);
    return PLAIT_OK;
}

/*
 * Searches the numbers in two passes, each from the fewest GPUs on: the first finds the smallest
 * number, the second the cheapest.
 */
static plait_status search_numbers(range_search *s, plait_error *err)
{
    const plait_search_options *const search = &s->ask->search;

    for (int i = 0; i < 2 * s->numbers; i++) {
        gpu_number *const number = &s->number[i % s->numbers];

        if (s->out->searches >= MOST_SEARCHES) {
            s->out->whole = false;
            return PLAIT_OK;
        }
        if (search->progress)
            search->progress(search->progress_context, (double)i / (2.0 * s->numbers));
        if (!number->done)
            PLAIT_TRY(search_number(s, number, i < s->numbers, err));
    }
    return PLAIT_OK;
}

static plait_status search_range(range_search *s, const plait_capacity_row *row, plait_error *err)
{
    s->row =
        plait_arena_alloc(s->scratch, (size_t)s->known + PLAIT_CAPACITY_FOUND + 1, sizeof *s->row);
    PLAIT_TRY(plait_check_allocated(s->row, err));
    if (s->known > 0)
        memcpy(s->row, row, (size_t)s->known * sizeof *row);
    const plait_capacity_range *const range = s->range;
    const size_t count = (size_t)((range->to - range->from) / range->step + 1);
    bool *const divides = plait_arena_alloc(s->scratch, count, sizeof *divides);

    s->number = plait_arena_alloc(s->scratch, count * (size_t)range->batches, sizeof *s->number);
    PLAIT_TRY(plait_check_allocated(divides && s->number, err));
    PLAIT_TRY(list_numbers(s, divides, err));
    for (size_t i = 0; i < count; i++)
        s->out->divide += divides[i];
    if (s->numbers > 0)
        qsort(s->number, (size_t)s->numbers, sizeof *s->number, fewest_first);
    if (s->numbers > MOST_EXACT_PAIRS) {
        // Set assumed_s of all numbers; numbers above the last doubling get the work of that
        // doubling.
        double low_work = 0.0, high_work;

        s->out->assumed = true;
        for (int64_t low = odd_part(s->node); low <= s->range->to; low *= 2) {
            PLAIT_TRY(find_work(s, 2 * low, &high_work, err));
            for (int i = 0; i < s->numbers && low_work > 0.0; i++) {
                gpu_number *const n = &s->number[i];
                const double share = log2((double)n->gpus / (double)low);
                const double work =
                    high_work > low_work ? low_work + share * (high_work - low_work) : low_work;

                if (n->gpus >= low && n->gpus < 2 * low)
                    n->assumed_s = (1.0 - margin) * work * n->gbs / n->gpus;
            }
            low_work = high_work;
        }
        keep_two_batches(s);
    }
    PLAIT_TRY(search_numbers(s, err));
    // find_row() does not simulate runs, so simulate those of the remaining rows.
    for (int i = s->known; i < s->rows; i++) {
        PLAIT_TRY(plait_capacity_follow(s->ask, s->arena, &s->row[i], err));
        s->out->row[s->out->rows++] = s->row[i];
    }
    return PLAIT_OK;
}

plait_status plait_capacity_search_range(const plait_capacity_options *ask,
                                         const plait_capacity_range *range,
                                         const plait_capacity_row *row, int rows,
                                         plait_arena *arena, plait_capacity_range_result *out,
                                         plait_error *err)
{
    plait_arena *scratch;

    PLAIT_TRY(capacity_options_check(ask, err));
    if (range->from < 1 || range->to > PLAIT_MAX_GPUS || range->from > range->to ||
        range->step < 1 || range->batches < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "range",
                          "expected rising numbers of GPUs from 1 to %d and at least one batch, "
                          "found %d to %d in steps of %d with %d batches",
                          PLAIT_MAX_GPUS, range->from, range->to, range->step, range->batches);
    *out = (plait_capacity_range_result){.whole = true};
    scratch = plait_arena_new();
    PLAIT_TRY(plait_check_allocated(scratch, err));
    range_search s = {.ask = ask,
                      .range = range,
                      .arena = arena,
                      .scratch = scratch,
                      .known = rows,
                      .rows = rows,
                      .out = out};
    const plait_status status = search_range(&s, row, err);
    plait_arena_free(scratch);
    return status;
}
