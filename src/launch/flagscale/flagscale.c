/*
 * flagscale.c - FlagScale's run.py: plan.yaml, and the script that starts it
 *
 * plan.yaml has the sections experiment and train: Hydra makes the same config from this file as
 * from the two files in FlagScale's examples. FlagScale's runner starts all nodes by ssh from one
 * node, so no script for SLURM is written.
 */
#include "launch/flagscale/flagscale.h"

#include <string.h>

#include "launch/write/training.h"
#include "launch/write/scripts.h"

/* The place of an argument: a block, and a section that FlagScale's runner reads. */
typedef struct train_place {
    const char *block;
    const char *section; /* section of the block; NULL: the block itself */
} train_place;

static const train_place train_places[] = {{"system", NULL},      {"system", "checkpoint"},
                                           {"system", "logging"}, {"model", NULL},
                                           {"data", NULL},        {"data", "tokenizer"}};

/*
 * Return the place of an argument. Its group determines the place, except for the arguments that
 * are listed here by name.
 */
static const train_place *place_of(const char *group, const char *name)
{
    static const char *const system[] = {"parallelism",
                                         "memory",
                                         "optimizer",
                                         "memory, stage by stage",
                                         "parallelism, mesh by mesh",
                                         "overlap and kernels",
                                         "precision",
                                         "not priced",
                                         NULL};
    static const char *const checkpoint[] = {"--save", "--load", "--save-interval", NULL};
    static const char *const tokenizer[] = {"--tokenizer-type", "--vocab-size",
                                            "--make-vocab-size-divisible-by", NULL};

    if (text_index(name, checkpoint) >= 0)
        return &train_places[1];
    if (text_equal(name, "--log-interval"))
        return &train_places[2];
    if (text_equal(name, "--mock-data"))
        return &train_places[4];
    if (text_index(name, tokenizer) >= 0)
        return &train_places[5];
    return text_index(group, system) >= 0 ? &train_places[0] : &train_places[3];
}

static void append_value(const char *value, text_builder *out)
{
    double number;

    if (text_parse_number(value, &number)) {
        text_append(out, value);
        return;
    }
    text_append_char(out, '"');
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\')
            text_append_char(out, '\\');
        text_append_char(out, *value);
    }
    text_append_char(out, '"');
}

static void append_place(const launch_args *args, const train_place *place, size_t indent,
                         text_builder *out)
{
    const size_t inner = indent + (place->section == NULL ? 2 : 4);
    const char *group = "", *group_written = "";

    if (place->section == NULL)
        text_append_printf(out, "%*s%s:\n", (int)indent, "", place->block);
    else
        text_append_printf(out, "%*s%s:\n", (int)indent + 2, "", place->section);
    for (int i = 0; i < args->count; i++) {
        const launch_option *const option = &args->option[i];

        if (option->name == NULL)
            group = option->value;
        if (option->name == NULL || place_of(group, option->name) != place)
            continue;
        if (group_written != group && place->section == NULL)
            text_append_printf(out, "%*s# %s\n", (int)inner, "", group);
        group_written = group;
        // --num-layers 32 becomes num_layers: 32
        text_append_repeated(out, ' ', inner);
        for (const char *c = option->name + 2; *c != '\0'; c++)
            text_append_char(out, *c == '-' ? '_' : *c);
        text_append(out, ": ");
        if (option->value == NULL)
            text_append(out, "true");
        else if (option->words && option->value[0] == '[') // nested lists are written as they are
            text_append(out, option->value);
        else if (!option->words)
            append_value(option->value, out);
        else {
            char **const word = text_split(out->arena, option->value, ' ', NULL);
            out->failed = out->failed || word == NULL;
            text_append_char(out, '[');
            for (int w = 0; word != NULL && word[w] != NULL; w++) {
                text_append(out, w > 0 ? ", " : "");
                append_value(word[w], out);
            }
            text_append_char(out, ']');
        }
        text_append_char(out, '\n');
    }
}

void flagscale_append_train(const launch_args *args, int indent, text_builder *out)
{
    out->failed = out->failed || args->failed;
    for (size_t p = 0; p < sizeof train_places / sizeof *train_places; p++)
        append_place(args, &train_places[p], (size_t)indent, out);
}

static const training_places places = {
    .data = "random tokens: mock_data, tokenizer_type",
    .length = "train_iters",
    .values = "lr to clip_grad",
    .checkpoints = "save, load, save_interval",
};

static void append_environment(const plait_launch *launch, text_builder *out)
{
    text_builder exports;

    text_builder_init(&exports, out->arena);
    megatron_append_environment(launch, &exports);
    char *line = text_builder_finish(&exports, NULL);
    out->failed = out->failed || line == NULL;
    text_append(out, "  envs:\n");
    while (line != NULL && *line != '\0') {
        char *const next = text_cut(line, '\n');
        char *const name = line + strlen("export ");
        const char *const value = text_cut(name, '=');

        text_append_printf(out, "    %s: \"%s\"\n", name, value);
        line = next;
    }
}

/* ---- nodes ---- */

/* Return the nodes of a group that the plan uses, and the GPUs of each node. */
static int nodes_of_group(const plait_launch *launch, int g, int *gpus_per_node)
{
    const int shape = launch->problem->cluster->group[g].gpus_per_node;
    const int gpus = plait_plan_gpus(launch->plan, g);

    *gpus_per_node = gpus < shape ? gpus : shape;
    return gpus > 0 ? (gpus + shape - 1) / shape : 0;
}

