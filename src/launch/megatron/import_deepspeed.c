/* import_deepspeed.c - what DeepSpeed's JSON adds to the arguments of Megatron-DeepSpeed */
#include <string.h>

#include "launch/read/deepspeed_file.h"
#include "base/status.h"
#include "launch/megatron/import_parts.h"
#include "launch/read/named_file.h"

static void take_config(const deepspeed_file *file, megatron_args *args, plan_reader *in)
{
    if (file->zero >= 0)
        args->zero_stage = file->zero;
    if (args->micro_batch_size == 0 && file->micro > 0)
        args->micro_batch_size = file->micro;
    if (args->global_batch_size == 0 && file->train > 0)
        args->global_batch_size = file->train;
    if (!args->bf16 && !args->fp16) {
        args->bf16 = file->bf16 == true;
        args->fp16 = file->fp16 == true;
    }
    if (file->offload_params || file->offload_optimizer || file->nvme != NULL)
        import_warn(in, "DeepSpeed's offloading to CPU or NVMe is not priced");
    if (file->weights == true || file->gradients == true)
        import_warn(in, "quantized communication (ZeRO++) is not priced");
}

static plait_status read_config(const char *name, megatron_args *args, plan_reader *in,
                                plait_error *err)
{
    plait_error inner = {.status = PLAIT_OK};
    deepspeed_file file;
    const char *text;

    PLAIT_TRY(named_json(in->flags, name, &text, err));
    if (text == NULL || deepspeed_file_parse(text, strlen(text), name, in->flags->arena, &file,
                                             &inner) != PLAIT_OK) {
        PLAIT_TRY(faults_only(inner.status, &inner, err));
        import_warn(in, text == NULL
                            ? "the JSON that --deepspeed_config names is neither in the script nor "
                              "beside it: what it says is taken as not given"
                            : "the JSON that --deepspeed_config names cannot be read: what it says "
                              "is taken as not given");
        return PLAIT_OK;
    }
    take_config(&file, args, in);
    return PLAIT_OK;
}

/* Experts of Megatron-DeepSpeed: one a token, in every second layer, whole on each tensor rank. */
static void take_expert_defaults(const launch_flags *flags, megatron_args *args)
{
    if (args->num_experts < 2)
        return;
    if (flags_last(flags, MEGATRON_NAME(moe_router_topk)) == NULL)
        args->moe_router_topk = 1;
    if (args->expert_interval == 0)
        args->expert_interval = 2;
    if (flags_last(flags, "enable_expert_tensor_parallelism") == NULL &&
        args->expert_tensor_parallel_size == 0)
        args->expert_tensor_parallel_size = 1;
}

plait_status megatron_read_deepspeed(megatron_args *args, plan_reader *in, plait_error *err)
{
    const launch_flag *const config = flags_last(in->flags, MEGATRON_NAME(deepspeed_config));

    args->deepspeed = args->deepspeed || config != NULL || args->zero_stage > 0;
    if (config != NULL)
        PLAIT_TRY(read_config(config->value[0], args, in, err));
    if (args->deepspeed)
        take_expert_defaults(in->flags, args);
    if (args->no_pipeline_parallel)
        args->pipeline_model_parallel_size = 1;
    if (args->deepspeed && args->bf16 && args->zero_stage < 1)
        args->zero_stage = 1; // its BF16_Optimizer shards what stage 1 does
    return PLAIT_OK;
}
