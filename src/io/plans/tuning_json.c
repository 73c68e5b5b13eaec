/* tuning_json.c - reads and writes what a job trains */
#include "io/plans/tuning_json.h"

enum { MOST_RANK = 1 << 16 };

/* Reads a list of words as bits; a missing list leaves *out unchanged. */
static plait_status read_mask(const json_cursor *at, const char *key, const char *const *words,
                              int most, unsigned *out, plait_error *err)
{
    return json_has(at, key) ? json_mask(at, key, words, most, out, err) : PLAIT_OK;
}

plait_status tuning_read_json(const json_cursor *job, plait_tuning *out, plait_error *err)
{
    static const char *const keys[] = {"kind",   "rank",      "targets",        "format",
                                       "frozen", "reference", "reference_time", "reference_weights",
                                       NULL};
    int kind = PLAIT_JOB_PRETRAIN, format = PLAIT_FROZEN_BF16, reference = PLAIT_REFERENCE_NONE;
    json_cursor at;

    PLAIT_TRY(json_object_optional(job, "tuning", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(json_keys_among(&at, keys, err));
    PLAIT_TRY(json_word(&at, "kind", plait_job_name, &kind, err));
    PLAIT_TRY(json_int_optional(&at, "rank", 0, MOST_RANK, &out->rank, err));
    PLAIT_TRY(
        read_mask(&at, "targets", plait_lora_target_name, PLAIT_LORA_TARGETS, &out->targets, err));
    PLAIT_TRY(json_word_optional(&at, "format", plait_frozen_format_name, &format, err));
    PLAIT_TRY(read_mask(&at, "frozen", plait_freeze_name, PLAIT_FREEZES, &out->frozen, err));
    PLAIT_TRY(json_word_optional(&at, "reference", plait_reference_name, &reference, err));
    PLAIT_TRY(
        json_number_optional(&at, "reference_time", JSON_POSITIVE, &out->reference_time, err));
    PLAIT_TRY(json_number_optional(&at, "reference_weights", JSON_POSITIVE, &out->reference_weights,
                                   err));
    out->kind = (plait_job_kind)kind;
    out->format = (plait_frozen_format)format;
    out->reference = (plait_reference)reference;
    return PLAIT_OK;
}

static void write_mask(json_writer *json, const char *key, const char *const *words, unsigned mask)
{
    if (mask == 0)
        return;
    json_member_row(json, key);
    for (int i = 0; words[i] != NULL; i++)
        if (mask >> i & 1u)
            json_write_string(json, words[i]);
    json_end_array(json);
}

void tuning_write_json(json_writer *json, const plait_tuning *tuning)
{
    if (tuning->kind == PLAIT_JOB_PRETRAIN && !plait_tuning_freezes(tuning))
        return;
    json_member_object(json, "tuning");
    json_member_string(json, "kind", plait_job_name[tuning->kind]);
    if (tuning->rank > 0) {
        json_member_int64(json, "rank", tuning->rank);
        write_mask(json, "targets", plait_lora_target_name, tuning->targets);
        json_member_string(json, "format", plait_frozen_format_name[tuning->format]);
    }
    write_mask(json, "frozen", plait_freeze_name, tuning->frozen);
    if (tuning->reference != PLAIT_REFERENCE_NONE)
        json_member_string(json, "reference", plait_reference_name[tuning->reference]);
    if (tuning->reference_time > 0.0)
        json_member_number(json, "reference_time", tuning->reference_time);
    if (tuning->reference_weights > 0.0)
        json_member_number(json, "reference_weights", tuning->reference_weights);
    json_end_object(json);
}
