/* split.c - how a plan deals layers to stages and chunks, in Megatron-LM's four ways to say it */
#include "launch/megatron/args_parts.h"
#include "launch/megatron/argument_table.h"

#include "plan/layout.h"

/* A split without words of its own is spelled chunk by chunk, which says how many there are. */
static plait_status spell(const plait_plan *plan, plait_arena *arena, megatron_args *out,
                          plait_error *err)
{
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    char text[PLAIT_VALUE_SIZE];

    for (int c = 0; c < plan->degrees.pp * plan->degrees.vpp; c++)
        chunks[c] = *plait_plan_chunk(plan, c);
    if (!layout_write(chunks, plan->degrees.pp * plan->degrees.vpp, text))
        return plait_fail(err, PLAIT_ERROR_RANGE, "split",
                          "expected a layout of at most %d letters, found a longer one",
                          PLAIT_VALUE_SIZE - 1);
    out->num_virtual_stages_per_pipeline_rank = 0;
    out->pipeline_model_parallel_layout = plait_arena_printf(arena, "%s", text);
    return out->pipeline_model_parallel_layout != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/* The chunks of a rank; before there was an argument for that, the layers of each. */
static void take_chunks(const plait_problem *problem, const plait_degrees *d, megatron_args *out)
{
    const size_t field = MEGATRON_FIELD(num_virtual_stages_per_pipeline_rank);

    if (d->vpp > 1 && megatron_argument(field)->since > out->core)
        out->num_layers_per_virtual_pipeline_stage = problem->model->layers / (d->pp * d->vpp);
    else
        out->num_virtual_stages_per_pipeline_rank = d->vpp > 1 ? d->vpp : 0;
}

plait_status megatron_args_of_split(const plait_problem *problem, const plait_plan *plan,
                                    plait_arena *arena, megatron_args *out, plait_error *err)
{
    const plait_degrees *const d = &plan->degrees;
    const plait_split *const split = &d->split;

    take_chunks(problem, d, out);
    switch ((plait_split_kind)split->kind) {
    case PLAIT_SPLIT_SPREAD:
    case PLAIT_SPLIT_COST:
    case PLAIT_SPLIT_LAYOUT:
        return spell(plan, arena, out, err);
    case PLAIT_SPLIT_FIRST_LAST:
        out->decoder_first_pipeline_num_layers = split->first;
        out->decoder_last_pipeline_num_layers = split->last;
        break;
    case PLAIT_SPLIT_EMBEDDING:
    case PLAIT_SPLIT_LOSS:
    case PLAIT_SPLIT_BOTH:
        out->account_for_embedding_in_pipeline_split = split->kind != PLAIT_SPLIT_LOSS;
        out->account_for_loss_in_pipeline_split = split->kind != PLAIT_SPLIT_EMBEDDING;
        break;
    case PLAIT_SPLIT_EVEN:
    case PLAIT_SPLITS:
        break;
    }
    return PLAIT_OK;
}
