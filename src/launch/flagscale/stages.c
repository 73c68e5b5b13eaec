/*
 * stages.c - writes stages that differ in degrees or nodes as process meshes, and stages that
 * differ in recomputation as a list
 *
 * Consecutive stages with the same degrees on one kind of node form a mesh, which is given by tp,
 * cp, ep, dp and the number of stages. In flagscale/train/arguments.py the batch is that of the
 * first mesh; another mesh divides the same sequences by its own dp, and has no sequence
 * parallelism if its tp is 1. Ranks follow the list of device types
 * (flagscale/train/hetero/parallel_context.py); the type of a node is the `type` of its line in the
 * hostfile (flagscale/runner/runner_train.py).
 *
 * recompute_num_layers_per_stage_micro_batch has a row for each run of equal chunks: [chunks,
 * microbatches, layers]. transformer_block.py reads it by chunk and microbatch, and 0 turns
 * recomputation off; the lists of granularity and method could express more, but FlagScale reads
 * them by stage only, and not at all with several chunks per rank.
 */
#include "launch/flagscale/flagscale.h"

#include <string.h>

#include "plait/lowlevel/schedule.h"

#include "plan/choices.h"

static bool same_mesh(const plait_stage *one, const plait_stage *other)
{
    const plait_degrees *const a = &one->degrees, *const b = &other->degrees;

    return a->tp == b->tp && a->cp == b->cp && a->ep == b->ep && a->dp == b->dp &&
           a->etp == b->etp && one->group == other->group;
}

bool flagscale_has_meshes(const plait_plan *plan)
{
    for (int s = 1; s < plan->stages; s++)
        if (!same_mesh(&plan->stage[s], &plan->stage[0]))
            return true;
    return false;
}

/* Return a key that all meshes must share and in which two stages differ; -1: none. */
static int differing_key(const plait_degrees *a, const plait_degrees *b)
{
    static const plait_key_set of_mesh =
        PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_EP) | PLAIT_KEY_BIT(PLAIT_KEY_DP) |
        PLAIT_KEY_BIT(PLAIT_KEY_ETP) | PLAIT_KEY_BIT(PLAIT_KEY_MBS) |
        PLAIT_KEY_BIT(PLAIT_KEY_SHARD_GROUP) | PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE) | PLAN_OWN_KEYS;
    const bool sp_is_free = a->tp == 1 || b->tp == 1;

    for (int key = 0; key < PLAIT_KEYS; key++)
        if (!(of_mesh & PLAIT_KEY_BIT(key)) && !(key == PLAIT_KEY_SP && sp_is_free) &&
            !plait_key_same(a, b, (plait_key_id)key))
            return key;
    return -1;
}

/* Return the reason why two stages cannot be meshes of one plan; NULL: none. */
static const char *mesh_conflict(const plait_degrees *a, const plait_degrees *b)
{
    const int key = differing_key(a, b);

    if (key < 0)
        return NULL;
    return key == PLAIT_KEY_CP ? "stages with different cp"
                               : "stages that differ in more than tp, dp, mbs, ep and etp";
}

const char *flagscale_meshes_unsupported(const plait_problem *problem, const plait_plan *plan)
{
    const plait_degrees *const first = &plan->stage[0].degrees;
    const plait_degrees *const last = &plan->stage[plan->stages - 1].degrees;
    const bool shared = problem->model->tied || problem->model->mtp_layers > 0;

    if (!flagscale_has_meshes(plan))
        return NULL;
    if (plan->degrees.vpp > 1)
        return "stages with different degrees and several chunks per rank";
    for (int s = 0; s < plan->stages; s++) {
        const plait_degrees *const d = &plan->stage[s].degrees;

        for (int t = 0; t < s; t++)
            if (mesh_conflict(d, &plan->stage[t].degrees) != NULL)
                return mesh_conflict(d, &plan->stage[t].degrees);
        // the value of `type=` in a hostfile ends at a blank (parse_hostfile of
        // flagscale/runner/utils.py)
        const char *const device = flagscale_device(problem, &plan->stage[s]);
        if (device[strcspn(device, " \t\r\n\"\\")] != '\0')
            return "an accelerator whose name is not one word";
        if (d->shard_group != d->dp * d->cp)
            return "stages with different degrees and ZeRO shards over a part of dp x cp";
    }
    if (shared && first->tp != last->tp)
        return "tied embeddings or prediction modules with different tp on the first and the last "
               "stage";
    return shared && first->dp % last->dp != 0 && last->dp % first->dp != 0
               ? "tied embeddings or prediction modules on first and last stages whose dp do not "
                 "divide each other"
               : NULL;
}

const char *flagscale_device(const plait_problem *problem, const plait_stage *stage)
{
    return problem->cluster->group[stage->group].accelerator->name;
}

