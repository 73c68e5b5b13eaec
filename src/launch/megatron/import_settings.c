/* import_settings.c - reads memory, sharding, formats and kernels from Megatron-LM's arguments */
#include <string.h>

#include "base/saturating.h"
#include "io/data/data.h"
#include "launch/megatron/megatron.h"
#include "plan/model_queries.h"
#include "plait/units.h"

static bool text_is(const char *word, const char *other)
{
    return word != NULL && strcmp(word, other) == 0;
}

/* ---- recomputation ---- */

/* Read words separated by blanks and set the bit of each, which is the word's index in `names`. */
static plait_status read_names(const plan_reader *in, size_t field, const char *words,
                               const char *const *names, const char *expected, unsigned *bits,
                               plait_error *err)
{
    char **word = text_split(in->flags->arena, words, ' ', NULL);

    PLAIT_TRY(plait_check_allocated(word, err));
    for (; *word != NULL; word++) {
        const int name = text_index(*word, names);

        if (name < 0)
            return flags_fail(in->flags, megatron_args_name(field), err,
                              "expected modules %s, found \"%.40s\"", expected, *word);
        *bits |= 1u << name;
    }
    return PLAIT_OK;
}

/*
 * Primus recomputes the listed layers of the model
 * (primus/backends/megatron/patches/recompute_layer_patches.py of AMD-AGI/Primus). The price
 * assumes that every chunk has an equal share of these layers, rounded up.
 */
static plait_status read_layer_ids(const megatron_args *args, plan_reader *in, plait_error *err)
{
    const plait_degrees *const d = &in->out->degrees;
    const int chunks = saturating_mul(d->pp, d->vpp);
    int layers = 0;

    for (const char *id = args->recompute_layer_ids; *(id += strspn(id, "[], ")) != '\0';
         id += strcspn(id, "[], "))
        layers++;
    if (layers == 0)
        return PLAIT_OK;
    const int of_stage = saturating_mul((layers - 1) / chunks + 1, d->vpp);
    in->out->degrees.recompute = (plait_recompute){
        .kind = PLAIT_RECOMPUTE_FULL,
        .layers = (short)(of_stage < PLAIT_MAX_LAYERS ? of_stage : PLAIT_MAX_LAYERS),
    };
    const char *const text = plait_arena_printf(
        in->flags->arena,
        "the %d layers of recompute_layer_ids are priced as %d layers of each stage", layers,
        of_stage);
    PLAIT_TRY(plait_check_allocated(text, err));
    import_warn(in->warnings, text);
    return PLAIT_OK;
}

static plait_status read_recompute(const megatron_args *args, plan_reader *in, plait_error *err)
{
    // in a hybrid, the number is one of letters, of which a layer has one or two
    const plait_model *const model = in->out->model;
    const int letters =
        args->hybrid_layer_pattern != NULL && model != NULL && model_layer_parts(model) == 2 ? 2
                                                                                             : 1;
    const int layers = (args->recompute_num_layers + letters - 1) / letters;
    plait_recompute *const out = &in->out->degrees.recompute;

    import_mark_known(in, "recompute");
    if (text_is(args->recompute_granularity, "selective") || args->recompute_activations) {
        unsigned modules = 0;

        if (args->recompute_modules != NULL)
            PLAIT_TRY(read_names(in, MEGATRON_FIELD(recompute_modules), args->recompute_modules,
                                 plait_recompute_module_name, "that plait supports", &modules,
                                 err));
        *out = (plait_recompute){.kind = modules != 0 ? PLAIT_RECOMPUTE_MODULES
                                                      : PLAIT_RECOMPUTE_SELECTIVE,
                                 .modules = (unsigned char)modules};
        return PLAIT_OK;
    }
    // the first recompute_num_layers layers of a chunk are recomputed (megatron/core/recompute.py)
    if (!text_is(args->recompute_granularity, "full") ||
        (text_is(args->recompute_method, "block") && args->recompute_num_layers == 0 &&
         flags_find(in->flags, MEGATRON_NAME(recompute_num_layers)) != NULL))
        return PLAIT_OK;
    if (args->recompute_layer_ids != NULL)
        return read_layer_ids(args, in, err);
    *out = (plait_recompute){.kind = PLAIT_RECOMPUTE_FULL};
    if (text_is(args->recompute_method, "block")) {
        const int of_stage = (layers > 0 ? layers : 1) * in->out->degrees.vpp;

        out->layers = (short)(of_stage < PLAIT_MAX_LAYERS ? of_stage : PLAIT_MAX_LAYERS);
    } else if (layers > 1) {
        import_warn(
            in->warnings,
            "recomputation of several layers as one unit is priced as recomputation of each layer");
    }
    return PLAIT_OK;
}

