/* space.c - the plan space: its rows, and why it may have none */
#include "search/space/space.h"

#include <math.h>
#include <stdio.h>

#include "base/grow.h"
#include "costmodel/api.h"
#include "plait/plan.h"
#include "rules/kernels.h"
#include "rules/plan_check.h"
#include "search/space/space_private.h"
#include "base/text.h"
#include "base/threads.h"
#include "plan/model_queries.h"

enum { ALL_GRAPHS = (1 << PLAIT_GRAPHS) - 1 };

// ---- rows ----------------------------------------------------------------------------------

/* The walk over the rows of one placement and tp. */
typedef struct row_walk {
    const plan_space *space;
    plait_arena *arena;
    unsigned char *cached;  /* attention kernels: [cp][cp_comm][microbatch.count] */
    unsigned char *kernels; /* part of `cached` for the current cp and cp_comm */
    plait_degrees priced;   /* degrees to which `kernels` belongs */
    dispatch_cache *dispatches;
    row_dispatchers *dispatch; /* [microbatch.count] of the current ranks */
    space_row *row;
    int count, room;
    bool failed; /* out of memory */
} row_walk;

/*
 * Sets a switch to a value that the limits allow and that runs. Switches that are on take no more
 * time and no more memory than those that are off; where a switch has no effect, off comes first.
 * Returns false if there is no such value.
 */
static bool turn_on(const plan_space *space, plait_key_id key, plait_degrees *d)
{
    const unsigned takes = space_takes(space, key);
    const bool matters = plait_keys[key].matters(space->problem, d);

    for (int i = 0; i < 2; i++) {
        const int value = matters ? 1 - i : i;

        plait_key_put(d, key, value);
        if (value == 1 && space_is_usual_only(space, key))
            continue;
        if ((takes >> value & 1u) && limits_allow_value(space->options, key, value) &&
            plan_switches_run(space->problem, d, &no_reason))
            return true;
    }
    return false;
}

static void add_row(row_walk *walk, space_row row)
{
    space_row *const more =
        grow_by_one(walk->arena, walk->row, walk->count, &walk->room, sizeof *more);

    walk->failed = walk->failed || !more;
    if (!more)
        return;
    walk->row = more;
    walk->row[walk->count++] = row;
}

/* Adds a row for each kind of CUDA graphs, which need less time and more memory. */
static void walk_graphs(row_walk *walk, space_row row, unsigned graphs)
{
    const plan_space *const space = walk->space;
    plait_degrees *const d = &row.degrees;

    if (!turn_on(space, PLAIT_KEY_FP8_ATTENTION, d) ||
        !turn_on(space, PLAIT_KEY_FUSED_GROUPED_MLP, d) ||
        !turn_on(space, PLAIT_KEY_TP_COMM_OVERLAP, d) ||
        !turn_on(space, PLAIT_KEY_PERMUTE_FUSION, d) || !turn_on(space, PLAIT_KEY_ROUTER_FUSION, d))
        return;
    for (int graph = 0; graph < PLAIT_GRAPHS; graph++) {
        d->switches.cuda_graph = (unsigned char)graph;
        if ((graphs & space_takes(space, PLAIT_KEY_CUDA_GRAPH) & 1u << graph) &&
            limits_allow_value(space->options, PLAIT_KEY_CUDA_GRAPH, graph) &&
            plan_switches_run(space->problem, d, &no_reason))
            add_row(walk, row);
    }
}

enum { KERNELS_VALID = 128 };

/*
 * Returns the attention kernels for the i-th microbatch size. Besides this size they depend only on
 * tp, cp and cp_comm, so they are priced once, not again for each sp, ep and etp.
 */
static unsigned kernels_for(const row_walk *walk, int i)
{
    plait_degrees d = walk->priced;

    d.mbs = walk->space->microbatch.value[i];
    if (walk->kernels[i] == 0)
        walk->kernels[i] = (unsigned char)(KERNELS_VALID | space_kernels_of(walk->space, &d));
    return walk->kernels[i];
}

/* The three reasons to list a dispatcher with a microbatch size. (S.79) */
typedef enum dispatch_use {
    USE_FASTEST,
    USE_IN_FULL_GRAPHS,
    USE_IN_PAIRS,
    DISPATCH_USES
} dispatch_use;