/* Count the nodes, and the GPUs of the largest node; the hostfile gives the GPUs of the others. */
static int count_nodes(const plait_launch *launch, int *most_gpus)
{
    int nodes = 0;

    *most_gpus = 0;
    for (int g = 0; g < launch->problem->cluster->groups; g++) {
        int gpus;

        nodes += nodes_of_group(launch, g, &gpus);
        *most_gpus = gpus > *most_gpus ? gpus : *most_gpus;
    }
    return nodes;
}

/* Write the lines of the hostfile, group by group in the order of the stages. */
static void append_hosts(const plait_launch *launch, text_builder *out)
{
    const plait_plan *const plan = launch->plan;

    for (int s = 0; s < plan->stages; s++) {
        const plait_stage *const stage = &plan->stage[s];
        int gpus;

        if (s > 0 && stage->group == stage[-1].group)
            continue;
        const int nodes = nodes_of_group(launch, stage->group, &gpus);
        text_append_printf(
            out, s == 0 ? "hosts: lines \"NAME slots=%d" : "#   then \"NAME slots=%d", gpus);
        if (flagscale_has_meshes(plan))
            text_append_printf(out, " type=%s", flagscale_device(launch->problem, stage));
        text_append_printf(out, "\", one for each of %d nodes\n", nodes);
    }
}

static const char *config_text(const plait_launch *launch, const launch_args *flags,
                               plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    scripts_append_head(launch, "# plan.yaml - the config of FlagScale's run.py; run.sh starts it",
                        &places, &out);
    notes_append(launch, &out);
    char name[SCRIPTS_NAME_SIZE];
    int gpus;
    const int nodes = count_nodes(launch, &gpus);
    scripts_plain_name(launch->problem->model, name);
    text_append_printf(&out,
                       "\ndefaults:\n  - _self_\n"
                       "\nexperiment:\n"
                       "  exp_name: \"%s\"\n"
                       "  exp_dir: \"outputs/%s\"\n"
                       "  task:\n"
                       "    type: train\n"
                       "    backend: megatron\n"
                       "    entrypoint: flagscale/train/train_gpt.py\n"
                       "  runner:\n"
                       "    hostfile: ${oc.env:HOSTFILE,null} # run.sh sets it\n"
                       "    nnodes: %d\n"
                       "    nproc_per_node: %d\n",
                       name, name, nodes, gpus);
    if (flagscale_has_meshes(launch->plan))
        text_append(&out, "    rdzv_backend: static # process meshes require it\n");
    append_environment(launch, &out);
    text_append(&out, "\naction: run\n"
                      "\nhydra:\n  run:\n    dir: ${experiment.exp_dir}/hydra\n");
    text_append(&out, "\ntrain:\n");
    flagscale_append_train(flags, 2, &out);
    return text_builder_finish(&out, NULL);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    megatron_args args;
    launch_args own, flags;

    PLAIT_TRY(megatron_args_of(launch->problem, launch->plan, arena, &args, err));
    args.flash_attention_version =
        0; // the installed version: Megatron Core 0.15 has no argument for it
    args_init(&own, arena);
    flagscale_meshes(launch->problem, launch->plan, &args, &own);
    PLAIT_TRY(flagscale_stages(launch->problem, launch->plan, &args, &own, err));
    args_init(&flags, arena);
    megatron_args_append(&args, &flags);
    args_append(&flags, &own);
    // use Megatron Core 0.15's names for arguments that later releases renamed
    for (int i = 0; i < flags.count; i++)
        if (flags.option[i].name != NULL &&
            text_equal(flags.option[i].name, "--moe-router-padding-for-quantization"))
            flags.option[i].name = "--moe-router-padding-for-fp8";
    PLAIT_TRY(folder_add(out, "plan.yaml", config_text(launch, &flags, arena), false, err));
    // without a hostfile the runner uses only the node that it runs on
    int gpus;
    const int nodes = count_nodes(launch, &gpus);
    text_builder text;
    text_builder_init(&text, arena);
    text_append(&text,
                "#!/bin/bash\n"
                "# run.sh - starts plan.yaml on all nodes; FlagScale's runner reaches them by ssh\n"
                "#\n"
                "#   HOSTFILE=hosts ./run.sh    ");
    append_hosts(launch, &text);
    text_append_printf(
        &text,
        "#\n"
        "# Further arguments, such as action=dryrun, are appended to those of the plan.\n"
        "set -euo pipefail\n" LAUNCH_FINDS_HERE "%s\n",
        nodes > 1 ? ": \"${HOSTFILE:?expected a file that names the nodes}\"\n" : "");
    // plan.yaml reads HOSTFILE itself: Hydra would interpret the characters of a path in an override
    text_append(&text, "[ -z \"${HOSTFILE:-}\" ] || HOSTFILE=$(realpath -- \"$HOSTFILE\")\n"
                       "export HOSTFILE\n"
                       "cd -- \"${FLAGSCALE:?expected the folder of a checkout of FlagScale}\"\n"
                       "exec python run.py --config-path \"$here\" --config-name plan \"$@\"\n");
    return folder_add(out, "run.sh", text_builder_finish(&text, NULL), true, err);
}

static const char *unsupported(const plait_problem *problem, const plait_plan *plan)
{
    return flagscale_can_list_stages(plan) ? flagscale_meshes_unsupported(problem, plan)
                                           : "stages that recompute parts of layers, or layers "
                                             "other than the first of each chunk";
}

const launch_target target_flagscale = {
    .name = "flagscale",
    .runtime = "flagscale",
    .rules = PLAIT_RULES_FLAGSCALE,
    .stages_differ = true,
    .unsupported = unsupported,
    .render = render,
};
