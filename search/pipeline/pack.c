/* pack.c - solves S.21 by branch and bound over counts, with the bounds of S.22 */
#include "search/pipeline/pack.h"

#include <math.h>
#include <string.h>

/* Replacement of the option of one layer by one with fewer bytes. */
typedef struct saving_step {
    double freed_bytes;
    double extra_s;
    int group;
} saving_step;

/*
 * The undominated options of one group under a limit of live bytes, the fastest and largest first.
 */
typedef struct group_options {
    int count;
    int *index; /* [count] */
} group_options;

/*
 * Replacement steps of the layers that have no option yet: those of a group, with its options from
 * one on, and those of all later groups.
 */
typedef struct tail_steps {
    int count;
    const saving_step
        *step; /* in order of seconds per byte, along the lower hull of each group's options */
} tail_steps;

typedef struct pack_walk {
    const pack_problem *problem;
    pack_result *result;
    group_options *group; /* [groups] */
    tail_steps *tail;     /* [groups][options] */
    double *after_s;      /* [groups + 1] time of groups from g on with their fastest options */
    double *after_bytes;  /* [groups + 1] bytes of groups from g on with their fastest options */
    double *min_bytes;    /* [groups + 1] bytes of groups from g on with their smallest options */
    int *count;           /* [groups][options] counts of the current branch */
    long nodes;           /* nodes left to visit */
} pack_walk;

static const pack_option *option_at(const pack_walk *walk, int g, int c)
{
    const pack_problem *const p = walk->problem;

    return &p->option[g * p->options + walk->group[g].index[c]];
}

static const pack_option *smallest_of(const pack_walk *walk, int g)
{
    return option_at(walk, g, walk->group[g].count - 1);
}

// ---- options that can win ------------------------------------------------------------------

static bool goes_before(const pack_option *a, const pack_option *b)
{
    return a->time_s < b->time_s || (a->time_s == b->time_s && a->saved_bytes < b->saved_bytes);
}

/*
 * Lists the options of a group by time, keeping those that save fewer bytes than all faster ones.
 * Returns false if no option is left.
 */
static bool list_options(pack_walk *walk, int g, double live_bytes)
{
    const pack_problem *const p = walk->problem;
    const pack_option *const option = &p->option[g * p->options];
    group_options *const out = &walk->group[g];
    int kept = 0;

    out->count = 0;
    for (int c = 0; c < p->options; c++) {
        int at = out->count;

        if (option[c].live_bytes > live_bytes)
            continue;
        for (; at > 0 && goes_before(&option[c], &option[out->index[at - 1]]); at--)
            out->index[at] = out->index[at - 1];
        out->index[at] = c;
        out->count++;
    }
    for (int i = 0; i < out->count; i++)
        if (kept == 0 ||
            option[out->index[i]].saved_bytes < option[out->index[kept - 1]].saved_bytes)
            out->index[kept++] = out->index[i];
    out->count = kept;
    return kept > 0;
}

// ---- the relaxation ------------------------------------------------------------------------

static double price_of(const saving_step *step)
{
    return step->extra_s / step->freed_bytes;
}

/* Lists the lower hull of a group's options from c on, as steps of rising seconds per byte. */
static int hull_steps(const pack_walk *walk, int g, int c, saving_step *out)
{
    int steps = 0;

    for (int i = c + 1; i < walk->group[g].count; i++) {
        const pack_option *const from = option_at(walk, g, i - 1);
        const pack_option *const to = option_at(walk, g, i);
        saving_step next = {from->saved_bytes - to->saved_bytes, to->time_s - from->time_s, g};

        while (steps > 0 && price_of(&out[steps - 1]) >= price_of(&next)) {
            steps--;
            next.freed_bytes += out[steps].freed_bytes;
            next.extra_s += out[steps].extra_s;
        }
        out[steps++] = next;
    }
    return steps;
}

/* Merges two sorted lists. */
static int merge_steps(const saving_step *a, int as, const saving_step *b, int bs, saving_step *out)
{
    int count = 0;

    for (int i = 0, j = 0; i < as || j < bs;)
        out[count++] = j == bs || (i < as && price_of(&a[i]) <= price_of(&b[j])) ? a[i++] : b[j++];
    return count;
}

static plait_status fill_tails(pack_walk *walk, plait_arena *arena, plait_error *err)
{
    const pack_problem *const p = walk->problem;
    saving_step *const own = plait_arena_alloc(arena, (size_t)p->options, sizeof *own);
    tail_steps after = {0};

    PLAIT_TRY(plait_check_allocated(own, err));
    for (int g = p->groups - 1; g >= 0; g--) {
        for (int c = walk->group[g].count - 1; c >= 0; c--) {
            const int steps = hull_steps(walk, g, c, own);
            saving_step *const all =
                plait_arena_alloc(arena, (size_t)(steps + after.count), sizeof *all);

            PLAIT_TRY(plait_check_allocated(all, err));
            walk->tail[g * p->options + c] =
                (tail_steps){merge_steps(own, steps, after.step, after.count, all), all};
        }
        after = walk->tail[g * p->options];
    }
    return PLAIT_OK;
}