static bool lists_dispatcher(const row_dispatchers *has, dispatch_use use, int dispatcher)
{
    return use == USE_FASTEST          ? has->fastest == dispatcher
           : use == USE_IN_FULL_GRAPHS ? has->fastest >= 0 && has->in_full_graphs == dispatcher
                                       : (has->in_pairs >> dispatcher & 1u) != 0;
}

/*
 * Adds rows with one dispatcher and one attention kernel: one for each range of microbatch sizes
 * that are listed with both.
 */
static void walk_sizes(row_walk *walk, space_row row, dispatch_use use)
{
    static const unsigned graphs[DISPATCH_USES] = {[USE_FASTEST] = ALL_GRAPHS,
                                                   [USE_IN_FULL_GRAPHS] = 1u << PLAIT_GRAPH_FULL,
                                                   [USE_IN_PAIRS] =
                                                       ALL_GRAPHS & ~(1u << PLAIT_GRAPH_FULL)};
    const int count = row.sizes;

    for (int i = 0; i < count; i++) {
        row.first = i;
        while (i < count && lists_dispatcher(&walk->dispatch[i], use, row.degrees.dispatcher) &&
               (kernels_for(walk, i) >> row.degrees.attention & 1u))
            i++;
        row.sizes = i - row.first;
        row.degrees.mbs = walk->space->microbatch.value[row.first];
        if (row.sizes > 0)
            walk_graphs(walk, row, graphs[use]);
    }
}

/*
 * Returns the number of microbatch sizes that are listed with these degrees and any kernel: those
 * with which the smallest plan fits, and the first.
 */
static int most_sizes(const row_walk *walk, plait_degrees d, double sequence_bytes[])
{
    const plan_space *const space = walk->space;
    const unsigned runs = space_running_kernels(space, &d);
    double least = HUGE_VAL;
    int sizes = 1;

    d.mbs = 1;
    (void)turn_on(space, PLAIT_KEY_FUSED_GROUPED_MLP, &d); // one kernel keeps fewer bytes
    for (int kernel = 0; kernel < PLAIT_ATTENTION_KERNELS; kernel++) {
        d.attention = (unsigned char)kernel;
        sequence_bytes[kernel] =
            runs >> kernel & 1u ? plait_layers_floor_bytes(space->problem, &d) : HUGE_VAL;
        least = fmin(least, sequence_bytes[kernel]);
    }
    while (sizes < space->microbatch.count &&
           least * space->microbatch.value[sizes] <= space->most_bytes)
        sizes++;
    return sizes < space->microbatch.count ? sizes : space->microbatch.count;
}

/*
 * Walks dispatchers, attention kernels and mbs. The legality of a layer does not depend on mbs or on
 * the listed kernels. Rows with the same dispatcher are adjacent, since they share most of their
 * price.
 */
static void walk_mbs(row_walk *walk, plait_degrees d)
{
    const plan_space *const space = walk->space;
    double sequence_bytes[PLAIT_ATTENTION_KERNELS];
    unsigned kernels = 0;

    if (!plan_layers_legal(space->problem, &d, &no_reason))
        return;
    const int sizes = most_sizes(walk, d, sequence_bytes);

    for (int i = 0; i < sizes; i++) {
        d.mbs = space->microbatch.value[i];
        walk->dispatch[i] = space_dispatchers_of(walk->dispatches, space, &d);
        kernels |= kernels_for(walk, i);
    }
    for (int use = 0; use < DISPATCH_USES; use++) {
        d.ep_overlap = use == USE_IN_PAIRS ? PLAIT_EP_OVERLAP_PAIRS : PLAIT_EP_OVERLAP_NONE;
        for (int how = 0; how < PLAIT_DISPATCHERS; how++)
            for (int kernel = 0; kernel < PLAIT_ATTENTION_KERNELS; kernel++) {
                d.dispatcher = (unsigned char)how;
                d.attention = (unsigned char)kernel;
                if (kernels >> kernel & 1u)
                    walk_sizes(walk,
                               (space_row){.degrees = d,
                                           .sizes = sizes,
                                           .sequence_bytes = sequence_bytes[kernel]},
                               (dispatch_use)use);
            }
    }
}

/*
 * Returns whether the limits allow etp and it is 1, tp or, if the runtime supports it, any divisor
 * of tp.
 */
static bool etp_allowed(const plan_space *space, int etp, int tp)
{
    if (etp != 1 && etp != tp && !(space->problem->runtime->can.etp && tp % etp == 0))
        return false;
    return limits_allow(space->options, PLAIT_KEY_ETP, etp);
}

