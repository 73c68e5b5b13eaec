/* split_read.c - chunks on their way in, as a split */
#include "launch/read/split_read.h"

#include "base/saturating.h"
#include "plan/layout.h"

plait_split split_first_and_last(int first, int last)
{
    return (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST,
                         .first = (unsigned short)first,
                         .last = (unsigned short)last};
}

bool split_deals(const plait_model *model, const plait_degrees *d, const plait_chunk *chunks)
{
    plait_chunk dealt[PLAIT_MAX_LAYERS];
    const int chunk_count = product(d->pp, d->vpp);
    int same = 0;

    if ((d->split.kind == PLAIT_SPLIT_COST && model->kinds == 0) ||
        !plait_chunks_of(model, d, dealt))
        return false;
    while (same < chunk_count && chunk_same(&dealt[same], &chunks[same]))
        same++;
    return same == chunk_count;
}

plait_split split_of_chunks(const plait_model *model, const plait_degrees *degrees,
                            const plait_chunk *chunks, const char *layout, bool spread)
{
    static const plait_split_kind kinds[] = {PLAIT_SPLIT_EVEN,      PLAIT_SPLIT_SPREAD,
                                             PLAIT_SPLIT_EMBEDDING, PLAIT_SPLIT_LOSS,
                                             PLAIT_SPLIT_BOTH,      PLAIT_SPLIT_FIRST_LAST};
    plait_degrees d = *degrees;
    int layers[2] = {0, 0}; // of the first stage and of the last

    for (int v = 0; v < d.vpp; v++)
        for (int end = 0; end < 2; end++) {
            const plait_chunk *const chunk = &chunks[v * d.pp + end * (d.pp - 1)];
            layers[end] += chunk->last - chunk->first;
        }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        d.split = kinds[k] == PLAIT_SPLIT_FIRST_LAST
                      ? split_first_and_last(layers[0], layers[1])
                      : (plait_split){.kind = (unsigned char)kinds[k]};
        if ((spread || kinds[k] != PLAIT_SPLIT_SPREAD) && split_deals(model, &d, chunks))
            return d.split;
    }
    return (plait_split){.kind = PLAIT_SPLIT_LAYOUT, .layout = layout};
}
