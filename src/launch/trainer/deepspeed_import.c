/*
 * deepspeed_import.c - reads a plan from DeepSpeed's JSON, or from a script that starts training
 * with it
 *
 * The JSON gives batch, ZeRO, shards, number format and, by number_checkpoints, recomputation. The
 * three numbers of the batch together give the data-parallel ranks, and therefore the GPUs; two of
 * them and the GPUs give the third. Model, sequence length and the attention kernel stay open.
 *
 * Flags of a script are those of Hugging Face's Trainer and of DeepSpeed-Chat, which train a model
 * of the hub. The JSON that --deepspeed or --deepspeed_config names is read if the script writes it
 * or is in the same folder.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/saturating.h"
#include "base/status.h"
#include "launch/read/deepspeed_file.h"
#include "launch/read/log.h"
#include "launch/read/model_names.h"
#include "launch/read/plan_reader.h"
#include "launch/target.h"
#include "launch/trainer/trainer.h"

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

static int offloaded_tenths(const deepspeed_file *file)
{
    return file->offload_optimizer ? (int)(10.0 * file->offload_ratio + 1e-9) : 0;
}

/*
 * True if parameters are on the host: offload_param requires stage 3, and has a price only if the
 * optimizer is on the host too.
 */
static bool offloads_params(const deepspeed_file *file)
{
    return file->offload_params && file->zero == 3 && offloaded_tenths(file) > 0;
}

static double bucket_elements(int bucket)
{
    static const double of_engine = 5e8; // zero/config.py, and the profile

    return bucket == 0 ? of_engine
                       : plait_bucket_elements(&(plait_degrees){.bucket = (unsigned char)bucket});
}

/* Return the size of buckets whose ratio to the file's is nearest to 1; the file's may be open. */
static int nearest_bucket(const deepspeed_file *file)
{
    int nearest = 0;

    for (int b = 1; b < PLAIT_BUCKETS && file->bucket > 0.0; b++)
        if (fabs(log(file->bucket / bucket_elements(b))) <
            fabs(log(file->bucket / bucket_elements(nearest))))
            nearest = b;
    return nearest;
}

/*
 * Set the ZeRO stage and shards and, for stage 3, the traffic of gathered parameters and gradients,
 * and the states on the host.
 */
static void set_zero(const deepspeed_file *file, int dp, plans_entry *out)
{
    const int quantise = (file->weights == true ? PLAIT_QUANTISE_WEIGHTS : 0) +
                         (file->gradients == true ? PLAIT_QUANTISE_GRADIENTS : 0);
    const int tenths = offloaded_tenths(file);

    if (file->zero == DEEPSPEED_OPEN)
        return;
    import_set_key(out, PLAIT_KEY_ZERO, file->zero);
    import_set_key(out, PLAIT_KEY_BUCKET, nearest_bucket(file));
    if (file->zero == 3 && file->mics > 0)
        import_set_key(out, PLAIT_KEY_SHARD_GROUP, file->mics);
    else if (dp != DEEPSPEED_OPEN)
        import_set_key(out, PLAIT_KEY_SHARD_GROUP, saturating_mul(dp, file->cp));
    if (file->zero > 0 && file->overlap == true)
        import_set_key(out, PLAIT_KEY_GRAD_SYNC, PLAIT_SYNC_BUCKETED);
    import_set_key(out, PLAIT_KEY_RESHARD,
                   file->zero < 3   ? PLAIT_RESHARD_ALWAYS
                   : file->hpz > 1  ? PLAIT_RESHARD_NODE
                   : file->lives_on ? PLAIT_RESHARD_NEVER
                                    : PLAIT_RESHARD_ALWAYS);
    import_set_key(out, PLAIT_KEY_QUANTISE, file->zero < 3 ? PLAIT_QUANTISE_NONE : quantise);
    import_set_key(out, PLAIT_KEY_SCATTER, PLAIT_SCATTER_MICROBATCH);
    import_set_key(out, PLAIT_KEY_OFFLOAD,
                   offloads_params(file) ? PLAIT_OFFLOAD_PARAMS
                   : tenths > 0          ? PLAIT_OFFLOAD_GRADIENTS
                                         : PLAIT_OFFLOAD_NONE);
    import_set_key(out, PLAIT_KEY_OFFLOAD_SHARE, tenths < 10 ? tenths : 0);
}

