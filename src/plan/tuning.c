/* tuning.c - words of jobs, frozen parts and adapters */
#include "plait/tuning.h"

#include <stddef.h>

#define X(constant, word, what) word,
const char *const plait_job_name[PLAIT_JOB_KINDS + 1] = {PLAIT_JOB_LIST(X) NULL};
#undef X

#define X(constant, word) word,
const char *const plait_freeze_name[PLAIT_FREEZES + 1] = {PLAIT_FREEZE_LIST(X) NULL};
const char *const plait_lora_target_name[PLAIT_LORA_TARGETS + 1] = {PLAIT_LORA_TARGET_LIST(X) NULL};
#undef X

#define X(constant, word, bits) word,
const char *const plait_frozen_format_name[PLAIT_FROZEN_FORMATS + 1] = {PLAIT_FROZEN_FORMAT_LIST(X)
                                                                            NULL};
#undef X

double plait_frozen_format_bytes(plait_frozen_format format)
{
    static const double bits[PLAIT_FROZEN_FORMATS] = {
#define X(constant, word, bits) bits,
        PLAIT_FROZEN_FORMAT_LIST(X)
#undef X
    };

    return bits[format] / 8.0;
}

const char *const plait_reference_name[PLAIT_REFERENCES + 1] = {
    "none", "resident", "offloaded", "cached", "adapters", "apart", NULL};
