/* report_validate.h - prints measured runs next to predictions, as text and as JSON */
#pragma once

#include <stdio.h>

#include "io/json/json_write.h"
#include "plait/validate.h"

/**
 * Prints the errors of the step time grouped by one key, the ranking of sweeps, memory, the
 * prediction of running out of memory, the worst rows, and the reasons why rows have no price.
 */
PLAIT_MUST_CHECK plait_status report_validation(const plait_validation *validation,
                                                plait_run_key by, FILE *out, plait_error *err);

enum { REPORT_TERMS_SIZE = 400 };

/**
 * Writes the keys that distinguish plans: "tp 2 pp 4 dp 8 mbs 1 zero 1, none, flash2". Returns
 * `text`.
 */
const char *report_run_plan(const plait_run_price *price, char text[REPORT_TERMS_SIZE]);

/**
 * Writes the keys of a recommended plan whose values differ from those of software without the
 * feature. Returns `text`, or another text if no plan fits.
 */
const char *report_promised_plan(const plait_promise *promise, char text[REPORT_TERMS_SIZE]);

/** Writes the largest terms of a step: "matmul 61 %, bubble 8 %". Returns `text`. */
const char *report_run_terms(const plait_cost *cost, char text[REPORT_TERMS_SIZE]);

/** Prints the errors of each source when the constants are fitted without that source. */
PLAIT_MUST_CHECK plait_status report_left_out(const plait_evidence *evidence, FILE *out,
                                              plait_arena *arena, plait_error *err);

/** Writes the document of `plait validate --json`. */
void json_validation(json_writer *json, const plait_validation *validation);

/** Prints the predictions of post-training runs, and their errors. */
PLAIT_MUST_CHECK plait_status report_post_validation(const plait_post_validation *validation,
                                                     FILE *out, plait_error *err);

/** Writes the document of `plait validate --post-training --json`. */
void json_post_validation(json_writer *json, const plait_post_validation *validation);
