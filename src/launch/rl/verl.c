/*
 * verl.c - verl: overrides.sh, Hydra overrides of verl.trainer.main_ppo
 *
 * Keys are those of verl/trainer/config/ppo_trainer.yaml and the files that it includes, in
 * verl-project/verl 1dda039 (0.10.0.dev, 2026-08-22). A key with + is not in the config: fields of
 * Megatron Core's TransformerConfig. The reference and the log-probabilities take the degrees and
 * the token budget of the actor. A batch is counted in prompts, and verl multiplies it by
 * rollout.n.
 */
#include "launch/rl/rl_settings.h"

#include <string.h>

#include "base/text.h"

#define ROW(group, key, kind, field) SETTING(group, key, kind, rl_settings, field)
#define ACTOR "actor_rollout_ref.actor."
#define MODEL "actor_rollout_ref.model."
#define ROLLOUT "actor_rollout_ref.rollout."
#define MEGATRON ACTOR "megatron."
#define TRANSFORMER "+" MEGATRON "override_transformer_config."
#define FSDP ACTOR "fsdp_config."

/* Rows of both kinds of training software. */
#define JOB_ROWS                                                                                   \
    ROW("job", "model_engine", WORD, training),                                                    \
        ROW(NULL, "algorithm.adv_estimator", WORD, estimator),                                     \
        ROW(NULL, "algorithm.filter_groups.enable", SWITCH, filtered),                             \
        ROW(NULL, "algorithm.use_kl_in_reward", SWITCH, off),                                      \
        ROW(NULL, "algorithm.rollout_correction.bypass_mode", SWITCH, bypass),                     \
        ROW(NULL, "data.train_batch_size", INT, prompts),                                          \
        ROW(NULL, "data.max_prompt_length", INT, prompt_tokens),                                   \
        ROW(NULL, "data.max_response_length", INT, answer_tokens),                                 \
        ROW(NULL, MODEL "path", WORD, model), ROW(NULL, ROLLOUT "n", INT, generations),            \
        ROW(NULL, "critic.enable", SWITCH, critic_enabled),                                        \
        ROW(NULL, "critic.model.path", WORD, critic),                                              \
        ROW(NULL, "reward.reward_model.enable", SWITCH, reward_enabled),                           \
        ROW(NULL, "reward.reward_model.model_path", WORD, reward),                                 \
        ROW("updates", ACTOR "ppo_mini_batch_size", INT, update),                                  \
        ROW(NULL, ACTOR "use_dynamic_bsz", SWITCH, dynamic),                                       \
        ROW(NULL, ACTOR "ppo_max_token_len_per_gpu", INT, budget),                                 \
        ROW(NULL, ACTOR "use_kl_loss", SWITCH, reference),                                         \
        ROW(NULL, ACTOR "clip_ratio_high", NUMBER, high), ROW(NULL, ACTOR "optim.lr", NUMBER, lr), \
        ROW(NULL, MODEL "use_remove_padding", SWITCH, packing)

#define PLACE_ROWS                                                                                 \
    ROW("generation", ROLLOUT "name", WORD, engine),                                               \
        ROW(NULL, ROLLOUT "tensor_model_parallel_size", INT, rollout_tp),                          \
        ROW(NULL, ROLLOUT "pipeline_model_parallel_size", INT, rollout_pp),                        \
        ROW(NULL, ROLLOUT "data_parallel_size", INT, rollout_dp),                                  \
        ROW(NULL, ROLLOUT "expert_parallel_size", INT, rollout_ep),                                \
        ROW(NULL, ROLLOUT "gpu_memory_utilization", NUMBER, memory),                               \
        ROW(NULL, ROLLOUT "quantization", WORD, quantization),                                     \
        ROW(NULL, ROLLOUT "nnodes", INT, rollout_nodes),                                           \
        ROW(NULL, ROLLOUT "n_gpus_per_node", INT, rollout_gpus),                                   \
        ROW(NULL, ROLLOUT "checkpoint_engine.backend", WORD, backend),                             \
        ROW("placement", "trainer.v1.trainer_mode", WORD, mode),                                   \
        ROW(NULL, "trainer.v1.separate_async.parameter_sync_step", INT, updates),                  \
        ROW(NULL, "trainer.v1.sampler.max_off_policy_threshold", INT, age),                        \
        ROW(NULL, "trainer.v1.sampler.max_off_policy_strategy", WORD, strategy),                   \
        ROW(NULL, "trainer.nnodes", INT, nodes), ROW(NULL, "trainer.n_gpus_per_node", INT, gpus)

