/*
 * deepspeed_import.c - a plan out of DeepSpeed's JSON
 *
 * The file says batch, ZeRO, shards, number format and, by number_checkpoints, recomputation. All
 * three numbers of the batch together say how many data-parallel ranks there are, and so how many
 * GPUs. It does not say the model, the sequence length or the kernel of attention: these stay open.
 * A value "auto", which Hugging Face's Trainer fills in, counts as not given.
 *
 * What the engine has a section for and is not there is off: without tensor_parallel tp is 1. With a
 * `pipeline` section, stages are made by the training script: pp is open unless the section has it.
 */
#include <limits.h>

#include "json.h"
#include "target.h"
#include "text.h"

enum { OPEN = -1 };

/* OPEN: not given. */
typedef struct deepspeed_file {
    int train, micro, steps;
    int zero, mics, hpz, overlap;
    int fp16, bf16;
    int checkpoints, spread_checkpoints;
    int tp, pp, cp, ep;
    bool offload, quantized;
} deepspeed_file;

/* ---- values ---- */

/* "auto" is for somebody else to fill in. */
static plait_status find(const json_cursor *at, const char *key, json_cursor *child, bool *there,
                         plait_error *err)
{
    static const char *const filled_in[] = {"auto", NULL};
    int word;

    PLAIT_TRY(json_value_optional(at, key, child, err));
    *there = !json_is_null(child);
    if (!json_is_string(child))
        return PLAIT_OK;
    *there = false;
    return json_as_word(child, filled_in, &word, err);
}

static plait_status read_int(const json_cursor *at, const char *key, int min, int *out,
                             plait_error *err)
{
    json_cursor child;
    bool there;

    PLAIT_TRY(find(at, key, &child, &there, err));
    return there ? json_as_int(&child, min, 1 << 30, out, err) : PLAIT_OK;
}

static plait_status read_bool(const json_cursor *at, const char *key, int *out, plait_error *err)
{
    json_cursor child;
    bool there, value;

    PLAIT_TRY(find(at, key, &child, &there, err));
    if (!there)
        return PLAIT_OK;
    PLAIT_TRY(json_as_bool(&child, &value, err));
    *out = value;
    return PLAIT_OK;
}

/* A section's switch; off without the section. */
static plait_status read_enabled(const json_cursor *root, const char *section, int *out,
                                 plait_error *err)
{
    json_cursor at;

    PLAIT_TRY(json_object_optional(root, section, &at, err));
    *out = false;
    return json_is_null(&at) ? PLAIT_OK : read_bool(&at, "enabled", out, err);
}

/* ---- sections ---- */

static plait_status read_batch(const json_cursor *root, deepspeed_file *file, plait_error *err)
{
    PLAIT_TRY(read_int(root, "train_batch_size", 1, &file->train, err));
    PLAIT_TRY(read_int(root, "train_micro_batch_size_per_gpu", 1, &file->micro, err));
    return read_int(root, "gradient_accumulation_steps", 1, &file->steps, err);
}