/* ---- sharding ---- */

static int zero_of(const megatron_args *args)
{
    const char *const strategy = args->data_parallel_sharding_strategy;

    if (args->deepspeed)
        return args->zero_stage > 0 ? args->zero_stage : 0;
    if (args->use_torch_fsdp2)
        return args->torch_fsdp2_reshard_after_forward ? 3 : 2;
    if (!args->use_megatron_fsdp)
        return args->use_distributed_optimizer;
    return text_is(strategy, "optim_grads_params") ? 3
           : text_is(strategy, "optim_grads")      ? 2
           : text_is(strategy, "optim")            ? 1
                                                   : 0;
}

/*
 * True for DeepSpeed with ZeRO-2 or 3, which excludes its pipeline engine; gradients are then
 * reduced in buckets.
 */
static bool is_zero_engine(const megatron_args *args)
{
    return args->deepspeed && args->zero_stage > 1;
}

static void read_sharding(const megatron_args *args, plan_reader *in)
{
    plait_degrees *const d = &in->out->degrees;

    d->zero = (unsigned char)zero_of(args);
    d->grad_sync = args->overlap_grad_reduce || args->use_torch_fsdp2 ||
                           text_is(args->DDP_impl, "torch") || is_zero_engine(args)
                       ? PLAIT_SYNC_BUCKETED
                       : PLAIT_SYNC_SHIFTED;
    import_mark_known(in, "zero reshard scatter quantise grad_sync");
}

/* ---- formats and kernels ---- */

static plait_status read_precision(const megatron_args *args, plan_reader *in, plait_error *err)
{
    const char *const recipe = args->fp8_recipe;

    static const char *const formats[] = {"e4m3", "hybrid", NULL};
    static const char *const recipes[] = {"tensorwise", "delayed", "mxfp8",
                                          "blockwise",  "custom",  NULL};
    if (args->fp8 != NULL) {
        if (text_index(args->fp8, formats) < 0)
            return flags_fail(in->flags, "fp8_format", err,
                              "expected e4m3 or hybrid, found \"%.40s\"", args->fp8);
        if (text_index(args->fp8_recipe, recipes) < 0)
            return flags_fail(in->flags, MEGATRON_NAME(fp8_recipe), err,
                              "expected tensorwise, delayed, mxfp8, blockwise or custom, found "
                              "\"%.40s\"",
                              args->fp8_recipe);
    }
    if (args->fp4 != NULL)
        in->out->precision = PLAIT_NVFP4;
    else if (args->fp8 != NULL)
        in->out->precision = text_is(recipe, "blockwise") ? PLAIT_FP8_BLOCK
                             : text_is(recipe, "mxfp8")   ? PLAIT_MXFP8
                                                          : PLAIT_FP8;
    else if (args->fp16)
        in->out->precision = PLAIT_FP16;
    else if (args->bf16)
        in->out->precision = PLAIT_BF16;
    else if (!in->flags->recipe) // else the recipe sets the precision
        import_warn(
            in->warnings,
            "neither --bf16 nor --fp16 is given, and plait does not price training in fp32");
    return PLAIT_OK;
}

/* ---- activations on the host ---- */

/*
 * Read the format in which gradients are reduced: by default fp32 with bf16, and fp16 with fp16.
 * DeepSpeed's engine uses the format of its own configuration, which a note may give.
 */
static void read_grad_reduce(const megatron_args *args, plan_reader *in)
{
    plait_degrees *const d = &in->out->degrees;
    const bool half = in->out->precision == PLAIT_FP16;

    if (args->deepspeed && (in->out->given & PLAIT_KEY_BIT(PLAIT_KEY_GRAD_REDUCE)))
        return;
    d->grad_reduce =
        half ? (args->accumulate_allreduce_grads_in_fp32 ? PLAIT_STATE_FP32 : PLAIT_STATE_FP16)
             : (args->grad_reduce_in_bf16 ? PLAIT_STATE_BF16 : PLAIT_STATE_FP32);
    if (!args->deepspeed)
        import_mark_known(in, "grad_reduce");
}