static const setting_row megatron_rows[] = {
    JOB_ROWS,
    ROW("training", MEGATRON "tensor_model_parallel_size", INT, tp),
    ROW(NULL, MEGATRON "sequence_parallel", SWITCH, sp),
    ROW(NULL, MEGATRON "pipeline_model_parallel_size", INT, pp),
    ROW(NULL, MEGATRON "virtual_pipeline_model_parallel_size", INT, vpp),
    ROW(NULL, TRANSFORMER "num_layers_in_first_pipeline_stage", INT, first),
    ROW(NULL, TRANSFORMER "num_layers_in_last_pipeline_stage", INT, last),
    ROW(NULL, TRANSFORMER "account_for_embedding_in_pipeline_split", SWITCH, embedding),
    ROW(NULL, TRANSFORMER "account_for_loss_in_pipeline_split", SWITCH, loss),
    ROW(NULL, MEGATRON "context_parallel_size", INT, cp),
    ROW(NULL, MEGATRON "expert_model_parallel_size", INT, ep),
    ROW(NULL, MEGATRON "expert_tensor_parallel_size", INT, etp),
    ROW(NULL, MEGATRON "override_transformer_config.recompute_granularity", WORD, granularity),
    ROW(NULL, MEGATRON "override_transformer_config.recompute_method", WORD, method),
    ROW(NULL, MEGATRON "override_transformer_config.recompute_num_layers", INT, layers),
    ROW(NULL, MEGATRON "override_transformer_config.recompute_modules", WORDS, modules),
    ROW(NULL, MEGATRON "param_offload", SWITCH, offload),
    ROW(NULL, MEGATRON "grad_offload", SWITCH, offload),
    ROW(NULL, MEGATRON "optimizer_offload", SWITCH, offload),
    ROW(NULL, MODEL "lora.rank", INT, rank),
    ROW(NULL, MODEL "lora.alpha", INT, alpha),
    ROW(NULL, MODEL "lora.target_modules", WORDS, targets),
    PLACE_ROWS,
    SETTINGS_END,
};

static const setting_row fsdp_rows[] = {
    JOB_ROWS,
    ROW("training", ACTOR "strategy", WORD, method),
    ROW(NULL, FSDP "fsdp_size", INT, shard),
    ROW(NULL, FSDP "reshard_after_forward", SWITCH, reshard),
    ROW(NULL, ACTOR "ulysses_sequence_parallel_size", INT, cp),
    ROW(NULL, MODEL "enable_gradient_checkpointing", SWITCH, checkpoints),
    ROW(NULL, FSDP "param_offload", SWITCH, offload),
    ROW(NULL, FSDP "optimizer_offload", SWITCH, offload),
    ROW(NULL, MODEL "lora_rank", INT, rank),
    ROW(NULL, MODEL "lora_alpha", INT, alpha),
    ROW(NULL, MODEL "target_modules", WORDS, targets),
    PLACE_ROWS,
    SETTINGS_END,
};

/* The critic has the degrees of the policy, and separate keys. */
#define CRITIC "critic.megatron."

static const setting_row critic_rows[] = {
    ROW("critic", "critic.ppo_max_token_len_per_gpu", INT, budget),
    ROW(NULL, CRITIC "tensor_model_parallel_size", INT, tp),
    ROW(NULL, CRITIC "sequence_parallel", SWITCH, sp),
    ROW(NULL, CRITIC "pipeline_model_parallel_size", INT, pp),
    ROW(NULL, CRITIC "context_parallel_size", INT, cp),
    ROW(NULL, CRITIC "expert_model_parallel_size", INT, ep),
    ROW(NULL, CRITIC "expert_tensor_parallel_size", INT, etp),
    ROW(NULL, CRITIC "param_offload", SWITCH, offload),
    ROW(NULL, CRITIC "grad_offload", SWITCH, offload),
    ROW(NULL, CRITIC "optimizer_offload", SWITCH, offload),
    SETTINGS_END,
};

