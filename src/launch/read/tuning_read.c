/* tuning_read.c - a plan and its job from the settings of a fine-tuning config */
#include "launch/read/tuning_read.h"

#include <stdio.h>
#include <string.h>

#include "launch/read/model_names.h"

unsigned tuning_targets_of(const char *words, tuning_names names)
{
    unsigned targets = 0;
    char word[64];

    for (int used; words != NULL && sscanf(words, "%63s%n", word, &used) == 1; words += used)
        for (int t = 0; t < PLAIT_LORA_TARGETS; t++)
            if (names[t] != NULL && (text_equal(word, names[t]) || text_equal(word, "all") ||
                                     text_equal(word, "all-linear")))
                targets |= 1u << t;
    return targets;
}

static void take_tuning(const tuning_settings *s, plait_job_kind kind, tuning_names names,
                        text_builder *warnings, plait_tuning *out)
{
    const bool adapters = s->rank > 0 && s->adapters != 0;
    const bool nf4 = s->bits == 4 || s->quantised == 1;

    *out = (plait_tuning){.kind = kind};
    if (s->freeze_vision == 1)
        out->frozen |= 1u << PLAIT_FREEZE_VISION;
    if (s->freeze_projector == 1)
        out->frozen |= 1u << PLAIT_FREEZE_PROJECTOR;
    if (adapters) {
        out->rank = s->rank;
        out->targets = tuning_targets_of(s->targets, names);
        out->format = nf4 ? PLAIT_FROZEN_NF4 : PLAIT_FROZEN_BF16;
        if (kind == PLAIT_JOB_SFT)
            out->kind = nf4 ? PLAIT_JOB_QLORA : PLAIT_JOB_LORA;
        if (out->targets == 0)
            text_append_printf(import_warn(warnings, ""),
                               "modules with adapters that plait does not know: %.80s",
                               s->targets != NULL ? s->targets : "none are given");
    } else if (s->bits == 8 || nf4) {
        import_warn(warnings, "weights of 4 or 8 bits without adapters are priced in 16 bits");
    }
    if (kind == PLAIT_JOB_DPO)
        out->reference = s->cached == 1 ? PLAIT_REFERENCE_CACHED
                         : adapters     ? PLAIT_REFERENCE_ADAPTERS
                                        : PLAIT_REFERENCE_RESIDENT;
}

void tuning_take_job(const tuning_settings *settings, plait_job_kind kind, tuning_names names,
                     text_builder *warnings, plans_entry *out)
{
    take_tuning(settings, kind, names, warnings, &out->tuning);
}

static plait_status take_model(const char *name, plait_arena *arena, text_builder *warnings,
                               plans_entry *out, plait_error *err)
{
    const plait_model *model = NULL;

    if (out->model != NULL)
        return PLAIT_OK;
    if (name != NULL)
        PLAIT_TRY(hub_model_find(name, arena, &model, err));
    out->model = model;
    if (model == NULL)
        text_append_printf(import_warn(warnings, ""),
                           "the model is unknown; give it with --model%s%.80s",
                           name != NULL ? ": plait has no model " : "", name != NULL ? name : "");
    return PLAIT_OK;
}

static void take_attention(const char *word, plans_entry *out)
{
    const plait_key_set bit = PLAIT_KEY_BIT(PLAIT_KEY_ATTENTION);

    for (int k = PLAIT_ATTENTION_KERNELS - 1; k >= 0 && word != NULL && !(out->given & bit); k--)
        if (tuning_attention_hub[k] != NULL && text_equal(word, tuning_attention_hub[k]))
            import_set_key(out, PLAIT_KEY_ATTENTION, k);
}

/* Set the batch of all GPUs, once the GPUs are known. */
static void take_batch(const tuning_settings *s, plans_entry *out)
{
    const int batch = s->batch > 0 && s->batch <= PLAIT_MAX_DEGREE ? s->batch : 1;
    const int ranks = (s->tp > 0 ? s->tp : 1) * (s->cp > 0 ? s->cp : 1);
    const int64_t steps = s->steps > 0 ? s->steps : 1;

    import_set_key(out, PLAIT_KEY_TP, s->tp > 0 ? s->tp : 1);
    import_set_key(out, PLAIT_KEY_CP, s->cp > 0 ? s->cp : 1);
    import_set_key(out, PLAIT_KEY_PP, 1);
    import_set_key(out, PLAIT_KEY_VPP, 1);
    import_set_key(out, PLAIT_KEY_SCHEDULE, PLAIT_1F1B);
    import_set_key(out, PLAIT_KEY_EP, 1);
    import_set_key(out, PLAIT_KEY_SP, 0);
    import_set_key(out, PLAIT_KEY_ETP, out->degrees.tp);
    import_set_key(out, PLAIT_KEY_CP_COMM, PLAIT_CP_A2A); // Ulysses, if at all
    import_set_key(out, PLAIT_KEY_SPLIT, PLAIT_SPLIT_EVEN);
    import_set_key(out, PLAIT_KEY_ORDER, 0);
    import_set_key(out, PLAIT_KEY_MBS, batch);
    if (out->seq == 0 && s->seq > 0)
        out->seq = s->seq;
    const int dp = out->gpus > 0 && out->gpus % ranks == 0 ? out->gpus / ranks : 0;
    if (dp > 0 && out->gbs == 0 && steps * batch <= PLAIT_MAX_GBS / dp)
        out->gbs = (int)(steps * batch * dp);
    if (s->shard > 1)
        import_set_key(out, PLAIT_KEY_SHARD_GROUP, s->shard);
    else if (dp > 0)
        out->degrees.shard_group = dp; // the default, unless a note has another value
}

plait_status tuning_take(const tuning_settings *settings, plait_job_kind kind, tuning_names names,
                         plait_arena *arena, text_builder *warnings, plans_entry *out,
                         plait_error *err)
{
    const plait_key_set recompute = PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE);

    take_tuning(settings, kind, names, warnings, &out->tuning);
    if (settings->packing != 1 && kind == PLAIT_JOB_SFT)
        import_warn(warnings, "samples differ in length without packing; all are priced with the "
                              "longest");
    PLAIT_TRY(take_model(settings->model, arena, warnings, out, err));
    take_attention(settings->attention, out);
    take_batch(settings, out);
    if (!(out->given & recompute) && (settings->checkpoints >= 0 || settings->plain >= 0)) {
        const bool full = settings->checkpoints >= 0 ? settings->checkpoints : !settings->plain;

        out->degrees.recompute =
            (plait_recompute){.kind = full ? PLAIT_RECOMPUTE_FULL : PLAIT_RECOMPUTE_NONE};
        out->given |= recompute;
    }
    if (out->precision < 0)
        out->precision = settings->fp16 == 1 ? PLAIT_FP16 : PLAIT_BF16;
    return PLAIT_OK;
}
