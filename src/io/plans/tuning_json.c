/* tuning_json.c - reads and writes what a job trains, and the lengths of its documents */
#include "io/plans/tuning_json.h"

enum { MOST_RANK = 1 << 16, MOST_LENGTHS = 1 << 12 };

/* Reads a list of words as bits; a missing list leaves *out unchanged. */
static plait_status read_mask(const json_cursor *at, const char *key, const char *const *words,
                              int most, unsigned *out, plait_error *err)
{
    return json_has(at, key) ? json_mask(at, key, words, most, out, err) : PLAIT_OK;
}

plait_status tuning_read_json(const json_cursor *job, plait_tuning *out, plait_error *err)
{
    static const char *const keys[] = {
        "kind",      "rank",           "targets",           "format",         "frozen",
        "reference", "reference_time", "reference_weights", "reference_gpus", NULL};
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
    PLAIT_TRY(
        json_int_optional(&at, "reference_gpus", 1, PLAIT_MAX_GPUS, &out->reference_gpus, err));
    if ((reference == PLAIT_REFERENCE_APART) != (out->reference_gpus > 0))
        return json_fail(&at, PLAIT_ERROR_SCHEMA, err,
                         "expected reference_gpus with the reference apart, and only then");
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
    if (tuning->reference_gpus > 0)
        json_member_int64(json, "reference_gpus", tuning->reference_gpus);
    json_end_object(json);
}

// ---- lengths of documents ------------------------------------------------------------------

static plait_status read_numbers(const json_cursor *at, const char *key, int count,
                                 plait_arena *arena, const double **out, plait_error *err)
{
    double *const number = plait_arena_alloc(arena, (size_t)count, sizeof *number);
    json_cursor list, each;
    int i = 0;

    PLAIT_TRY(plait_check_allocated(number, err));
    PLAIT_TRY(json_array_optional(at, key, &list, err));
    for (bool more = json_first(&list, &each); more && i < count; more = json_next(&each))
        PLAIT_TRY(json_as_number(&each, JSON_POSITIVE, &number[i++], err));
    if (i < count || json_count(&list) != (size_t)count)
        return json_fail_key(at, key, PLAIT_ERROR_SCHEMA, err,
                             "expected %d numbers, as many as lengths", count);
    *out = number;
    return PLAIT_OK;
}

plait_status documents_read_json(const json_cursor *job, plait_arena *arena, plait_documents *out,
                                 plait_error *err)
{
    static const char *const keys[] = {"length", "share", "padded", "balanced", NULL};
    json_cursor at, lengths;

    PLAIT_TRY(json_object_optional(job, "documents", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(json_keys_among(&at, keys, err));
    PLAIT_TRY(json_array_optional(&at, "length", &lengths, err));
    const size_t count = json_is_null(&lengths) ? 0 : json_count(&lengths);
    if (count == 0 || count > MOST_LENGTHS)
        return json_fail_key(&at, "length", PLAIT_ERROR_SCHEMA, err,
                             "expected 1 to %d lengths of documents", MOST_LENGTHS);
    PLAIT_TRY(read_numbers(&at, "length", (int)count, arena, &out->length, err));
    PLAIT_TRY(read_numbers(&at, "share", (int)count, arena, &out->share, err));
    PLAIT_TRY(json_bool_optional(&at, "padded", &out->padded, err));
    PLAIT_TRY(json_bool_optional(&at, "balanced", &out->balanced, err));
    out->lengths = (int)count;
    return PLAIT_OK;
}

static void write_numbers(json_writer *json, const char *key, const double *number, int count)
{
    json_member_row(json, key);
    for (int i = 0; i < count; i++)
        json_write_number(json, number[i]);
    json_end_array(json);
}

void documents_write_json(json_writer *json, const plait_documents *documents)
{
    if (documents->lengths == 0)
        return;
    json_member_object(json, "documents");
    write_numbers(json, "length", documents->length, documents->lengths);
    write_numbers(json, "share", documents->share, documents->lengths);
    if (documents->padded)
        json_member_bool(json, "padded", true);
    if (documents->balanced)
        json_member_bool(json, "balanced", true);
    json_end_object(json);
}
