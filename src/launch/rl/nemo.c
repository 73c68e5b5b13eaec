/*
 * nemo.c - NeMo-RL: grpo.yaml, which changes a config of its examples
 *
 * Keys are those of examples/configs/grpo_math_1B.yaml and the TypedDicts of
 * nemo_rl/models/policy/__init__.py in NVIDIA-NeMo/RL 7ea279a (2026-08-22). Training is Megatron
 * (megatron_cfg) or FSDP2 (dtensor_cfg). A batch of updates is counted in answers. vLLM's
 * expert-parallel ranks are its data- and tensor-parallel ranks. The config of the examples is the
 * default of all keys that the file does not have, so run.sh puts the file next to it.
 */
#include "launch/rl/rl_settings.h"

#include <string.h>

#include "base/text.h"

#define ROW(group, key, kind, field) SETTING(group, key, kind, rl_settings, field)
#define MEGATRON "policy.megatron_cfg."
#define DTENSOR "policy.dtensor_cfg."
#define ENGINE "policy.generation."

#define JOB_ROWS                                                                                   \
    ROW(NULL, "defaults", WORD, defaults), ROW("job", "grpo.num_prompts_per_step", INT, prompts),  \
        ROW(NULL, "grpo.num_generations_per_prompt", INT, generations),                            \
        ROW(NULL, "grpo.use_dynamic_sampling", SWITCH, filtered),                                  \
        ROW(NULL, "grpo.skip_reference_policy_logprobs_calculation", SWITCH, no_reference),        \
        ROW(NULL, "grpo.async_grpo.enabled", SWITCH, async),                                       \
        ROW(NULL, "grpo.async_grpo.max_trajectory_age_steps", INT, age),                           \
        ROW(NULL, "grpo.async_grpo.in_flight_weight_updates", SWITCH, partial),                    \
        ROW(NULL, "loss_fn.reference_policy_kl_penalty", NUMBER, penalty),                         \
        ROW(NULL, "loss_fn.ratio_clip_max", NUMBER, high),                                         \
        ROW(NULL, "loss_fn.use_importance_sampling_correction", SWITCH, importance),               \
        ROW(NULL, "loss_fn.disable_ppo_ratio", SWITCH, bypass),                                    \
        ROW(NULL, "policy.model_name", WORD, model),                                               \
        ROW(NULL, "policy.train_global_batch_size", INT, update_answers),                          \
        ROW(NULL, "policy.train_micro_batch_size", INT, batch),                                    \
        ROW(NULL, "policy.max_total_sequence_length", INT, total_tokens)

#define PLACE_ROWS                                                                                 \
    ROW(NULL, "policy.sequence_packing.enabled", SWITCH, packing),                                 \
        ROW(NULL, "policy.sequence_packing.train_mb_tokens", INT, budget),                         \
        ROW(NULL, "policy.sequence_packing.logprob_mb_tokens", INT, budget),                       \
        ROW(NULL, ENGINE "backend", WORD, engine),                                                 \
        ROW(NULL, ENGINE "max_new_tokens", INT, answer_tokens),                                    \
        ROW(NULL, ENGINE "vllm_cfg.async_engine", SWITCH, async),                                  \
        ROW(NULL, ENGINE "vllm_cfg.precision", WORD, quantization),                                \
        ROW(NULL, ENGINE "vllm_cfg.tensor_parallel_size", INT, rollout_tp),                        \
        ROW(NULL, ENGINE "vllm_cfg.pipeline_parallel_size", INT, rollout_pp),                      \
        ROW(NULL, ENGINE "vllm_cfg.expert_parallel_size", INT, rollout_ep),                        \
        ROW(NULL, ENGINE "vllm_cfg.gpu_memory_utilization", NUMBER, memory),                       \
        ROW(NULL, ENGINE "colocated.enabled", SWITCH, colocated),                                  \
        ROW(NULL, ENGINE "colocated.resources.gpus_per_node", INT, rollout_gpus),                  \
        ROW(NULL, ENGINE "colocated.resources.num_nodes", INT, rollout_nodes),                     \
        ROW("GPUs", "cluster.gpus_per_node", INT, gpus),                                           \
        ROW(NULL, "cluster.num_nodes", INT, nodes)

