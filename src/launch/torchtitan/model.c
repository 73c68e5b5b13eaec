/*
 * model.c - the function `model` of recipe.py: a flavour, or a model in the family's parts
 *
 * A flavour is asked for by its name. Any other model is put together from the configuration
 * classes of its family, one layer after the other.
 */
#include <math.h>
#include <string.h>

#include "launch/torchtitan/torchtitan.h"
#include "plan/model_queries.h"

/* ---- number formats ---- */

static bool is_quantized(const plait_launch *launch)
{
    return launch->problem->job.precision != PLAIT_BF16;
}

static void append_quantization_imports(const plait_launch *launch, text_builder *out)
{
    static const char *const prefix[PLAIT_PRECISIONS] = {
        [PLAIT_FP8] = "Float8", [PLAIT_MXFP8] = "MXFP8", [PLAIT_NVFP4] = "NVFP4"};
    const char *const name = prefix[launch->problem->job.precision];

    if (name == NULL)
        return;
    text_append(out, "from torchtitan.components.quantization import ");
    if (model_has_experts(launch->problem->model))
        text_append_printf(out, "%sGroupedExpertsConverter, ", name);
    text_append_printf(out, "%sLinearConverter\n", name);
}

/* Which linear layers: those of the blocks, without router and head. */
static void append_converters(const plait_launch *launch, const char *indent, text_builder *out)
{
    const bool experts = model_has_experts(launch->problem->model);
    const char *const compiled = titan_is_compiled(launch) ? "True" : "False";
    const char *linear, *name;

    switch (launch->problem->job.precision) {
    case PLAIT_FP8:
        name = "Float8";
        linear =
            experts ? "filter_fqns=[\"lm_head\", \"router.gate\"]" : "filter_fqns=[\"lm_head\"]";
        break;
    case PLAIT_MXFP8:
        name = "MXFP8";
        linear = "fqns=[\"attention\", \"feed_forward\", \"shared_experts\"]";
        break;
    default:
        name = "NVFP4";
        linear = "fqns=[\"layers\"]";
    }
    text_append_printf(out, "%s%sLinearConverter.Config(%s, model_compile_enabled=%s),\n", indent,
                       name, linear, compiled);
    if (experts)
        text_append_printf(out, "%s%sGroupedExpertsConverter.Config(%smodel_compile_enabled=%s),\n",
                           indent, name, strcmp(name, "MXFP8") == 0 ? "pad_multiple=128, " : "",
                           compiled);
}

/* ---- a flavour ---- */

/* As many positions as a sequence has tokens, where the flavour was made for fewer. */
static void append_positions(const plait_launch *launch, const titan_flavour *flavour,
                             text_builder *out)
{
    const int seq = launch->problem->job.seq;

    if (seq > flavour->positions)
        text_append_printf(out,
                           "    for layer in spec.model.layers:\n"
                           "        layer.attention.rope.max_context_length = %d  # the flavour "
                           "has %d\n",
                           seq, flavour->positions);
}

static void append_flavour(const plait_launch *launch, const titan_flavour *flavour,
                           text_builder *out)
{
    const int predictions = launch->problem->model->mtp_layers;

    text_append_printf(out,
                       "\n\ndef model() -> ModelSpec:\n"
                       "    spec = model_registry(\n"
                       "        \"%s\",\n"
                       "        attn_backend=\"%s\",\n",
                       flavour->name, titan_attention(launch));
    if (predictions > 0)
        text_append_printf(out, "        num_mtp_layers=%d,\n", predictions);
    if (is_quantized(launch)) {
        text_append(out, "        converters=[\n");
        append_converters(launch, "            ", out);
        text_append(out, "        ],\n");
    }
    text_append(out, "    )\n");
    append_positions(launch, flavour, out);
    text_append(out, "    return spec\n");
}

/* ---- any model: what it is made with ---- */

static void append_parts_imports(const plait_launch *launch, text_builder *out)
{
    const plait_model *const model = launch->problem->model;
    const titan_family family = titan_family_of(model);
    const bool experts = model_has_experts(model);
    const bool mla = family == TITAN_DEEPSEEK_V3;
    const char *const module = titan_module[family];

    append_quantization_imports(launch, out);
    if (experts)
        text_append(out, "from torchtitan.components.optimizer import "
                         "register_moe_load_balancing_hook\n");
    text_append_printf(out,
                       "from torchtitan.distributed.pipeline_parallel import pipeline_llm\n"
                       "from torchtitan.models.common import %s, Embedding, Linear, RMSNorm\n"
                       "from torchtitan.models.common.config_utils import %s%s"
                       "make_ffn_config\n",
                       family == TITAN_QWEN3 && model->numerics.rope.kind != PLAIT_ROPE_LLAMA3
                           ? "CosSinRoPE"
                           : "ComplexRoPE",
                       mla ? "" : "get_attention_config, make_gqa_config, ",
                       experts ? "make_moe_config, make_routed_experts_config, "
                                 "make_router_config, "
                               : "");
    if (model->tied)
        text_append(out, "from torchtitan.models.common.param_init import skip_param_init\n");
    text_append_printf(out,
                       "from torchtitan.models.%s import %s%s\n"
                       "from torchtitan.models.%s.model import %s\n",
                       module, mla ? "make_mla_attention_config, " : "",
                       mla                     ? "parallelize_deepseekv3"
                       : family == TITAN_QWEN3 ? "parallelize_qwen3"
                                               : "parallelize_llama",
                       module,
                       mla                     ? "DeepSeekV3Model, DeepSeekV3TransformerBlock"
                       : family == TITAN_QWEN3 ? "Qwen3Model, Qwen3TransformerBlock"
                                               : "Llama3Model, Llama3TransformerBlock");
    if (model->mtp_layers > 0)
        text_append(out, "from torchtitan.models.deepseek_v3.mtp import MTPTransformerBlock\n");
}

void titan_append_model_imports(const plait_launch *launch, text_builder *out)
{
    const titan_family family = titan_family_of(launch->problem->model);

    if (titan_flavour_of(launch->problem->model) == NULL) {
        append_parts_imports(launch, out);
        return;
    }
    append_quantization_imports(launch, out);
    text_append_printf(out, "from torchtitan.models.%s import model_registry\n",
                       titan_module[family]);
}

void titan_append_model(const plait_launch *launch, text_builder *out)
{
    const titan_flavour *const flavour = titan_flavour_of(launch->problem->model);

    if (flavour != NULL) {
        append_flavour(launch, flavour, out);
        return;
    }
    titan_append_parts(launch, out);
    titan_append_block(launch, out);
    text_append(out, "\n\ndef model() -> ModelSpec:\n");
    titan_append_config(launch, out);
    if (is_quantized(launch)) {
        text_append(out, "    for converter in (\n");
        append_converters(launch, "        ", out);
        text_append(out, "    ):\n        config = converter.build().convert(config)\n");
    }
    titan_append_spec(launch, out);
}