static plait_status read_state(const megatron_args *args, plan_reader *in, plait_error *err)
{
    plait_degrees *const d = &in->out->degrees;
    int format = PLAIT_STATE_FP32;

    read_grad_reduce(args, in);
    if (args->use_precision_aware_optimizer && args->exp_avg_dtype != NULL) {
        format = text_index(args->exp_avg_dtype, plait_state_format_name);
        if (format < 0)
            return flags_fail(in->flags, MEGATRON_NAME(exp_avg_dtype), err,
                              "expected fp32, bf16, fp16 or fp8, found \"%.40s\"",
                              args->exp_avg_dtype);
        if (!text_is(args->exp_avg_dtype, args->exp_avg_sq_dtype))
            import_warn(in->warnings,
                        "the two Adam moments differ in format; both are priced as the first");
    }
    d->optimizer_state = (unsigned char)format;
    d->fp8_params = in->out->precision == PLAIT_NVFP4
                        ? args->fp4_param_gather
                        : args->fp8_param_gather && in->out->precision >= PLAIT_FP8;
    // fractions are priced in tenths, rounded down, so that more stays on the device
    const double share = args->optimizer_offload_fraction;
    const int tenths = (int)(10.0 * share + 1e-9);

    d->offload =
        args->optimizer_cpu_offload && tenths > 0 ? PLAIT_OFFLOAD_OPTIMIZER : PLAIT_OFFLOAD_NONE;
    d->offload_share = d->offload == PLAIT_OFFLOAD_NONE || tenths >= 10 ? 0 : (unsigned char)tenths;
    if (args->optimizer_cpu_offload && 10.0 * share - tenths > 1e-6)
        import_warn(in->warnings, "--optimizer-offload-fraction is priced in tenths, rounded down");
    import_mark_known(in, "offload offload_share optimizer_state fp8_params offload_acts");
    // take the largest set of offloaded modules that a plan can have within the listed modules; the
    // others are priced as staying on the device
    unsigned modules = 0;
    if (!args->fine_grained_activation_offloading || args->offload_modules == NULL)
        return PLAIT_OK;
    PLAIT_TRY(read_names(in, MEGATRON_FIELD(offload_modules), args->offload_modules,
                         plait_offload_module_name, "that plait can price as offloaded", &modules,
                         err));
    for (int set = 0; set < PLAIT_OFFLOAD_SETS; set++)
        if ((plait_offload_modules((unsigned char)set) & ~modules) == 0)
            in->out->degrees.offload_acts = (unsigned char)set;
    if (plait_offload_modules(in->out->degrees.offload_acts) != modules)
        import_warn(in->warnings,
                    "some modules of --offload-modules are priced as staying on the device");
    return PLAIT_OK;
}

/*
 * Return the FlashAttention kernel: that of the argument's version, else that of a note, which is
 * more exact since it has the library's version.
 */
static unsigned char flash_of(int version, int noted)
{
    if (version == 3)
        return PLAIT_ATTENTION_FLASH3;
    return version != 2 && (noted == PLAIT_ATTENTION_FLASH || noted == PLAIT_ATTENTION_FLASH2 ||
                            noted == PLAIT_ATTENTION_FLASH3)
               ? (unsigned char)noted
               : PLAIT_ATTENTION_FLASH2;
}

static void read_attention(const megatron_args *args, plan_reader *in)
{
    plait_degrees *const d = &in->out->degrees;
    const bool noted = in->out->given & PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION);
    const char *backend = args->attention_backend;

    if (text_starts_with(backend, "AttnBackend."))
        backend += strlen("AttnBackend.");
    if (text_is(backend, "flash"))
        d->attention = flash_of(args->flash_attention_version, noted ? d->attention : -1);
    else if (text_is(backend, "fused"))
        d->attention = PLAIT_ATTENTION_FUSED;
    else if (text_is(backend, "unfused"))
        d->attention = args->masked_softmax_fusion ? PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL
                                                   : PLAIT_ATTENTION_UNFUSED;
    else
        return;
    import_mark_known(in, "attention");
}

/*
 * True if the profile that a note names is used. It is more exact than the arguments, unless they
 * shard more than the profile can. The name of a profile of earlier versions is ignored, since the
 * arguments determine the profile. A user's own profile may support anything.
 */
static bool note_counts(const char *noted, bool sharded)
{
    if (noted == NULL || runtime_alias_find(noted) != NULL)
        return false;
    return !sharded || text_is(noted, "megatron-fsdp") || data_is_path(noted);
}

/*
 * Return the profile of a DeepSpeed plan. DeepSpeed's profiles support neither experts nor sequence
 * parallelism, and no tp with ZeRO-3; other plans are priced with a profile of Megatron's.
 */