static const setting_row megatron_rows[] = {
    JOB_ROWS,
    ROW(NULL, DTENSOR "enabled", SWITCH, dtensor),
    ROW(NULL, MEGATRON "enabled", SWITCH, megatron),
    ROW(NULL, MEGATRON "tensor_model_parallel_size", INT, tp),
    ROW(NULL, MEGATRON "sequence_parallel", SWITCH, sp),
    ROW(NULL, MEGATRON "pipeline_model_parallel_size", INT, pp),
    ROW(NULL, MEGATRON "num_layers_in_first_pipeline_stage", INT, first),
    ROW(NULL, MEGATRON "num_layers_in_last_pipeline_stage", INT, last),
    ROW(NULL, MEGATRON "context_parallel_size", INT, cp),
    ROW(NULL, MEGATRON "expert_model_parallel_size", INT, ep),
    ROW(NULL, MEGATRON "expert_tensor_parallel_size", INT, etp),
    ROW(NULL, MEGATRON "activation_checkpointing", SWITCH, checkpoints),
    ROW(NULL, MEGATRON "recompute_granularity", WORD, granularity),
    ROW(NULL, MEGATRON "recompute_modules", WORDS, modules),
    ROW(NULL, MEGATRON "peft.enabled", SWITCH, adapters),
    ROW(NULL, MEGATRON "peft.dim", INT, rank),
    ROW(NULL, MEGATRON "peft.alpha", INT, alpha),
    ROW(NULL, MEGATRON "peft.target_modules", WORDS, targets),
    ROW(NULL, MEGATRON "optimizer.lr", NUMBER, lr),
    ROW(NULL, MEGATRON "optimizer.optimizer_cpu_offload", SWITCH, host_optimizer),
    PLACE_ROWS,
    SETTINGS_END,
};

static const setting_row fsdp_rows[] = {
    JOB_ROWS,
    ROW(NULL, DTENSOR "enabled", SWITCH, dtensor),
    ROW(NULL, DTENSOR "tensor_parallel_size", INT, tp),
    ROW(NULL, DTENSOR "sequence_parallel", SWITCH, sp),
    ROW(NULL, DTENSOR "context_parallel_size", INT, cp),
    ROW(NULL, DTENSOR "activation_checkpointing", SWITCH, checkpoints),
    ROW(NULL, DTENSOR "cpu_offload", SWITCH, host_optimizer),
    ROW(NULL, DTENSOR "lora_cfg.enabled", SWITCH, adapters),
    ROW(NULL, DTENSOR "lora_cfg.dim", INT, rank),
    ROW(NULL, DTENSOR "lora_cfg.alpha", INT, alpha),
    ROW(NULL, DTENSOR "lora_cfg.target_modules", WORDS, targets),
    ROW(NULL, DTENSOR "lora_cfg.match_all_linear", SWITCH, off),
    ROW(NULL, MEGATRON "enabled", SWITCH, megatron),
    PLACE_ROWS,
    SETTINGS_END,
};

static void adapt(const plait_rl_job *job, const plait_rl_plan *plan, rl_settings *s)
{
    const bool fp8 = plan->weights == PLAIT_WEIGHT_FP8;
    const bool apart = plan->placement == PLAIT_RL_APART;

    s->defaults = s->megatron == 1 ? "grpo_math_1B_megatron.yaml" : "grpo_math_1B.yaml";
    s->penalty = job->reference ? 0.01 : 0.0; // 0.01 is the default
    s->no_reference = !job->reference;
    s->bypass = job->algorithm == PLAIT_RL_RLOO;
    s->async = apart && plan->staleness > 0;
    s->age = s->async == 1 ? plan->staleness : SETTING_OPEN;
    s->partial = s->async == 1 ? job->partial : SETTING_OPEN;
    // NeMo-RL requires the correction for old answers, and for 8-bit weights of the engine
    s->importance = s->async == 1 || fp8;
    s->quantization = fp8 ? "fp8" : NULL;
    s->packing = 1;
    s->budget = s->cp > 0 ? s->budget * s->cp : s->budget; // tokens of a context-parallel group
    s->colocated = !apart;
    // all nodes are those of the cluster; generation takes some of them, or some GPUs of one node
    if (apart && s->nodes == 1 && s->rollout_nodes == 1 &&
        s->gpus + s->rollout_gpus <= job->problem.cluster->group[0].gpus_per_node)
        s->gpus += s->rollout_gpus;
    else if (apart)
        s->nodes += s->rollout_nodes;
    if (s->granularity == NULL)
        s->modules = NULL;
}

/*
 * The configs have no field for these (nemo_rl/models/policy/__init__.py); the rest is asserted by
 * nemo_rl/algorithms/grpo.py.
 */
