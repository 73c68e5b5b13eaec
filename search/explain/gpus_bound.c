/*
 * gpus_bound.c - a lower bound on the step with a number of GPUs, without a search of that number
 *
 *     L(n) = gbs w(n) / n
 *     w(n) = min over rows and stages p of tp cp / mbs max(p t, W p / m)                (S.81)
 *
 * t is the bound C.91 of a row on p stages for one microbatch, so tp cp p t / mbs are the GPU
 * seconds of one sequence, whatever the batch and the number of replicas. W is the time of one
 * microbatch on all stages, one after the other (C.97), and m the number of microbatches. The
 * minimum is over the rows whose tp cp p divides n, if p stages can hold the layers and d mbs
 * divides the batch, where n = tp cp p d.
 */
#include "search/explain/gpus_bound.h"

#include <math.h>

#include "base/threads.h"
#include "search/space/space_private.h"
#include "search/exhaustive/exhaustive.h"
#include "costmodel/api.h"

static int index_of(space_list list, int value)
{
    int at = 0;

    while (list.value[at] != value)
        at++;
    return at;
}

/* Returns the bounds of one tp, cp and number of stages, by microbatch size. */
static double *work_of(const gpus_bound *b, int tp_at, int cp_at, int pp_at)
{
    const int degrees = b->rows.divisors.count;
    const size_t place =
        ((size_t)tp_at * (size_t)degrees + (size_t)cp_at) * (size_t)b->stages.divisors.count +
        (size_t)pp_at;

    return &b->work[place * (size_t)b->rows.microbatch.count];
}

/*
 * Returns, by microbatch size, the GPU seconds of a sequence of one tp and cp on stages that run one
 * after the other, divided by stages per microbatch.
 */
static double *serial_of(const gpus_bound *b, int tp_at, int cp_at)
{
    const size_t place = (size_t)tp_at * (size_t)b->rows.divisors.count + (size_t)cp_at;

    return &b->serial[place * (size_t)b->rows.microbatch.count];
}

static double *work_at(const gpus_bound *b, const plait_degrees *row, int pp_at)
{
    return work_of(b, index_of(b->rows.divisors, row->tp), index_of(b->rows.divisors, row->cp),
                   pp_at);
}

/* Returns the degrees of a pipeline whose state all remaining GPUs shard as replicas. */
static plait_degrees most_sharded(const gpus_bound *b, plait_degrees row)
{
    const int64_t ranks = (int64_t)row.tp * row.cp * row.pp;

    row.dp = (int)fmax(1.0, (double)(b->problem->job.gpus / ranks));
    row.shard_group = row.dp * row.cp;
    return row;
}

/*
 * Lists the stages of a row on which its state may fit. (C.97)
 *
 * @param stages  [b->stages.divisors.count] receives indices of numbers of stages
 * @return        number of indices
 */
static int list_stages(const gpus_bound *b, const space_row *row, plait_table *table, int *stages)
{
    plait_degrees d = row->degrees;
    int count = 0;

    for (int k = 0; k < b->stages.divisors.count; k++) {
        d.pp = b->stages.divisors.value[k];
        const bool has_split =
            b->stages.splits[k].count > 0 ||
            (b->rows.options->refine != PLAIT_REFINE_NONE && space_has_layouts(&b->rows, d.pp));
        const plait_degrees sharded = most_sharded(b, d);

        if (has_split && plait_pipeline_floor_bytes(table, &sharded) <= b->most_bytes)
            stages[count++] = k;
    }
    return count;
}

/*
 * GPU seconds above this multiple of the least of all pipelines hardly ever decide a number of GPUs,
 * so the weaker bound C.97 suffices for them. The multiple was chosen by measured times.
 */
static const double weak_above = 1.25;

/* Storage with which one thread computes bounds. */
typedef struct bound_worker {
    plait_arena *arena;
    plait_table *table;
    int *stage; /* [stages] */
} bound_worker;

typedef struct bound_pass bound_pass;

/*
 * Lowers `work` of the first `sizes` microbatch sizes of a row.
 *
 * @param count       number of indices in `worker->stage`
 * @param least_work  least bound C.91 of this tp so far
 */
typedef void add_bound(const bound_pass *pass, bound_worker *worker, const space_row *row,
                       int sizes, int count, double *least_work);

struct bound_pass {
    gpus_bound *bound;
    add_bound *add;
    bound_worker *worker; /* [threads] */
};

/* Marks the stages as possible. */
static void mark_possible(const bound_pass *pass, bound_worker *worker, const space_row *row,
                          int sizes, int count, double *least_work)
{
    (void)least_work;
    for (int k = 0; k < count; k++) {
        double *const work = work_at(pass->bound, &row->degrees, worker->stage[k]) + row->first;

        for (int i = 0; i < sizes; i++)
            work[i] = 0.0;
    }
}

