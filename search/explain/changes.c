/*
 * changes.c - the fewest changes to a plan that make it faster (S.97)
 *
 * A move frees one key and the keys that depend on it; all other keys keep their values. A separate
 * search runs for every move and every pair of moves. The results are sorted by their number of
 * changed keys.
 */
#include <stdio.h>
#include <string.h>

#include "plan/problem_check.h"
#include "search/exhaustive/exhaustive.h"
#include "plan/ranges.h"

typedef struct plan_move {
    plait_key_id key;
    plait_key_set follow; /* keys that a change of `key` can require to change */
} plan_move;

#define BIT(key) PLAIT_KEY_BIT(PLAIT_KEY_##key)

static const plan_move moves[] = {
    {PLAIT_KEY_TP, BIT(SP) | BIT(ETP) | BIT(TP_COMM_OVERLAP)},
    {PLAIT_KEY_PP, BIT(VPP) | BIT(SCHEDULE) | BIT(SPLIT)},
    {PLAIT_KEY_VPP, BIT(SCHEDULE) | BIT(SPLIT)},
    {PLAIT_KEY_CP, BIT(CP_COMM)},
    {PLAIT_KEY_EP, BIT(ETP) | BIT(DISPATCHER)},
    {PLAIT_KEY_ZERO, BIT(RESHARD) | BIT(SCATTER)},
    {PLAIT_KEY_MBS, 0},
    {PLAIT_KEY_RECOMPUTE, 0},
    {PLAIT_KEY_ATTENTION, 0},
    {PLAIT_KEY_OFFLOAD_ACTS, 0},
    {PLAIT_KEY_SCHEDULE, BIT(VPP) | BIT(SPLIT)},
    {PLAIT_KEY_GRAD_SYNC, 0},
    {PLAIT_KEY_DISPATCHER, BIT(EP_OVERLAP)},
    {PLAIT_KEY_SHARD_GROUP, 0},
    {PLAIT_KEY_SPLIT, 0},
};

enum { MOVES = sizeof moves / sizeof *moves };

/*
 * Keys that every move frees: dp follows from the other degrees, and so does a shard group over all
 * of dp.
 */
static const plait_key_set always_free = BIT(DP) | BIT(SHARD_GROUP);

static plait_key_set freed_by(const plan_move *move)
{
    return PLAIT_KEY_BIT(move->key) | move->follow;
}

static bool key_matters(const plait_problem *problem, const plait_degrees *d, int key)
{
    return plait_keys[key].matters == NULL || plait_keys[key].matters(problem, d);
}

static plait_key_set changed_keys(const plait_problem *problem, const plait_degrees *from,
                                  const plait_degrees *to)
{
    plait_key_set changed = 0;

    for (int key = 0; key < PLAIT_KEYS; key++)
        if (key != PLAIT_KEY_DP && !plait_key_same(from, to, (plait_key_id)key) &&
            (key_matters(problem, from, key) || key_matters(problem, to, key)))
            changed |= PLAIT_KEY_BIT(key);
    return changed;
}

static int keys_in(plait_key_set set)
{
    int count = 0;

    for (; set != 0; set &= set - 1)
        count++;
    return count;
}

static bool comes_before(const plait_change *a, const plait_change *b)
{
    return a->keys != b->keys ? a->keys < b->keys : a->best.objective < b->best.objective;
}

/* Inserts a change in order, unless an earlier move found the same change. */
static void insert_change(const plait_change *change, int most, plait_change *found, int *count)
{
    int at = *count < most ? *count : most - 1;

    for (int i = 0; i < *count; i++)
        if (found[i].changed == change->changed &&
            found[i].best.price.step_s == change->best.price.step_s)
            return;
    if (*count == most && !comes_before(change, &found[most - 1]))
        return;
    *count += *count < most;
    for (; at > 0 && comes_before(change, &found[at - 1]); at--)
        found[at] = found[at - 1];
    found[at] = *change;
}

/*
 * Finds the best plan that differs from `from` only in the keys of `open`; *any is false if no such
 * plan is legal or fits. If `layouts` is true, irregular layouts are searched when no named split
 * is legal.
 */
static plait_status try_moves(const plait_problem *problem, const plait_search_options *options,
                              const plait_degrees *from, plait_key_set open, bool layouts,
                              plait_arena *arena, plait_change *out, bool *any, plait_error *err)
{
    plait_search_options one = *options;
    plait_search_result result;
    plait_error inner;

    *any = false;
    one.top = 1;
    one.distinct = 0;
    one.refine = PLAIT_REFINE_NONE;
    one.progress = NULL;
    // Add limits that keep all keys except those in `open`. A layout is not in the uniform space,
    // so a plan with a layout can get any split. Offload of activations and fusion are also kept if
    // they have no effect on `from`, so that the search does not turn them on.
    char value[PLAIT_VALUE_SIZE], limit[PLAIT_VALUE_SIZE + 40];

    for (int key = 0; key < PLAIT_KEYS; key++) {
        const bool none = key == PLAIT_KEY_OFFLOAD_ACTS || key == PLAIT_KEY_FUSION;
        const bool layout = key == PLAIT_KEY_SPLIT && from->split.kind == PLAIT_SPLIT_LAYOUT;

        if ((open & PLAIT_KEY_BIT(key)) || layout || !(none || key_matters(problem, from, key)))
            continue;
        plait_degrees_get(from, (plait_key_id)key, value, sizeof value);
        snprintf(limit, sizeof limit, "%s=%s", plait_keys[key].name, value);
        PLAIT_TRY(plait_search_limit(&one, limit, err));
    }
    plait_status status = plait_search(problem, &one, arena, &result, &inner);
    if (status == PLAIT_ERROR_RANGE && layouts) {
        one.refine = PLAIT_REFINE_LAYOUTS;
        status = plait_search(problem, &one, arena, &result, &inner);
    }
    if (status == PLAIT_ERROR_RANGE)
        return PLAIT_OK;
    if (status != PLAIT_OK)
        return plait_fail(err, status, inner.where, "%s", inner.message);
    if (result.plans == 0)
        return PLAIT_OK;
    *out = (plait_change){.best = result.plan[0],
                          .changed = changed_keys(problem, from, &result.plan[0].plan.degrees)};
    out->keys = keys_in(out->changed);
    *any = true;
    return PLAIT_OK;
}

