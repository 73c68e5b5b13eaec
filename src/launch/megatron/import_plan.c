/*
 * import_plan.c - reads degrees, batch, and the layers of stages and chunks from Megatron-LM's
 * arguments
 */
#include "launch/megatron/megatron.h"

#include <stdio.h>
#include <string.h>

#include "base/saturating.h"
#include "io/data/data.h"
#include "plan/layout.h"

/*
 * Check that the two sizes of hierarchical context parallelism multiply to cp. The price assumes
 * the largest first size that the heads and the node allow.
 */
static plait_status check_sizes(const megatron_args *args, const plan_reader *in, plait_error *err)
{
    const char *const sizes = args->hierarchical_context_parallel_sizes;
    int inner = 0, rings = 0;
    char junk;

    if (sizes != NULL && sscanf(sizes, "%6d %6d%c", &inner, &rings, &junk) == 2 && inner > 0 &&
        rings > 0 && (int64_t)inner * rings == args->context_parallel_size)
        return PLAIT_OK;
    return flags_fail(
        in->flags, MEGATRON_NAME(hierarchical_context_parallel_sizes), err,
        "expected two sizes whose product is the context-parallel size %d, found \"%.40s\"",
        args->context_parallel_size, sizes != NULL ? sizes : "");
}

static plait_status read_ranks(const megatron_args *args, plan_reader *in, plait_error *err)
{
    plait_degrees *const d = &in->out->degrees;

    d->tp = args->tensor_model_parallel_size;
    d->pp = args->pipeline_model_parallel_size;
    d->cp = args->context_parallel_size;
    d->ep = args->expert_model_parallel_size;
    d->etp = args->expert_tensor_parallel_size > 0 ? args->expert_tensor_parallel_size : d->tp;
    d->sp = d->tp > 1 && args->sequence_parallel;
    d->order = args->use_tp_pp_dp_mapping ? PLAIT_ORDER_TP_CP_PP_DP : PLAIT_ORDER_TP_CP_DP_PP;
    const char *const word = args->cp_comm_type;
    const int comm =
        strcmp(word, "all_gather") == 0 ? PLAIT_CP_ALLGATHER : text_index(word, plait_cp_comm_name);

    if (comm < 0)
        return flags_fail(in->flags, MEGATRON_NAME(cp_comm_type), err,
                          "expected p2p, allgather, a2a or a2a+p2p, found \"%.40s\"", word);
    in->out->degrees.cp_comm = (unsigned char)comm;
    if (comm == PLAIT_CP_A2A_P2P)
        PLAIT_TRY(check_sizes(args, in, err));
    import_mark_known(in, "tp sp pp cp cp_comm ep etp order");
    return PLAIT_OK;
}

plait_status megatron_read_degrees(const megatron_args *args, plan_reader *in, plait_error *err)
{
    PLAIT_TRY(read_ranks(args, in, err));
    const int gpus = launcher_gpus(in->flags);

    if (args->world_size > 0)
        in->out->gpus = args->world_size;
    else if (gpus > 0)
        in->out->gpus = gpus;
    const int instances = args->num_distributed_optimizer_instances;
    plait_degrees *const d = &in->out->degrees;
    d->dp = in->out->gpus > 0 ? plait_degrees_dp(in->out->gpus, d->tp, d->pp, d->cp) : 0;
    if (d->dp != 0) {
        if (d->dp * d->cp % instances != 0)
            return flags_fail(in->flags, MEGATRON_NAME(num_distributed_optimizer_instances), err,
                              "expected a divisor of dp x cp = %d, found %d", d->dp * d->cp,
                              instances);
        d->shard_group = d->dp * d->cp / instances;
        import_mark_known(in, "shard_group");
    }
    plans_entry *const out = in->out;
    if (args->seq_length > 0)
        out->seq = args->seq_length;
    if (args->global_batch_size > 0)
        out->gbs = args->global_batch_size;
    if (args->micro_batch_size != 0) {
        out->degrees.mbs = args->micro_batch_size;
        if (out->gbs == 0 && out->degrees.dp > 0 &&
            args->micro_batch_size <= PLAIT_MAX_GBS / out->degrees.dp)
            out->gbs = args->micro_batch_size * out->degrees.dp; // assume one microbatch per step
        import_mark_known(in, "mbs");
    }
    return PLAIT_OK;
}

