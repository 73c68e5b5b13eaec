/*
 * recipe.c - writes recipe.py, a function that returns the Trainer.Config of a plan
 *
 * Values that no plan decides are those with which the model was trained, if these are published.
 * Otherwise they are placeholders that let a run start: torchtitan's test data and tokenizer, and a
 * hundred steps.
 */
#include <stdlib.h>
#include <string.h>

#include "launch/torchtitan/torchtitan.h"
#include "launch/write/training.h"

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- the split ---- */

static const char parts_function[] =
    "\n\ndef model_parts(layers: list[int]) -> list[list[str]]:\n"
    "    \"\"\"Modules of each chunk of the pipeline, from its number of layers.\"\"\"\n"
    "    parts, first = [], 0\n"
    "    for count in layers:\n"
    "        parts.append([f\"layers.{i}\" for i in range(first, first + count)])\n"
    "        first += count\n"
    "    parts[0].insert(0, \"tok_embeddings\")\n"
    "    parts[-1] += [\"norm\", \"lm_head\"]\n"
    "    return parts\n";

static void append_real(const char *key, double number, const char *behind, text_builder *out)
{
    text_append_printf(out, "%s=", key);
    text_append_number(out, number);
    text_append(out, behind);
}

/* Append the keys of one section as parallelism=ParallelismConfig(key=value, ...). */
static void append_section(const titan_settings *settings, const char *section, const char *type,
                           text_builder *out)
{
    text_append_printf(out, "        %s=%s(\n", section, type);
    for (int i = 0; i < settings->count; i++) {
        if (strcmp(settings->setting[i].section, section) != 0)
            continue;
        text_append_printf(out, "            %s=", settings->setting[i].key);
        titan_append_value(&settings->setting[i], "True", "False", out);
        text_append(out, ",\n");
    }
}

static void append_schedule(const launch_training *t, text_builder *out)
{
    const bool constant = t->decay == PLAIT_LR_CONSTANT;

    text_append_printf(out,
                       "        lr_scheduler=LRSchedulersContainer.Config(\n"
                       "            warmup_steps=%d,\n            total_steps=%d,\n"
                       "            decay_type=\"%s\",\n            ",
                       t->warmup_steps, t->total_steps,
                       constant ? "linear" : plait_lr_decay_name[t->decay]);
    append_real("decay_ratio", titan_decay_ratio(t), ",\n            ", out);
    append_real("min_lr_factor", titan_end(t), ",\n        ),\n", out);
}

/* This loss works in chunks, which takes less memory than the plan counts. */
static const char chunked_loss[] =
    "        loss=ChunkedLossWrapper.Config(\n"
    "            loss_fn=CrossEntropyLoss.Config(global_vocab_size=spec.model.vocab_size),\n"
    "        ),\n";

static const char prediction_loss[] =
    "        loss=MTPLoss.Config(global_vocab_size=spec.model.vocab_size),\n";

static void append_plan(const plait_launch *launch, text_builder *out)
{
    text_append(out, "\n\ndef plan() -> Trainer.Config:\n"
                     "    spec = model()\n"
                     "    return Trainer.Config(\n"
                     "        model_spec=spec,\n");
    text_append(out, launch->problem->model->mtp_layers > 0 ? prediction_loss : chunked_loss);
    titan_settings settings;

    titan_settings_of(launch, &settings);
    append_section(&settings, "parallelism", "ParallelismConfig", out);
    const plait_degrees *const d = &launch->plan->degrees;
    if (d->pp != 1) {
        text_append(out, "            module_fqns_per_model_part=model_parts([");
        for (int c = 0; c < d->pp * d->vpp; c++) {
            const plait_chunk *const chunk = plait_plan_chunk(launch->plan, c);

            text_append_printf(out, c > 0 ? ", %d" : "%d", chunk->last - chunk->first);
        }
        text_append(out, "]),\n");
    }
    text_append(out, "        ),\n");
    append_section(&settings, "training", "TrainingConfig", out);
    text_append_printf(out, "            steps=%d,\n", TRAINING_TRY_STEPS);
    append_real("            max_norm", training_of(launch->problem).clip, ",\n        ),\n", out);
    append_section(&settings, "compile", "CompileConfig", out);
    text_append(out, "        ),\n");
    const char *const checkpoint = titan_checkpoint(launch);
    text_append_printf(out, "        activation_checkpoint=%s,\n",
                       strcmp(checkpoint, "none") == 0   ? "None"
                       : strcmp(checkpoint, "full") == 0 ? "FullAC.Config()"
                                                         : "SelectiveAC.Config()");
    text_append(out,
                "        # to edit: data, tokenizer, learning rate, checkpoints\n"
                "        hf_assets_path=\"./tests/assets/tokenizer\",\n"
                "        dataloader=GrainDataLoader.Config(\n"
                "            dataset=ConcatThenSplitPackingConfig(dataset=DATASETS[\"c4_test\"]"
                "),\n"
                "        ),\n"
                "        metrics=MetricsProcessor.Config(log_freq=1),\n");
    const launch_training t = training_of(launch->problem);
    const char *const folder = training_checkpoints(launch->problem->model, out->arena);

    // default_adamw has no other parameters than these
    append_real("        optimizer=default_adamw(\n            lr", t.lr, ", betas=(", out);
    text_append_number(out, t.beta1);
    text_append(out, ", ");
    text_append_number(out, t.beta2);
    append_real("), eps", t.eps, "", out);
    append_real(", weight_decay", t.weight_decay, "\n        ),\n", out);
    append_schedule(&t, out);
    text_append_printf(out,
                       "        checkpoint=CheckpointManager.Config(\n"
                       "            enable=True, folder=\"%s\", interval=%d\n        ),\n",
                       folder != NULL ? folder : "", TRAINING_SAVE_STEPS);
    out->failed = out->failed || folder == NULL;
    text_append(out, "    )\n");
}