/*
 * Lowers `work` of one microbatch size, an index of the space's sizes. The weaker bound C.97
 * excludes most pipelines before the layers are priced.
 */
static void add_size(const bound_pass *pass, bound_worker *worker, const space_row *row,
                     size_t size, int count, double *least_work)
{
    const gpus_bound *const b = pass->bound;
    plait_degrees d = row->degrees;

    d.mbs = b->rows.microbatch.value[size];
    d.ep_overlap = PLAIT_EP_OVERLAP_NONE; // the bound C.91 holds for every overlap
    const double ranks_a_sequence = (double)d.tp * d.cp / d.mbs;
    // the GPU seconds on one stage, which no number of stages lowers
    const double whole = ranks_a_sequence * plait_microbatch_floor_s(worker->table, &d);
    double *const least_serial =
        &serial_of(b, index_of(b->rows.divisors, d.tp), index_of(b->rows.divisors, d.cp))[size];
    *least_serial = fmin(*least_serial, ranks_a_sequence * plait_serial_floor_s(worker->table, &d));

    for (int k = 0; k < count; k++) {
        double *const least = &work_at(b, &d, worker->stage[k])[size];

        if (whole * (1.0 - 1e-9) >= *least)
            continue;
        d.pp = b->stages.divisors.value[worker->stage[k]];
        const double gpus_a_sequence = ranks_a_sequence * d.pp;
        const double floor = gpus_a_sequence * plait_microbatch_floor_s(worker->table, &d);
        if (floor >= *least)
            continue;
        if (floor > weak_above * *least_work) {
            *least = floor;
            continue;
        }
        const plait_degrees sharded = most_sharded(b, d);
        const double work = gpus_a_sequence * plait_microbatch_bound(worker->table, &d).step_s;
        if (work < *least &&
            plait_microbatch_bound(worker->table, &sharded).peak_bytes <= b->most_bytes) {
            *least = work;
            *least_work = fmin(*least_work, work);
        }
    }
}

static void add_work(const bound_pass *pass, bound_worker *worker, const space_row *row, int sizes,
                     int count, double *least_work)
{
    for (int i = 0; i < sizes; i++)
        add_size(pass, worker, row, (size_t)(row->first + i), count, least_work);
}

/* Returns how many sizes of a row, in ascending order, may fit. */
static int sizes_that_fit(const gpus_bound *b, const space_row *row)
{
    int sizes = 0;

    while (sizes < row->sizes &&
           row->sequence_bytes * space_size(&b->rows, row, sizes) <= b->most_bytes)
        sizes++;
    return sizes;
}

/*
 * Adds all rows of one tp, whose `work` no other worker changes. Each tp has its own least work, so
 * that C.97 or C.91 is chosen in the same way with any number of threads.
 */
static void add_rows(int index, int64_t tp_at, void *context)
{
    const bound_pass *const pass = context;
    const gpus_bound *const b = pass->bound;
    bound_worker *const worker = &pass->worker[index];
    double least_work = HUGE_VAL;

    for (int64_t r = 0; r < b->rows.rows; r++) {
        const space_row *const row = &b->rows.row[r];

        if (row->degrees.tp != b->rows.divisors.value[tp_at])
            continue;
        const int may_fit = list_stages(b, row, worker->table, worker->stage);
        if (may_fit > 0)
            pass->add(pass, worker, row, sizes_that_fit(b, row), may_fit, &least_work);
    }
}

static plait_status start_worker(const gpus_bound *b, plait_half_bounds *bounds,
                                 bound_worker *worker, plait_error *err)
{
    worker->arena = plait_arena_new();
    PLAIT_TRY(plait_check_allocated(worker->arena, err));
    worker->table = plait_table_new(b->problem, worker->arena);
    worker->stage =
        plait_arena_alloc(worker->arena, (size_t)b->stages.divisors.count, sizeof *worker->stage);
    PLAIT_TRY(plait_check_allocated(worker->table && worker->stage, err));
    plait_table_remember(worker->table, bounds, worker->arena);
    return PLAIT_OK;
}

