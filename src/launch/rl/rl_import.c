/* rl_import.c - reads the configs of verl and NeMo-RL */
#include "launch/rl_import.h"

#include <math.h>
#include <string.h>

#include "launch/read/model_names.h"
#include "launch/read/plan_reader.h"
#include "launch/read/settings_read.h"
#include "launch/read/tuning_read.h"
#include "launch/rl/rl_settings.h"

static void set_key(rl_imported *out, plait_key_id key, int value)
{
    if (value < 1)
        return;
    plait_key_put(&out->degrees, key, value);
    out->given |= PLAIT_KEY_BIT(key);
}

static void take_training(const rl_settings *s, rl_imported *out)
{
    const bool full =
        s->granularity != NULL ? text_equal(s->granularity, "full") : s->checkpoints == 1;

    set_key(out, PLAIT_KEY_TP, s->tp > 0 ? s->tp : 1);
    set_key(out, PLAIT_KEY_PP, s->pp > 0 ? s->pp : 1);
    set_key(out, PLAIT_KEY_VPP, s->vpp > 0 ? s->vpp : 1);
    set_key(out, PLAIT_KEY_CP, s->cp > 0 ? s->cp : 1);
    set_key(out, PLAIT_KEY_EP, s->ep > 0 ? s->ep : 1);
    set_key(out, PLAIT_KEY_ETP, s->etp);
    set_key(out, PLAIT_KEY_MBS, s->batch);
    if (s->granularity != NULL || s->checkpoints >= 0) {
        out->degrees.recompute =
            (plait_recompute){.kind = full                     ? PLAIT_RECOMPUTE_FULL
                                      : s->granularity != NULL ? PLAIT_RECOMPUTE_SELECTIVE
                                                               : PLAIT_RECOMPUTE_NONE};
        out->given |= PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE);
    }
    if (s->first > 0 || s->last > 0) {
        out->degrees.split = (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST,
                                           .first = (unsigned short)(s->first > 0 ? s->first : 0),
                                           .last = (unsigned short)(s->last > 0 ? s->last : 0)};
        out->given |= PLAIT_KEY_BIT(PLAIT_KEY_SPLIT);
    }
}

static void take_settings(const rl_settings *s, const rl_framework *of, rl_imported *out)
{
    const int engine = s->engine != NULL ? text_index(s->engine, plait_engine_name) : -1;

    out->model = s->model;
    out->critic = s->critic;
    out->reward = s->reward_enabled == 1 ? s->reward : NULL;
    out->engine = engine >= 0 ? (plait_engine_kind)engine : PLAIT_ENGINE_VLLM;
    out->prompts = s->prompts > 0 ? s->prompts : 0;
    out->generations = s->generations > 0 ? s->generations : 0;
    out->update_prompts = s->update > 0 ? s->update : 0;
    out->prompt_tokens = s->prompt_tokens > 0 ? s->prompt_tokens : 0;
    out->longest_answer = s->answer_tokens > 0 ? s->answer_tokens : 0;
    out->worker = (plait_worker){.tp = s->rollout_tp > 0 ? s->rollout_tp : 1,
                                 .pp = s->rollout_pp > 0 ? s->rollout_pp : 1,
                                 .dp_attention = s->rollout_dp > 0 ? s->rollout_dp : 1,
                                 .ep = s->rollout_ep > 0 ? s->rollout_ep : 1};
    out->memory_fraction = isnan(s->memory) ? 0.0 : s->memory;
    out->offload = s->offload == 1;
    if (s->nodes > 0 && s->gpus > 0 && s->nodes <= PLAIT_MAX_GPUS / s->gpus)
        out->train_gpus = s->nodes * s->gpus;
    take_training(s, out);
    of->interpret(s, out);
    if (text_equal(out->runtime, "fsdp") && s->reshard >= 0) {
        const int all = out->train_gpus / (out->degrees.tp * out->degrees.pp);

        set_key(out, PLAIT_KEY_ZERO, s->reshard == 1 ? 3 : 2);
        set_key(out, PLAIT_KEY_SHARD_GROUP, s->shard > 0 ? s->shard : all);
    }
    if (out->placement == PLAIT_RL_COLOCATED)
        out->rollout_gpus = out->train_gpus;
    const char *const *const names =
        text_equal(out->runtime, "megatron") ? tuning_names_megatron : tuning_names_hub;
    if (s->rank > 0 && s->adapters != 0)
        out->tuning = (plait_tuning){
            .kind = PLAIT_JOB_RL,
            .rank = s->rank,
            .targets = tuning_targets_of(s->targets != NULL ? s->targets : "all", names)};
}

