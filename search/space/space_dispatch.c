/*
 * space_dispatch.c - chooses the dispatchers of rows (S.79)
 *
 * Dispatchers differ only in the seconds of the exchange and in the SMs that they occupy. Ranks
 * wait for an exchange that is not overlapped, so only the fastest dispatcher is listed for it. In
 * pairs of microbatches the exchange can be hidden, and the occupied SMs matter too, so all
 * dispatchers are listed that no other one dominates in seconds and SMs.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "plait/cost.h"
#include "rules/plan_check.h"
#include "search/space/space_private.h"
#include "costmodel/api.h"
#include "plan/documents.h"

/* A dispatcher of the space that runs with the degrees. */
typedef struct candidate {
    int dispatcher;
    plait_exchange_use use;
} candidate;

static double waited_s(const candidate *c)
{
    return c->use.dispatch_s + c->use.combine_s;
}

/*
 * Orders dispatchers with equal times: fewer SMs first or, if nothing is sent, the default first.
 */
static double tie_break(const candidate *c, int usual)
{
    return waited_s(c) > 0.0 ? c->use.sms : (double)(c->dispatcher != usual);
}

/* Returns whether a dominates b. Among equal candidates the first one dominates. */
static bool dominates(const candidate *a, const candidate *b)
{
    const bool equal = a->use.dispatch_s == b->use.dispatch_s &&
                       a->use.combine_s == b->use.combine_s && a->use.sms == b->use.sms;

    return equal ? a < b
                 : a->use.dispatch_s <= b->use.dispatch_s && a->use.combine_s <= b->use.combine_s &&
                       a->use.sms <= b->use.sms;
}

static bool is_dominated(const candidate *c, int count, int i)
{
    for (int j = 0; j < count; j++)
        if (j != i && dominates(&c[j], &c[i]))
            return true;
    return false;
}

static row_dispatchers choose_dispatchers(const plan_space *space, const plait_degrees *row)
{
    const int usual = plait_key_default(space->problem, row, PLAIT_KEY_DISPATCHER);
    const int overlaps = space->ep_overlaps.count;
    const bool has_pairs =
        overlaps > 0 && space->ep_overlaps.value[overlaps - 1] != PLAIT_EP_OVERLAP_NONE;
    candidate c[PLAIT_DISPATCHERS];
    const candidate *fastest = NULL;
    row_dispatchers out = {.fastest = -1, .in_full_graphs = -1};
    plait_degrees d = *row;
    int count = 0;

    for (int i = 0; i < space->dispatchers.count; i++) {
        d.dispatcher = (unsigned char)space->dispatchers.value[i];
        if (plan_dispatcher_runs(space->problem, &d, &no_reason))
            c[count++] = (candidate){d.dispatcher, plait_exchange_use_of(space->problem, &d)};
    }
    for (int i = 0; i < count; i++)
        if (!fastest || waited_s(&c[i]) < waited_s(fastest) ||
            (waited_s(&c[i]) == waited_s(fastest) &&
             tie_break(&c[i], usual) < tie_break(fastest, usual)))
            fastest = &c[i];
    if (fastest)
        out.fastest = fastest->dispatcher;
    for (int i = 0; fastest && waited_s(fastest) > 0.0 && i < count; i++)
        if (&c[i] != fastest && c[i].dispatcher == PLAIT_DISPATCH_HYBRIDEP)
            out.in_full_graphs = c[i].dispatcher;
    for (int i = 0; fastest && waited_s(fastest) > 0.0 && has_pairs && i < count; i++)
        if (&c[i] != fastest && !is_dominated(c, count, i))
            out.in_pairs |= 1u << c[i].dispatcher;
    return out;
}

// ---- cache -----------------------------------------------------------------------------------

/* All inputs of an exchange. The struct has no padding, since it is compared by memcmp. */
typedef struct dispatch_key {
    double tokens; /* tokens of a rank and microbatch, before tp divides them */
    int tp, sp, etp, ep, placement, valid;
} dispatch_key;

typedef struct cached_dispatch {
    dispatch_key key;
    row_dispatchers dispatchers;
} cached_dispatch;

enum { DISPATCHES = 16384 }; /* size of the hash table, a power of two; each key has one slot */

struct dispatch_cache {
    cached_dispatch of[DISPATCHES];
};

dispatch_cache *dispatch_cache_new(plait_arena *arena)
{
    return plait_arena_alloc(arena, 1, sizeof(dispatch_cache));
}

row_dispatchers space_dispatchers_of(dispatch_cache *cache, const plan_space *space,
                                     const plait_degrees *row)
{
    const dispatch_key key = {.tokens = row->mbs * document_tokens(&space->problem->job, row->mbs) /
                                        row->cp,
                              .tp = row->tp,
                              .sp = row->sp,
                              .etp = row->etp,
                              .ep = row->ep,
                              .placement = row->placement,
                              .valid = true};
    const int words[] = {key.tp, key.sp, key.etp, key.ep, key.placement};
    uint64_t hash;

    memcpy(&hash, &key.tokens, sizeof hash);
    cached_dispatch *const cached =
        &cache->of[hash_ints(hash, words, sizeof words / sizeof *words) % DISPATCHES];

    if (memcmp(&cached->key, &key, sizeof key) != 0)
        *cached = (cached_dispatch){key, choose_dispatchers(space, row)};
    return cached->dispatchers;
}