static plait_status read_offload(const json_cursor *zero, const char *key, bool *out,
                                 plait_error *err)
{
    static const char *const devices[] = {"none", "cpu", "nvme", NULL};
    json_cursor at;
    int device = 0;

    PLAIT_TRY(json_object_optional(zero, key, &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(json_word_optional(&at, "device", devices, &device, err));
    *out = *out || device > 0;
    return PLAIT_OK;
}

static plait_status read_zero(const json_cursor *root, deepspeed_file *file, plait_error *err)
{
    int weights = false, gradients = false;
    json_cursor at;

    PLAIT_TRY(json_object_optional(root, "zero_optimization", &at, err));
    file->zero = 0;
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(read_int(&at, "stage", 0, &file->zero, err));
    if (file->zero > 3)
        return json_fail_key(&at, "stage", PLAIT_ERROR_RANGE, err, "expected 0 to 3, found %d",
                             file->zero);
    PLAIT_TRY(read_int(&at, "mics_shard_size", -1, &file->mics, err));
    PLAIT_TRY(read_int(&at, "zero_hpz_partition_size", 0, &file->hpz, err));
    PLAIT_TRY(read_bool(&at, "overlap_comm", &file->overlap, err));
    PLAIT_TRY(read_bool(&at, "zero_quantized_weights", &weights, err));
    PLAIT_TRY(read_bool(&at, "zero_quantized_gradients", &gradients, err));
    PLAIT_TRY(read_offload(&at, "offload_optimizer", &file->offload, err));
    PLAIT_TRY(read_offload(&at, "offload_param", &file->offload, err));
    file->quantized = weights == true || gradients == true;
    if (file->overlap == OPEN) // the engine's own default
        file->overlap = file->zero == 3;
    return PLAIT_OK;
}

static plait_status read_precision(const json_cursor *root, deepspeed_file *file, plait_error *err)
{
    PLAIT_TRY(read_enabled(root, "fp16", &file->fp16, err));
    PLAIT_TRY(read_enabled(root, "bf16", &file->bf16, err));
    if (file->fp16 == true && file->bf16 == true)
        return json_fail(root, PLAIT_ERROR_RANGE, err, "expected fp16 or bf16, found both");
    return PLAIT_OK;
}

static plait_status read_checkpointing(const json_cursor *root, deepspeed_file *file,
                                       plait_error *err)
{
    int divided = false, moved = false;
    json_cursor at;

    PLAIT_TRY(json_object_optional(root, "activation_checkpointing", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(read_int(&at, "number_checkpoints", 0, &file->checkpoints, err));
    PLAIT_TRY(read_bool(&at, "partition_activations", &divided, err));
    PLAIT_TRY(read_bool(&at, "cpu_checkpointing", &moved, err));
    file->spread_checkpoints = divided == true || moved == true;
    return PLAIT_OK;
}

/* A size in a section of its own, where 0 and 1 mean that there is none. */
static plait_status read_size(const json_cursor *root, const char *section, const char *key,
                              int *out, plait_error *err)
{
    json_cursor at;

    PLAIT_TRY(json_object_optional(root, section, &at, err));
    *out = 1;
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(read_int(&at, key, 0, out, err));
    *out = *out > 1 ? *out : 1;
    return PLAIT_OK;
}

static plait_status read_pipeline(const json_cursor *root, deepspeed_file *file, plait_error *err)
{
    json_cursor at;

    PLAIT_TRY(json_object_optional(root, "pipeline", &at, err));
    if (!json_is_null(&at))
        return read_int(&at, "stages", 1, &file->pp, err);
    file->pp = 1;
    return PLAIT_OK;
}

static plait_status read_parallelism(const json_cursor *root, deepspeed_file *file,
                                     plait_error *err)
{
    PLAIT_TRY(read_size(root, "tensor_parallel", "autotp_size", &file->tp, err));
    PLAIT_TRY(read_size(root, "expert_parallel", "autoep_size", &file->ep, err));
    PLAIT_TRY(read_pipeline(root, file, err));
    file->cp = 1;
    return read_int(root, "sequence_parallel_size", 1, &file->cp, err);
}

static plait_status read_file(const json_cursor *root, plait_arena *arena, void *out,
                              plait_error *err)
{
    deepspeed_file *const file = out;

    (void)arena;
    PLAIT_TRY(json_as_object(root, err));
    PLAIT_TRY(read_batch(root, file, err));
    PLAIT_TRY(read_zero(root, file, err));
    PLAIT_TRY(read_precision(root, file, err));
    PLAIT_TRY(read_checkpointing(root, file, err));
    return read_parallelism(root, file, err);
}

/* ---- the plan ---- */

static void give(plans_entry *out, const char *key, int *degree, int value)
{
    if (value == OPEN)
        return;
    *degree = value;
    out->given |= plans_key_bit(key);
}

static void give_byte(plans_entry *out, const char *key, unsigned char *degree, int value)
{
    *degree = (unsigned char)value;
    out->given |= plans_key_bit(key);
}

/* train = micro * steps * dp, exactly; OPEN where one of them is. */
static plait_status replicas_of(const deepspeed_file *file, const char *name, int *dp,
                                plait_error *err)
{
    int64_t ranks_batch;

    *dp = OPEN;
    if (file->train == OPEN || file->micro == OPEN || file->steps == OPEN)
        return PLAIT_OK;
    ranks_batch = (int64_t)file->micro * file->steps;
    if (file->train % ranks_batch != 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, name,
                          "expected train_batch_size to be a multiple of "
                          "train_micro_batch_size_per_gpu x gradient_accumulation_steps, found %d "
                          "and %d x %d",
                          file->train, file->micro, file->steps);
    *dp = (int)(file->train / ranks_batch);
    return PLAIT_OK;
}

static plait_status count_gpus(const deepspeed_file *file, int dp, plans_entry *out,
                               plait_error *err)
{
    const int sizes[] = {file->tp, file->pp, file->cp};
    int64_t gpus = dp;

    for (int i = 0; i < 3; i++) {
        if (gpus == OPEN || sizes[i] == OPEN)
            return PLAIT_OK;
        gpus *= sizes[i];
        if (gpus > 1 << 24)
            return plait_fail(err, PLAIT_ERROR_RANGE, out->where,
                              "expected at most 16777216 GPUs, found more");
    }
    out->gpus = (int)gpus;
    return PLAIT_OK;
}

static void give_shards(const deepspeed_file *file, int dp, plans_entry *out)
{
    if (file->zero == OPEN)
        return;
    give_byte(out, "zero", &out->degrees.zero, file->zero);
    if (file->zero == 3 && file->mics > 0)
        give(out, "shard_group", &out->degrees.shard_group, file->mics);
    else if (dp != OPEN)
        give(out, "shard_group", &out->degrees.shard_group, dp * file->cp);
    if (file->zero > 0 && file->overlap == true)
        give_byte(out, "grad_sync", &out->degrees.grad_sync, PLAIT_SYNC_BUCKETED);
}

static void give_recompute(const deepspeed_file *file, plans_entry *out)
{
    if (file->checkpoints == OPEN)
        return;
    out->degrees.recompute = (plait_recompute){
        .kind = file->checkpoints > 0 ? PLAIT_RECOMPUTE_FULL : PLAIT_RECOMPUTE_NONE};
    out->given |= plans_key_bit("recompute");
}

static void give_degrees(const deepspeed_file *file, int dp, plans_entry *out)
{
    plait_degrees *const d = &out->degrees;

    give(out, "tp", &d->tp, file->tp);
    give(out, "pp", &d->pp, file->pp);
    give(out, "cp", &d->cp, file->cp);
    give(out, "ep", &d->ep, file->ep);
    give(out, "dp", &d->dp, dp);
    give(out, "mbs", &d->mbs, file->micro);
    if (file->pp == 1) {
        give(out, "vpp", &d->vpp, 1);
        give_byte(out, "schedule", &d->schedule, PLAIT_1F1B);
    }
    if (file->cp > 1)
        give_byte(out, "cp_comm", &d->cp_comm, PLAIT_CP_A2A);
    give_shards(file, dp, out);
    give_recompute(file, out);
}

static const char *warn(const deepspeed_file *file, plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    if (file->offload)
        text_append(&out, "offloading to CPU or NVMe is not priced\n");
    if (file->quantized)
        text_append(&out, "quantized communication (ZeRO++) is not priced\n");
    if (file->hpz > 1)
        text_append_printf(&out,
                           "zero_hpz_partition_size %d: second copies of the weights are not "
                           "priced\n",
                           file->hpz);
    if (file->zero > 0 && file->overlap == false)
        text_append(&out, "overlap_comm is off; the profile prices it on\n");
    if (file->spread_checkpoints == true)
        text_append(&out, "activations divided over ranks or moved to CPU are not priced\n");
    return text_builder_finish(&out, NULL);
}

plait_status deepspeed_import(const char *text, size_t length, const char *name, plait_arena *arena,
                              plans_entry *out, const char **warning, plait_error *err)
{
    deepspeed_file file = {OPEN, OPEN, OPEN, OPEN, OPEN, OPEN, OPEN,  OPEN, OPEN,
                           OPEN, OPEN, OPEN, OPEN, OPEN, OPEN, false, false};
    int dp;

    *out = (plans_entry){
        .where = plait_arena_text(arena, name),
        .rank = 1,
        .runtime = "deepspeed",
        .precision = -1,
        .attention = -1,
        .degrees = plait_degrees_init(),
    };
    if (out->where == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(json_parse(text, length, name, read_file, arena, &file, err));
    PLAIT_TRY(replicas_of(&file, name, &dp, err));
    PLAIT_TRY(count_gpus(&file, dp, out, err));
    out->gbs = file.train != OPEN ? file.train : 0;
    if (file.bf16 == true || file.fp16 == true)
        out->precision = file.bf16 == true ? PLAIT_BF16 : PLAIT_FP16;
    give_degrees(&file, dp, out);
    *warning = warn(&file, arena);
    return *warning != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