plait_status plait_changes(const plait_problem *problem, const plait_search_options *options,
                           const plait_degrees *from, double below, int most, plait_arena *arena,
                           plait_change *found, int *count, plait_error *err)
{
    *count = 0;
    PLAIT_TRY(problem_check(problem, err));
    PLAIT_TRY(search_options_check(options, err));
    PLAIT_TRY(degrees_check_ranges(from, err));
    if (most < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "most", "expected at least 1, found %d", most);
    for (int a = 0; a < MOVES; a++)
        for (int b = 0; b <= a; b++) {
            const plait_key_set open = freed_by(&moves[a]) | freed_by(&moves[b]) | always_free;
            plait_change change;
            bool any;

            PLAIT_TRY(try_moves(problem, options, from, open, false, arena, &change, &any, err));
            if (any && change.keys > 0 && change.best.objective < below)
                insert_change(&change, most, found, count);
        }
    return PLAIT_OK;
}

// ---- repairs of a plan that cannot run -----------------------------------------------------

/* The plan to repair, and the list of repairs. */
typedef struct repair_search {
    const plait_problem *problem;
    plait_key_set given;
    plait_key_set fixed;  /* keys that no repair changes */
    plait_key_set chosen; /* keys that are always searched and do not count as changes */
    const plait_degrees *from;
    int most;
    plait_arena *arena;
    plait_change *found;
    int *count;
} repair_search;

/* Adds the best plan that differs only in the keys of `open`, if one runs and fits. */
static plait_status try_repair(const repair_search *w, plait_key_set open, plait_error *err)
{
    const bool layouts = (open & BIT(SPLIT)) != 0;
    plait_search_options options;
    plait_change change;
    bool any;

    if ((open & ~w->fixed) == 0)
        return PLAIT_OK;
    plait_search_options_init(&options);
    options.threads = 1;
    options.allow_numerics = (open & BIT(OFFLOAD)) != 0; // needed to search offload
    PLAIT_TRY(try_moves(w->problem, &options, w->from, (open | w->chosen | always_free) & ~w->fixed,
                        layouts, w->arena, &change, &any, err));
    if (!any)
        return PLAIT_OK;
    // A given value counts as changed even if its key has no effect.
    for (int key = 0; key < PLAIT_KEYS; key++)
        if ((w->given & PLAIT_KEY_BIT(key)) &&
            !plait_key_same(w->from, &change.best.plan.degrees, (plait_key_id)key))
            change.changed |= PLAIT_KEY_BIT(key);
    change.changed &= ~w->chosen;
    change.keys = keys_in(change.changed);
    if (change.keys > 0)
        insert_change(&change, w->most, w->found, w->count);
    return PLAIT_OK;
}

plait_status plait_ways_out(const plait_problem *problem, plait_key_set given, plait_key_set fixed,
                            const plait_degrees *from, int most, plait_arena *arena,
                            plait_change *found, int *count, plait_error *err)
{
    const plait_key_set offloaded = BIT(OFFLOAD) | BIT(ZERO); // offload of parameters needs ZeRO 3
    const repair_search w = {
        .problem = problem,
        .given = given & ~BIT(DP),
        .fixed = fixed,
        .chosen = (BIT(RECOMPUTE) | BIT(SPLIT)) & ~given,
        .from = from,
        .most = most,
        .arena = arena,
        .found = found,
        .count = count,
    };

    *count = 0;
    PLAIT_TRY(problem_check(problem, err));
    PLAIT_TRY(degrees_check_ranges(from, err));
    if (most < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "most", "expected at least 1, found %d", most);
    for (int key = 0; key < PLAIT_KEYS; key++)
        if (!(w.chosen & PLAIT_KEY_BIT(key)))
            PLAIT_TRY(try_repair(&w, PLAIT_KEY_BIT(key), err));
    PLAIT_TRY(try_repair(&w, offloaded, err));
    for (int a = 0; a < MOVES && *count == 0; a++)
        PLAIT_TRY(try_repair(&w, freed_by(&moves[a]), err));
    for (int a = 0; a < MOVES && *count == 0; a++)
        for (int b = 0; b < a; b++)
            PLAIT_TRY(try_repair(&w, freed_by(&moves[a]) | freed_by(&moves[b]), err));
    for (int a = 0; a < MOVES && *count == 0; a++)
        PLAIT_TRY(try_repair(&w, freed_by(&moves[a]) | offloaded, err));
    return PLAIT_OK;
}
