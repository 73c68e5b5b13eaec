/* reading.h - a config of torchtitan that is being imported */
#pragma once

#include "launch/read/plan_reader.h"
#include "launch/torchtitan/torchtitan.h"

typedef struct titan_reading {
    const titan_pairs *pairs;
    const char *name;
    plans_entry *out;
    plans_entry notes; /* entries of the notes alone */
    text_builder *warnings;
    bool toml;
    bool complete; /* keys that are not given have torchtitan's defaults, not those of a function */
} titan_reading;

/** The text of a key, and the same without quotes; NULL: not given. */
const char *titan_find(const titan_reading *in, const char *key);
const char *titan_word_of(const titan_reading *in, const char *key);

/** An integer from -1 up, or a product of such; 0: not given. */
PLAIT_MUST_CHECK plait_status titan_number_of(const titan_reading *in, const char *key, int64_t max,
                                              int64_t *out, plait_error *err);

/** Set a key of the plan and mark it as known. */
PLAIT_MUST_CHECK plait_status titan_set(titan_reading *in, const char *key, const char *value,
                                        plait_error *err);
PLAIT_MUST_CHECK plait_status titan_set_number(titan_reading *in, const char *key, int64_t value,
                                               plait_error *err);
bool titan_is_known(const titan_reading *in, const char *key);

/** Set schedule, chunks and split; the number of layers is in->out->model's, if it is known. */
PLAIT_MUST_CHECK plait_status titan_take_pipeline(titan_reading *in, plait_error *err);
