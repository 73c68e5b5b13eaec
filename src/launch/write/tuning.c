/* tuning.c - settings of fine-tuning that several targets share */
#include "launch/write/tuning.h"

#include <math.h>

#include "launch/write/hub_id.h"
#include "launch/write/training.h"
#include "plan/model_queries.h"

tuning_names tuning_names_hub = {
    [PLAIT_LORA_Q] = "q_proj",       [PLAIT_LORA_K] = "k_proj",       [PLAIT_LORA_V] = "v_proj",
    [PLAIT_LORA_O] = "o_proj",       [PLAIT_LORA_GATE] = "gate_proj", [PLAIT_LORA_UP] = "up_proj",
    [PLAIT_LORA_DOWN] = "down_proj",
};

tuning_names tuning_names_megatron = {
    [PLAIT_LORA_QKV] = "linear_qkv",
    [PLAIT_LORA_O] = "linear_proj",
    [PLAIT_LORA_FC1] = "linear_fc1",
    [PLAIT_LORA_DOWN] = "linear_fc2",
};

const char *const tuning_attention_hub[PLAIT_ATTENTION_KERNELS] = {
    [PLAIT_ATTENTION_UNFUSED] = "eager",
    [PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL] = "eager",
    [PLAIT_ATTENTION_FLASH] = "flash_attention_2",
    [PLAIT_ATTENTION_FLASH2] = "flash_attention_2",
    [PLAIT_ATTENTION_FLASH3] = "flash_attention_3",
    [PLAIT_ATTENTION_FUSED] = "sdpa",
};

tuning_settings tuning_settings_init(void)
{
    enum { OPEN = SETTING_OPEN };
    const double open = (double)NAN;

    return (tuning_settings){
        .rank = OPEN,
        .alpha = OPEN,
        .adapters = OPEN,
        .mlp = OPEN,
        .bits = OPEN,
        .quantised = OPEN,
        .nested = OPEN,
        .cached = OPEN,
        .seq = OPEN,
        .batch = OPEN,
        .steps = OPEN,
        .packing = OPEN,
        .separate = OPEN,
        .checkpoints = OPEN,
        .plain = OPEN,
        .bf16 = OPEN,
        .fp16 = OPEN,
        .tp = OPEN,
        .cp = OPEN,
        .shard = OPEN,
        .replicate = OPEN,
        .reshard = OPEN,
        .offload = OPEN,
        .freeze_vision = OPEN,
        .warmup = OPEN,
        .freeze_projector = OPEN,
        .most_steps = OPEN,
        .save_steps = OPEN,
        .beta = open,
        .lr = open,
        .weight_decay = open,
        .beta1 = open,
        .beta2 = open,
        .eps = open,
        .clip = open,
    };
}

/* Return the names of modules with adapters, with blanks between them; NULL: out of memory. */
static const char *target_words(unsigned targets, tuning_names names, plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    for (int t = 0; t < PLAIT_LORA_TARGETS; t++)
        if (targets & 1u << t && names[t] != NULL)
            text_append_printf(&out, "%s%s", out.length > 0 ? " " : "", names[t]);
    return text_builder_finish(&out, NULL);
}

static plait_status set_adapters(const plait_tuning *tuning, tuning_names names, plait_arena *arena,
                                 tuning_settings *out, plait_error *err)
{
    static const unsigned mlp = 1u << PLAIT_LORA_GATE | 1u << PLAIT_LORA_UP | 1u << PLAIT_LORA_DOWN;

    if (tuning->rank == 0)
        return PLAIT_OK;
    out->adapters = 1;
    out->rank = tuning->rank;
    out->alpha = 2 * tuning->rank; // no price depends on it
    out->targets = target_words(tuning->targets, names, arena);
    out->mlp = (tuning->targets & mlp) == mlp;
    if (tuning->format == PLAIT_FROZEN_NF4) {
        out->bits = 4;
        out->quantised = out->nested = 1;
        out->format4 = "nf4";
    }
    return plait_check_allocated(out->targets, err);
}

/* Values that no plan decides. */
static plait_status set_training(const plait_launch *launch, plait_arena *arena,
                                 tuning_settings *out, plait_error *err)
{
    const launch_training t = training_of(launch->problem);
    const bool adapters = launch->problem->job.tuning.rank > 0;

    // usual rates of fine-tuning, as in the recipes of the targets
    out->lr = launch->problem->job.tuning.kind == PLAIT_JOB_DPO ? 5e-6 : adapters ? 1e-4 : 1e-5;
    out->beta = launch->problem->job.tuning.kind == PLAIT_JOB_DPO ? 0.1 : (double)NAN;
    out->beta1 = t.beta1;
    out->beta2 = t.beta2;
    out->eps = t.eps;
    out->clip = t.clip;
    out->weight_decay = t.weight_decay;
    out->decay = "cosine";
    out->warmup = t.warmup_steps;
    out->most_steps = TRAINING_TRY_STEPS;
    out->save_steps = TRAINING_SAVE_STEPS;
    out->output = training_checkpoints(launch->problem->model, arena);
    return plait_check_allocated(out->output, err);
}