static void sum_after(pack_walk *walk)
{
    const int groups = walk->problem->groups;

    walk->after_s[groups] = walk->after_bytes[groups] = walk->min_bytes[groups] = 0.0;
    for (int g = groups - 1; g >= 0; g--) {
        const double layers = walk->problem->layers[g];
        const pack_option *const fastest = option_at(walk, g, 0);

        walk->after_s[g] = walk->after_s[g + 1] + layers * fastest->time_s;
        walk->after_bytes[g] = walk->after_bytes[g + 1] + layers * fastest->saved_bytes;
        walk->min_bytes[g] = walk->min_bytes[g + 1] + layers * smallest_of(walk, g)->saved_bytes;
    }
}

/*
 * Returns S.22, a lower bound of the seconds of `left` layers of group g, with options from c on,
 * and of the later groups. All layers start with their fastest option; steps are applied in order
 * of seconds per byte, the last one in part, until they fit. Infinite if the smallest options do
 * not fit.
 */
static double relaxed_s(const pack_walk *walk, int g, int c, int left, double room)
{
    const tail_steps *const tail = &walk->tail[g * walk->problem->options + c];
    const pack_option *const fastest = option_at(walk, g, c);
    double time_s = walk->after_s[g + 1] + left * fastest->time_s;
    double over = walk->after_bytes[g + 1] + left * fastest->saved_bytes - room;

    for (int i = 0; i < tail->count && over > 0.0; i++) {
        const saving_step *const step = &tail->step[i];
        const double layers = step->group == g ? left : walk->problem->layers[step->group];
        const double freed = layers * step->freed_bytes;

        if (freed >= over)
            return time_s + over * price_of(step);
        over -= freed;
        time_s += layers * step->extra_s;
    }
    return over > 0.0 ? HUGE_VAL : time_s;
}

// ---- branches ------------------------------------------------------------------------------

static void branch_on(pack_walk *walk, int g, int c, int left, double room, double time_s);

/* Records the counts of this branch as the best so far. */
static void take(pack_walk *walk, double time_s)
{
    const pack_problem *const p = walk->problem;

    walk->result->time_s = time_s;
    memset(walk->result->count, 0, (size_t)(p->groups * p->options) * sizeof *walk->result->count);
    for (int g = 0; g < p->groups; g++)
        for (int c = 0; c < walk->group[g].count; c++)
            walk->result->count[g * p->options + walk->group[g].index[c]] =
                walk->count[g * p->options + c];
}

/*
 * Sets option c for n layers of group g and branches on the rest. Returns the lower bound of the
 * branch.
 */
static double branch(pack_walk *walk, int g, int c, int n, int left, double room, double time_s)
{
    const bool last = c == walk->group[g].count - 1;
    const int next = last ? g + 1 : g;
    const pack_option *const option = option_at(walk, g, c);
    const double left_room = room - n * option->saved_bytes;
    const double so_far_s = time_s + n * option->time_s;
    const int rest =
        last ? (next < walk->problem->groups ? walk->problem->layers[next] : 0) : left - n;

    walk->count[g * walk->problem->options + c] = n;
    if (next == walk->problem->groups) {
        if (left_room >= 0.0 && so_far_s < walk->result->time_s)
            take(walk, so_far_s);
        return so_far_s;
    }
    const double bound_s = so_far_s + relaxed_s(walk, next, last ? 0 : c + 1, rest, left_room);
    if (bound_s < walk->result->time_s * (1.0 - 1e-12))
        branch_on(walk, next, last ? 0 : c + 1, rest, left_room, so_far_s);
    return bound_s;
}

/* Returns the most layers that can have option c if all others have the smallest option. */
static int most_layers(const pack_walk *walk, int g, int c, int left, double room)
{
    const pack_option *const option = option_at(walk, g, c);
    const pack_option *const smallest = smallest_of(walk, g);
    const double spare = room - walk->min_bytes[g + 1] - left * smallest->saved_bytes;
    const double most = floor(spare / (option->saved_bytes - smallest->saved_bytes));

    return most < left ? (int)fmax(0.0, most) : left;
}

/*
 * Branches on the number of layers of group g with option c, downwards from the most that fit. The
 * lower bound is convex in this number, so the loop ends when the bound rises and cannot win.
 */
static void branch_on(pack_walk *walk, int g, int c, int left, double room, double time_s)
{
    double before_s = HUGE_VAL;

    if (walk->problem->nodes > 0 && walk->nodes <= 0) {
        walk->result->proven = false;
        return;
    }
    walk->nodes--;
    walk->result->nodes++;
    if (c == walk->group[g].count - 1) {
        (void)branch(walk, g, c, left, left, room, time_s);
        return;
    }
    for (int n = most_layers(walk, g, c, left, room); n >= 0; n--) {
        const double least_s = branch(walk, g, c, n, left, room, time_s);

        if (least_s >= walk->result->time_s * (1.0 - 1e-12) && least_s >= before_s)
            break;
        before_s = least_s;
    }
    walk->count[g * walk->problem->options + c] = 0;
}

