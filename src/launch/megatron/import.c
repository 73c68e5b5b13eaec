/*
 * import.c - Megatron-LM's arguments as a plan
 *
 * What is not given is what Megatron would take; arguments win over the notes beside them. What
 * neither say (the GPUs, above all) stays unknown, and eval asks for it.
 */
#include <math.h>
#include <string.h>

#include "launch/megatron/argument_table.h"
#include "launch/read/hub_model.h"
#include "launch/megatron/import_parts.h"
#include "launch/megatron/megatron.h"
#include "launch/read/notes_read.h"
#include "launch/megatron/wrappers.h"

/* Arguments that change the price and that plait has no term for. */
static void warn_of_unpriced(const megatron_args *args, plan_reader *in)
{
    megatron_args absent;
    bool any = false;

    megatron_args_init(&absent);
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++) {
        if (!row->unpriced || megatron_argument_same(row, args, &absent))
            continue;
        text_append_printf(in->warnings, "%s%s",
                           any                        ? ", "
                           : in->warnings->length > 0 ? "\nnot priced: "
                                                      : "not priced: ",
                           row->name);
        any = true;
    }
}

/* Why there is no model, though the file begins to say one. */
static void warn_of_model(const megatron_args *args, plan_reader *in)
{
    const struct {
        const char *said;
        bool missing;
    } parts[] = {
        {"--num-layers", args->num_layers == 0},
        {"--hidden-size", args->hidden_size == 0},
        {"--num-attention-heads", args->num_attention_heads == 0},
        {"--vocab-size or a tokenizer that is known", megatron_vocab(args) == 0},
    };
    bool any = false;

    if (in->out->model != NULL || (parts[0].missing && parts[1].missing && parts[2].missing) ||
        flags_last(in->flags, MEGATRON_MODEL_FLAG) != NULL)
        return;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        if (parts[p].missing && !any)
            import_warn(in, "the model is not known, give it with --model; the file does not say ");
        if (parts[p].missing)
            text_append_printf(in->warnings, "%s%s", any ? ", " : "", parts[p].said);
        any = any || parts[p].missing;
    }
}

/* Flags that make another model of the one that a name stands for. */
static const char *changed_part(const megatron_args *args, const launch_flags *flags,
                                const plait_model *named)
{
    const bool latent = named->kinds > 0 && named->kind[0].mixer == PLAIT_MIXER_MLA;
    const struct {
        size_t field;
        int given, of_model; /* -1: any value is a change */
    } parts[] = {
        {MEGATRON_FIELD(num_layers), args->num_layers, named->layers},
        {MEGATRON_FIELD(hidden_size), args->hidden_size, named->hidden},
        {MEGATRON_FIELD(num_experts), args->num_experts, -1},
        {MEGATRON_FIELD(num_attention_heads), args->num_attention_heads, -1},
        {MEGATRON_FIELD(ffn_hidden_size), args->ffn_hidden_size, -1},
        {MEGATRON_FIELD(moe_ffn_hidden_size), args->moe_ffn_hidden_size, -1},
    };

    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        if (parts[p].given > 0 && parts[p].given != parts[p].of_model)
            return megatron_args_name(parts[p].field);
    return flags_last(flags, MEGATRON_NAME(multi_latent_attention)) != NULL &&
                   args->multi_latent_attention != latent
               ? MEGATRON_NAME(multi_latent_attention)
               : NULL;
}

/* The model that a wrapper names where the arguments build none. */
static plait_status take_named(const megatron_args *args, plan_reader *in, plait_error *err)
{
    const launch_flag *const flag = flags_find(in->flags, MEGATRON_MODEL_FLAG);
    const plait_model *named;

    if (flag == NULL || in->out->model != NULL)
        return PLAIT_OK;
    PLAIT_TRY(hub_model_find(flag->value[0], in->flags->arena, &named, err));
    const char *const changed = named != NULL ? changed_part(args, in->flags, named) : NULL;
    if (named != NULL && changed == NULL) {
        in->out->model = named;
        return PLAIT_OK;
    }
    import_warn(in, "the model is not known, give it with --model: ");
    text_append_printf(in->warnings, "%s%.80s%s", changed != NULL ? changed : "plait has no ",
                       changed != NULL ? " changes " : "", flag->value[0]);
    return PLAIT_OK;
}

/*
 * --moe-router-force-load-balancing states even ranks. Without it, and without a capacity, routing is
 * natural, and neither flags nor model give its imbalance. A file that plait wrote is read back as
 * the plan that it was written for, whatever it forces beside its mock data.
 */
static void read_routing(const megatron_args *args, bool of_plait, plan_reader *in)
{
    const launch_flag *forced = flags_last(in->flags, "moe_router_force_load_balancing");

    if (args->num_experts == 0 || args->expert_model_parallel_size < 2 || of_plait)
        return;
    if (forced != NULL && !flags_is_off(in->flags, forced))
        in->out->imbalance = 1.0;
    else if (isnan(args->moe_expert_capacity_factor)) {
        in->out->natural_routing = true;
        import_warn(in, "routing is natural (no --moe-router-force-load-balancing): the band of "
                        "the step is wider; --imbalance states how uneven it is");
    }
}

