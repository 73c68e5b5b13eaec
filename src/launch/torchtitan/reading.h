/* reading.h - a config of torchtitan on its way to a plan */
#pragma once

#include "launch/torchtitan/torchtitan.h"

typedef struct titan_reading {
    const titan_pairs *pairs;
    const char *name;
    plans_entry *out;
    plans_entry notes; /* what the notes alone say */
    text_builder warning;
    bool toml;
    bool complete; /* what is not there has the client's usual value, not that of a function */
} titan_reading;

/** Add a sentence on what the file says and plait cannot price. */
void titan_warn(titan_reading *in, const char *sentence);

/** The text of a key, and the same without quotes; NULL: it is not there. */
const char *titan_find(const titan_reading *in, const char *key);
const char *titan_word_of(const titan_reading *in, const char *key);

/** An integer from -1 up, or a product of some; 0: the key is not there. */
PLAIT_MUST_CHECK plait_status titan_number_of(const titan_reading *in, const char *key, int64_t max,
                                              int64_t *out, plait_error *err);

/** Set a key of the plan, and remember that it is known. */
PLAIT_MUST_CHECK plait_status titan_set(titan_reading *in, const char *key, const char *value,
                                        plait_error *err);
PLAIT_MUST_CHECK plait_status titan_set_number(titan_reading *in, const char *key, int64_t value,
                                               plait_error *err);
bool titan_knows(const titan_reading *in, const char *key);

/** Schedule, chunks and split; the number of layers is in->out->model's, where it is known. */
PLAIT_MUST_CHECK plait_status titan_take_pipeline(titan_reading *in, plait_error *err);
