/*
 * megatron.c - pretrain_gpt.py and pretrain_hybrid.py of Megatron-LM: writes args.sh, and the
 * scripts that start it
 */
#include "launch/megatron/megatron.h"

#include <string.h>

#include "launch/write/training.h"
#include "launch/write/scripts.h"
#include "plan/model_queries.h"

/*
 * Return the number of hardware queues of a GPU (CUDA_DEVICE_MAX_CONNECTIONS). With 1, kernels
 * start in the order of their launch, which hides the communication of tensor and context
 * parallelism before Blackwell. There validate_args of Megatron Core 0.12 on requires 1, except for
 * FSDP, which rejects 1, and for overlapped pairs of microbatches, which need many queues. Core
 * 0.12 also requires 1 with tensor parallelism on Blackwell; up to 0.11 it always requires 1
 * (sequence parallelism, and asynchronous reductions, which are on). Otherwise use 32, or 8 without
 * a flexible dispatcher, as in Megatron-Bridge 067f987 (scripts/performance/utils/overrides.py).
 */
static int device_connections(const plait_problem *problem, const plait_degrees *d)
{
    const plait_accelerator *const gpu = problem->cluster->group[0].accelerator;
    const int core = megatron_core_of(problem->runtime);
    const bool blackwell = gpu->peak_flops_per_s[PLAIT_MXFP8] > 0.0;
    const bool flexible =
        model_has_experts(problem->model) && d->ep > 1 && d->dispatcher >= PLAIT_DISPATCH_DEEPEP;

    if (core < 12 || (core == 12 && d->tp > 1 && d->zero < 2))
        return 1;
    if ((d->tp > 1 || d->cp > 1) && d->zero < 2 && d->ep_overlap == PLAIT_EP_OVERLAP_NONE &&
        !blackwell)
        return 1;
    return blackwell || flexible ? 32 : 8;
}

void megatron_append_attention(const megatron_args *args, text_builder *out)
{
    text_append_printf(out, "export NVTE_FLASH_ATTN=%d NVTE_FUSED_ATTN=%d NVTE_UNFUSED_ATTN=%d\n",
                       strcmp(args->attention_backend, "flash") == 0,
                       strcmp(args->attention_backend, "fused") == 0,
                       strcmp(args->attention_backend, "unfused") == 0);
}

void megatron_append_environment(const plait_launch *launch, text_builder *out)
{
    const plait_degrees *const d = &launch->plan->degrees;

    text_append_printf(out, "export CUDA_DEVICE_MAX_CONNECTIONS=%d\n",
                       device_connections(launch->problem, d));
    // HybridEP needs the number of ranks of its group that share an NVLink domain, and copies
    // through the domain's fabric if the domain is larger than a node: Megatron-Bridge 067f987,
    // apply_target_topology_environment of scripts/performance/utils/utils.py
    const plait_cluster *const cluster = launch->problem->cluster;
    const int domain = cluster->level[0].gpus;
    const int ranks = d->ep * d->etp;
    if (model_has_experts(launch->problem->model) && d->ep != 1 &&
        d->dispatcher == PLAIT_DISPATCH_HYBRIDEP) {
        text_append_printf(out,
                           "export NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN=%d\n"
                           "export NVLINK_DOMAIN_SIZE=%d\n"
                           "export USE_MNNVL=%d\n",
                           ranks < domain ? ranks : domain, domain,
                           domain > cluster->group[0].gpus_per_node);
    }
    if (user_buffers_of(launch->problem, d) == USER_BUFFERS_IPC)
        text_append(out, "export UB_SKIPMC=1\n");
    if (launch->plan->degrees.offload_acts > 0) // Transformer Engine's own stays off
        text_append(out, "export NVTE_CPU_OFFLOAD_V1=1\n");
    const plait_switches *const switches = &d->switches;
    const bool whole = switches->cuda_graph == PLAIT_GRAPH_FULL;

    if (switches->fused_grouped_mlp && model_has_experts(launch->problem->model))
        text_append(out, "export NVTE_CUTEDSL_FUSED_GROUPED_MLP=1\n");
    // NCCL may not register the buffers of a graph if segments of memory can expand: validate_args
    if (switches->cuda_graph != PLAIT_GRAPH_NONE)
        text_append(out, "export NCCL_GRAPH_REGISTER=0\n");
    // PyTorch 2.8 has only the older name, PYTORCH_CUDA_ALLOC_CONF, and 2.9 ignores the new one
    // (pytorch/pytorch issue 183387); 2.12, which has both, comes with Megatron Core 0.18 (NeMo
    // 26.06, docs/releases/software-versions.md of Megatron-Bridge). A graph of the whole iteration
    // reuses buffers between streams only if their use is recorded: perf_recipes of Megatron-Bridge
    text_append_printf(out,
                       "export TORCH_NCCL_AVOID_RECORD_STREAMS=%d\n"
                       "export %s=expandable_segments:True%s\n",
                       !whole,
                       megatron_core_of(launch->problem->runtime) < 18 ? "PYTORCH_CUDA_ALLOC_CONF"
                                                                       : "PYTORCH_ALLOC_CONF",
                       whole ? ",graph_capture_record_stream_reuse:True" : "");
}