static void warn_unread(const deepspeed_file *file, text_builder *out)
{
    if (file->offload_params && !offloads_params(file))
        import_warn(out, file->zero < 3
                             ? "offload_param needs ZeRO stage 3 and is treated as not given"
                             : "offload_param without offload_optimizer is not priced: "
                               "parameters are priced as staying on the device");
    if (file->offload_optimizer && 10.0 * file->offload_ratio - offloaded_tenths(file) > 1e-6)
        text_append_printf(import_warn(out, ""),
                           "the ratio %g of offload_optimizer is priced as %g", file->offload_ratio,
                           offloaded_tenths(file) / 10.0);
    if (file->super_offload == true || file->zenflow)
        text_append_printf(import_warn(out, ""), "options that the price ignores: %s%s%s",
                           file->super_offload == true ? "super_offload" : "",
                           file->super_offload == true && file->zenflow ? ", " : "",
                           file->zenflow ? "zenflow" : "");
    const double bucket = bucket_elements(nearest_bucket(file));
    const bool in_buckets = file->zero == 1 || file->zero == 2 || file->mics > 0;
    if (in_buckets && file->bucket > 0.0 && file->bucket != bucket)
        text_append_printf(import_warn(out, ""), "reduce_bucket_size %g is priced as %g",
                           file->bucket, bucket);
    if (in_buckets && file->bucket < 0.0)
        import_warn(out, "reduce_bucket_size \"auto\", which Hugging Face's Trainer sets to the "
                         "square of the hidden size, is priced as 5e8");
    if (file->zero < 3 && (file->weights == true || file->gradients == true || file->hpz > 1))
        import_warn(out, "ZeRO++ below stage 3 is not priced");
    if (file->zero == 3 && file->hpz > 1)
        text_append_printf(import_warn(out, ""),
                           "zero_hpz_partition_size %d is priced as the GPUs of a node", file->hpz);
    if (file->zero > 0 && file->overlap == false)
        import_warn(out, "overlap_comm is off, but the profile prices it as on");
    if (file->spread_checkpoints == true)
        import_warn(out, "partition_activations and cpu_checkpointing are not priced");
}

/* Set a bucket that is "auto" to the square of the hidden size, as Hugging Face's Trainer does. */
static void fill_bucket(const launch_call *call, const plait_model *named, deepspeed_file *file)
{
    const plait_model *const model = call != NULL && call->model != NULL ? call->model : named;

    if (file->bucket < 0.0 && model != NULL)
        file->bucket = (double)model->hidden * model->hidden;
}

