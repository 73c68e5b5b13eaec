/* tuning_json.h - the trained parameters and the data of a job, in a document of plans */
#pragma once

#include "io/json/json_tree.h"
#include "io/json/json_write.h"
#include "plait/problem.h"

/** Reads the member "tuning" of a job; a missing one leaves *out unchanged. */
PLAIT_MUST_CHECK plait_status tuning_read_json(const json_cursor *job, plait_tuning *out,
                                               plait_error *err);

/** Writes the member "tuning", unless all parameters are pre-trained. */
void tuning_write_json(json_writer *json, const plait_tuning *tuning);

/** Reads the member "documents" of a job; a missing one leaves *out unchanged. */
PLAIT_MUST_CHECK plait_status documents_read_json(const json_cursor *job, plait_arena *arena,
                                                  plait_documents *out, plait_error *err);

/** Writes the member "documents", unless lengths are unknown. */
void documents_write_json(json_writer *json, const plait_documents *documents);
