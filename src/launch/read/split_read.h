/* split_read.h - chunks on their way in, as a split */
#pragma once

#include "plait/plan.h"

plait_split split_first_and_last(int first, int last);

/** Does the split of these degrees deal these chunks? */
bool split_deals(const plait_model *model, const plait_degrees *degrees, const plait_chunk *chunks);

/**
 * The split in words that deals these chunks, else the layout. `cost` is none of the words: software
 * that is told chunks does not weigh layers.
 *
 * @param model    its number of layers and modules is enough
 * @param degrees  pp and vpp are known
 * @param chunks   [pp * vpp]
 * @param layout   spells them; outlives the split
 * @param spread   whether the software can spread layers unevenly without a layout, as `spread` does
 */
plait_split split_of_chunks(const plait_model *model, const plait_degrees *degrees,
                            const plait_chunk *chunks, const char *layout, bool spread);