/* Set the keys of the plan that the JSON determines; warnings are sentences, one a line. */
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
    // train = micro * steps * dp exactly; dp stays DEEPSPEED_OPEN if one of the three is open
    int64_t ranks_batch;
    dp = DEEPSPEED_OPEN;
    if (file->train != DEEPSPEED_OPEN && file->micro != DEEPSPEED_OPEN &&
        file->steps != DEEPSPEED_OPEN) {
        ranks_batch = (int64_t)file->micro * file->steps;
        if (file->train % ranks_batch != 0)
            return plait_fail(
                err, PLAIT_ERROR_RANGE, name,
                "expected train_batch_size to be a multiple of "
                "train_micro_batch_size_per_gpu x gradient_accumulation_steps, found %d "
                "and %d x %d",
                file->train, file->micro, file->steps);
        dp = (int)(file->train / ranks_batch);
    }
    PLAIT_TRY(count_gpus(file, dp, out, err));
    out->gbs = file->train != DEEPSPEED_OPEN ? file->train : 0;
    if (file->bf16 == true || file->fp16 == true)
        out->precision = file->bf16 == true ? PLAIT_BF16 : PLAIT_FP16;
    import_set_key(out, PLAIT_KEY_TP, file->tp);
    import_set_key(out, PLAIT_KEY_PP, file->pp);
    import_set_key(out, PLAIT_KEY_CP, file->cp);
    import_set_key(out, PLAIT_KEY_EP, file->ep);
    import_set_key(out, PLAIT_KEY_DP, dp);
    import_set_key(out, PLAIT_KEY_MBS, file->micro);
    if (file->pp == 1) {
        import_set_key(out, PLAIT_KEY_VPP, 1);
        import_set_key(out, PLAIT_KEY_SCHEDULE, PLAIT_1F1B);
    }
    if (file->cp > 1)
        import_set_key(out, PLAIT_KEY_CP_COMM, PLAIT_CP_A2A);
    set_zero(file, dp, out);
    if (file->checkpoints != DEEPSPEED_OPEN) {
        out->degrees.recompute = (plait_recompute){
            .kind = file->checkpoints > 0 ? PLAIT_RECOMPUTE_FULL : PLAIT_RECOMPUTE_NONE};
        out->given |= PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE);
    }
    warn_unread(file, warnings);
    return PLAIT_OK;
}

/* ---- flags ---- */

/*
 * Return the known value of the first given flag of `names`, which has blanks between the names;
 * NULL: none.
 */
static const char *value_of(const launch_flags *flags, const char *names)
{
    char name[40];

    for (int used; sscanf(names, "%39s%n", name, &used) == 1; names += used)
        if (flags_find(flags, name) != NULL)
            return flags_find(flags, name)->value[0];
    return NULL;
}

static int number_of(const launch_flags *flags, const char *names, int least)
{
    const char *const value = value_of(flags, names);
    int number;

    return value != NULL && text_parse_int(value, least, 1 << 20, &number) ? number
                                                                           : DEEPSPEED_OPEN;
}

static bool is_on(const launch_flags *flags, const char *names)
{
    const char *const value = value_of(flags, names);

    return value != NULL && !flags_value_is_off(value);
}

/* ---- the plan ---- */

static plait_status read_config(plan_reader *in, deepspeed_file *file, plait_error *err)
{
    const char *const name = value_of(in->flags, "deepspeed_config deepspeed");
    const char *text = NULL;
    plait_error inner = {.status = PLAIT_OK};

    if (name != NULL && strcmp(name, "true") != 0)
        PLAIT_TRY(named_json(in->flags, name, &text, err));
    if (text != NULL &&
        deepspeed_file_parse(text, strlen(text), name, in->flags->arena, file, &inner) == PLAIT_OK)
        return PLAIT_OK;
    PLAIT_TRY(faults_only(inner.status, &inner, err));
    static const char empty[] = "{\"fp16\": {}}";
    PLAIT_TRY(
        deepspeed_file_parse(empty, strlen(empty), in->flags->file, in->flags->arena, file, err));
    if (name != NULL && !text_equal(name, "true") && !deepspeed_file_named(name, file))
        import_warn(in->warnings,
                    "the JSON file of --deepspeed_config is not in the script or its folder, or is "
                    "not a config; its values are treated as not given");
    return PLAIT_OK;
}

static void take_job(plan_reader *in, const deepspeed_file *file)
{
    plans_entry *const out = in->out;
    const int64_t steps = file->steps > 0 ? file->steps : 1;
    const int seq = number_of(in->flags, "max_seq_len max_seq_length max_length block_size", 1);

    out->seq = seq > 0 ? seq : 0;
    if (out->gpus == 0)
        out->gpus = launcher_gpus(in->flags);
    if (out->gbs == 0 && file->micro > 0 && out->gpus > 0 &&
        steps * file->micro <= PLAIT_MAX_GBS / out->gpus)
        out->gbs = (int)(steps * file->micro * out->gpus);
}

