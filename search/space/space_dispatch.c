/*
 * space_dispatch.c - which dispatchers rows have: the fastest, and in pairs those that leave more SMs
 *
 * By itself an exchange is waited for, so that of dispatchers, which differ in nothing else, the fastest
 * stands for all. Beside another microbatch it may be hidden, and then what counts is also the SMs that it
 * takes: there each stands that no other beats in both. (S.79)
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "plait/cost.h"
#include "rules/plan_check.h"
#include "search/space/space_private.h"

/* One that runs, of those that rows choose from. */
typedef struct candidate {
    int dispatcher;
    plait_exchange_use use;
} candidate;

static double waited_s(const candidate *c)
{
    return c->use.dispatch_s + c->use.combine_s;
}

static int list_candidates(const plan_space *space, plait_degrees d,
                           candidate out[PLAIT_DISPATCHERS])
{
    int count = 0;

    for (int i = 0; i < space->dispatchers.count; i++) {
        d.dispatcher = (unsigned char)space->dispatchers.value[i];
        if (plan_dispatcher_runs(space->problem, &d, &nobody_asks))
            out[count++] = (candidate){d.dispatcher, plait_exchange_use_of(space->problem, &d)};
    }
    return count;
}

/* Where nothing is sent a dispatcher is a word, the usual one if it may be. */
static double costs_beside(const candidate *c, int usual)
{
    return waited_s(c) > 0.0 ? c->use.sms : (double)(c->dispatcher != usual);
}

/* The fastest, of alike ones that which takes fewest SMs. */
static const candidate *fastest_of(const candidate *c, int count, int usual)
{
    const candidate *fastest = NULL;

    for (int i = 0; i < count; i++)
        if (!fastest || waited_s(&c[i]) < waited_s(fastest) ||
            (waited_s(&c[i]) == waited_s(fastest) &&
             costs_beside(&c[i], usual) < costs_beside(fastest, usual)))
            fastest = &c[i];
    return fastest;
}

/* Of alike ones the first in the list stands for both. */
static bool beats(const candidate *a, const candidate *b)
{
    const bool alike = a->use.dispatch_s == b->use.dispatch_s &&
                       a->use.combine_s == b->use.combine_s && a->use.sms == b->use.sms;

    return alike ? a < b
                 : a->use.dispatch_s <= b->use.dispatch_s && a->use.combine_s <= b->use.combine_s &&
                       a->use.sms <= b->use.sms;
}

static bool is_beaten(const candidate *c, int count, int i)
{
    for (int j = 0; j < count; j++)
        if (j != i && beats(&c[j], &c[i]))
            return true;
    return false;
}

static bool knows_pairs(const plan_space *space)
{
    const int overlaps = space->ep_overlaps.count;

    return overlaps > 0 && space->ep_overlaps.value[overlaps - 1] != PLAIT_EP_OVERLAP_NONE;
}

static row_dispatchers choose(const plan_space *space, const plait_degrees *row)
{
    const int usual =
        plait_keys[PLAIT_KEY_DISPATCHER].usual(space->problem, row, PLAIT_KEY_DISPATCHER);
    candidate c[PLAIT_DISPATCHERS];
    const int count = list_candidates(space, *row, c);
    const candidate *const fastest = fastest_of(c, count, usual);
    row_dispatchers out = {.fastest = fastest ? fastest->dispatcher : -1};

    for (int i = 0; fastest && waited_s(fastest) > 0.0 && knows_pairs(space) && i < count; i++)
        if (&c[i] != fastest && !is_beaten(c, count, i))
            out.in_pairs |= 1u << c[i].dispatcher;
    return out;
}

// ---- remembered ------------------------------------------------------------------------------

/* All that the exchange of experts' tokens hangs on. No padding: it is compared whole. */
typedef struct dispatch_key {
    double tokens; /* of a rank and microbatch, before tp cuts them */
    int tp, sp, etp, ep, placement, known;
} dispatch_key;

typedef struct known_dispatch {
    dispatch_key key;
    row_dispatchers dispatchers;
} known_dispatch;

enum { DISPATCHES = 4096 }; /* a power of two; a key has one place */

struct dispatch_memo {
    known_dispatch of[DISPATCHES];
};

dispatch_memo *dispatch_memo_new(plait_arena *arena)
{
    return plait_arena_alloc(arena, 1, sizeof(dispatch_memo));
}

static dispatch_key key_of(const plan_space *space, const plait_degrees *d)
{
    return (dispatch_key){(double)d->mbs * space->problem->job.seq / d->cp,
                          d->tp,
                          d->sp,
                          d->etp,
                          d->ep,
                          d->placement,
                          true};
}

static uint64_t hash_of(const dispatch_key *key)
{
    const int words[] = {key->tp, key->sp, key->etp, key->ep, key->placement};
    uint64_t hash;

    memcpy(&hash, &key->tokens, sizeof hash);
    return hash_ints(hash, words, sizeof words / sizeof *words);
}

row_dispatchers space_dispatchers_of(dispatch_memo *memo, const plan_space *space,
                                     const plait_degrees *row)
{
    const dispatch_key key = key_of(space, row);
    known_dispatch *const known = &memo->of[hash_of(&key) % DISPATCHES];

    if (memcmp(&known->key, &key, sizeof key) != 0)
        *known = (known_dispatch){key, choose(space, row)};
    return known->dispatchers;
}
