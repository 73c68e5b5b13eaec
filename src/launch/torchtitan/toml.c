/*
 * toml.c - config.toml, for the versions of torchtitan that read TOML
 *
 * They have flavours and no other models, pipelines for two families, and no NVFP4.
 */
#include <string.h>

#include "launch/torchtitan/torchtitan.h"
#include "plan/model_queries.h"

/*
 * In these versions FlexAttention, which the other flavours have built in, supports no context
 * parallelism.
 */
static bool takes_context(titan_family family)
{
    return family == TITAN_LLAMA3 || family == TITAN_QWEN3;
}

bool titan_has_toml(const plait_launch *launch)
{
    const plait_problem *const problem = launch->problem;
    const plait_degrees *const d = &launch->plan->degrees;
    const titan_flavour *const flavour = titan_flavour_of(problem->model);

    if (flavour == NULL || !flavour->toml || problem->model->mtp_layers > 0 ||
        problem->job.precision == PLAIT_NVFP4 || (d->tp > 1 && !d->sp) ||
        problem->job.seq % (2LL * d->tp * d->cp) != 0)
        return false;
    if (d->pp > 1 && flavour->family != TITAN_LLAMA3 && flavour->family != TITAN_DEEPSEEK_V3)
        return false;
    return d->cp == 1 || takes_context(flavour->family);
}

/* ---- the split ---- */

static void append_split(const plait_launch *launch, text_builder *out)
{
    const plait_degrees *const d = &launch->plan->degrees;

    if (d->pp == 1)
        return;
    text_append(out, "module_fqns_per_model_part = [\n");
    for (int c = 0; c < d->pp * d->vpp; c++) {
        const plait_chunk *const chunk = plait_plan_chunk(launch->plan, c);
        const char *between = "";

        text_append(out, "    [");
        if (chunk->embedding) {
            text_append(out, "\"tok_embeddings\"");
            between = ", ";
        }
        for (int i = chunk->first; i < chunk->last; i++) {
            text_append_printf(out, "%s\"layers.%d\"", between, i);
            between = ", ";
        }
        if (chunk->loss)
            text_append_printf(out, "%s\"norm\", \"output\"", between);
        text_append(out, "],\n");
    }
    text_append(out, "]\n");
}

static void append_real(const char *key, double number, text_builder *out)
{
    text_append_printf(out, "%s = ", key);
    text_append_number(out, number);
    text_append_char(out, '\n');
}

static void append_length(const plait_launch *launch, text_builder *out)
{
    text_append_printf(out, "steps = %d\ndataset = \"c4_test\"\n", TRAINING_TRY_STEPS);
    append_real("max_norm", training_of(launch->problem).clip, out);
}

static void append_training(const plait_launch *launch, text_builder *out)
{
    const launch_training t = training_of(launch->problem);
    const char *const folder = training_checkpoints(launch->problem->model, out->arena);

    text_append(out, "\n[optimizer]\n");
    append_real("lr", t.lr, out);
    append_real("beta1", t.beta1, out);
    append_real("beta2", t.beta2, out);
    append_real("eps", t.eps, out);
    append_real("weight_decay", t.weight_decay, out);
    text_append_printf(out,
                       "\n[lr_scheduler]\nwarmup_steps = %d\ntotal_steps = %d\n"
                       "decay_type = \"%s\"\n",
                       t.warmup_steps, t.total_steps,
                       t.decay == PLAIT_LR_CONSTANT ? "linear" : plait_lr_decay_name[t.decay]);
    append_real("decay_ratio", titan_decay_ratio(&t), out);
    append_real("min_lr_factor", titan_end(&t), out);
    text_append_printf(out, "\n[checkpoint]\nenable = true\nfolder = \"%s\"\ninterval = %d\n",
                       folder != NULL ? folder : "", TRAINING_SAVE_STEPS);
    out->failed = out->failed || folder == NULL;
}

static void append_sections(const plait_launch *launch, text_builder *out)
{
    titan_settings settings;
    const char *section = "";

    titan_toml_settings_of(launch, &settings);
    for (int i = 0; i < settings.count; i++) {
        const titan_setting *const s = &settings.setting[i];

        if (strcmp(section, s->section) != 0) {
            if (strcmp(section, "parallelism") == 0)
                append_split(launch, out);
            text_append_printf(out, "\n[%s]\n", section = s->section);
        }
        text_append_printf(out, "%s = ", s->key);
        titan_append_value(s, "true", "false", out);
        text_append_char(out, '\n');
        if (i == 2) // after the batch
            append_length(launch, out);
    }
}

/* Both converters leave the head as it is; experts have a converter of their own. */
static void append_quantization(const plait_launch *launch, text_builder *out)
{
    const bool fp8 = launch->problem->job.precision == PLAIT_FP8;
    const bool experts = model_has_experts(launch->problem->model);

    if (launch->problem->job.precision == PLAIT_BF16)
        return;
    text_append_printf(out, "\n[quantize.linear.%s]\n%sfilter_fqns = [\"output\"%s]\n",
                       fp8 ? "float8" : "mx", fp8 ? "recipe_name = \"rowwise\"\n" : "",
                       experts ? ", \"router.gate\"" : "");
    if (experts)
        text_append_printf(out, "\n[quantize.grouped_mm.%s]\nfqns = [\"experts\"]\n",
                           fp8 ? "float8" : "mx");
}

static void append_model(const plait_launch *launch, text_builder *out)
{
    const titan_flavour *const flavour = titan_flavour_of(launch->problem->model);
    const bool experts = model_has_experts(launch->problem->model);
    const char *const converter = launch->problem->job.precision == PLAIT_FP8 ? "float8" : "mx";

    text_append(out, "\n[job]\ndescription = ");
    titan_append_quoted(launch->problem->model->name, out);
    text_append_printf(out, "\n\n[model]\nname = \"%s\"\nflavor = \"%s\"\n",
                       titan_module[flavour->family], flavour->name);
    text_append(out, "hf_assets_path = \"./tests/assets/tokenizer\"\n");
    if (launch->problem->job.precision == PLAIT_BF16)
        return;
    text_append_printf(out, "converters = [\"quantize.linear.%s\"", converter);
    if (experts)
        text_append_printf(out, ", \"quantize.grouped_mm.%s\"", converter);
    text_append(out, "]\n");
}

const char *titan_toml(const plait_launch *launch, plait_arena *arena)
{
    static const training_places places = {
        .data = "training.dataset, model.hf_assets_path",
        .length = "training.steps",
        .values = "optimizer, lr_scheduler, training.max_norm",
        .checkpoints = "checkpoint",
    };
    text_builder out;

    text_builder_init(&out, arena);
    titan_append_head(launch, "# config.toml - the plan of recipe.py for torchtitan before 2026-03",
                      &places, &out);
    append_model(launch, &out);
    append_sections(launch, &out);
    append_quantization(launch, &out);
    append_training(launch, &out);
    return text_builder_finish(&out, NULL);
}
