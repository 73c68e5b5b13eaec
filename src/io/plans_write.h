/* plans_write.h - a plan and its question as JSON, as far as they are known
 *
 * What is not known becomes null; src/io/plans.c reads it back.
 */
#ifndef PLANS_WRITE_H
#define PLANS_WRITE_H

#include "json_write.h"
#include "plans.h"

/** A plan of a question that is known in full. */
plans_entry plans_entry_of(const plait_problem *problem, const plait_degrees *degrees);

/** The members of a PLAN that are choices or follow from them without a price: "tp" to "order". */
void plans_write_degrees(json_writer *json, const plans_entry *entry);

/** The value of "job". */
void plans_write_job(json_writer *json, const plans_entry *entry);

/** A document with this plan alone. *text lives in `arena`. */
plait_status plans_write(const plans_entry *entry, plait_arena *arena, const char **text,
                         size_t *length, plait_error *err) PLAIT_MUST_CHECK;

#endif