/* Replace an id on the hub by the name of plait's model, or by a placeholder. */
static plait_status find_name(const char **id, plait_arena *arena, plait_error *err)
{
    const plait_model *model = NULL;

    if (*id == NULL)
        return PLAIT_OK;
    PLAIT_TRY(hub_model_find(*id, arena, &model, err));
    *id = model != NULL ? model->name : "MODEL";
    return PLAIT_OK;
}

/* Take the notes that plait writes; the config takes precedence. */
static plait_status take_notes(const char *text, size_t length, const char *name,
                               plait_arena *arena, rl_imported *out, plait_error *err)
{
    plans_entry notes = plans_unknown(name);

    notes.given =
        out->given & ~(PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE) | PLAIT_KEY_BIT(PLAIT_KEY_SPLIT));
    notes.degrees = out->degrees;
    PLAIT_TRY(notes_read(text, length, name, arena, &notes, err));
    out->degrees = notes.degrees;
    out->given |= notes.given;
    if (notes.runtime != NULL)
        out->runtime = notes.runtime;
    return notes_find(text, length, "answer-tokens", arena, &out->answer_tokens, err);
}

plait_status rl_import(plait_rl_framework framework, const char *text, size_t length,
                       const char *name, const launch_call *call, plait_arena *arena,
                       rl_imported *out, const char **warning, plait_error *err)
{
    const rl_framework *const of = framework == PLAIT_RL_VERL ? &rl_verl : &rl_nemo;
    rl_settings settings = rl_settings_init();
    settings_source source;
    text_builder warnings;

    *out = (rl_imported){.weights = -1, .reference = -1, .degrees = plait_degrees_init()};
    text_builder_init(&warnings, arena);
    PLAIT_TRY(settings_open(text, length, name, !of->yaml, call, arena, &source, err));
    if (source.yaml != NULL && call != NULL)
        PLAIT_TRY(nemo_add_defaults(source.yaml, arena, &warnings, err));
    // the rows of both kinds of training software; keys of the one that is off are not given
    const bool fsdp =
        of->yaml ? flags_value_is_off(settings_value(&source, "policy.megatron_cfg.enabled") != NULL
                                          ? settings_value(&source, "policy.megatron_cfg.enabled")
                                          : "true")
                 : settings_value(&source, "model_engine") == NULL ||
                       !text_equal(settings_value(&source, "model_engine"), "megatron");
    PLAIT_TRY(settings_read(fsdp ? of->fsdp : of->rows, &source, &settings, err));
    if (settings.prompts == SETTING_OPEN && settings.generations == SETTING_OPEN &&
        settings.model == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, name, "expected a config of %s, found no %s",
                          of->name, of->yaml ? "policy.model_name" : "data.train_batch_size");
    take_settings(&settings, of, out);
    out->policy = out->model;
    PLAIT_TRY(find_name(&out->policy, arena, err));
    PLAIT_TRY(find_name(&out->critic, arena, err));
    PLAIT_TRY(find_name(&out->reward, arena, err));
    PLAIT_TRY(take_notes(text, length, name, arena, out, err));
    if (settings.batch == SETTING_OPEN && settings.budget > 0) // verl: tokens of a GPU
        out->pack_tokens = settings.budget * out->degrees.cp / out->degrees.mbs;
    if (call != NULL && call->gpus > 0 && out->train_gpus == 0)
        out->train_gpus = out->rollout_gpus = call->gpus;
    out->not_read = settings_not_read(&source);
    *warning = text_builder_finish(&warnings, NULL);
    return plait_check_allocated(out->not_read && *warning, err);
}