const char *titan_recipe(const plait_launch *launch, plait_arena *arena)
{
    static const training_places places = {
        .data = "torchtitan's test data: dataloader, hf_assets_path",
        .length = "training.steps",
        .values = "optimizer, lr_scheduler, training.max_norm",
        .checkpoints = "checkpoint",
        .cluster = true,
    };
    text_builder out;

    text_builder_init(&out, arena);
    titan_append_head(launch,
                      "# recipe.py - a plan for torchtitan.train --module recipe --config plan",
                      &places, &out);
    text_append(&out, titan_flavour_of(launch->problem->model) != NULL
                          ? "\n"
                          : "\nfrom functools import partial\n\nimport torch.nn as nn\n\n");
    // write one import per line, in the order that Python's linters require
    text_builder lines;
    char *text, **line;
    size_t count;
    text_builder_init(&lines, out.arena);
    titan_append_model_imports(launch, &lines);
    const char *const checkpoint = titan_checkpoint(launch);
    text_append(&lines, "from torchtitan.components.checkpointer import CheckpointManager\n"
                        "from torchtitan.components.data import ConcatThenSplitPackingConfig, "
                        "GrainDataLoader\n");
    if (launch->problem->model->mtp_layers == 0)
        text_append(&lines, "from torchtitan.components.loss import ChunkedLossWrapper, "
                            "CrossEntropyLoss\n");
    text_append(&lines, "from torchtitan.components.metrics import MetricsProcessor\n"
                        "from torchtitan.components.optimizer import LRSchedulersContainer, "
                        "default_adamw\n"
                        "from torchtitan.config import CompileConfig, ParallelismConfig, "
                        "TrainingConfig\n");
    if (strcmp(checkpoint, "none") != 0)
        text_append_printf(&lines,
                           "from torchtitan.distributed.activation_checkpoint import %sAC\n",
                           strcmp(checkpoint, "full") == 0 ? "Full" : "Selective");
    text_append(&lines, "from torchtitan.hf_datasets.text_datasets import DATASETS\n");
    if (launch->problem->model->mtp_layers > 0)
        text_append(&lines, "from torchtitan.models.deepseek_v3.mtp import MTPLoss\n");
    text_append(&lines, "from torchtitan.protocols.model_spec import ModelSpec\n"
                        "from torchtitan.trainer import Trainer\n");
    text = text_builder_finish(&lines, NULL);
    line = text != NULL ? text_split(out.arena, text, '\n', &count) : NULL;
    if (line == NULL) {
        out.failed = true;
    } else {
        qsort(line, count, sizeof *line, by_text);
        for (size_t i = 0; i < count; i++)
            if (line[i][0] != '\0')
                text_append_printf(&out, "%s\n", line[i]);
    }
    titan_append_model(launch, &out);
    if (launch->plan->degrees.pp > 1)
        text_append(&out, parts_function);
    append_plan(launch, &out);
    return text_builder_finish(&out, NULL);
}