static const char *argument_lines(const plait_launch *launch, const megatron_args *args,
                                  plait_arena *arena)
{
    launch_args flags;
    text_builder out;

    args_init(&flags, arena);
    megatron_args_append(args, &flags);
    text_builder_init(&out, arena);
    const int since = megatron_args_since(args);
    const bool forced =
        megatron_args_is_written(args, MEGATRON_FIELD(moe_router_force_load_balancing));
    const bool fp8_attention = launch->plan->degrees.switches.fp8_attention;
    const training_places places = (training_places){
        .program = fp8_attention
                       ? "fp8_dot_product_attention = True in core_transformer_config_from_args of "
                         "megatron/training/arguments.py, which the price assumes; no argument "
                         "sets it"
                       : NULL,
        .data = forced ? "random tokens: --mock-data, --tokenizer-type; with real data remove "
                         "--moe-router-force-load-balancing, which the price assumes"
                       : "random tokens: --mock-data, --tokenizer-type",
        .length = "--train-iters",
        .values = "--lr to --clip-grad",
        .checkpoints = "--save, --load, --save-interval",
        .cluster = true,
    };

    scripts_append_head(launch,
                        model_is_hybrid(launch->problem->model)
                            ? "# shellcheck shell=bash disable=SC2215\n"
                              "# args.sh - arguments of pretrain_hybrid.py, one per line; run.sh "
                              "reads them"
                            : MEGATRON_ARGS_HEAD,
                        &places, &out);
    if (since > 0)
        text_append_printf(&out, "# These arguments need Megatron Core 0.%d.0 or later.\n", since);
    notes_append(launch, &out);
    if (fp8_attention)
        notes_append_keys(launch, (plait_key_id[]){PLAIT_KEY_FP8_ATTENTION}, 1, &out);
    text_append(&out, "\n# environment\n");
    megatron_append_environment(launch, &out);
    if (args->attention_backend != NULL &&
        !megatron_args_is_written(args, MEGATRON_FIELD(attention_backend)))
        megatron_append_attention(args, &out);
    args_append_shell(&flags, &out);
    return text_builder_finish(&out, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    const launch_program program = {
        .what = "Megatron-LM",
        .checkout = "MEGATRON",
        .args = "args.sh",
        .start = model_is_hybrid(launch->problem->model)
                     ? SCRIPTS_TORCHRUN "    pretrain_hybrid.py \"${args[@]}\" \"$@\""
                     : SCRIPTS_TORCHRUN "    pretrain_gpt.py \"${args[@]}\" \"$@\"",
    };

    megatron_args args;

    PLAIT_TRY(megatron_args_of(launch->problem, launch->plan, arena, &args, err));
    PLAIT_TRY(folder_add(out, "args.sh", argument_lines(launch, &args, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_megatron = {
    .name = "megatron",
    .runtime = "megatron",
    .rules = PLAIT_RULES_MEGATRON,
    .render = render,
    .import = megatron_import,
    .read_log = megatron_read_log,
};
