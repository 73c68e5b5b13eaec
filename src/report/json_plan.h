/*
 * json_plan.h - writes plans, and documents of plans, as JSON
 *
 * Scripts depend on the keys: add keys, but rename none. docs/reference/json.md explains each key,
 * and src/io/plans/plans.c reads documents written here and by src/io/plans/plans_write.c. A number
 * has the fewest digits that read back to the same value, so equal results give equal bytes.
 */
#pragma once

#include "io/json/json_write.h"
#include "report/report.h"

/** Writes one plan with its price. */
void json_plan_write(json_writer *json, const plait_problem *problem, const report_plan *plan);

/** Writes an object of all keys of a plan. */
void json_degrees_write(json_writer *json, const plait_degrees *degrees);

/** Writes degrees, time and memory of a plan that was not priced in full. */
void json_point_write(json_writer *json, const plait_problem *problem, const plait_ranked *point,
                      int rank);

/** Writes the document of `plait search --json`. */
void json_search(json_writer *json, const plait_problem *problem, const report_found *found);

/**
 * Writes the document of `plait eval --json`.
 *
 * @param way  [ways], as in report_eval()
 */
void json_eval(json_writer *json, const plait_problem *problem, const report_plan *plan,
               const plait_relaxation *way, int ways);

/** Writes the document of `plait explain --json`, which is that of eval and a member "explain". */
void json_explain(json_writer *json, const plait_problem *problem,
                  const report_explained *explained);
