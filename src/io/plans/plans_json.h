/*
 * plans_json.h - reading and writing the parts of a document of plans
 *
 * Unless its comment says "a value", a writer adds members to an object that the caller has begun.
 */
#pragma once

#include "io/json/json.h"
#include "io/json/json_write.h"
#include "io/plans/plans.h"
#include "plait/cost.h"

// ---- reading -----------------------------------------------------------------------------------

/**
 * Reads the members "model", "cluster" and "job" of a document. If a member is missing, its part of
 * *out stays unchanged.
 */
PLAIT_MUST_CHECK plait_status plans_read_question(const json_cursor *root, plait_arena *arena,
                                                  plans_entry *out, plait_error *err);

/** Reads the value of a plan's key at the cursor, a word or an integer, as text. */
PLAIT_MUST_CHECK plait_status plans_read_value(const json_cursor *at, plait_arena *arena,
                                               const char **text, plait_error *err);

/** Reads one key of a plan if the object has it. */
PLAIT_MUST_CHECK plait_status plans_read_key(const json_cursor *plan, plait_key_id key,
                                             plait_arena *arena, plait_degrees *degrees,
                                             plait_key_set *given, plait_error *err);

/** Reads the member "stages" of a plan; if it is missing, *out stays unchanged. */
PLAIT_MUST_CHECK plait_status plans_read_stages(const json_cursor *plan, plait_arena *arena,
                                                plans_entry *out, plait_error *err);

/** Reads the degrees and the stages of a plan; its prices are not read. */
PLAIT_MUST_CHECK plait_status plans_read_plan(const json_cursor *plan, plait_arena *arena,
                                              plans_entry *out, plait_error *err);

// ---- writing -----------------------------------------------------------------------------------

/** Writes a document with one plan. Keys without a value become null. */
plait_status plans_write(const plans_entry *entry, plait_arena *arena, const char **text,
                         size_t *length, plait_error *err) PLAIT_MUST_CHECK;

/** Writes "plait", "model", "cluster" and "job". */
void plans_write_question(json_writer *json, const plait_problem *problem);

/** Writes the keys of a plan that are choices, or that follow from choices without a price. */
void plans_write_degrees(json_writer *json, const plait_problem *problem,
                         const plait_degrees *degrees);

/** Writes "settings", the properties of the plan that follow from the runtime profile. */
void plans_write_settings(json_writer *json, const plait_problem *problem,
                          const plait_degrees *degrees);

/** Writes "layers", "embedding", "loss" and "mtp" of a chunk. */
void plans_write_chunk(json_writer *json, const plait_chunk *chunk);

/** Writes the recomputation of a layer, a value. */
void plans_write_recompute(json_writer *json, plait_recompute recompute);

/**
 * Writes "recompute" of a stage, as one word or as runs of layers, and the stage's other choices
 * that differ from the plan's.
 */
void plans_write_choices(json_writer *json, const plait_plan *plan, const plait_stage *stage);

/** Writes the volume of one kind of communication, a value. */
void plans_write_volume(json_writer *json, const plait_volume *volume);

/** Writes "memory": the terms, the peak and the capacity. */
void plans_write_memory(json_writer *json, const plait_memory *memory);

/** Writes the totals, "time", "memory" and "communication". */
void plans_write_price(json_writer *json, const plait_cost *cost);