static void append_number(text_builder *out, int number)
{
    text_append_printf(out, "%s%d", out->length == 0 ? "[" : ", ", number);
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

/* True if a stage distributes experts over ranks, or has an etp that differs from its tp. */
static bool has_expert_sizes(const plait_plan *plan)
{
    for (int s = 0; s < plan->stages; s++)
        if (plan->stage[s].degrees.ep > 1 ||
            plan->stage[s].degrees.etp != plan->stage[s].degrees.tp)
            return true;
    return false;
}

void flagscale_meshes(const plait_problem *problem, const plait_plan *plan, megatron_args *args,
                      launch_args *own)
{
    const plait_degrees *const first = &plan->stage[0].degrees;
    const plait_degrees *const last = &plan->stage[plan->stages - 1].degrees;

    if (!flagscale_has_meshes(plan))
        return;
    // Megatron-LM's arguments describe the first mesh; FlagScale's own list gives the layers of
    // each stage
    for (int s = 0; s < plan->stages; s++)
        args->sequence_parallel = args->sequence_parallel || plan->stage[s].degrees.sp;
    args->tensor_model_parallel_size = first->tp;
    args->context_parallel_size = first->cp;
    args->expert_model_parallel_size = first->ep;
    args->micro_batch_size = first->mbs;
    args->pipeline_model_parallel_layout = NULL;
    args->decoder_first_pipeline_num_layers = 0;
    args->decoder_last_pipeline_num_layers = 0;
    args->account_for_embedding_in_pipeline_split = false;
    args->account_for_loss_in_pipeline_split = false;
    args_group(own, "parallelism, mesh by mesh");
    args_switch(own, "--enable-hetero");
    text_builder size_list, expert_list, device_list;

    text_builder_init(&size_list, own->arena);
    text_builder_init(&expert_list, own->arena);
    text_builder_init(&device_list, own->arena);
    for (int s = 0, alike; s < plan->stages; s += alike) {
        const plait_stage *const stage = &plan->stage[s];

        for (alike = 1; s + alike < plan->stages && same_mesh(&stage[alike], stage);)
            alike++;
        const plait_degrees *const d = &stage->degrees;
        const int sizes[] = {d->tp, d->cp, d->ep, d->dp, alike};

        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            append_number(&size_list, sizes[i]);
        append_number(&expert_list, d->etp);
        text_append_printf(&device_list, "%s\"%s\"", s == 0 ? "[" : ", ",
                           flagscale_device(problem, stage));
    }
    add_list(own, "--hetero-process-meshes", &size_list);
    add_list(own, "--hetero-device-types", &device_list);
    if (has_expert_sizes(plan))
        add_list(own, "--expert-tensor-parallel-size-per-process-mesh", &expert_list);
    args_text(own, "--hetero-current-device-type", flagscale_device(problem, &plan->stage[0]));
    text_builder layers;

    text_builder_init(&layers, own->arena);
    for (int s = 0; s < plan->stages; s++)
        append_number(&layers, plan->stage[s].layers);
    add_list(own, "--hetero-pipeline-layer-split", &layers);
    if (problem->model->tied && first->dp != last->dp)
        args_switch(own, "--use-partial-reduce-for-shared-embedding");
}

/*
 * Return the number of leading layers of a chunk that are recomputed in full; -1 if a later layer
 * is recomputed too, or a layer is recomputed in part.
 */
static int first_full(const plait_recompute *choice, int layers)
{
    int first = 0;

    while (first < layers && choice[first].kind == PLAIT_RECOMPUTE_FULL)
        first++;
    for (int l = first; l < layers; l++)
        if (choice[l].kind != PLAIT_RECOMPUTE_NONE)
            return -1;
    return first;
}

static bool follows_degrees(const plait_plan *plan, const plait_stage *stage)
{
    for (int v = 0, at = 0; v < stage->chunks; v++)
        for (int l = 0; l < stage->chunk[v].last - stage->chunk[v].first; l++, at++)
            if (stage->recompute[at].kind != plait_recompute_of(&plan->degrees, l).kind)
                return false;
    return true;
}

static bool stages_differ(const plait_plan *plan)
{
    for (int s = 0; s < plan->stages; s++)
        if (!follows_degrees(plan, &plan->stage[s]))
            return true;
    return false;
}

/*
 * Count the recomputed layers of each chunk in pipeline order; return false if they are not leading
 * layers that are recomputed in full.
 */
static bool count_layers(const plait_plan *plan, int *layers)
{
    const plait_degrees *const d = &plan->degrees;

    for (int s = 0; s < plan->stages; s++) {
        const plait_stage *const stage = &plan->stage[s];

        for (int v = 0, at = 0; v < stage->chunks; v++) {
            const int held = stage->chunk[v].last - stage->chunk[v].first;
            const int c = plait_schedule_chunk((plait_schedule)d->schedule, d->pp, s, v);

            layers[c] = first_full(stage->recompute + at, held);
            if (layers[c] < 0)
                return false;
            at += held;
        }
    }
    return true;
}

bool flagscale_can_list_stages(const plait_plan *plan)
{
    int layers[PLAIT_MAX_LAYERS];

    return !stages_differ(plan) || count_layers(plan, layers);
}

plait_status flagscale_stages(const plait_problem *problem, const plait_plan *plan,
                              megatron_args *args, launch_args *own, plait_error *err)
{
    const plait_degrees *const d = &plan->degrees;
    int layers[PLAIT_MAX_LAYERS], most = 1;
    const char *rows;

    if (!stages_differ(plan) || !count_layers(plan, layers))
        return PLAIT_OK;
    for (int c = 0; c < d->pp * d->vpp; c++)
        most = layers[c] > most ? layers[c] : most;
    args->recompute_granularity = "full";
    args->recompute_method = "block";
    args->recompute_num_layers = most;
    args->recompute_modules = NULL;
    // write rows such as [[1,32,4],[3,32,0]]
    const int chunks = d->pp * d->vpp;
    text_builder out;
    text_builder_init(&out, own->arena);
    for (int c = 0, alike; c < chunks; c += alike) {
        for (alike = 1; c + alike < chunks && layers[c + alike] == layers[c];)
            alike++;
        text_append_printf(&out, "%s[%d,%d,%d]", c == 0 ? "[" : ",", alike,
                           plait_degrees_microbatches(d, problem->job.gbs), layers[c]);
    }
    text_append_char(&out, ']');
    rows = text_builder_finish(&out, NULL);
    PLAIT_TRY(plait_check_allocated(rows, err));
    args_group(own, "memory, stage by stage");
    args_words(own, "--recompute-num-layers-per-stage-micro-batch", rows);
    return PLAIT_OK;
}
