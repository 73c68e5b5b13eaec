/* space_dispatch.c - which dispatcher a row has: the fastest */
#include <math.h>
#include <string.h>

#include "hash.h"
#include "plait/cost.h"
#include "plan_check.h"
#include "space_private.h"

/* Where nothing is sent a dispatcher is a word, the usual one if it may be. */
int space_fastest_dispatcher(const plan_space *space, plait_degrees d)
{
    const int usual =
        plait_keys[PLAIT_KEY_DISPATCHER].usual(space->problem, &d, PLAIT_KEY_DISPATCHER);
    double least_s = HUGE_VAL, least_sms = HUGE_VAL;
    int fastest = -1;

    for (int i = 0; i < space->dispatchers.count; i++) {
        d.dispatcher = (unsigned char)space->dispatchers.value[i];
        if (!plan_dispatcher_runs(space->problem, &d, &nobody_asks))
            continue;
        const double s = plait_dispatch_s(space->problem, &d);
        const double sms = s > 0.0 ? plait_dispatcher_sms((plait_dispatcher)d.dispatcher)
                                   : (double)(d.dispatcher != usual);
        if (s > least_s || (s == least_s && sms >= least_sms))
            continue;
        least_s = s;
        least_sms = sms;
        fastest = d.dispatcher;
    }
    return fastest;
}

// ---- remembered ------------------------------------------------------------------------------

/* All that the exchange of experts' tokens hangs on. No padding: it is compared whole. */
typedef struct dispatch_key {
    double tokens; /* of a rank and microbatch, before tp cuts them */
    int tp, sp, etp, ep, placement, known;
} dispatch_key;

typedef struct known_dispatch {
    dispatch_key key;
    int dispatcher;
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

int fastest_dispatcher_of(dispatch_memo *memo, const plan_space *space, const plait_degrees *row)
{
    const dispatch_key key = key_of(space, row);
    known_dispatch *const known = &memo->of[hash_of(&key) % DISPATCHES];

    if (memcmp(&known->key, &key, sizeof key) != 0)
        *known = (known_dispatch){key, space_fastest_dispatcher(space, *row)};
    return known->dispatcher;
}
