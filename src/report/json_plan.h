/* json_plan.h - plans, and documents of plans, as JSON
 *
 * The keys are a promise to scripts: add to them, rename none. docs/reference/json.md explains each,
 * and src/io/plans/plans.c reads what is written here and in src/io/plans/plans_write.c. Numbers are
 * the shortest that read back the same, so the same answer gives the same bytes.
 */
#pragma once

#include "io/json/json_write.h"
#include "report/report.h"

/** One plan with everything that is known of it. */
void json_plan_write(json_writer *json, const plait_problem *problem, const report_plan *plan);

/** An object of all keys of a plan. */
void json_degrees_write(json_writer *json, const plait_degrees *degrees);

/** The member "stages" of a plan. */
void json_stages_write(json_writer *json, const plait_problem *problem, const report_plan *plan);

/** A point of the front: degrees, time and memory. */
void json_point_write(json_writer *json, const plait_problem *problem, const plait_ranked *point,
                      int rank);

/** The document of `plait search --json`. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status json_search(const plait_problem *problem, const report_found *found,
                                          plait_arena *arena, const char **text, size_t *length,
                                          plait_error *err);

/** The document of `plait eval --json`. @param way  [ways], as in report_eval */
PLAIT_MUST_CHECK plait_status json_eval(const plait_problem *problem, const report_plan *plan,
                                        const plait_relaxation *way, int ways, plait_arena *arena,
                                        const char **text, size_t *length, plait_error *err);

/** The document of `plait explain --json`: that of eval and a member "explain". */
PLAIT_MUST_CHECK plait_status json_explain(const plait_problem *problem,
                                           const report_explained *explained, plait_arena *arena,
                                           const char **text, size_t *length, plait_error *err);
