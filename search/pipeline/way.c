/* way.c - chains of 1F1B and what follows them, compared and bounded (S.26) */
#include "search/pipeline/way.h"

#include <math.h>

stages_way way_begin(void)
{
    return (stages_way){.chain = plait_chain_begin()};
}

void way_pass(stages_way *way, const plait_degrees *d, int microbatches, plait_chunk_time time,
              const plait_stage_tail *tail)
{
    const bool bulk = d->grad_sync == PLAIT_SYNC_BULK;

    plait_chain_pass(&way->chain, d->pp, microbatches, time);
    way->tail.reduce_s =
        bulk ? way->tail.reduce_s + tail->reduce_s : fmax(way->tail.reduce_s, tail->reduce_s);
    way->tail.gather_s = fmax(way->tail.gather_s, tail->gather_s);
    way->tail.optimizer_s = fmax(way->tail.optimizer_s, tail->optimizer_s);
}

double way_tail_s(const stages_way *way)
{
    return way->tail.reduce_s + way->tail.gather_s + way->tail.optimizer_s;
}

bool way_within(const stages_way *one, const stages_way *other)
{
    const plait_chain *const a = &one->chain, *const b = &other->chain;

    return one->tail.reduce_s <= other->tail.reduce_s &&
           one->tail.gather_s <= other->tail.gather_s &&
           one->tail.optimizer_s <= other->tail.optimizer_s && a->both_s <= b->both_s &&
           a->rounds_s + a->both_s <= b->rounds_s + b->both_s && a->forward_s <= b->forward_s &&
           a->backward_s <= b->backward_s && a->with_there_s <= b->with_there_s &&
           a->with_back_s <= b->with_back_s && a->whole_s <= b->whole_s;
}

/* Its chains to the last stage, where nothing runs ahead; and all microbatches of the slowest to come. */
double way_least_s(const stages_way *way, int stages, int microbatches, double round_s,
                   double left_s)
{
    const plait_chain *const chain = &way->chain;
    const double even_s = stages > chain->stages ? microbatches * round_s + chain->both_s : 0.0;
    const double chain_s = fmax(chain->whole_s, chain->both_s + left_s +
                                                    fmax(chain->with_there_s, chain->with_back_s));

    return fmax(even_s, chain_s) + way_tail_s(way);
}