/* ---- splits ---- */

static plait_split split_first_and_last(int first, int last)
{
    return (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST,
                         .first = (unsigned short)first,
                         .last = (unsigned short)last};
}

static bool split_gives(const plait_model *model, const plait_degrees *d, const plait_chunk *chunks)
{
    plait_chunk given[PLAIT_MAX_LAYERS];
    const int chunk_count = saturating_mul(d->pp, d->vpp);

    if (!plait_chunks_of(model, d, given))
        return false;
    for (int c = 0; c < chunk_count; c++)
        if (!chunk_same(&given[c], &chunks[c]))
            return false;
    return true;
}

/*
 * Return the named split that gives these chunks, else the layout that lists them. The split `cost`
 * is not tried, since a runtime that is given chunks does not weigh layers; `spread` is tried if
 * the runtime may have it.
 */
static plait_split split_of_chunks(const plait_model *model, const plait_degrees *degrees,
                                   const plait_chunk *chunks, const char *layout, bool spread)
{
    static const plait_split_kind kinds[] = {PLAIT_SPLIT_EVEN,      PLAIT_SPLIT_SPREAD,
                                             PLAIT_SPLIT_EMBEDDING, PLAIT_SPLIT_LOSS,
                                             PLAIT_SPLIT_BOTH,      PLAIT_SPLIT_FIRST_LAST};
    plait_degrees d = *degrees;
    int first_layers = 0, last_layers = 0;

    for (int v = 0; v < d.vpp; v++) {
        const plait_chunk *const first = &chunks[v * d.pp], *const last = first + d.pp - 1;

        first_layers += first->last - first->first;
        last_layers += last->last - last->first;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        d.split = kinds[k] == PLAIT_SPLIT_FIRST_LAST
                      ? split_first_and_last(first_layers, last_layers)
                      : (plait_split){.kind = (unsigned char)kinds[k]};
        if ((spread || kinds[k] != PLAIT_SPLIT_SPREAD) && split_gives(model, &d, chunks))
            return d.split;
    }
    return (plait_split){.kind = PLAIT_SPLIT_LAYOUT, .layout = layout};
}

/* Set the chunks per rank, and the schedule that follows from them. */
static void take_chunks(plan_reader *in, int vpp)
{
    in->out->degrees.vpp = vpp;
    in->out->degrees.schedule = vpp > 1 ? PLAIT_INTERLEAVED : PLAIT_1F1B;
    import_mark_known(in, "vpp schedule");
}

/*
 * Complete a split of which only the first or the last stage has a number of layers: the other
 * stages share the rest evenly, and Megatron-LM rejects a remainder
 * (megatron/core/transformer/transformer_config.py of core_v0.19.0).
 */
static plait_status complete_first_last(int first, int last, const plait_model *model,
                                        plan_reader *in, plait_error *err)
{
    plait_degrees *const d = &in->out->degrees;
    const int rest = model != NULL ? model->layers - first - last : 0;

    if (model == NULL) {
        in->out->given &= ~PLAIT_KEY_BIT(PLAIT_KEY_SPLIT);
        import_warn(in->warnings, "only the first or the last stage has a number of layers, and "
                                  "the model is unknown; split is left unset");
        return PLAIT_OK;
    }
    if (rest <= 0 || rest % (d->pp - 1) != 0)
        return flags_fail(
            in->flags,
            first > 0 ? MEGATRON_NAME(decoder_first_pipeline_num_layers)
                      : MEGATRON_NAME(decoder_last_pipeline_num_layers),
            err,
            "expected a number of layers that leaves a multiple of %d, the other stages, out of "
            "%d layers, found %d",
            d->pp - 1, model->layers, first + last);
    d->split = first > 0 ? split_first_and_last(first, rest / (d->pp - 1))
                         : split_first_and_last(rest / (d->pp - 1), last);
    return PLAIT_OK;
}