plait_status tuning_settings_of(const plait_launch *launch, tuning_names names, plait_arena *arena,
                                tuning_settings *out, plait_error *err)
{
    const plait_job *const job = &launch->problem->job;
    const plait_degrees *const d = &launch->plan->degrees;

    *out = tuning_settings_init();
    PLAIT_TRY(hub_id_of(launch->problem->model, arena, &out->model, err));
    PLAIT_TRY(set_adapters(&job->tuning, names, arena, out, err));
    if (job->tuning.kind == PLAIT_JOB_DPO)
        out->cached = job->tuning.reference == PLAIT_REFERENCE_CACHED ? 1 : SETTING_OPEN;
    else
        out->packing = !job->documents.padded;
    if (out->packing == 1)
        out->separate = plait_job_reach(job) < job->seq;
    out->seq = job->seq;
    out->batch = d->mbs;
    out->steps = plait_degrees_microbatches(d, job->gbs);
    out->checkpoints = d->recompute.kind == PLAIT_RECOMPUTE_FULL;
    out->plain = !out->checkpoints;
    out->bf16 = job->precision != PLAIT_FP16;
    out->fp16 = job->precision == PLAIT_FP16 ? 1 : SETTING_OPEN;
    out->attention = tuning_attention_hub[d->attention];
    if (job->tuning.frozen & 1u << PLAIT_FREEZE_VISION)
        out->freeze_vision = 1;
    if (job->tuning.frozen & 1u << PLAIT_FREEZE_PROJECTOR)
        out->freeze_projector = 1;
    return set_training(launch, arena, out, err);
}

/* ---- support ---- */

static const char *unsupported_adapters(const plait_problem *problem, const tuning_support *support)
{
    const plait_tuning *const tuning = &problem->job.tuning;

    if (tuning->format == PLAIT_FROZEN_FP8)
        return "frozen weights of 8 bits";
    if (tuning->format == PLAIT_FROZEN_NF4 && !support->nf4)
        return "frozen weights of 4 bits";
    for (int t = 0; t < PLAIT_LORA_TARGETS; t++)
        if (tuning->targets & 1u << t && support->names[t] == NULL)
            return t == PLAIT_LORA_QKV || t == PLAIT_LORA_FC1
                       ? "one adapter on fused projections; its projections are separate: give "
                         "--lora-targets q,k,v,o,gate,up,down"
                   : t == PLAIT_LORA_EXPERTS ? "adapters of routed experts"
                                             : "separate adapters on projections that it fuses: "
                                               "give --lora-targets qkv,o,fc1,down";
    for (int k = 0; k < problem->model->kinds; k++)
        if (problem->model->kind[k].mixer == PLAIT_MIXER_MLA)
            return "adapters on latent attention (MLA), whose projections have other names";
    return NULL;
}

const char *tuning_unsupported(const plait_problem *problem, const plait_degrees *degrees,
                               const tuning_support *support)
{
    const plait_tuning *const tuning = &problem->job.tuning;
    static const unsigned towers = 1u << PLAIT_FREEZE_VISION | 1u << PLAIT_FREEZE_PROJECTOR;

    if (!(support->kinds & 1u << tuning->kind))
        return tuning->kind == PLAIT_JOB_PRETRAIN ? "pre-training: plan the job with --job sft"
               : tuning->kind == PLAIT_JOB_DPO    ? "preference learning (DPO)"
               : tuning->kind == PLAIT_JOB_QLORA  ? "frozen weights of 4 bits (QLoRA)"
                                                  : "distillation, a reward model, or an update of "
                                                    "reinforcement learning";
    for (const tuning_limit *l = support->limits; l != NULL && l->what != NULL; l++)
        if ((l->kinds & 1u << tuning->kind) && plait_key_value(degrees, l->key) > 1)
            return l->what;
    if (tuning->frozen & ~(support->towers ? towers : 0u))
        return support->towers ? "frozen parts of the decoder" : "frozen parts of the model";
    if (tuning->kind == PLAIT_JOB_DPO) {
        if (tuning->reference == PLAIT_REFERENCE_OFFLOADED)
            return "a reference model in host memory";
        if (tuning->reference == PLAIT_REFERENCE_CACHED && !support->cached)
            return "cached log-probabilities of the reference";
        if (tuning->reference == PLAIT_REFERENCE_RESIDENT && tuning->rank > 0)
            return "a second copy of the weights as reference of adapters";
    }
    return tuning->rank > 0 ? unsupported_adapters(problem, support) : NULL;
}

void tuning_append_notes(const plait_launch *launch, text_builder *out)
{
    static const plait_key_id keys[] = {
        PLAIT_KEY_ZERO,    PLAIT_KEY_SHARD_GROUP, PLAIT_KEY_GRAD_SYNC,   PLAIT_KEY_RESHARD,
        PLAIT_KEY_SCATTER, PLAIT_KEY_OFFLOAD,     PLAIT_KEY_GRAD_REDUCE, PLAIT_KEY_RECOMPUTE,
    };

    notes_append(launch, out);
    notes_append_one("job", plait_job_name[launch->problem->job.tuning.kind], out);
    notes_append_keys(launch, keys, sizeof keys / sizeof *keys, out);
}