static const char *deepspeed_runtime(const megatron_args *args, plan_reader *in)
{
    const plait_degrees *const d = &in->out->degrees;
    const bool shards = is_zero_engine(args);

    if (d->ep == 1 && d->cp == 1 && (!shards || (d->tp == 1 && d->pp == 1)))
        return shards ? "deepspeed" : "megatron-deepspeed";
    import_warn(
        in->warnings,
        shards ? "no DeepSpeed profile supports these degrees; the plan is priced as megatron-fsdp"
               : "no DeepSpeed profile supports these degrees; the plan is priced as megatron");
    return shards ? "megatron-fsdp" : "megatron";
}

/*
 * Return the profile of a Megatron-LM plan. It does not depend on the overlap switches, which set
 * grad_sync.
 */
static const char *megatron_runtime(const plan_reader *in)
{
    const int zero = in->out->degrees.zero;

    if (zero > 1)
        return "megatron-fsdp";
    return zero == 0 && megatron_flags_are_of_2021(in->flags) ? "megatron-2021" : "megatron";
}

plait_status megatron_read_settings(const megatron_args *args, plan_reader *in, plait_error *err)
{
    PLAIT_TRY(read_recompute(args, in, err));
    read_sharding(args, in);
    PLAIT_TRY(read_precision(args, in, err));
    PLAIT_TRY(read_state(args, in, err));
    if (!args->deepspeed ||
        args->num_experts == 0) { // DeepSpeed's experts use their own all-to-all
        // "flex" selects one of several libraries; plait has no price of NCCL EP, which sends as
        // DeepEP does
        const char *const type = args->moe_token_dispatcher_type;
        const char *const backend = args->moe_flex_dispatcher_backend;
        plait_degrees *const d = &in->out->degrees;
        if (args->num_experts == 0) {
            d->dispatcher = PLAIT_DISPATCH_ALLTOALL;
        } else if (text_is(type, "flex")) {
            d->dispatcher =
                text_is(backend, "hybridep") ? PLAIT_DISPATCH_HYBRIDEP : PLAIT_DISPATCH_DEEPEP;
            if (text_is(backend, "ncclep"))
                import_warn(in->warnings, "the dispatcher of NCCL EP is priced as DeepEP");
        } else if (text_is(type, "allgather")) {
            d->dispatcher = PLAIT_DISPATCH_ALLGATHER;
        } else if (text_is(type, "alltoall") || text_is(type, "alltoall_seq")) {
            d->dispatcher = PLAIT_DISPATCH_ALLTOALL;
        } else {
            return flags_fail(in->flags, MEGATRON_NAME(moe_token_dispatcher_type), err,
                              "expected allgather, alltoall or flex, found \"%.40s\"", type);
        }
        import_mark_known(in, "dispatcher");
        in->out->degrees.ep_overlap =
            !args->overlap_moe_expert_parallel_comm ? PLAIT_EP_OVERLAP_NONE
            : args->delay_wgrad_compute             ? PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD
                                                    : PLAIT_EP_OVERLAP_PAIRS;
        import_mark_known(in, "ep_overlap");
    }
    read_attention(args, in);
    plans_entry *const out = in->out;
    if (!note_counts(out->runtime, out->degrees.zero > 1))
        out->runtime = args->deepspeed ? deepspeed_runtime(args, in) : megatron_runtime(in);
    // the profile hides the all-gather of parameters along with the reduction of gradients
    const plait_degrees *const d = &in->out->degrees;

    if (text_is(in->out->runtime, "megatron") && d->zero == 1 && args->overlap_grad_reduce &&
        !args->overlap_param_gather)
        import_warn(in->warnings,
                    "without --overlap-param-gather the all-gather of parameters is exposed; "
                    "it is priced as overlapped");
    // by default the loader builds a mask of a byte per pair of tokens on the first and the last
    // stage: kilobytes at 2 k tokens, 16 GiB per sequence at 128 k
    const double sequence_bytes = (double)args->seq_length * args->seq_length;
    const double bytes = sequence_bytes * (args->micro_batch_size > 0 ? args->micro_batch_size : 1);
    if (args->create_attention_mask_in_dataloader && sequence_bytes >= 0.25 * PLAIT_GIB) {
        const char *const text = plait_arena_printf(
            in->flags->arena,
            "the price leaves out the data loader's attention masks, %.1f GiB per microbatch on "
            "the first and last stage; --no-create-attention-mask-in-dataloader avoids them",
            bytes / PLAIT_GIB);
        if (text != NULL)
            import_warn(in->warnings, text);
    }
    return megatron_read_switches(args, in, err);
}
