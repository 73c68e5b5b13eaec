/* plans_write.h - what plans.h reads, on its way out: the question, degrees, prices
 *
 * Each writes members into the object that the caller has begun, unless it says that it writes a
 * value.
 */
#pragma once

#include "io/json/json_write.h"
#include "plait/cost.h"
#include "io/plans/plans.h"

/** A document with one plan that may not be known in full; what is not known becomes null. */
plait_status plans_write(const plans_entry *entry, plait_arena *arena, const char **text,
                         size_t *length, plait_error *err) PLAIT_MUST_CHECK;

/** "plait", "model", "cluster" and "job", in full. */
void plans_write_question(json_writer *json, const plait_problem *problem);

/** Every key of a plan that is a choice or follows from the choices without a price. */
void plans_write_degrees(json_writer *json, const plait_problem *problem,
                         const plait_degrees *degrees);

/** "settings": what the runtime profile decides. */
void plans_write_settings(json_writer *json, const plait_problem *problem,
                          const plait_degrees *degrees);

/** "layers", "embedding", "loss", "mtp" of one chunk. */
void plans_write_chunk(json_writer *json, const plait_chunk *chunk);

/** A value: the word of what a layer recomputes. */
void plans_write_recompute(json_writer *json, plait_recompute recompute);

/** "recompute" of a stage: a word, or runs of layers; and what it offloads other than the plan. */
void plans_write_choices(json_writer *json, const plait_plan *plan, const plait_stage *stage);

/** One kind of communication; a value. */
void plans_write_volume(json_writer *json, const plait_volume *volume);
/** The member "memory": terms, and what is compared with what. */
void plans_write_memory(json_writer *json, const plait_memory *memory);

/** Totals, "time", "memory" and "communication". */
void plans_write_price(json_writer *json, const plait_cost *cost);