static plait_status read_split(const megatron_args *args, const plait_model *model, plan_reader *in,
                               plait_error *err)
{
    plait_degrees *const d = &in->out->degrees;
    const bool embedding = args->account_for_embedding_in_pipeline_split;
    const bool loss = args->account_for_loss_in_pipeline_split;
    const int first = args->decoder_first_pipeline_num_layers;
    const int last = args->decoder_last_pipeline_num_layers;

    // without a method, partition.py assigns the layers of a PipelineModule: use the split of a
    // note if it is valid
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    if (args->deepspeed && args->pp_partition_method == NULL && model != NULL &&
        (in->out->given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT)) &&
        plait_chunks_of(model, &in->out->degrees, chunks))
        return PLAIT_OK;
    import_mark_known(in, "split");
    if (first > 0 && last > 0)
        d->split = split_first_and_last(first, last);
    else if ((first > 0 || last > 0) && d->pp > 1)
        return complete_first_last(first, last, model, in, err);
    else
        d->split = (plait_split){
            // DeepSpeed balances the classes of modules that its method names, and need not divide
            // them evenly
            .kind =
                (unsigned char)(embedding && loss ? PLAIT_SPLIT_BOTH
                                : embedding       ? PLAIT_SPLIT_EMBEDDING
                                : loss            ? PLAIT_SPLIT_LOSS
                                       : (args->deepspeed && args->pp_partition_method != NULL &&
                                                  strstr(args->pp_partition_method, "embedding") !=
                                                      NULL
                                              ? PLAIT_SPLIT_BOTH
                                          : args->deepspeed && model != NULL &&
                                                  model->layers % d->pp != 0
                                              ? PLAIT_SPLIT_SPREAD
                                              : PLAIT_SPLIT_EVEN)),
        };
    return PLAIT_OK;
}

/*
 * Compute the chunks per rank from the layers per chunk. Megatron-LM counts the embedding and the
 * loss as layers if the split does, never counts the layers of MTP, and rejects a remainder
 * (validate_args in megatron/training/arguments.py of v0.11.0 to core_v0.19.0; earlier releases
 * count neither embedding nor loss).
 */
static plait_status chunks_of_layers(const megatron_args *args, const plait_model *model,
                                     plan_reader *in, int *out, plait_error *err)
{
    const int each = args->num_layers_per_virtual_pipeline_stage;
    const int layers = model != NULL ? model->layers : args->num_layers;
    const int ends =
        args->account_for_embedding_in_pipeline_split + args->account_for_loss_in_pipeline_split;
    const int stages = in->out->degrees.pp;

    if (args->decoder_first_pipeline_num_layers > 0 || args->decoder_last_pipeline_num_layers > 0)
        return flags_fail(in->flags, MEGATRON_NAME(num_layers_per_virtual_pipeline_stage), err,
                          "expected --num-virtual-stages-per-pipeline-rank if the first or last "
                          "stage has its own number of layers, found %d layers per chunk",
                          each);
    if (layers == 0) {
        import_warn(in->warnings,
                    "the number of layers is unknown, so one chunk per rank is assumed");
        return PLAIT_OK;
    }
    if ((layers + ends) % saturating_mul(stages, each) != 0)
        return flags_fail(in->flags, MEGATRON_NAME(num_layers_per_virtual_pipeline_stage), err,
                          "expected chunks that divide %d layers%s evenly over %d stages, found %d "
                          "layers per chunk",
                          layers + ends,
                          ends == 2 ? " (with embedding and loss)"
                          : args->account_for_embedding_in_pipeline_split ? " (with the embedding)"
                          : ends == 1                                     ? " (with the loss)"
                                                                          : "",
                          stages, each);
    *out = (layers + ends) / stages / each;
    return PLAIT_OK;
}

/*
 * Megatron-LM rejects two interleaved stages without overlap, which would send twice at once
 * (validate_args of core_v0.19.0).
 */
static plait_status check_overlap(const plan_reader *in, plait_error *err)
{
    const launch_flag *const flag = flags_last(in->flags, "no_overlap_p2p_communication");

    if (flag == NULL || flags_is_off(in->flags, flag) || in->out->degrees.vpp == 1 ||
        in->out->degrees.pp != 2)
        return PLAIT_OK;
    return flags_fail(in->flags, flag->name, err,
                      "expected more than 2 stages without overlap of their messages, found 2 with "
                      "%d chunks each",
                      in->out->degrees.vpp);
}

