/*
 * encoder_price.c - seconds and bytes of a job's encoders, which the embedding's stage runs
 *
 *     patches -> patch projection -> layers of the encoder -> projector -> tokens of the decoder
 *
 * The layers of an encoder are described as those of the decoder are, by the encoder's own model.
 * An encoder that trains keeps the input of each layer and runs its layers again in the backward; a
 * frozen one has a forward alone. (C.430 to C.432)
 */
#include "costmodel/layer/encoder_price.h"

#include "base/numbers.h"
#include "costmodel/layer/tuning.h"

/* One encoder of a job, which is whole on each rank (C.431). */
typedef struct encoder_run {
    const plait_encoder *encoder;
    plait_shard shard;
    plait_pass pass; /* `kind` is set for each description */
    double tokens;   /* tokens of the decoder that a microbatch's inputs make on this rank */
    bool trains, projector_trains;
} encoder_run;

bool encoders_present(const plait_problem *problem)
{
    return problem->job.images > 0 || problem->job.tuning.kind != PLAIT_JOB_PRETRAIN;
}

static encoder_run run_of(const plait_problem *problem, const layer_row *row, plait_modality m)
{
    const plait_job *const job = &problem->job;
    const plait_encoder *const encoder = &problem->model->encoder[m];
    const double images = m == PLAIT_VISION ? (double)row->key.mbs * job->images *
                                                  (plait_job_unit_tokens(job) / job->seq)
                                            : 0.0;
    const double patches = images > 0.0 ? plait_job_patches(problem) : 1.0;
    encoder_run run = {.encoder = encoder,
                       .shard = row->shard,
                       .pass = {PLAIT_FORWARD, images, patches, patches},
                       .tokens = images * patches / encoder->patches_per_token,
                       .trains = !encoder_frozen(&job->tuning, m),
                       .projector_trains = !tuning_freezes(&job->tuning, PLAIT_FREEZE_PROJECTOR)};

    run.shard.tp = run.shard.cp = run.shard.ep = run.shard.etp = run.shard.cp_inner = 1;
    run.shard.sp = false;
    run.shard.precision = PLAIT_BF16;
    run.shard.frozen = run.shard.adapted = 0;
    run.shard.lora_rank = 0;
    run.shard.one_output = false;
    return run;
}

static void count_layers(const plait_model *model, double of_kind[PLAIT_MAX_LAYER_KINDS])
{
    for (int k = 0; k < model->kinds; k++)
        of_kind[k] = 0.0;
    for (int i = 0; i < model->layers; i++)
        of_kind[model->layer_kind[i]] += 1.0;
}

// ---- weights -------------------------------------------------------------------------------

static void add_weights(double params, bool trains, plait_weights *out)
{
    *(trains ? &out->dense : &out->frozen_dense) += params;
}

plait_weights encoder_weights(const plait_problem *problem, const layer_row *row)
{
    double layers[PLAIT_MAX_LAYER_KINDS];
    plait_weights out = {0};
    plait_block block;

    for (int m = 0; m < PLAIT_MODALITIES && encoders_present(problem); m++) {
        const plait_model *const model = problem->model->encoder[m].model;

        if (model == NULL)
            continue;
        const encoder_run run = run_of(problem, row, (plait_modality)m);
        plait_block_embedding(model, &run.shard, run.pass, &block);
        add_weights(block.weights.dense, run.trains, &out);
        count_layers(model, layers);
        for (int k = 0; k < model->kinds; k++) {
            plait_block_describe(model, &model->kind[k], &run.shard, run.pass, &block);
            add_weights(layers[k] * block.weights.dense, run.trains, &out);
        }
        add_weights((model->layer_norm ? 2.0 : 1.0) * model->hidden, run.trains, &out);
        add_weights(run.encoder->projector_params, run.projector_trains, &out);
    }
    return out;
}

// ---- time ----------------------------------------------------------------------------------

/* Adds `times` passes of a block to the terms of one pass of a price. */
static void add_pass(const plait_problem *problem, const layer_row *row, const plait_block *block,
                     double times, double terms[LAYER_TERMS], layer_price *out)
{
    plait_kernel_context context = kernel_context_of(problem, &row->key);

    context.precision = PLAIT_BF16;
    for (int i = 0; i < block->ops; i++) {
        const plait_op *const op = &block->op[i];
        const layer_term term = term_of(op);
        const double s = times * plait_op_s(&context, op);

        terms[term] += s;
        out->busy_s += term == LAYER_matmul || term == LAYER_attention ? s : 0.0;
        out->moving_s += term == LAYER_memory_ops ? s : 0.0;
        if (op->layout == PLAIT_BACKWARD_WEIGHT)
            out->weight_s += s;
    }
}

