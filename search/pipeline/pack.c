/* pack.c - solves S.21 by branch and bound over counts, with the bounds of S.22 */
#include "search/pipeline/pack.h"

#include <math.h>
#include <string.h>

/*
 * Relative tolerance for rounding: a branch is pruned unless its bound is faster than the best
 * choice by more than this.
 */
static const double ROUNDING = 1e-12;

/*
 * The undominated options of one group under a limit of live bytes, in ascending order of time and
 * descending order of saved bytes.
 */
typedef struct group_options {
    int count;
    int *index; /* [count] indices into the options of the problem */
} group_options;

typedef struct pack_walk {
    const pack_problem *problem;
    pack_result *result;
    group_options *group; /* [groups] */
    double s_per_byte;    /* price of a byte of memory, in seconds (S.22) */
    double *least_s; /* [groups][options] least price of a layer with this option or a later one */
    double *after_s; /* [groups + 1] least price of all layers of groups g and later */
    double *fastest_s; /* [groups + 1] time of groups g and later with their fastest options */
    double *min_bytes; /* [groups + 1] bytes of groups g and later with their smallest options */
    int *count;        /* [groups][options] counts of the current branch */
    long nodes;        /* nodes left to visit */
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

/*
 * Lists the options of a group within the limit of live bytes, the fastest first, and keeps those
 * that save fewer bytes than all faster ones. Returns false if no option is left.
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
        for (; at > 0; at--) {
            const pack_option *const before = &option[out->index[at - 1]];
            if (option[c].time_s > before->time_s || (option[c].time_s == before->time_s &&
                                                      option[c].saved_bytes >= before->saved_bytes))
                break;
            out->index[at] = out->index[at - 1];
        }
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

// ---- the relaxation (S.22) -----------------------------------------------------------------

/*
 * Sets the price of a byte to that of the last move of the relaxation. All layers start with their
 * fastest option. They then move to other options in ascending order of seconds per freed byte,
 * until they fit.
 */
static void set_byte_price(pack_walk *walk, double room, int *at)
{
    const pack_problem *const p = walk->problem;
    double over = -room;

    walk->s_per_byte = 0.0;
    for (int g = 0; g < p->groups; g++) {
        over += p->layers[g] * option_at(walk, g, 0)->saved_bytes;
        at[g] = 0;
    }
    while (over > 0.0) {
        double best = HUGE_VAL;
        int group = -1, next = 0;
        for (int g = 0; g < p->groups; g++) {
            const pack_option *const from = option_at(walk, g, at[g]);
            for (int c = at[g] + 1; c < walk->group[g].count && p->layers[g] > 0; c++) {
                const pack_option *const to = option_at(walk, g, c);
                const double price =
                    (to->time_s - from->time_s) / (from->saved_bytes - to->saved_bytes);
                if (price <= best) {
                    best = price;
                    group = g;
                    next = c;
                }
            }
        }
        if (group < 0)
            return;
        over -= p->layers[group] * (option_at(walk, group, at[group])->saved_bytes -
                                    option_at(walk, group, next)->saved_bytes);
        walk->s_per_byte = best;
        at[group] = next;
    }
}

/*
 * Fills the sums over groups g and later. The price of a layer is its time plus its saved bytes at
 * the price of a byte.
 */
static void sum_groups(pack_walk *walk)
{
    const pack_problem *const p = walk->problem;

    for (int g = p->groups - 1; g >= 0; g--) {
        double *const least = &walk->least_s[g * p->options];
        for (int c = walk->group[g].count - 1; c >= 0; c--) {
            const pack_option *const one = option_at(walk, g, c);
            const double price_s = one->time_s + walk->s_per_byte * one->saved_bytes;
            least[c] = c + 1 < walk->group[g].count ? fmin(price_s, least[c + 1]) : price_s;
        }
        walk->after_s[g] = walk->after_s[g + 1] + p->layers[g] * least[0];
        walk->fastest_s[g] = walk->fastest_s[g + 1] + p->layers[g] * option_at(walk, g, 0)->time_s;
        walk->min_bytes[g] =
            walk->min_bytes[g + 1] + p->layers[g] * smallest_of(walk, g)->saved_bytes;
    }
}

/*
 * Returns a lower bound of the time of `left` layers of group g, with options c and later, and of
 * all later groups. Infinite if they do not fit even with the smallest options.
 */
static double relaxed_s(const pack_walk *walk, int g, int c, int left, double room)
{
    if (walk->min_bytes[g + 1] + left * smallest_of(walk, g)->saved_bytes > room)
        return HUGE_VAL;
    return fmax(walk->fastest_s[g + 1] + left * option_at(walk, g, c)->time_s,
                walk->after_s[g + 1] + left * walk->least_s[g * walk->problem->options + c] -
                    walk->s_per_byte * room);
}

// ---- branches ------------------------------------------------------------------------------

static void branch_on(pack_walk *walk, int g, int c, int left, double room, double time_s);

/*
 * Assigns option c to n layers of group g and branches on the rest. Returns the lower bound of the
 * branch.
 */
static double branch(pack_walk *walk, int g, int c, int n, int left, double room, double time_s)
{
    const pack_problem *const p = walk->problem;
    pack_result *const best = walk->result;
    const bool last = c == walk->group[g].count - 1;
    const int next = last ? g + 1 : g;
    const pack_option *const option = option_at(walk, g, c);
    const double left_room = room - n * option->saved_bytes;
    const double so_far_s = time_s + n * option->time_s;

    walk->count[g * p->options + c] = n;
    if (next < p->groups) {
        const int rest = last ? p->layers[next] : left - n;
        const double bound_s = so_far_s + relaxed_s(walk, next, last ? 0 : c + 1, rest, left_room);
        if (bound_s < best->time_s * (1.0 - ROUNDING))
            branch_on(walk, next, last ? 0 : c + 1, rest, left_room, so_far_s);
        return bound_s;
    }
    if (left_room < 0.0 || so_far_s >= best->time_s)
        return so_far_s;
    best->time_s = so_far_s;
    memset(best->count, 0, (size_t)(p->groups * p->options) * sizeof *best->count);
    for (int h = 0; h < p->groups; h++)
        for (int i = 0; i < walk->group[h].count; i++)
            best->count[h * p->options + walk->group[h].index[i]] = walk->count[h * p->options + i];
    return so_far_s;
}

/*
 * Branches on the number of layers of group g with option c, downwards from the most that fit if
 * all other layers have the smallest option. The lower bound is convex in this number, so the loop
 * ends when the bound rises and is not below the best choice.
 */
static void branch_on(pack_walk *walk, int g, int c, int left, double room, double time_s)
{
    const pack_option *const option = option_at(walk, g, c);
    const pack_option *const smallest = smallest_of(walk, g);
    const double spare = room - walk->min_bytes[g + 1] - left * smallest->saved_bytes;
    double before_s = HUGE_VAL;

    if (walk->problem->nodes > 0 && walk->nodes <= 0) {
        walk->result->proven = false;
        return;
    }
    walk->nodes--;
    walk->result->nodes++;
    if (option == smallest) {
        (void)branch(walk, g, c, left, left, room, time_s);
        return;
    }
    const double most = floor(spare / (option->saved_bytes - smallest->saved_bytes));
    for (int n = most < left ? (int)fmax(0.0, most) : left; n >= 0; n--) {
        const double least_s = branch(walk, g, c, n, left, room, time_s);

        if (least_s >= walk->result->time_s * (1.0 - ROUNDING) && least_s >= before_s)
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
    double *const sums = plait_arena_alloc(arena, 3 * (groups + 1), sizeof *sums);

    walk->group = plait_arena_alloc(arena, groups, sizeof *walk->group);
    walk->least_s = plait_arena_alloc(arena, all, sizeof *walk->least_s);
    walk->count = plait_arena_alloc(arena, all, sizeof *walk->count);
    if (!index || !sums || !walk->group || !walk->least_s || !walk->count)
        return plait_fail_nomem(err);
    walk->after_s = sums;
    walk->fastest_s = sums + groups + 1;
    walk->min_bytes = sums + 2 * (groups + 1);
    for (size_t g = 0; g < groups; g++)
        walk->group[g].index = index + g * (size_t)walk->problem->options;
    return PLAIT_OK;
}

/* Finds the best choice whose options have at most live_bytes of live bytes. */
static void solve_under(pack_walk *walk, double live_bytes)
{
    const pack_problem *const p = walk->problem;
    const double room = p->room_bytes - live_bytes;
    pack_result *const best = walk->result;

    for (int g = 0; g < p->groups; g++)
        if (!list_options(walk, g, live_bytes))
            return;
    set_byte_price(walk, room, walk->count);
    sum_groups(walk);
    best->need_bytes = fmin(best->need_bytes, live_bytes + walk->min_bytes[0]);
    const double bound_s = relaxed_s(walk, 0, 0, p->layers[0], room);
    best->bound_s = fmin(best->bound_s, bound_s);
    if (bound_s < best->time_s * (1.0 - ROUNDING)) {
        memset(walk->count, 0, (size_t)(p->groups * p->options) * sizeof *walk->count);
        walk->nodes = p->nodes;
        branch_on(walk, 0, 0, p->layers[0], room, 0.0);
    }
}

plait_status pack_solve(const pack_problem *problem, plait_arena *arena, pack_result *result,
                        plait_error *err)
{
    const size_t all = (size_t)problem->groups * (size_t)problem->options;
    pack_walk walk = {.problem = problem, .result = result};
    double least_s = 0.0; // time of all layers with their fastest options, a lower bound

    *result = (pack_result){
        .proven = true, .time_s = problem->below_s, .bound_s = HUGE_VAL, .need_bytes = HUGE_VAL};
    result->count = plait_arena_alloc(arena, all, sizeof *result->count);
    PLAIT_TRY(plait_check_allocated(result->count, err));
    if (problem->groups == 0) { // the stage has no layers, only ends of the model
        result->need_bytes = problem->live_bytes;
        result->fits = problem->live_bytes <= problem->room_bytes && problem->below_s > 0.0;
        result->time_s = result->bound_s = result->fits ? 0.0 : problem->below_s;
        return PLAIT_OK;
    }
    const plait_arena_mark mark = plait_arena_save(arena);
    PLAIT_TRY(make_walk(&walk, arena, err));
    for (int g = 0; g < problem->groups; g++) {
        double fastest_s = HUGE_VAL;
        for (int c = 0; c < problem->options; c++) {
            const pack_option *const option = &problem->option[g * problem->options + c];
            if (option->live_bytes < HUGE_VAL && option->time_s < fastest_s)
                fastest_s = option->time_s;
        }
        least_s += problem->layers[g] * fastest_s;
    }
    for (double live = problem->live_bytes, next;
         live < HUGE_VAL && result->time_s > least_s * (1.0 + ROUNDING); live = next) {
        solve_under(&walk, live);
        next = HUGE_VAL; // the next larger number of live bytes of any option
        for (size_t i = 0; i < all; i++)
            if (problem->layers[i / (size_t)problem->options] > 0 &&
                problem->option[i].live_bytes > live)
                next = fmin(next, problem->option[i].live_bytes);
    }
    plait_arena_rewind(arena, mark);
    result->fits = result->time_s < problem->below_s;
    if (result->proven)
        result->bound_s = result->time_s;
    return PLAIT_OK;
}