/*
 * Check for arguments that Megatron-LM rejects together: validate_args in
 * megatron/training/arguments.py and megatron/core/transformer/transformer_config.py of
 * core_v0.19.0.
 */
static plait_status check_conflicts(const megatron_args *args, const plan_reader *in,
                                    plait_error *err)
{
    const bool layout = args->pipeline_model_parallel_layout != NULL;
    const bool ends =
        args->decoder_first_pipeline_num_layers > 0 || args->decoder_last_pipeline_num_layers > 0;
    const bool counted =
        args->account_for_embedding_in_pipeline_split || args->account_for_loss_in_pipeline_split;
    const bool chunks = args->num_virtual_stages_per_pipeline_rank > 0;
    const bool chunk_layers = args->num_layers_per_virtual_pipeline_stage > 0;
    const char *const other = layout && ends      ? "a number of layers for the first or last stage"
                              : layout && counted ? "an embedding or loss that counts as a layer"
                              : layout && chunks  ? "--num-virtual-stages-per-pipeline-rank"
                              : layout && chunk_layers ? "--num-layers-per-virtual-pipeline-stage"
                              : ends && counted ? "a number of layers for the first or last stage"
                              : chunks && chunk_layers ? "--num-virtual-stages-per-pipeline-rank"
                                                       : NULL;
    const char *const flag = layout ? MEGATRON_NAME(pipeline_model_parallel_layout)
                             : ends && counted
                                 ? MEGATRON_NAME(account_for_embedding_in_pipeline_split)
                                 : MEGATRON_NAME(num_layers_per_virtual_pipeline_stage);

    if (other == NULL)
        return PLAIT_OK;
    return flags_fail(
        in->flags, flag, err,
        "expected one way to divide the layers, since Megatron-LM rejects two, found also %s",
        other);
}

/*
 * Write | between the stages of a hybrid's pattern that has none: select_pipeline_segment in
 * megatron/core/models/hybrid/hybrid_layer_allocation.py gives all stages equally many letters, or
 * the first and the last their own number.
 */
plait_status megatron_divide_pattern(megatron_args *args, const plan_reader *in, plait_error *err)
{
    const char *const pattern = args->hybrid_layer_pattern;
    const int stages = args->pipeline_model_parallel_size;
    const int first = args->decoder_first_pipeline_num_layers;
    const int last = args->decoder_last_pipeline_num_layers;
    const bool other_way = args->pipeline_model_parallel_layout != NULL ||
                           args->num_virtual_stages_per_pipeline_rank > 0 ||
                           args->num_layers_per_virtual_pipeline_stage > 0;

    if (pattern == NULL || stages < 2 || hybrid_segments(pattern) > 1 || other_way)
        return PLAIT_OK;
    const int letters = (int)strcspn(pattern, "/");
    const int rest = letters - first - last;
    const int others = stages - (first > 0) - (last > 0);

    if (rest < 0 || (others > 0 ? rest % others : rest) != 0)
        return flags_fail(
            in->flags, MEGATRON_NAME(hybrid_layer_pattern), err,
            "expected | between the stages, or letters that %d stages share evenly%s, "
            "found %d letters",
            stages, first + last > 0 ? " after those of the first or last stage" : "", letters);
    const char *at = pattern;
    text_builder out;

    text_builder_init(&out, in->flags->arena);
    for (int s = 0; s < stages; s++) {
        const int count = s == 0 && first > 0           ? first
                          : s == stages - 1 && last > 0 ? last
                                                        : rest / others;
        text_append(&out, s > 0 ? "|" : "");
        text_append_bytes(&out, at, (size_t)count);
        at += count;
    }
    text_append(&out, at);
    args->hybrid_layer_pattern = text_builder_finish(&out, NULL);
    return plait_check_allocated(args->hybrid_layer_pattern, err);
}