/* Adds a forward of a block, and if it trains a backward and, for a layer, a forward again. */
static void add_block(const plait_problem *problem, const layer_row *row, const encoder_run *run,
                      const plait_layer *layer, double times, double *live_bytes, layer_price *out)
{
    const plait_model *const model = run->encoder->model;
    plait_pass pass = run->pass;
    plait_block block;

    for (int backward = 0; backward <= run->trains; backward++) {
        // the gradient of the patches is not computed
        pass.kind = !backward ? PLAIT_FORWARD : layer ? PLAIT_BACKWARD : PLAIT_BACKWARD_WEIGHT;
        if (layer)
            plait_block_describe(model, layer, &run->shard, pass, &block);
        else
            plait_block_embedding(model, &run->shard, pass, &block);
        add_pass(problem, row, &block, times, backward ? out->backward : out->forward, out);
        if (layer && !backward && run->trains) {
            add_pass(problem, row, &block, times, out->backward, out);
            *live_bytes = larger(*live_bytes, plait_block_saved_bytes(&block, &run->shard, 0));
        }
    }
}

/* The projector as one product of all its matrices. */
static void add_projector(const plait_problem *problem, const layer_row *row,
                          const encoder_run *run, layer_price *out)
{
    const plait_encoder *const encoder = run->encoder;
    const double merged = (double)encoder->model->hidden * encoder->patches_per_token;
    const plait_pass_kind backward = !run->projector_trains ? PLAIT_BACKWARD_INPUT
                                     : run->trains          ? PLAIT_BACKWARD
                                                            : PLAIT_BACKWARD_WEIGHT;
    plait_pass pass = {PLAIT_FORWARD, 1.0, run->tokens, run->tokens};
    plait_block block;

    for (int second = 0; second <= (run->trains || run->projector_trains); second++) {
        pass.kind = second ? backward : PLAIT_FORWARD;
        block_draft draft = block_draft_of(encoder->model, NULL, &run->shard, pass, &block);
        block_product_add(&draft, PLAIT_PART_embedding, run->tokens, merged,
                          encoder->projector_params / merged, PLAIT_DIM_WHOLE, false);
        add_pass(problem, row, &block, 1.0, second ? out->backward : out->forward, out);
    }
}

// ---- memory --------------------------------------------------------------------------------

/* C.432: the inputs of all layers, and of the projector, in 16 bits. */
static double kept_bytes(const encoder_run *run)
{
    const double element = 2.0, h = run->encoder->model->hidden;
    const double patches = run->pass.sequences * run->pass.query_tokens;
    const double inputs = run->trains ? run->encoder->model->layers : 0.0;

    return element * patches * h * (inputs + run->projector_trains);
}

void encoder_price_add(const plait_problem *problem, const layer_row *row, layer_price *out)
{
    double layers[PLAIT_MAX_LAYER_KINDS], live_bytes = 0.0;
    const plait_model *const model = problem->model->encoder[PLAIT_VISION].model;
    const plait_factors *const factor = &problem->runtime->factor;

    if (model == NULL || problem->job.images == 0)
        return;
    const encoder_run run = run_of(problem, row, PLAIT_VISION);
    count_layers(model, layers);
    add_block(problem, row, &run, NULL, 1.0, &live_bytes, out);
    for (int k = 0; k < model->kinds; k++)
        add_block(problem, row, &run, &model->kind[k], layers[k], &live_bytes, out);
    add_projector(problem, row, &run, out);
    if (run.trains && !problem->runtime->kernels.compiled_step)
        out->host_s += model->layers * factor->host_s / problem->cluster->host_speed;
    const double kept = kept_bytes(&run) + live_bytes;
    out->saved_bytes[PLAIT_TENSOR_norm_in] += kept;
    out->kept_bytes += kept;
    out->input_bytes += kept;
    out->forward_gpu_s = out->backward_gpu_s = 0.0;
    for (int t = 0; t < LAYER_TERMS; t++) {
        out->forward_gpu_s += out->forward[t];
        out->backward_gpu_s += out->backward[t];
    }
}
