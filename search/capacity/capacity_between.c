/*
 * capacity_between.c - the smallest and the cheapest of a range of numbers of GPUs
 *
 * Guarantee: no number of the range, with any of its batches, is smaller within deadline and budget, or
 * cheaper within the deadline, than what is known in the end, as far as a search of it finds its best plan. A
 * number is left out where not even its bounds are:
 *
 *     T(n) >= steps L(n) g(n),   dollars >= price (n + spares) T(n)                  (S.112)
 *
 * with L(n) of S.81 and g(n) of C.323 without waiting for nodes, and with checkpoints of no bytes. The
 * others are searched for a plan with a step that makes the number one of the two, from the fewest GPUs on.
 *
 * Beyond some tens of numbers with batches the guarantee rests on an assumption, which the answer states
 * (`assumed`): doublings of a node divide best, and what lies between two of them takes no fewer GPU seconds a
 * sequence than the straight line between theirs, less a doubt; and a cheaper number is one that saves 1 %:
 *
 *     L(n) = max(L(n), 0.98 gbs w(n) / n),   w(n) = w(d) + log2(n/d) max(0, w(2d) - w(d))    (S.113)
 */
#include "search/capacity/capacity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/explain/gpus_bound.h"
#include "plait/units.h"
#include "plan/problem_check.h"

/* S.113 is assumed above this number of pairs of GPUs and batch, since bounds alone leave too many searches. */
enum { MOST_ASKED = 64 };

/* A batch that is larger by less than this factor changes GPU seconds a sequence by less than the doubt. */
static const double much_larger = 1.07;
static const double doubt = 0.02;

/* Doublings divide best where the batch has a small odd part; of others nothing is assumed. */
enum { MOST_ODD = 16 };

/* Beside that assumption a number that is cheaper by less is not worth a search. */
static const double least_saved = 0.01;

/* Sums in another order. */
static const double rounding = 1e-9;

/* As many searches as a range is worth, a few minutes; beyond, the answer is not whole. */
enum { MOST_SEARCHES = 256 };

typedef struct gpu_number {
    int gpus, gbs;
    double bound_s;   /* of a step */
    double assumed_s; /* of a step, at least, by S.113; 0: nothing is assumed */
    bool done;        /* searched, or of a row */
} gpu_number;

typedef struct range_search {
    const plait_capacity_ask *ask;
    const plait_capacity_range *range;
    plait_arena *arena, *scratch;
    gpu_number *number;
    int numbers;
    const char *cluster;
    int node;                /* GPUs */
    double checkpoint_bytes; /* of a doubling */
    plait_capacity_row *row; /* those known, then those found: room for PLAIT_CAPACITY_FOUND + 1 */
    int known, rows;
    plait_capacity_between *out;
} range_search;

// ---- bounds --------------------------------------------------------------------------------

/* Seconds on the calendar of a second of steps, at least, and spares that are paid for, at least. */
static double calendar_of(const plait_capacity_ask *ask, const plait_problem *problem,
                          double *spare_nodes)
{
    plait_reliability lucky = ask->fleet;

    lucky.node_loss = 0.0;
    lucky.spares = ask->fleet.spares > 0 ? ask->fleet.spares : 0;
    *spare_nodes = lucky.spares;
    const plait_goodput goodput = plait_goodput_of(&lucky, capacity_nodes(problem), 1.0, 0.0);
    return plait_goodput_wall_s(&goodput, 1.0);
}

/*
 * A row answers a number of its cluster. Clusters that are listed twice differ in price: their rows answer only
 * where no plan fits, which no price changes.
 */
static bool is_known(const range_search *s, const plait_problem *problem)
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
 * With layers that are cut each by itself, C.91 of uniform rows is no bound: then it only decides which numbers
 * divide.
 */
static double step_bound_s(const gpus_bound *bound, int gpus)
{
    const double least_s = gpus_bound_s(bound, gpus);

    return bound->problem->runtime->can.tp_by == PLAIT_BY_LAYER && isfinite(least_s) ? 0.0
                                                                                     : least_s;
}