/* Warn of flags of Hugging Face's Trainer that change the price and that plait does not price. */
static void warn_of_unpriced(plan_reader *in)
{
    static const char *const unpriced[] = {"torch_compile", "use_liger_kernel", "fsdp",
                                           "sequence_parallel_size", NULL};
    import_list list = {in->warnings, "options that the price ignores", false};

    for (const char *const *name = unpriced; *name != NULL; name++)
        if (is_on(in->flags, *name) && number_of(in->flags, *name, 0) != 1)
            import_list_add(&list, *name);
}

/* Fail if no flag of the script was read, since such a script starts no training with DeepSpeed. */
static plait_status check_read(const launch_flags *flags, plait_error *err)
{
    for (int i = 0; i < flags->count; i++)
        if (flags->flag[i].read)
            return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_SCHEMA, flags->file,
                      "expected a JSON of DeepSpeed, or a script that starts training with it, "
                      "found no flag such as --zero_stage");
}

static plait_status script_import(const char *text, size_t length, const char *name,
                                  const launch_call *call, plait_arena *arena, plans_entry *out,
                                  text_builder *warnings, plait_error *err)
{
    launch_flags flags;
    plan_reader in = {&flags, out, warnings};
    deepspeed_file file;

    PLAIT_TRY(flags_read(text, length, name, call, arena, &flags, err));
    const char *const path = value_of(in.flags, "model_name_or_path model_name model");
    const plait_model *model = NULL;
    if (path != NULL)
        PLAIT_TRY(hub_model_find(path, in.flags->arena, &model, err));
    if (model != NULL)
        in.out->model = model;
    else
        import_warn(in.warnings, "the model is unknown; give it with --model");
    PLAIT_TRY(read_config(&in, &file, err));
    const int zero = number_of(&flags, "zero_stage", 0);
    if (file.micro < 0)
        file.micro = number_of(
            &flags, "per_device_train_batch_size per_device_training_batch_size batch_size", 1);
    if (file.steps < 0)
        file.steps = number_of(&flags, "gradient_accumulation_steps", 1);
    file.zero = zero >= 0 ? zero : file.zero;
    file.zero = file.zero > 3 ? DEEPSPEED_OPEN : file.zero;
    static const char *const bf16[] = {"bf16", "bfloat16", NULL};
    static const char *const fp16[] = {"fp16", "float16", NULL};
    const char *const word = value_of(&flags, "dtype mixed_precision torch_dtype");
    if (file.bf16 != true && file.fp16 != true) {
        file.bf16 = is_on(&flags, "bf16") || (word != NULL && text_index(word, bf16) >= 0);
        file.fp16 =
            !file.bf16 && (is_on(&flags, "fp16") || (word != NULL && text_index(word, fp16) >= 0));
    }
    if (file.checkpoints < 0)
        file.checkpoints = is_on(
            &flags, "gradient_checkpointing activation_checkpointing actor_gradient_checkpointing");
    // --offload moves parameters and optimizer to the CPU: DeepSpeedExamples'
    // dschat/utils/ds_utils.py
    if (is_on(&flags, "offload"))
        file.offload_params = file.offload_optimizer = true;
    out->gpus = call != NULL ? call->gpus : 0;
    fill_bucket(call, model, &file);
    PLAIT_TRY(deepspeed_take_file(&file, name, warnings, out, err));
    take_job(&in, &file);
    warn_of_unpriced(&in);
    // --zero_stage $2: the value is an argument of the script, or set in its environment
    import_list list = {in.warnings, "values set outside the file, treated as not given", false};
    for (int i = 0; i < in.flags->count; i++) {
        const launch_flag *const flag = &in.flags->flag[i];
        const shell_origin *const origin =
            flag->values > 0 ? shell_word_origin(&in.flags->script, flag->value[0]) : NULL;

        if (origin != NULL && flag->read && flags_is_last(in.flags, flag))
            import_list_add(
                &list, plait_arena_printf(in.flags->arena, "--%s %s", flag->name, origin->text));
    }
    PLAIT_TRY(check_read(&flags, err));
    out->not_read = flags_not_read(&flags);
    return out->not_read != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/* ---- a JSON without a script ---- */

plait_status deepspeed_import(const char *text, size_t length, const char *name,
                              const launch_call *call, plait_arena *arena, plans_entry *out,
                              text_builder *warnings, plait_error *err)
{
    deepspeed_file file;
    size_t first = 0;

    *out = plans_unknown(name);
    // a JSON begins with a brace, anything else is a script
    while (first < length && strchr(" \t\r\n", text[first]) != NULL)
        first++;
    if (first < length && text[first] != '{' && text[first] != '[')
        return script_import(text, length, name, call, arena, out, warnings, err);
    PLAIT_TRY(deepspeed_file_parse(text, length, name, arena, &file, err));
    // compute the batch of all GPUs if the file gives the batch of one GPU and the accumulation
    // steps
    const int gpus = call != NULL ? call->gpus : 0;
    const int sizes[] = {file.micro, file.steps, file.tp, file.pp, file.cp};
    bool known = file.train == DEEPSPEED_OPEN && gpus > 0;
    for (int i = 0; i < 5; i++)
        known = known && sizes[i] != DEEPSPEED_OPEN && sizes[i] <= PLAIT_MAX_GBS;
    const int ranks = known ? saturating_mul(saturating_mul(file.tp, file.pp), file.cp) : 0;
    if (ranks != 0 && gpus % ranks == 0) {
        const int64_t batch = (int64_t)saturating_mul(file.micro, file.steps) * (gpus / ranks);
        file.train = batch > 0 && batch <= PLAIT_MAX_GBS ? (int)batch : DEEPSPEED_OPEN;
    }
    fill_bucket(call, NULL, &file);
    PLAIT_TRY(deepspeed_take_file(&file, name, warnings, out, err));
    if (file.train == DEEPSPEED_OPEN && file.steps > 1)
        text_append_printf(
            import_warn(warnings, ""),
            "the global batch depends on gradient_accumulation_steps %d and the GPUs; give --gpus",
            file.steps);
    out->not_read = file.not_read;
    return PLAIT_OK;
}

/* ---- the log of the engine ---- */

/* Store the JSON in *config, with the batch that the engine computed if the JSON lacks it. */
plait_status deepspeed_read_log(char *log, const char *name, plait_arena *arena, char **config,
                                plait_error *err)
{
    static const char *const batch[] = {"train_batch_size", "train_micro_batch_size_per_gpu",
                                        "gradient_accumulation_steps"};
    const char *const settings = log_last(log, "DeepSpeedEngine configuration:");
    const char *const mark = settings != NULL ? strstr(settings, "  json = {") : NULL;
    text_builder out;
    char *json;

    if (settings == NULL)
        return PLAIT_OK;
    if (mark == NULL)
        return plait_fail(
            err, PLAIT_ERROR_SYNTAX, name,
            "expected the JSON that DeepSpeed's engine prints, \"json = {\", after "
            "\"DeepSpeedEngine configuration:\", found the end of the log: the log is cut off");
    PLAIT_TRY(
        log_object(strchr(mark, '{'), "the JSON of DeepSpeed's engine", name, arena, &json, err));
    text_builder_init(&out, arena);
    text_append(&out, "{");
    for (size_t b = 0; b < sizeof batch / sizeof *batch; b++) {
        // find a line such as "train_batch_size ............. 64"
        const char *const at = strstr(settings, batch[b]);
        const char *const member = plait_arena_printf(arena, "\"%s\"", batch[b]);
        int number;

        PLAIT_TRY(plait_check_allocated(member, err));
        if (at != NULL && at < mark && strstr(json, member) == NULL &&
            sscanf(at + strlen(batch[b]), "%*[ .]%9d", &number) == 1)
            text_append_printf(&out, "\n    %s: %d,", member, number);
    }
    text_append(&out, json + 1);
    *config = text_builder_finish(&out, NULL);
    return *config != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