static void adapt(const plait_rl_job *job, const plait_rl_plan *plan, rl_settings *s)
{
    const bool apart = plan->placement == PLAIT_RL_APART;

    s->training = s->megatron == 1 ? "megatron" : "dp";
    s->method = s->megatron == 1 ? s->method : "fsdp2";
    s->estimator = job->algorithm == PLAIT_RL_PPO    ? "gae"
                   : job->algorithm == PLAIT_RL_RLOO ? "rloo"
                                                     : "grpo";
    s->critic_enabled = job->algorithm == PLAIT_RL_PPO ? 1 : SETTING_OPEN;
    s->dynamic = s->packing = 1;
    s->quantization = plan->weights == PLAIT_WEIGHT_FP8 ? "fp8" : NULL;
    s->mode = apart ? "separate_async" : "sync";
    s->backend = apart ? "nccl" : NULL;
    s->strategy = apart ? "wait" : NULL;
    s->age = apart ? plan->staleness + 1 : SETTING_OPEN; // versions that an answer spans
    if (!apart)
        s->updates = SETTING_OPEN;
}

/*
 * separate_async trains on minibatches while the engine runs, so it has no synchronous form, and
 * its client continues answers with new weights (verl/trainer/ppo/v1/trainer_separate_async.py).
 * Colocated, the engine's cache and the trainer's state are moved together.
 */
static const char *unsupported(const plait_rl_job *job, const plait_rl_plan *plan)
{
    if (plan->placement == PLAIT_RL_APART && plan->staleness == 0)
        return "synchronous steps on separate GPUs; give --staleness 1 or more";
    if (plan->placement == PLAIT_RL_APART && !job->partial)
        return "answers that end before weights are replaced; give --partial";
    if (job->algorithm == PLAIT_RL_PPO && job->problem.runtime->rules != PLAIT_RULES_MEGATRON)
        return "a critic that is trained by FSDP, for which plait writes no overrides";
    if (job->algorithm == PLAIT_RL_PPO && plan->degrees.vpp > 1)
        return "a critic on interleaved stages";
    if (plan->handover == PLAIT_RL_BY_PARAMETER)
        return "weights that are sent one parameter after another";
    if (plan->weights != PLAIT_WEIGHT_BF16 && plan->weights != PLAIT_WEIGHT_FP8)
        return "weights of the engine in another format than bf16 and fp8";
    if (plan->placement == PLAIT_RL_COLOCATED && job->reward != NULL)
        return "a reward model on the same GPUs, whose degrees a plan does not have";
    return NULL;
}

static void interpret(const rl_settings *s, rl_imported *out)
{
    out->runtime = s->training != NULL && text_equal(s->training, "megatron") ? "megatron" : "fsdp";
    out->algorithm = s->estimator == NULL || text_equal(s->estimator, "gae") ? PLAIT_RL_PPO
                     : text_equal(s->estimator, "rloo")                      ? PLAIT_RL_RLOO
                     : s->filtered == 1                                      ? PLAIT_RL_DAPO
                                                                             : PLAIT_RL_GRPO;
    out->reference = s->reference == 1;
    out->rollout_logprobs = s->bypass == 1;
    if (s->rollout_nodes > 0) {
        out->placement = PLAIT_RL_APART;
        out->rollout_gpus = s->rollout_nodes * (s->rollout_gpus > 0 ? s->rollout_gpus : s->gpus);
        out->staleness = s->age > 1 ? s->age - 1 : 1;
        out->partial = true;
    }
    if (s->quantization != NULL && text_equal(s->quantization, "fp8"))
        out->weights = PLAIT_WEIGHT_FP8;
}

const rl_framework rl_verl = {
    .name = "verl",
    .file = "overrides.sh",
    .head = "# shellcheck shell=bash disable=SC2034,SC2140,SC2211,SC2276,SC2288\n"
            "# overrides.sh - KEY=VALUE of verl.trainer.main_ppo, one per line; run.sh reads them",
    .edits = "#   data         data.train_files, data.val_files, and the reward function:\n"
             "#                arguments of run.sh\n"
             "#   training     actor_rollout_ref.actor.optim.lr\n",
    .rows = megatron_rows,
    .fsdp = fsdp_rows,
    .critic = critic_rows,
    .start = "args=()\n"
             "while IFS= read -r line || [ -n \"$line\" ]; do\n"
             "    eval \"args+=($line\"$'\\n'\")\"\n"
             "done <\"$here/overrides.sh\"\n"
             "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
             "exec python3 -m verl.trainer.main_ppo \"${args[@]}\" \"$@\"\n",
    .unsupported = unsupported,
    .adapt = adapt,
    .interpret = interpret,
};