/*
 * Walks ep and etp. Without experts, ep is 1 and etp has its default; with experts, every etp is
 * listed with every ep that the GPUs allow.
 */
static void walk_experts(row_walk *walk, plait_degrees d)
{
    const plan_space *space = walk->space;
    const plait_problem *problem = space->problem;

    if (!model_has_experts(problem->model)) {
        d.etp = plait_key_default(problem, &d, PLAIT_KEY_ETP);
        if (limits_allow(space->options, PLAIT_KEY_EP, 1) &&
            limits_allow(space->options, PLAIT_KEY_ETP, d.etp))
            walk_mbs(walk, d);
        return;
    }
    for (int i = 0; i < space->divisors.count && space->divisors.value[i] <= d.tp; i++) {
        d.etp = space->divisors.value[i];
        if (!etp_allowed(space, d.etp, d.tp))
            continue;
        for (int j = 0; j < space->divisors.count; j++) {
            d.ep = space->divisors.value[j];
            if (d.ep > problem->runtime->can.most[PLAIT_KEY_EP] ||
                (int64_t)d.ep * d.etp > problem->job.gpus)
                break;
            if (limits_allow(space->options, PLAIT_KEY_EP, d.ep))
                walk_mbs(walk, d);
        }
    }
}

/* Walks the rows of one tp, cp and cp_comm. Legality is checked with the first kernel that runs. */
static void walk_attention(row_walk *walk, plait_degrees d, int cp_at)
{
    const plan_space *space = walk->space;
    const unsigned runs = space_running_kernels(space, &d);
    const size_t row = (size_t)cp_at * PLAIT_CP_COMMS + d.cp_comm;

    walk->kernels = walk->cached + row * (size_t)space->microbatch.count;
    walk->priced = d;
    for (d.attention = 0; runs != 0 && !(runs >> d.attention & 1u);)
        d.attention++;
    if (runs != 0)
        walk_experts(walk, d);
}

/*
 * Returns cp_comm for cp = 1, which exchanges nothing: the default if the limits allow it, else the
 * first value that they allow.
 */
static unsigned char idle_cp_comm(const plan_space *space)
{
    const int usual_comm = space->problem->runtime->defaults.key[PLAIT_KEY_CP_COMM];

    for (int comm = 0; comm < PLAIT_CP_COMMS; comm++)
        if (!limits_allow_value(space->options, PLAIT_KEY_CP_COMM, usual_comm) &&
            limits_allow_value(space->options, PLAIT_KEY_CP_COMM, comm))
            return (unsigned char)comm;
    return (unsigned char)usual_comm;
}

/* Returns whether fusion can apply: to all-reduces of tp, or to experts that begin a layer. */
static bool may_fuse(const plait_model *model, const plait_degrees *d)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_NONE && model->kind[k].ffn == PLAIT_FFN_MOE)
            return true;
    return d->tp > 1;
}

static bool takes_fusion(const plan_space *space, plait_fusion fusion)
{
    return (space_takes(space, PLAIT_KEY_FUSION) >> fusion & 1u) &&
           limits_allow_value(space->options, PLAIT_KEY_FUSION, (int)fusion);
}

/*
 * Walks cp and cp_comm. If both values of `fusion` are allowed, `auto` suffices, since it takes no
 * more time than `none` and the same memory.
 */
static void walk_context(row_walk *walk, plait_degrees d)
{
    const plan_space *space = walk->space;
    const bool none = takes_fusion(space, PLAIT_FUSION_NONE);
    const bool fuses = takes_fusion(space, PLAIT_FUSION_AUTO);

    if (!none && !fuses)
        return;
    d.fusion = fuses && (!none || may_fuse(space->problem->model, &d)) ? PLAIT_FUSION_AUTO
                                                                       : PLAIT_FUSION_NONE;
    const plait_capabilities *can = &space->problem->runtime->can;

    for (int i = 0; i < space->divisors.count; i++) {
        d.cp = space->divisors.value[i];
        if (d.cp > can->most[PLAIT_KEY_CP] || (int64_t)d.cp * d.tp > space->problem->job.gpus)
            break;
        if (!limits_allow(space->options, PLAIT_KEY_CP, d.cp))
            continue;
        d.cp_comm = idle_cp_comm(space);
        if (d.cp == 1) {
            walk_attention(walk, d, i);
            continue;
        }
        for (int comm = 0; comm < PLAIT_CP_COMMS; comm++) {
            d.cp_comm = (unsigned char)comm;
            if ((space_takes(space, PLAIT_KEY_CP_COMM) >> comm & 1u) &&
                limits_allow_value(space->options, PLAIT_KEY_CP_COMM, comm))
                walk_attention(walk, d, i);
        }
    }
}

