/* galvatron.h - Galvatron as a target: a strategy in JSON, and the YAML of a run
 *
 * As in PKU-DAIR/Hetu-Galvatron cea12ff (2026-06-16): the strategy is what its search engine writes and
 * galvatron/core/runtime/hybrid_parallel_config.py reads, a list with one number a layer for each choice;
 * what no strategy says (model, batch, precision, when gradients are reduced) is in the YAML of
 * args_schema.py. The reader of strategies looks keys up and lets others be, so that plait's own words
 * stand there under "plait".
 */
#pragma once

#include "launch/target.h"

/** strategy.json. */
PLAIT_MUST_CHECK plait_status galvatron_strategy(const plait_launch *launch, plait_arena *arena,
                                                 const char **out, plait_error *err);

/** train.yaml; NULL when out of memory. */
const char *galvatron_train(const plait_launch *launch, plait_arena *arena);

/** Is it a model of dense layers, or of experts in every layer? There is an entry for each. */
bool galvatron_is_dense(const plait_model *model);
