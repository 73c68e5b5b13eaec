/* wrappers.c - what ms-swift and Primus mean, as Megatron-LM's flags */
#include "launch/megatron/wrappers.h"

#include <string.h>

/* A flag that is given unless the launch gives it. */
typedef struct wrapper_default {
    const char *name;
    const char *value;
} wrapper_default;

static plait_status add_defaults(launch_flags *flags, const wrapper_default *row, plait_error *err)
{
    for (; row->name != NULL; row++)
        if (flags_last(flags, row->name) == NULL)
            PLAIT_TRY(flags_add(flags, row->name, row->value, err));
    return PLAIT_OK;
}

static void warn(text_builder *warnings, const char *sentence)
{
    text_append_printf(warnings, "%s%s", warnings->length > 0 ? "\n" : "", sentence);
}

static bool is_on(const launch_flags *flags, const char *name)
{
    static const char *const words[] = {"false", "False", NULL};
    const launch_flag *const flag = flags_find(flags, name);

    return flag != NULL && text_index(flag->value[0], words) < 0;
}

/* ---- ms-swift ---- */

/*
 * swift/megatron/arguments/megatron_args.py of modelscope/ms-swift v4.5.2, the same in v3.8.0 (argument/). The
 * format is the checkpoint's, which is bf16 for the models of the hub; gradients are summed in fp32
 * (main_grads_dtype); the loader makes no masks, since samples are not padded (padding_free).
 */
static const wrapper_default swift_defaults[] = {
    {"use_distributed_optimizer", "true"},
    {"micro_batch_size", "1"},
    {"global_batch_size", "16"},
    {"recompute_granularity", "selective"},
    {"attention_backend", "flash"},
    {"expert_tensor_parallel_size", "1"},
    {"data_parallel_sharding_strategy", "optim_grads_params"}, // with use_megatron_fsdp alone
    {"no_create_attention_mask_in_dataloader", "true"},
    {NULL, NULL},
};

/* Samples are as long as --packing-length or --max-length allow. */
static plait_status add_length(launch_flags *flags, plait_error *err)
{
    static const char *const names[] = {"packing_length", "max_length", NULL};

    for (const char *const *name = names; *name != NULL; name++) {
        const launch_flag *const flag = flags_find(flags, *name);

        if (flag != NULL && flags_last(flags, "seq_length") == NULL)
            return flags_add(flags, "seq_length", flag->value[0], err);
    }
    return PLAIT_OK;
}

plait_status megatron_translate_swift(launch_flags *flags, text_builder *warnings, plait_error *err)
{
    const launch_flag *const type = flags_find(flags, "torch_dtype");
    const bool half =
        is_on(flags, "fp16") || (type != NULL && text_equal(type->value[0], "float16"));

    PLAIT_TRY(add_length(flags, err));
    if (!half && flags_last(flags, "bf16") == NULL)
        PLAIT_TRY(flags_add(flags, "bf16", "true", err));
    if (half && flags_last(flags, "fp16") == NULL)
        PLAIT_TRY(flags_add(flags, "fp16", "true", err));
    if (!is_on(flags, "packing"))
        warn(warnings, "without --packing true samples keep their own lengths: priced as if each "
                       "had as many tokens as --max_length allows");
    return add_defaults(flags, swift_defaults, err);
}

/* ---- Primus ---- */

/* primus/configs/modules/megatron of AMD-AGI/Primus fd1eeab (2026-08-22). */
static const wrapper_default pretraining[] = {
    {"micro_batch_size", "2"}, {"global_batch_size", "16"},           {"seq_length", "1024"},
    {"bf16", "true"},          {"use_distributed_optimizer", "true"}, {NULL, NULL},
};

static const wrapper_default tuning[] = {
    {"micro_batch_size", "1"}, {"global_batch_size", "128"},          {"seq_length", "2048"},
    {"bf16", "true"},          {"use_distributed_optimizer", "true"}, {NULL, NULL},
};

plait_status megatron_translate_primus(launch_flags *flags, const char *config,
                                       text_builder *warnings, plait_error *err)
{
    const bool deepep = is_on(flags, "use_turbo_deepep");
    const bool known = text_equal(config, "pre_trainer.yaml");

    if (deepep) {
        PLAIT_TRY(flags_add(flags, "moe_token_dispatcher_type", "flex", err));
        PLAIT_TRY(flags_add(flags, "moe_flex_dispatcher_backend", "deepep", err));
    }
    if (known || text_equal(config, "sft_trainer.yaml"))
        return add_defaults(flags, known ? pretraining : tuning, err);
    warn(warnings,
         "what the module's config sets stands in another file, and is taken as not given");
    return PLAIT_OK;
}