/* Read the chunks of a hybrid's pattern. *done is false if it is one, and other arguments count. */
static plait_status read_pattern_chunks(const megatron_args *args, const plait_model *model,
                                        plan_reader *in, bool *done, plait_error *err)
{
    const char *const pattern = args->hybrid_layer_pattern;
    const int count = hybrid_segments(pattern);
    plait_degrees *const d = &in->out->degrees;
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    // no profile of Megatron has the split `spread`; a user's own may
    const bool own = in->out->runtime != NULL && data_is_path(in->out->runtime);
    char text[PLAIT_VALUE_SIZE] = "";

    *done = count > 1;
    if (count == 1)
        return PLAIT_OK;
    if (count % d->pp != 0)
        return flags_fail(in->flags, MEGATRON_NAME(hybrid_layer_pattern), err,
                          "expected a pattern whose number of chunks is a multiple of %d stages, "
                          "found \"%.80s\"",
                          d->pp, pattern);
    take_chunks(in, count / d->pp);
    if (model == NULL || hybrid_chunks(model, pattern, chunks) != count) {
        import_warn(in->warnings, "the hybrid layer pattern does not match the layers of a known "
                                  "model; split is left unset");
        return PLAIT_OK;
    }
    import_mark_known(in, "split");
    const bool fits = layout_write(chunks, count, text);
    const char *const layout = plait_arena_text(in->flags->arena, text);
    PLAIT_TRY(plait_check_allocated(layout, err));
    d->split = split_of_chunks(model, d, chunks, layout, own);
    if (d->split.kind != PLAIT_SPLIT_LAYOUT || fits)
        return PLAIT_OK;
    return flags_fail(in->flags, MEGATRON_NAME(hybrid_layer_pattern), err,
                      "expected chunks that a layout of at most %d letters lists, found others",
                      PLAIT_VALUE_SIZE - 1);
}

plait_status megatron_read_pipeline(const megatron_args *args, const plait_model *model,
                                    plan_reader *in, plait_error *err)
{
    const char *const layout = args->pipeline_model_parallel_layout;

    PLAIT_TRY(check_conflicts(args, in, err));
    if (args->hybrid_layer_pattern != NULL) {
        bool done;
        PLAIT_TRY(read_pattern_chunks(args, model, in, &done, err));
        if (done)
            return PLAIT_OK;
    }
    if (layout != NULL) {
        plait_degrees *const d = &in->out->degrees;
        plait_chunk chunks[PLAIT_MAX_LAYERS];
        plait_error wrong;
        char why[160];
        int count;
        // no profile of Megatron has the split `spread`; a user's own may
        const bool own = in->out->runtime != NULL && data_is_path(in->out->runtime);

        if (layout_read(layout, PLAIT_MAX_LAYERS, chunks, &count, &wrong) != PLAIT_OK)
            return flags_fail(in->flags, MEGATRON_NAME(pipeline_model_parallel_layout), err, "%s",
                              wrong.message);
        if (count % d->pp != 0)
            return flags_fail(in->flags, MEGATRON_NAME(pipeline_model_parallel_layout), err,
                              "expected a layout whose number of chunks is a multiple of %d "
                              "stages, found \"%.80s\"",
                              d->pp, layout);
        take_chunks(in, count / d->pp);
        if (model != NULL && layout_covers_model(model, chunks, count, why, sizeof why)) {
            import_mark_known(in, "split");
            d->split = split_of_chunks(model, d, chunks, layout, own);
            return PLAIT_OK;
        }
        import_warn(
            in->warnings,
            "the pipeline layout does not match the layers of a known model; split is left unset");
        return PLAIT_OK;
    }
    // the number of chunks takes precedence over the layers per chunk: in parsed arguments Megatron
    // computed the number
    int chunks = args->virtual_pipeline_model_parallel_size;

    if (chunks == 0)
        chunks = args->num_virtual_stages_per_pipeline_rank;
    if (chunks == 0 && args->num_layers_per_virtual_pipeline_stage > 0)
        PLAIT_TRY(chunks_of_layers(args, model, in, &chunks, err));
    take_chunks(in, chunks > 0 ? chunks : in->out->degrees.vpp);
    PLAIT_TRY(check_overlap(in, err));
    return read_split(args, model, in, err);
}