/* All numbers that divide with one batch. */
static plait_status list_batch(range_search *s, int gbs, bool *divides, plait_error *err)
{
    const plait_capacity_range *const range = s->range;
    plait_problem *const largest = plait_arena_alloc(s->scratch, 1, sizeof *largest);
    gpus_bound bound;

    if (!largest)
        return plait_fail_nomem(err);
    PLAIT_TRY(range->question(range->context, range->to, gbs, s->scratch, largest, err));
    PLAIT_TRY(problem_check(largest, err));
    s->cluster = largest->cluster->name;
    s->node = largest->cluster->group[0].gpus_per_node;
    PLAIT_TRY(gpus_bound_make(largest, &s->ask->search, s->scratch, &bound, err));
    for (int n = range->from; n <= range->to; n += range->step) {
        plait_cluster cluster = *largest->cluster;
        plait_problem problem = *largest;

        problem.cluster = &cluster;
        problem.job.gpus = n;
        if (plait_cluster_take(&cluster, n, NULL) != PLAIT_OK)
            continue;
        s->out->numbers += gbs == range->gbs[0];
        const double bound_s = step_bound_s(&bound, n);
        if (!isfinite(bound_s))
            continue;
        divides[(n - range->from) / range->step] = true;
        s->number[s->numbers++] = (gpu_number){n, gbs, bound_s, .done = is_known(s, &problem)};
    }
    return PLAIT_OK;
}

static int fewest_first(const void *left, const void *right)
{
    const gpu_number *const a = left, *const b = right;

    return a->gpus != b->gpus ? a->gpus - b->gpus : a->gbs - b->gbs;
}

static plait_status list_numbers(range_search *s, plait_error *err)
{
    const plait_capacity_range *const range = s->range;
    const size_t count = (size_t)((range->to - range->from) / range->step + 1);
    bool *const divides = plait_arena_alloc(s->scratch, count, sizeof *divides);

    s->number = plait_arena_alloc(s->scratch, count * (size_t)range->batches, sizeof *s->number);
    if (!divides || !s->number)
        return plait_fail_nomem(err);
    for (int b = 0; b < range->batches; b++)
        PLAIT_TRY(list_batch(s, range->gbs[b], divides, err));
    for (size_t i = 0; i < count; i++)
        s->out->divide += divides[i];
    if (s->numbers > 0)
        qsort(s->number, (size_t)s->numbers, sizeof *s->number, fewest_first);
    return PLAIT_OK;
}

// ---- one number ----------------------------------------------------------------------------

static double or_infinite(double bound)
{
    return bound > 0.0 ? bound : (double)INFINITY;
}

/* Seconds on the calendar with which a number of GPUs that cost so much a second is worth a row; 0: none. */
static double most_wall_s(const range_search *s, int gpus, double usd_per_s, bool smallest)
{
    const plait_capacity_verdict v = capacity_pick(s->row, s->rows);
    const double deadline_s = or_infinite(s->ask->deadline_s);
    const double budget_s =
        s->ask->budget_usd > 0.0 ? s->ask->budget_usd / usd_per_s : (double)INFINITY;
    double most_s = 0.0;

    if (v.smallest < 0 || gpus < s->row[v.smallest].problem->job.gpus)
        most_s = fmin(deadline_s, budget_s);
    else if (gpus == s->row[v.smallest].problem->job.gpus)
        most_s = fmin(fmin(deadline_s, budget_s), s->row[v.smallest].wall_s);
    if (smallest)
        return most_s;
    const double usd = v.cheapest < 0 ? (double)INFINITY : s->row[v.cheapest].usd;
    const double worth = s->out->assumed ? 1.0 - least_saved : 1.0;
    return isnan(usd_per_s) ? most_s : fmax(most_s, fmin(deadline_s, worth * usd / usd_per_s));
}

/* Rows that are neither any more make room. */
static void keep_best(range_search *s)
{
    const plait_capacity_verdict v = capacity_pick(s->row, s->rows);
    int kept = s->known;

    for (int i = s->known; i < s->rows; i++)
        if (i == v.smallest || i == v.cheapest)
            s->row[kept++] = s->row[i];
    s->rows = kept;
}

/* The question of a number, in the caller's arena since a row of it may stay. */
static plait_status ask_number(range_search *s, const gpu_number *number, plait_problem **out,
                               plait_error *err)
{
    *out = plait_arena_alloc(s->arena, 1, sizeof **out);
    if (!*out)
        return plait_fail_nomem(err);
    return s->range->question(s->range->context, number->gpus, number->gbs, s->arena, *out, err);
}

