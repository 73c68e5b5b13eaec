/*
 * deepspeed_import.c - a plan out of DeepSpeed's JSON
 *
 * The file says batch, ZeRO, shards, number format and, by number_checkpoints, recomputation. All
 * three numbers of the batch together say how many data-parallel ranks there are, and so how many
 * GPUs; of two of them and the GPUs follows the third. It does not say the model, the sequence length or the kernel of attention: these stay open.
 */
#include <string.h>

#include "base/saturating.h"
#include "launch/trainer/deepspeed.h"
#include "launch/read/deepspeed_file.h"
#include "launch/target.h"

static void give(plans_entry *out, plait_key_id key, int value)
{
    if (value == DEEPSPEED_OPEN)
        return;
    plait_key_put(&out->degrees, key, value);
    out->given |= PLAIT_KEY_BIT(key);
}

/* train = micro * steps * dp, exactly; DEEPSPEED_OPEN where one of them is. */
static plait_status replicas_of(const deepspeed_file *file, const char *name, int *dp,
                                plait_error *err)
{
    int64_t ranks_batch;

    *dp = DEEPSPEED_OPEN;
    if (file->train == DEEPSPEED_OPEN || file->micro == DEEPSPEED_OPEN ||
        file->steps == DEEPSPEED_OPEN)
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
        if (gpus == DEEPSPEED_OPEN || sizes[i] == DEEPSPEED_OPEN)
            return PLAIT_OK;
        gpus *= sizes[i];
        if (gpus > PLAIT_MAX_GPUS)
            return plait_fail(err, PLAIT_ERROR_RANGE, out->where,
                              "expected at most %d GPUs, found more", PLAIT_MAX_GPUS);
    }
    out->gpus = (int)gpus;
    return PLAIT_OK;
}

static void give_shards(const deepspeed_file *file, int dp, plans_entry *out)
{
    if (file->zero == DEEPSPEED_OPEN)
        return;
    give(out, PLAIT_KEY_ZERO, file->zero);
    if (file->zero == 3 && file->mics > 0)
        give(out, PLAIT_KEY_SHARD_GROUP, file->mics);
    else if (dp != DEEPSPEED_OPEN)
        give(out, PLAIT_KEY_SHARD_GROUP, product(dp, file->cp));
    if (file->zero > 0 && file->overlap == true)
        give(out, PLAIT_KEY_GRAD_SYNC, PLAIT_SYNC_BUCKETED);
}

/* How gathered parameters and gradients travel under stage 3. */
static void give_traffic(const deepspeed_file *file, plans_entry *out)
{
    const int quantise = (file->weights == true ? PLAIT_QUANTISE_WEIGHTS : 0) +
                         (file->gradients == true ? PLAIT_QUANTISE_GRADIENTS : 0);

    give(out, PLAIT_KEY_RESHARD,
         file->zero < 3   ? PLAIT_RESHARD_ALWAYS
         : file->hpz > 1  ? PLAIT_RESHARD_NODE
         : file->lives_on ? PLAIT_RESHARD_NEVER
                          : PLAIT_RESHARD_ALWAYS);
    give(out, PLAIT_KEY_QUANTISE, file->zero < 3 ? PLAIT_QUANTISE_NONE : quantise);
    give(out, PLAIT_KEY_SCATTER, PLAIT_SCATTER_MICROBATCH);
}

static int offloaded_tenths(const deepspeed_file *file)
{
    return file->offload_optimizer ? (int)(10.0 * file->offload_ratio + 1e-9) : 0;
}

/* offload_param is of stage 3, and has a price with the optimizer on the host beside it. */
static bool offloads_params(const deepspeed_file *file)
{
    return file->offload_params && file->zero == 3 && offloaded_tenths(file) > 0;
}

static void give_offload(const deepspeed_file *file, plans_entry *out)
{
    const int tenths = offloaded_tenths(file);

    give(out, PLAIT_KEY_OFFLOAD,
         offloads_params(file) ? PLAIT_OFFLOAD_PARAMS
         : tenths > 0          ? PLAIT_OFFLOAD_GRADIENTS
                               : PLAIT_OFFLOAD_NONE);
    give(out, PLAIT_KEY_OFFLOAD_SHARE, tenths < 10 ? tenths : 0);
}

static void give_recompute(const deepspeed_file *file, plans_entry *out)
{
    if (file->checkpoints == DEEPSPEED_OPEN)
        return;
    out->degrees.recompute = (plait_recompute){
        .kind = file->checkpoints > 0 ? PLAIT_RECOMPUTE_FULL : PLAIT_RECOMPUTE_NONE};
    out->given |= PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE);
}

static void give_degrees(const deepspeed_file *file, int dp, plans_entry *out)
{

    give(out, PLAIT_KEY_TP, file->tp);
    give(out, PLAIT_KEY_PP, file->pp);
    give(out, PLAIT_KEY_CP, file->cp);
    give(out, PLAIT_KEY_EP, file->ep);
    give(out, PLAIT_KEY_DP, dp);
    give(out, PLAIT_KEY_MBS, file->micro);
    if (file->pp == 1) {
        give(out, PLAIT_KEY_VPP, 1);
        give(out, PLAIT_KEY_SCHEDULE, PLAIT_1F1B);
    }
    if (file->cp > 1)
        give(out, PLAIT_KEY_CP_COMM, PLAIT_CP_A2A);
    give_shards(file, dp, out);
    if (file->zero != DEEPSPEED_OPEN) {
        give_traffic(file, out);
        give_offload(file, out);
    }
    give_recompute(file, out);
}