// ---- live bytes ----------------------------------------------------------------------------

static plait_status make_walk(pack_walk *walk, plait_arena *arena, plait_error *err)
{
    const size_t groups = (size_t)walk->problem->groups;
    const size_t all = groups * (size_t)walk->problem->options;
    int *const index = plait_arena_alloc(arena, all, sizeof *index);

    walk->group = plait_arena_alloc(arena, groups, sizeof *walk->group);
    walk->tail = plait_arena_alloc(arena, all, sizeof *walk->tail);
    walk->after_s = plait_arena_alloc(arena, groups + 1, sizeof *walk->after_s);
    walk->after_bytes = plait_arena_alloc(arena, groups + 1, sizeof *walk->after_bytes);
    walk->min_bytes = plait_arena_alloc(arena, groups + 1, sizeof *walk->min_bytes);
    walk->count = plait_arena_alloc(arena, all, sizeof *walk->count);
    if (!index || !walk->group || !walk->tail || !walk->after_s || !walk->after_bytes ||
        !walk->min_bytes || !walk->count)
        return plait_fail_nomem(err);
    for (size_t g = 0; g < groups; g++)
        walk->group[g].index = index + g * (size_t)walk->problem->options;
    return PLAIT_OK;
}

/* Finds the best choice whose options have at most live_bytes. */
static plait_status solve_under(pack_walk *walk, double live_bytes, plait_arena *arena,
                                plait_error *err)
{
    const pack_problem *const p = walk->problem;
    const double room = p->room_bytes - live_bytes;
    const plait_arena_mark mark = plait_arena_save(arena);

    for (int g = 0; g < p->groups; g++)
        if (!list_options(walk, g, live_bytes))
            return PLAIT_OK;
    sum_after(walk);
    walk->result->need_bytes = fmin(walk->result->need_bytes, live_bytes + walk->min_bytes[0]);
    PLAIT_TRY(fill_tails(walk, arena, err));
    const double bound_s = relaxed_s(walk, 0, 0, p->layers[0], room);
    walk->result->bound_s = fmin(walk->result->bound_s, bound_s);
    if (bound_s < walk->result->time_s * (1.0 - 1e-12)) {
        memset(walk->count, 0, (size_t)(p->groups * p->options) * sizeof *walk->count);
        walk->nodes = p->nodes;
        branch_on(walk, 0, 0, p->layers[0], room, 0.0);
    }
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}

/* Returns the next larger live_bytes of any option; infinite after the last. */
static double next_live(const pack_problem *p, double live_bytes)
{
    double next = HUGE_VAL;

    for (int i = 0; i < p->groups * p->options; i++)
        if (p->layers[i / p->options] > 0 && p->option[i].live_bytes > live_bytes)
            next = fmin(next, p->option[i].live_bytes);
    return next;
}

/* Returns the seconds without a memory limit, a lower bound of every choice. */
static double least_s(const pack_problem *p)
{
    double time_s = 0.0;

    for (int g = 0; g < p->groups; g++) {
        double fastest = HUGE_VAL;
        for (int c = 0; c < p->options; c++) {
            const pack_option *const option = &p->option[g * p->options + c];
            if (option->live_bytes < HUGE_VAL && option->time_s < fastest)
                fastest = option->time_s;
        }
        time_s += p->layers[g] * fastest;
    }
    return time_s;
}

plait_status pack_solve(const pack_problem *problem, plait_arena *arena, pack_result *result,
                        plait_error *err)
{
    const size_t all = (size_t)problem->groups * (size_t)problem->options;
    pack_walk walk = {.problem = problem, .result = result};

    *result = (pack_result){
        .proven = true, .time_s = problem->below_s, .bound_s = HUGE_VAL, .need_bytes = HUGE_VAL};
    result->count = plait_arena_alloc(arena, all, sizeof *result->count);
    PLAIT_TRY(plait_check_allocated(result->count, err));
    if (problem->groups == 0) { // the stage has only ends of the model
        result->need_bytes = problem->live_bytes;
        result->fits = problem->live_bytes <= problem->room_bytes && problem->below_s > 0.0;
        result->time_s = result->bound_s = result->fits ? 0.0 : problem->below_s;
        return PLAIT_OK;
    }
    const plait_arena_mark mark = plait_arena_save(arena);
    PLAIT_TRY(make_walk(&walk, arena, err));
    const double least = least_s(problem) * (1.0 + 1e-12);
    double live = problem->live_bytes;
    for (; live < HUGE_VAL && result->time_s > least; live = next_live(problem, live))
        PLAIT_TRY(solve_under(&walk, live, arena, err));
    plait_arena_rewind(arena, mark);
    result->fits = result->time_s < problem->below_s;
    if (result->proven)
        result->bound_s = result->time_s;
    return PLAIT_OK;
}