static const char *unsupported(const plait_rl_job *job, const plait_rl_plan *plan)
{
    const plait_degrees *const d = &plan->degrees;
    const int node = job->problem.cluster->group[0].gpus_per_node;
    const bool apart = plan->placement == PLAIT_RL_APART;

    if (job->algorithm == PLAIT_RL_PPO || job->reward != NULL)
        return "a critic or a reward model, for which plait writes no config";
    if (!job->logprobs)
        return "updates with the log-probabilities of the engine";
    if (job->engine->kind != PLAIT_ENGINE_VLLM)
        return "another engine than vllm, for which plait writes no config";
    if (d->vpp > 1)
        return "interleaved stages";
    if (d->split.kind == PLAIT_SPLIT_EMBEDDING || d->split.kind == PLAIT_SPLIT_LOSS ||
        d->split.kind == PLAIT_SPLIT_BOTH)
        return "an embedding or a loss that counts as a layer";
    if (d->recompute.kind == PLAIT_RECOMPUTE_FULL && d->recompute.layers > 0)
        return "recomputation of some layers";
    if (plan->worker.dp_attention > 1 &&
        plan->worker.ep != plan->worker.tp * plan->worker.dp_attention)
        return "data-parallel attention without as many expert-parallel ranks";
    if (plan->worker.dp_attention == 1 && plan->worker.ep > 1 && plan->worker.ep != plan->worker.tp)
        return "expert-parallel ranks of the engine that are not its tensor-parallel ranks";
    if (plan->weights != PLAIT_WEIGHT_BF16 && plan->weights != PLAIT_WEIGHT_FP8)
        return "weights of the engine in another format than bf16 and fp8";
    if (!apart && !plan->offload)
        return "training state that stays on the GPUs while the engine runs";
    if (apart && plan->train_gpus + plan->rollout_gpus > node &&
        (plan->train_gpus % node != 0 || plan->rollout_gpus % node != 0))
        return "training and generation that share a node of several";
    return NULL;
}

static void interpret(const rl_settings *s, rl_imported *out)
{
    out->runtime = s->megatron == 1 ? "megatron" : "fsdp";
    out->algorithm = s->bypass == 1     ? PLAIT_RL_RLOO
                     : s->filtered == 1 ? PLAIT_RL_DAPO
                                        : PLAIT_RL_GRPO;
    out->reference = !(s->no_reference == 1 || s->penalty == 0.0);
    out->offload = s->colocated != 0;
    if (s->quantization != NULL && text_equal(s->quantization, "fp8"))
        out->weights = PLAIT_WEIGHT_FP8;
    if (s->update_answers > 0 && s->generations > 0)
        out->update_prompts = s->update_answers / s->generations;
    if (s->total_tokens > 0 && s->answer_tokens > 0 && s->total_tokens > s->answer_tokens)
        out->prompt_tokens = s->total_tokens - s->answer_tokens;
    if (s->budget > 0)
        out->pack_tokens = s->budget / (s->batch > 0 ? s->batch : 1);
    if (s->rollout_ep > 1 && s->rollout_tp > 0 && s->rollout_ep % s->rollout_tp == 0)
        out->worker.dp_attention = s->rollout_ep / s->rollout_tp;
    if (s->colocated == 0) {
        const int share = s->rollout_gpus > 0 ? s->rollout_gpus : s->gpus;

        out->placement = PLAIT_RL_APART;
        out->rollout_gpus = share * (s->rollout_nodes > 0 ? s->rollout_nodes : 1);
        out->train_gpus -= out->rollout_gpus;
        out->staleness = s->async == 1 ? (s->age > 0 ? s->age : 1) : 0;
        out->partial = s->partial == 1;
    }
}

const rl_framework rl_nemo = {
    .name = "nemo-rl",
    .file = "grpo.yaml",
    .head = "# grpo.yaml - config of examples/run_grpo.py of NeMo-RL; run.sh starts it",
    .edits = "#   data         data, env: those of the example config, which is about mathematics\n"
             "#   training     the learning rate; checkpointing and logger of the example config\n",
    .rows = megatron_rows,
    .fsdp = fsdp_rows,
    .yaml = true,
    .start = ": \"${NEMO_RL:?expected the checkout of NeMo-RL}\"\n"
             "config=$NEMO_RL/examples/configs/plait-grpo.yaml\n"
             "cp \"$here/grpo.yaml\" \"$config\"\n"
             "cd -- \"$NEMO_RL\"\n"
             "exec uv run examples/run_grpo.py --config \"$config\" \"$@\"\n",
    .unsupported = unsupported,
    .adapt = adapt,
    .interpret = interpret,
};