/* The best plan with a step below; where there is one, its row is the last. */
static plait_status find_row(range_search *s, gpu_number *number, const plait_problem *problem,
                             double below_s, bool *found, plait_error *err)
{
    plait_capacity_ask ask = *s->ask;

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

/* S.113: days of the step that is assumed at least, as those of a row are counted. */
static double assumed_wall_s(const range_search *s, const gpu_number *number,
                             const plait_problem *problem, double steps)
{
    const double work_s = steps * number->assumed_s;
    const plait_goodput goodput =
        plait_goodput_of(&s->ask->fleet, capacity_nodes(problem), work_s, s->checkpoint_bytes);

    return work_s > 0.0 ? plait_goodput_wall_s(&goodput, work_s) : 0.0;
}

static plait_status search_number(range_search *s, gpu_number *number, bool smallest,
                                  plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(s->arena);
    plait_problem *problem;
    double spare_nodes;
    bool found = false;

    PLAIT_TRY(ask_number(s, number, &problem, err));
    const double steps = ceil(s->ask->tokens / plait_job_tokens(&problem->job));
    const double calendar = steps * calendar_of(s->ask, problem, &spare_nodes);
    const double usd_per_s = plait_capacity_usd_per_gpu_hour(s->ask, problem) *
                             (number->gpus + spare_nodes * s->node) / PLAIT_HOUR;
    const double most_s = most_wall_s(s, number->gpus, usd_per_s, smallest) * (1.0 + rounding);
    const double below_s = most_s / calendar;
    if (number->bound_s < below_s && assumed_wall_s(s, number, problem, steps) < most_s)
        PLAIT_TRY(find_row(s, number, problem, below_s, &found, err));
    if (found)
        keep_best(s);
    else
        plait_arena_rewind(s->arena, mark);
    return PLAIT_OK;
}

// ---- doublings -----------------------------------------------------------------------------

/* A node of 8 has 1, one of 6 has 3, a batch of 2304 has 9. */
static int odd_part(int number)
{
    while (number % 2 == 0)
        number /= 2;
    return number;
}

/* GPU seconds of a sequence on a doubling, and the batches that they are of. */
typedef struct doubling {
    double work;     /* the least; infinite: no plan is known */
    int largest_gbs; /* 0: none */
    int odd;         /* the least odd part of a batch */
} doubling;

static void take_row(range_search *s, const plait_capacity_row *row, doubling *at)
{
    const int gbs = row->problem->job.gbs, odd = odd_part(gbs);

    at->work = fmin(at->work, row->cost.step_s * row->problem->job.gpus / gbs);
    at->largest_gbs = gbs > at->largest_gbs ? gbs : at->largest_gbs;
    at->odd = odd < at->odd ? odd : at->odd;
    s->checkpoint_bytes = row->checkpoint_bytes;
}

static doubling known_doubling(range_search *s, int64_t gpus)
{
    doubling at = {.work = (double)INFINITY, .odd = PLAIT_MAX_GBS};

    for (int i = 0; i < s->known; i++)
        if (s->row[i].fits && s->row[i].problem->job.gpus == gpus &&
            strcmp(s->row[i].problem->cluster->name, s->cluster) == 0)
            take_row(s, &s->row[i], &at);
    return at;
}

/* Returns the number with that of its large batches which has the least odd part; NULL: none divides. */
static gpu_number *divides_best(const range_search *s, int64_t gpus, double least_gbs)
{
    gpu_number *best = NULL;

    for (int i = 0; i < s->numbers; i++) {
        gpu_number *const n = &s->number[i];

        if (n->gpus == gpus && n->gbs >= least_gbs &&
            (!best || odd_part(n->gbs) <= odd_part(best->gbs)))
            best = n;
    }
    return best;
}

/*
 * GPU seconds of a sequence on a doubling, by a search where no row has a batch nearly as large as the largest, or
 * one that divides as well; 0: no such batch has a plan.
 */
static plait_status find_work(range_search *s, int64_t gpus, double *work, plait_error *err)
{
    const double least_gbs = s->range->gbs[s->range->batches - 1] / much_larger;
    doubling at = known_doubling(s, gpus);
    gpu_number *const number = divides_best(s, gpus, least_gbs);
    plait_problem *problem;
    bool found = false;

    if (number && !number->done && (at.largest_gbs < least_gbs || odd_part(number->gbs) < at.odd)) {
        PLAIT_TRY(ask_number(s, number, &problem, err));
        PLAIT_TRY(find_row(s, number, problem, (double)INFINITY, &found, err));
    }
    if (found) {
        take_row(s, &s->row[s->rows - 1], &at);
        keep_best(s);
    }
    *work = isfinite(at.work) && at.odd <= MOST_ODD ? at.work : 0.0;
    return PLAIT_OK;
}

/* Between two doublings, in a straight line over the logarithm of GPUs; above the last as much as of that. */
static void assume(range_search *s, int64_t low, double low_work, double high_work)
{
    for (int i = 0; i < s->numbers; i++) {
        gpu_number *const n = &s->number[i];
        const double share = log2((double)n->gpus / (double)low);
        const double work =
            high_work > low_work ? low_work + share * (high_work - low_work) : low_work;

        if (n->gpus >= low && n->gpus < 2 * low)
            n->assumed_s = (1.0 - doubt) * work * n->gbs / n->gpus;
    }
}

static plait_status assume_doublings(range_search *s, plait_error *err)
{
    double low_work = 0.0, high_work;

    s->out->assumed = true;
    for (int64_t gpus = odd_part(s->node); gpus <= s->range->to; gpus *= 2) {
        PLAIT_TRY(find_work(s, 2 * gpus, &high_work, err));
        if (low_work > 0.0)
            assume(s, gpus, low_work, high_work);
        low_work = high_work;
    }
    return PLAIT_OK;
}

// ---- the range -----------------------------------------------------------------------------

static void show(const range_search *s, int done)
{
    const plait_search_options *const search = &s->ask->search;

    if (search->progress)
        search->progress(search->progress_context, (double)done / (2.0 * s->numbers));
}

/* From the fewest GPUs on: for the smallest alone, then for the cheapest, too. */
static plait_status search_numbers(range_search *s, plait_error *err)
{
    for (int i = 0; i < 2 * s->numbers; i++) {
        const bool smallest = i < s->numbers;
        gpu_number *const number = &s->number[i % s->numbers];

        if (s->out->searches >= MOST_SEARCHES) {
            s->out->whole = false;
            return PLAIT_OK;
        }
        show(s, i);
        if (!number->done)
            PLAIT_TRY(search_number(s, number, smallest, err));
    }
    return PLAIT_OK;
}

/* The runs of what was found are drawn once it is known. */
static plait_status take_found(range_search *s, plait_error *err)
{
    for (int i = s->known; i < s->rows; i++) {
        PLAIT_TRY(plait_capacity_follow(s->ask, s->arena, &s->row[i], err));
        s->out->row[s->out->rows++] = s->row[i];
    }
    return PLAIT_OK;
}

static plait_status look(range_search *s, const plait_capacity_row *row, plait_error *err)
{
    s->row =
        plait_arena_alloc(s->scratch, (size_t)s->known + PLAIT_CAPACITY_FOUND + 1, sizeof *s->row);
    if (!s->row)
        return plait_fail_nomem(err);
    if (s->known > 0)
        memcpy(s->row, row, (size_t)s->known * sizeof *row);
    PLAIT_TRY(list_numbers(s, err));
    if (s->numbers > MOST_ASKED)
        PLAIT_TRY(assume_doublings(s, err));
    PLAIT_TRY(search_numbers(s, err));
    return take_found(s, err);
}

static plait_status check_range(const plait_capacity_range *range, plait_error *err)
{
    if (range->from < 1 || range->to > PLAIT_MAX_GPUS || range->from > range->to ||
        range->step < 1 || range->batches < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "range",
                          "expected numbers of GPUs from 1 to %d, rising, and a batch, found %d to "
                          "%d in steps of %d with %d batches",
                          PLAIT_MAX_GPUS, range->from, range->to, range->step, range->batches);
    return PLAIT_OK;
}

plait_status plait_capacity_look_between(const plait_capacity_ask *ask,
                                         const plait_capacity_range *range,
                                         const plait_capacity_row *row, int rows,
                                         plait_arena *arena, plait_capacity_between *out,
                                         plait_error *err)
{
    plait_arena *scratch;

    PLAIT_TRY(capacity_check_ask(ask, err));
    PLAIT_TRY(check_range(range, err));
    *out = (plait_capacity_between){.whole = true};
    scratch = plait_arena_new();
    if (!scratch)
        return plait_fail_nomem(err);
    range_search s = {.ask = ask,
                      .range = range,
                      .arena = arena,
                      .scratch = scratch,
                      .known = rows,
                      .rows = rows,
                      .out = out};
    const plait_status status = look(&s, row, err);
    plait_arena_free(scratch);
    return status;
}