/* Each sentence on a line of its own. */
static text_builder *line(text_builder *out)
{
    if (out->length > 0)
        text_append_char(out, '\n');
    return out;
}

static void warn(const deepspeed_file *file, text_builder *out)
{
    if (file->offload_params && !offloads_params(file))
        text_append(line(out), file->zero < 3
                                   ? "offload_param is of ZeRO 3 alone and taken as not given"
                                   : "offload_param without offload_optimizer is not priced: "
                                     "parameters are taken to stay on the device");
    if (file->offload_optimizer && 10.0 * file->offload_ratio - offloaded_tenths(file) > 1e-6)
        text_append_printf(line(out), "the ratio %g of offload_optimizer is priced as %g",
                           file->offload_ratio, offloaded_tenths(file) / 10.0);
    if (file->super_offload == true || file->zenflow)
        text_append_printf(line(out), "not priced, and taken as not given: %s%s%s",
                           file->super_offload == true ? "super_offload" : "",
                           file->super_offload == true && file->zenflow ? ", " : "",
                           file->zenflow ? "zenflow" : "");
    if (file->zero < 3 && (file->weights == true || file->gradients == true || file->hpz > 1))
        text_append(line(out), "ZeRO++ below stage 3 is not priced");
    if (file->zero == 3 && file->hpz > 1)
        text_append_printf(line(out), "zero_hpz_partition_size %d is priced as the GPUs of a node",
                           file->hpz);
    if (file->zero > 0 && file->overlap == false)
        text_append(line(out), "overlap_comm is off; the profile prices it on");
    if (file->spread_checkpoints == true)
        text_append(line(out), "activations divided over ranks or moved to CPU are not priced");
}

plait_status deepspeed_take_file(const deepspeed_file *file, const char *name,
                                 text_builder *warnings, plans_entry *out, plait_error *err)
{
    int dp;

    out->runtime = "deepspeed";
    if (file->nvme != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, name,
                          "/zero_optimization/%s/device: expected none or cpu, found nvme: plait "
                          "prices no offload to NVMe",
                          file->nvme);
    PLAIT_TRY(replicas_of(file, name, &dp, err));
    PLAIT_TRY(count_gpus(file, dp, out, err));
    out->gbs = file->train != DEEPSPEED_OPEN ? file->train : 0;
    if (file->bf16 == true || file->fp16 == true)
        out->precision = file->bf16 == true ? PLAIT_BF16 : PLAIT_FP16;
    give_degrees(file, dp, out);
    warn(file, warnings);
    return PLAIT_OK;
}

/* The engine's JSON begins with a brace; anything else is a script. */
static bool looks_like_json(const char *text, size_t length)
{
    size_t i = 0;

    while (i < length && strchr(" \t\r\n", text[i]) != NULL)
        i++;
    return i == length || text[i] == '{' || text[i] == '[';
}

/* The batch of all GPUs, where the file says that of one and its steps. */
static void take_batch(deepspeed_file *file, int gpus)
{
    const int known[] = {file->micro, file->steps, file->tp, file->pp, file->cp};

    if (file->train != DEEPSPEED_OPEN || gpus <= 0)
        return;
    for (int i = 0; i < 5; i++)
        if (known[i] == DEEPSPEED_OPEN || known[i] > PLAIT_MAX_GBS)
            return;
    const int ranks = product(product(file->tp, file->pp), file->cp);
    if (ranks == 0 || gpus % ranks != 0)
        return;
    const int64_t batch = (int64_t)product(file->micro, file->steps) * (gpus / ranks);
    file->train = batch > 0 && batch <= PLAIT_MAX_GBS ? (int)batch : DEEPSPEED_OPEN;
}

plait_status deepspeed_import(const char *text, size_t length, const char *name,
                              const launch_call *call, plait_arena *arena, plans_entry *out,
                              const char **warning, plait_error *err)
{
    deepspeed_file file;
    text_builder warnings;

    *out = plans_unknown(name);
    if (!looks_like_json(text, length))
        return deepspeed_script_import(text, length, name, call, arena, out, warning, err);
    text_builder_init(&warnings, arena);
    PLAIT_TRY(deepspeed_file_parse(text, length, name, arena, &file, err));
    take_batch(&file, call != NULL ? call->gpus : 0);
    PLAIT_TRY(deepspeed_take_file(&file, name, &warnings, out, err));
    if (file.train == DEEPSPEED_OPEN && file.steps > 1)
        text_append_printf(line(&warnings),
                           "gradient_accumulation_steps %d: the batch follows from --gpus",
                           file.steps);
    out->not_read = file.not_read;
    *warning = text_builder_finish(&warnings, NULL);
    return *warning != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