/* Walks sp. tp is outermost and sp next, so that rows that share most of their price are adjacent. */
static void walk_sequence(row_walk *walk, plait_degrees d)
{
    const plan_space *space = walk->space;
    const unsigned takes = space->problem->runtime->can.takes[PLAIT_KEY_SP];

    for (int sp = 1; sp >= 0; sp--) {
        const bool possible = d.tp == 1 ? sp == 0 : takes >> sp & 1u;
        d.sp = sp != 0;
        if (possible && limits_allow(space->options, PLAIT_KEY_SP, sp))
            walk_context(walk, d);
    }
}

/*
 * Returns whether rows have this placement: only one places ranks differently, except on tori with
 * different sides.
 */
static bool lists_placement(const plan_space *space, int placement)
{
    return (space->problem->runtime->can.takes[PLAIT_KEY_PLACEMENT] >> placement & 1u) &&
           (placement == 0 ||
            plait_placement_differs(space->problem->cluster, (plait_placement)placement)) &&
           limits_allow_value(space->options, PLAIT_KEY_PLACEMENT, placement);
}

/* The dispatchers that the walks of one thread share. NULL until its first walk. */
typedef struct thread_dispatches {
    plait_arena *arena;
    dispatch_cache *cache;
} thread_dispatches;

/* The walks of all placements and tp. Each allocates from a separate arena. */
typedef struct row_walks {
    const plan_space *space;
    thread_dispatches *thread; /* [threads] */
    row_walk *walk;            /* [PLAIT_PLACEMENTS * divisors.count] */
} row_walks;

static void walk_tensor(int worker, int64_t i, void *context)
{
    row_walks *const walks = context;
    const plan_space *const space = walks->space;
    row_walk *const walk = &walks->walk[i];
    thread_dispatches *const thread = &walks->thread[worker];
    const int placement = (int)(i / space->divisors.count);
    const size_t sizes = (size_t)space->microbatch.count;
    plait_degrees d = plait_degrees_init();

    d.placement = (unsigned char)placement;
    d.tp = space->divisors.value[i % space->divisors.count];
    if (d.tp > space->problem->runtime->can.most[PLAIT_KEY_TP] ||
        !limits_allow(space->options, PLAIT_KEY_TP, d.tp) || !lists_placement(space, placement))
        return;
    if (!thread->arena) {
        thread->arena = plait_arena_new();
        thread->cache = dispatch_cache_new(thread->arena);
    }
    walk->space = space;
    walk->arena = plait_arena_new();
    walk->dispatches = thread->cache;
    walk->cached = plait_arena_alloc(walk->arena,
                                     (size_t)space->divisors.count * PLAIT_CP_COMMS * sizes + 1, 1);
    walk->dispatch = plait_arena_alloc(walk->arena, sizes + 1, sizeof *walk->dispatch);
    walk->failed = !walk->cached || !walk->dispatches || !walk->dispatch;
    if (!walk->failed && sizes > 0)
        walk_sequence(walk, d);
}

/* Copies the rows of all walks, in order, into the space. */
static plait_status take_rows(const row_walks *walks, int count, plan_space *space,
                              plait_arena *arena, plait_error *err)
{
    space_row *row;

    space->rows = 0;
    for (int i = 0; i < count; i++) {
        PLAIT_TRY(plait_check_allocated(!walks->walk[i].failed, err));
        space->rows += walks->walk[i].count;
    }
    space->row = row = plait_arena_alloc(arena, (size_t)space->rows + 1, sizeof *row);
    PLAIT_TRY(plait_check_allocated(row, err));
    for (int i = 0; i < count; i++)
        for (int r = 0; r < walks->walk[i].count; r++, row++) {
            *row = walks->walk[i].row[r];
            space->sized_rows += row->sizes;
        }
    return PLAIT_OK;
}

