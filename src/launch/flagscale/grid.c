/*
 * grid.c - stages of unlike degrees as FlagScale's process meshes
 *
 * Stages one behind another with the same degrees are a mesh: tp, cp, ep, dp, and how many they are. As
 * flagscale/train/arguments.py has it, the batch is that of the first mesh; another one cuts the same
 * sequences by its own dp.
 */
#include "flagscale.h"

static bool same_mesh(const plait_degrees *a, const plait_degrees *b)
{
    return a->tp == b->tp && a->cp == b->cp && a->ep == b->ep && a->dp == b->dp && a->etp == b->etp;
}

bool flagscale_has_meshes(const plait_plan *plan)
{
    for (int s = 1; s < plan->stages; s++)
        if (!same_mesh(&plan->stage[s].degrees, &plan->stage[0].degrees))
            return true;
    return false;
}

const char *flagscale_lacks_meshes(const plait_problem *problem, const plait_plan *plan)
{
    const plait_degrees *const first = &plan->stage[0].degrees;
    const plait_degrees *const last = &plan->stage[plan->stages - 1].degrees;
    const bool shared = problem->model->tied || problem->model->mtp_layers > 0;

    if (!flagscale_has_meshes(plan))
        return NULL;
    if (plan->degrees.vpp > 1)
        return "stages of unlike degrees with several chunks a rank";
    for (int s = 1; s < plan->stages; s++)
        if (plan->stage[s].degrees.cp != first->cp)
            return "stages of unlike cp";
    if (shared && first->tp != last->tp)
        return "tied embeddings or prediction modules with another tp on the last stage than on "
               "the "
               "first";
    return shared && first->dp % last->dp != 0 && last->dp % first->dp != 0
               ? "tied embeddings with replicas that do not divide each other"
               : NULL;
}

/* ---- lists ---- */

typedef struct mesh_lists {
    text_builder sizes, experts, devices;
    int meshes;
} mesh_lists;

static void append_number(text_builder *out, int number)
{
    text_append_printf(out, "%s%d", out->length == 0 ? "[" : ", ", number);
}

static void append_mesh(const plait_problem *problem, const plait_degrees *d, int stages,
                        mesh_lists *out)
{
    const int sizes[] = {d->tp, d->cp, d->ep, d->dp, stages};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        append_number(&out->sizes, sizes[i]);
    append_number(&out->experts, d->etp);
    text_append_printf(&out->devices, "%s\"%s\"", out->meshes == 0 ? "[" : ", ",
                       problem->cluster->group[0].accelerator->name);
    out->meshes++;
}

static void add_list(launch_args *own, const char *name, text_builder *list)
{
    text_append_char(list, ']');
    const char *const text = text_builder_finish(list, NULL);

    if (text == NULL)
        own->failed = true;
    else
        args_words(own, name, text);
}

static void add_meshes(const plait_problem *problem, const plait_plan *plan, launch_args *own)
{
    mesh_lists lists = {.meshes = 0};

    text_builder_init(&lists.sizes, own->arena);
    text_builder_init(&lists.experts, own->arena);
    text_builder_init(&lists.devices, own->arena);
    for (int s = 0, alike; s < plan->stages; s += alike) {
        const plait_degrees *const d = &plan->stage[s].degrees;

        for (alike = 1; s + alike < plan->stages && same_mesh(&plan->stage[s + alike].degrees, d);)
            alike++;
        append_mesh(problem, d, alike, &lists);
    }
    add_list(own, "--hetero-process-meshes", &lists.sizes);
    add_list(own, "--hetero-device-types", &lists.devices);
    if (plan->degrees.ep > 1 || plan->degrees.etp != plan->degrees.tp)
        add_list(own, "--expert-tensor-parallel-size-per-process-mesh", &lists.experts);
}

static void add_layers(const plait_plan *plan, launch_args *own)
{
    text_builder layers;

    text_builder_init(&layers, own->arena);
    for (int s = 0; s < plan->stages; s++)
        append_number(&layers, plan->stage[s].layers);
    add_list(own, "--hetero-pipeline-layer-split", &layers);
}

/* ---- the whole ---- */

/* What Megatron-LM's arguments say of one grid is that of the first mesh; layers have their own list. */
static void take_first(const plait_degrees *first, megatron_args *args)
{
    args->tensor_model_parallel_size = first->tp;
    args->context_parallel_size = first->cp;
    args->expert_model_parallel_size = first->ep;
    args->micro_batch_size = first->mbs;
    args->pipeline_model_parallel_layout = NULL;
    args->decoder_first_pipeline_num_layers = 0;
    args->decoder_last_pipeline_num_layers = 0;
    args->account_for_embedding_in_pipeline_split = false;
    args->account_for_loss_in_pipeline_split = false;
}

void flagscale_meshes(const plait_problem *problem, const plait_plan *plan, megatron_args *args,
                      launch_args *own)
{
    const plait_degrees *const first = &plan->stage[0].degrees;
    const plait_degrees *const last = &plan->stage[plan->stages - 1].degrees;

    if (!flagscale_has_meshes(plan))
        return;
    take_first(first, args);
    args_group(own, "parallelism, mesh by mesh");
    args_switch(own, "--enable-hetero");
    add_meshes(problem, plan, own);
    args_text(own, "--hetero-current-device-type", problem->cluster->group[0].accelerator->name);
    add_layers(plan, own);
    if (problem->model->tied && first->dp != last->dp)
        args_switch(own, "--use-partial-reduce-for-shared-embedding");
}
