/* model_training.c - the block "training" of a plait model file: with what it was trained
 *
 *     "training": {"source": "...", "lr": 0.0003, "decay": "cosine", "warmup_steps": 2000}
 */
#include "io/model/model_training.h"

#include <math.h>

#include "io/json/fields.h"
#include "base/model_numbers.h"

const char *const plait_lr_decay_name[PLAIT_LR_DECAYS + 1] = {"unknown", "cosine", "linear",
                                                              "constant", NULL};
const char *const plait_balance_name[PLAIT_BALANCES + 1] = {"unknown",  "none",   "batch",
                                                            "sequence", "global", NULL};

#define NUMBER(name, member, kind, low, high, base)                                                \
    {name, JSON_##kind, .least = low, .most = high, .unit = base, FIELD_AT(plait_training, member)},

static const field training_fields[] = {TRAINING_NUMBERS(NUMBER){.key = NULL}};

static plait_status check_rates(const json_cursor *at, const plait_training *training,
                                plait_error *err)
{
    if (training->min_lr <= training->lr)
        return PLAIT_OK;
    return json_fail_key(at, "min_lr", PLAIT_ERROR_RANGE, err, "expected at most lr, %g, found %g",
                         training->lr, training->min_lr);
}

plait_status model_read_training(const json_cursor *model, plait_arena *arena, plait_training *out,
                                 plait_error *err)
{
    static const char *const also[] = {"decay", "balance", "weight_decay", NULL};
    int decay = PLAIT_LR_UNKNOWN, balance = PLAIT_BALANCE_UNKNOWN;
    json_cursor at;

    *out = (plait_training){0};
    PLAIT_TRY(json_object_optional(model, "training", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(fields_read(&at, training_fields, also, out, err));
    out->weight_decay = (double)NAN;
    PLAIT_TRY(json_number_optional(&at, "weight_decay", JSON_FRACTION, &out->weight_decay, err));
    PLAIT_TRY(json_string(&at, "source", arena, &out->source, err));
    PLAIT_TRY(json_word_optional(&at, "decay", plait_lr_decay_name, &decay, err));
    PLAIT_TRY(json_word_optional(&at, "balance", plait_balance_name, &balance, err));
    out->decay = (plait_lr_decay)decay;
    out->balance = (plait_balance)balance;
    return check_rates(&at, out, err);
}

void model_write_training(json_writer *json, const plait_training *training)
{
    if (training->source == NULL)
        return;
    json_write_key(json, "training");
    json_begin_object(json);
    json_member_string(json, "source", training->source);
    fields_write(json, training_fields, training);
    if (!isnan(training->weight_decay))
        json_member_number(json, "weight_decay", training->weight_decay);
    json_member_string(json, "decay", plait_lr_decay_name[training->decay]);
    json_member_string(json, "balance", plait_balance_name[training->balance]);
    json_end_object(json);
}