static plait_status list_rows(plan_space *space, plait_arena *arena, plait_error *err)
{
    const int count = PLAIT_PLACEMENTS * space->divisors.count;
    const int threads = threads_count(space->options->threads);
    plait_arena *const scratch = plait_arena_new();
    row_walks walks = {
        .space = space,
        .walk = plait_arena_alloc(scratch, (size_t)count + 1, sizeof *walks.walk),
        .thread = plait_arena_alloc(scratch, (size_t)threads, sizeof *walks.thread),
    };
    plait_status status;

    if (walks.walk && walks.thread) {
        threads_for(threads, count, walk_tensor, &walks);
        status = take_rows(&walks, count, space, arena, err);
        for (int i = 0; i < count; i++)
            plait_arena_free(walks.walk[i].arena);
        for (int i = 0; i < threads; i++)
            plait_arena_free(walks.thread[i].arena);
    } else {
        status = plait_fail_nomem(err);
    }
    plait_arena_free(scratch);
    return status;
}

plait_status space_make(const plait_problem *problem, const plait_search_options *options,
                        double most_bytes, plait_arena *arena, plan_space *space, plait_error *err)
{
    *space = (plan_space){.problem = problem, .options = options, .most_bytes = most_bytes};
    PLAIT_TRY(space_list_values(space, &problem->job.gbs, 1, arena, err));
    PLAIT_TRY(space_list_splits(space, arena, err));
    return list_rows(space, arena, err);
}

// ---- rows of any number of GPUs --------------------------------------------------------------

/* Returns whether layers support the degree as tp, as ep, or as cp with some exchange. */
static bool layers_take(const plait_problem *problem, int degree)
{
    plait_degrees tensor = plait_degrees_init(), expert = tensor, context = tensor;
    bool taken;

    tensor.tp = expert.ep = context.cp = degree;
    tensor.attention = expert.attention = context.attention =
        (unsigned char)plait_attention_usual(problem);
    taken = plan_layers_legal(problem, &tensor, &no_reason) ||
            (model_has_experts(problem->model) && plan_layers_legal(problem, &expert, &no_reason));
    for (int comm = 0; !taken && comm < PLAIT_CP_COMMS; comm++) {
        context.cp_comm = (unsigned char)comm;
        taken = plan_layers_legal(problem, &context, &no_reason);
    }
    return taken;
}

plait_status space_make_rows(const plait_problem *problem, const plait_search_options *options,
                             const int *gbs, int batches, double most_bytes, plait_arena *arena,
                             plan_space *space, plait_error *err)
{
    *space = (plan_space){.problem = problem, .options = options, .most_bytes = most_bytes};
    PLAIT_TRY(space_list_values(space, gbs, batches, arena, err));
    const int gpus = space->problem->job.gpus;
    int *const value = plait_arena_alloc(arena, (size_t)gpus, sizeof *value);
    int count = 0;

    PLAIT_TRY(plait_check_allocated(value, err));
    for (int degree = 1; degree <= gpus; degree++)
        if (layers_take(space->problem, degree))
            value[count++] = degree;
    space->divisors = (space_list){count, value};
    return list_rows(space, arena, err);
}

// ---- why there is no point -----------------------------------------------------------------

/* Returns the lowest value that a limit allows, as text. */
static const char *lowest_allowed(const plait_limit *limit, char value[TEXT_NUMBER_SIZE])
{
    const int low = plait_keys[limit->key].low;

    if (*limit->value)
        return limit->value;
    return text_number(limit->low > low ? limit->low : low, value);
}

/*
 * The simplest candidate has the lowest value that each limit allows, and defaults for other keys.
 */
void space_explain_empty(const plan_space *space, char *why, size_t size)
{
    const plait_search_options *options = space->options;
    plait_degrees d = plait_degrees_init();
    plait_key_set given = 0;
    char value[TEXT_NUMBER_SIZE];

    snprintf(why, size, "no plan satisfies all limits together");
    for (int i = 0; i < options->limits; i++) {
        const plait_key_id key = options->limit[i].key;

        if (plait_degrees_set(&d, plait_keys[key].name, lowest_allowed(&options->limit[i], value),
                              NULL) != PLAIT_OK)
            return;
        given |= PLAIT_KEY_BIT(key);
    }
    plait_degrees_fill(space->problem, given, &d);
    // If the candidate is legal, the limits exclude all plans only in combination.
    if (plait_degrees_check(space->problem, &d, why, size) != PLAIT_INVALID)
        snprintf(why, size, "no plan satisfies all limits together");
}