/* Degrees of the notes stand where no flag does. */
static void take_notes(const plait_degrees *d, megatron_args *args)
{
    args->tensor_model_parallel_size = d->tp;
    args->pipeline_model_parallel_size = d->pp;
    args->context_parallel_size = d->cp;
    args->expert_model_parallel_size = d->ep;
}

/* What a file that says nothing gets to hear. */
static plait_status check_any(const launch_flags *flags, const plans_entry *out, plait_error *err)
{
    if (megatron_has_flags(flags) || out->given != 0 || out->gpus > 0 || out->seq > 0 ||
        out->model != NULL)
        return PLAIT_OK;
    return plait_fail(
        err, PLAIT_ERROR_SCHEMA, flags->file,
        "expected flags of Megatron-LM, such as --num-layers 32, in a script, a list, "
        "a JSON or a YAML of them, found none");
}

/* The caller's model overrides the model of the file. */
static plait_status take_model(const megatron_args *args, const char *name, const launch_call *call,
                               plan_reader *in, plait_error *err)
{
    const plait_model *model;

    PLAIT_TRY(megatron_read_model(args, in->flags, name, &model, err));
    if (model != NULL) // else the one that a note names
        in->out->model = model;
    if (args->hybrid_layer_pattern != NULL)
        in->out->model = NULL;
    if (call != NULL && call->model != NULL)
        in->out->model = call->model;
    return take_named(args, in, err);
}

static plait_status read_all(const char *name, bool own, const launch_call *call, plan_reader *in,
                             plait_error *err)
{
    const bool of_plait = in->out->runtime != NULL; // a note names it
    megatron_args args;

    megatron_args_init(&args);
    take_notes(&in->out->degrees, &args);
    PLAIT_TRY(megatron_args_parse(in->flags, &args, err));
    PLAIT_TRY(megatron_read_deepspeed(&args, in, err));
    if (own && args.padded_vocab_size == 0)
        args.padded_vocab_size = args.vocab_size;
    PLAIT_TRY(take_model(&args, name, call, in, err));
    PLAIT_TRY(megatron_read_degrees(&args, in, err));
    PLAIT_TRY(megatron_read_pipeline(&args, in->out->model, in, err));
    PLAIT_TRY(megatron_read_settings(&args, in, err));
    read_routing(&args, of_plait, in);
    warn_of_unpriced(&args, in);
    warn_of_model(&args, in);
    megatron_warn_of_flags(&args, in);
    in->out->not_read = flags_not_read(in->flags);
    return in->out->not_read != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/* "scripts/pretrain_13b.sh" launches pretrain_13b. */
static const char *name_of_file(const char *path, plait_arena *arena)
{
    const char *const slash = strrchr(path, '/');
    char *const name = plait_arena_text(arena, slash != NULL && slash[1] ? slash + 1 : path);
    char *const dot = name != NULL ? strrchr(name, '.') : NULL;

    if (dot != NULL && dot != name)
        *dot = '\0';
    return name;
}

plait_status megatron_import_flags(launch_flags *flags, const char *text, size_t length,
                                   const launch_call *call, text_builder *warnings,
                                   plans_entry *out, plait_error *err)
{
    plait_arena *const arena = flags->arena;
    plan_reader in = {flags, out, warnings};
    const char *model;

    PLAIT_TRY(notes_read(text, length, flags->file, arena, out, err));
    PLAIT_TRY(check_any(flags, out, err));
    PLAIT_TRY(megatron_translate_flags(flags, err));
    if (call != NULL && call->gpus > 0)
        PLAIT_TRY(flags_add(flags, "world_size", plait_arena_printf(arena, "%d", call->gpus), err));
    PLAIT_TRY(notes_find(text, length, "model", arena, &model, err));
    const bool own = model != NULL; // plait's plans are priced without padding
    if (model == NULL)
        model = name_of_file(flags->file, arena);
    return model != NULL ? read_all(model, own, call, &in, err) : plait_fail_nomem(err);
}

plait_status megatron_import(const char *text, size_t length, const char *name,
                             const launch_call *call, plait_arena *arena, plans_entry *out,
                             const char **warning, plait_error *err)
{
    launch_flags flags;
    text_builder warnings;

    text_builder_init(&warnings, arena);
    if (megatron_is_yaml(text, length))
        PLAIT_TRY(megatron_read_yaml(text, length, name, arena, &flags, &warnings, err));
    else
        PLAIT_TRY(flags_read(text, length, name, call, arena, &flags, err));
    if (flags_are_of_swift(&flags))
        PLAIT_TRY(megatron_translate_swift(&flags, &warnings, err));
    PLAIT_TRY(megatron_import_flags(&flags, text, length, call, &warnings, out, err));
    *warning = text_builder_finish(&warnings, NULL);
    return *warning != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