/* Sets `work` to the value without a row, and then calls `add` for all rows. */
static plait_status add_all_rows(gpus_bound *bound, add_bound *add, plait_error *err)
{
    const int degrees = bound->rows.divisors.count;
    const size_t size = (size_t)degrees * (size_t)degrees * (size_t)bound->stages.divisors.count *
                        (size_t)bound->rows.microbatch.count;
    plait_arena *const arena = plait_arena_new();
    plait_status status = PLAIT_OK;

    PLAIT_TRY(plait_check_allocated(arena, err));
    int threads = threads_count(bound->rows.options->threads);
    threads = threads < degrees ? threads : degrees;
    bound_pass pass = {
        .bound = bound,
        .add = add,
        .worker = plait_arena_alloc(arena, (size_t)threads, sizeof *pass.worker),
    };
    plait_half_bounds *const bounds = plait_half_bounds_new(bound->rows.sized_rows, arena);
    if (!pass.worker || !bounds)
        status = plait_fail_nomem(err);
    for (int i = 0; i < threads && status == PLAIT_OK; i++)
        status = start_worker(bound, bounds, &pass.worker[i], err);
    for (size_t i = 0; i < size; i++)
        bound->work[i] = HUGE_VAL;
    for (size_t i = 0; i < size / (size_t)bound->stages.divisors.count; i++)
        bound->serial[i] = add == add_work ? HUGE_VAL : 0.0;
    if (status == PLAIT_OK)
        threads_for(threads, degrees, add_rows, &pass);
    for (int i = 0; i < threads && pass.worker; i++)
        plait_arena_free(pass.worker[i].arena);
    plait_arena_free(arena);
    return status;
}

plait_status gpus_bound_make(const plait_problem *problem, const plait_search_options *options,
                             const int *gbs, int batches, plait_arena *scratch, gpus_bound *bound,
                             plait_error *err)
{
    *bound = (gpus_bound){.problem = problem};
    // A smaller number of GPUs can have a narrower memory band and so more usable bytes at the same
    // risk. A risk of 0.5 gives the capacity without a band.
    bound->most_bytes = plait_capacity_bytes(problem, fmax(problem->risk, 0.5));
    PLAIT_TRY(space_make_rows(problem, options, gbs, batches, bound->most_bytes, scratch,
                              &bound->rows, err));
    const int most = problem->runtime->can.most[PLAIT_KEY_PP];
    const int count = most < problem->model->layers + 2 ? most : problem->model->layers + 2;
    int *const value = plait_arena_alloc(scratch, (size_t)count, sizeof *value);

    PLAIT_TRY(plait_check_allocated(value, err));
    for (int i = 0; i < count; i++)
        value[i] = i + 1;
    bound->stages = bound->rows;
    bound->stages.divisors = (space_list){count, value};
    PLAIT_TRY(space_list_splits(&bound->stages, scratch, err));
    const size_t degrees = (size_t)bound->rows.divisors.count;
    bound->work = plait_arena_alloc(scratch,
                                    degrees * degrees * (size_t)bound->stages.divisors.count *
                                        (size_t)bound->rows.microbatch.count,
                                    sizeof *bound->work);
    bound->serial = plait_arena_alloc(
        scratch, degrees * degrees * (size_t)bound->rows.microbatch.count, sizeof *bound->serial);
    PLAIT_TRY(plait_check_allocated(bound->work && bound->serial, err));
    return add_all_rows(bound, mark_possible, err);
}

plait_status gpus_bound_price(gpus_bound *bound, plait_error *err)
{
    return add_all_rows(bound, add_work, err);
}

/*
 * Returns the minimum of `work` over stages and replicas whose product is `copies`, for one tp and
 * cp.
 */
static double least_of_copies(const gpus_bound *b, int tp_at, int cp_at, int copies, int gbs)
{
    const space_list mbs = b->rows.microbatch;
    double least = HUGE_VAL;

    for (int i = 0; i < b->stages.divisors.count && b->stages.divisors.value[i] <= copies; i++) {
        const int pp = b->stages.divisors.value[i];

        if (copies % pp != 0)
            continue;
        for (int k = 0; k < mbs.count; k++) {
            const int64_t together = (int64_t)(copies / pp) * mbs.value[k];
            if (gbs % together != 0)
                continue;
            const double stages_per_microbatch = (double)pp * (double)together / gbs;
            least = fmin(least, fmax(work_of(b, tp_at, cp_at, i)[k],
                                     stages_per_microbatch * serial_of(b, tp_at, cp_at)[k]));
        }
    }
    return least;
}

double gpus_bound_s(const gpus_bound *b, int gpus, int gbs)
{
    const space_list degrees = b->rows.divisors;
    double least = HUGE_VAL;

    for (int t = 0; t < degrees.count; t++)
        for (int c = 0; c < degrees.count; c++) {
            const int64_t ranks = (int64_t)degrees.value[t] * degrees.value[c];

            if (gpus % ranks == 0)
                least = fmin(least, least_of_copies(b, t, c, (int)(gpus / ranks), gbs));
        }
    return least * gbs / gpus;
}
