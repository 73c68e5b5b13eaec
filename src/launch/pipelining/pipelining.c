/*
 * pipelining.c - PyTorch's torch.distributed.pipelining: writes schedule.csv and a script that runs
 * it
 *
 * _PipelineScheduleRuntime._load_csv reads schedule.csv as "compute_only" (PyTorch 00722e6). The
 * file has one row per pipeline rank, cells such as 0F0, 0B0, 0I0, 0W0 of stage, action and
 * microbatch, in the order of the rank; PyTorch inserts sends, receives and reductions. Stages are
 * numbered as in plait, from the embedding to the loss.
 */
#include <string.h>

#include "plait/lowlevel/schedule.h"

#include "base/text.h"
#include "launch/target.h"
#include "launch/write/scripts.h"
#include "launch/write/training.h"
#include "plan/split.h"

enum { MAX_ACTIONS = 1 << 22 };

static plait_pipeline_shape shape_of(const plait_problem *problem, const plait_degrees *d)
{
    return (plait_pipeline_shape){(plait_schedule)d->schedule, d->pp, d->vpp,
                                  plait_degrees_microbatches(d, problem->job.gbs)};
}

static const char *unsupported(const plait_problem *problem, const plait_plan *plan)
{
    const plait_degrees *const d = &plan->degrees;
    const plait_pipeline_shape shape = shape_of(problem, d);

    if (d->pp == 1)
        return "pp 1, which needs no pipeline schedule";
    if (!split_has_ends_outside(problem->model, d) || !split_fills_chunks(problem->model, d))
        return "a stage without modules, or an embedding or loss outside the first and last stage";
    if (plait_schedule_replicas(shape.schedule) > 1)
        return "a schedule with each stage on two ranks; PyTorch supports one";
    if (!plait_schedule_has_actions(&shape))
        return "microbatches that the schedule cannot divide into equal rounds";
    if (plait_schedule_action_count(&shape) > MAX_ACTIONS)
        return "a schedule of more than 4194304 actions";
    return NULL;
}

/* ---- schedule.csv ---- */

/* ---- pipeline.py ---- */

static void append_constants(const plait_launch *launch, text_builder *out)
{
    const plait_plan *const plan = launch->plan;
    const plait_problem *const problem = launch->problem;
    const plait_degrees *const d = &plan->degrees;

    text_append(out,
                "\n# The plan: ranks along each axis, outermost first, and the modules of each "
                "stage.\n");
    // write the axes outermost first, which is the order of a device mesh
    const int size[PLAIT_AXES] = {[PLAIT_AXIS_TP] = d->tp,
                                  [PLAIT_AXIS_CP] = d->cp,
                                  [PLAIT_AXIS_DP] = d->dp,
                                  [PLAIT_AXIS_PP] = d->pp};

    text_append(out, "MESH = {");
    for (int a = PLAIT_AXES - 1; a >= 0; a--)
        text_append_printf(out, "\"%s\": %d%s", plait_axis_name[plan->order[a]],
                           size[plan->order[a]], a > 0 ? ", " : "}\n");
    text_append(out, "STAGES = [\n");
    for (int s = 0; s < d->pp * d->vpp; s++) {
        // write the modules of one chunk: ["tok_embeddings", "layers.0", ...]
        const plait_chunk *const chunk = plait_plan_chunk(plan, s);
        const char *between = "";
        text_append(out, "    [");
        if (chunk->embedding) {
            text_append(out, "\"tok_embeddings\"");
            between = ", ";
        }
        for (int i = chunk->first; i < chunk->last; i++, between = ", ")
            text_append_printf(out, "%s\"layers.%d\"", between, i);
        if (chunk->loss)
            text_append_printf(out, "%s\"norm\", \"output\"", between);
        for (int i = 0; i < chunk->mtp; i++)
            text_append_printf(out, ", \"mtp.%d\"", i);
        text_append(out, "],\n");
    }
    text_append_printf(out,
                       "]\nMICROBATCHES = %d\nMICROBATCH = %d  # sequences\nSEQUENCE = %d\n"
                       "RESHARD = %s  # reshard parameters after forward: ZeRO-%d\n"
                       "HIDDEN, VOCAB = %d, %d\n",
                       plait_degrees_microbatches(d, problem->job.gbs), d->mbs, problem->job.seq,
                       d->zero == 3 ? "True" : "False", d->zero, problem->model->hidden,
                       problem->model->vocab);
    const launch_training t = training_of(problem);

    text_append_printf(out,
                       "OPTIMIZER = {\"lr\": %g, \"betas\": (%g, %g), \"eps\": %g, "
                       "\"weight_decay\": %g}\n",
                       t.lr, t.beta1, t.beta2, t.eps, t.weight_decay);
}

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    static const launch_program program = {
        .what = "PyTorch",
        .image = SCRIPTS_PYTORCH_IMAGE,
        .start = SCRIPTS_TORCHRUN "    \"$here/pipeline.py\" \"$@\"",
    };
    const char *schedule;

    const plait_pipeline_shape shape = shape_of(launch->problem, &launch->plan->degrees);
    plait_rank_actions *const rank = plait_arena_alloc(arena, (size_t)shape.ranks, sizeof *rank);
    text_builder lines;
    PLAIT_TRY(plait_check_allocated(rank, err));
    PLAIT_TRY(plait_schedule_actions(&shape, arena, rank, err));
    text_builder_init(&lines, arena);
    for (int r = 0; r < shape.ranks; r++) {
        char text[40];
        for (int i = 0; i < rank[r].count; i++) {
            text_append(&lines, i > 0 ? "," : "");
            text_append(&lines, plait_action_text(&rank[r].action[i], text, sizeof text));
        }
        text_append_char(&lines, '\n');
    }
    schedule = text_builder_finish(&lines, NULL);
    PLAIT_TRY(plait_check_allocated(schedule, err));
    PLAIT_TRY(folder_add(out, "schedule.csv", schedule, false, err));
    static const training_places places = {
        .data = "random tokens in batch(); placeholder layers in build_stage() and parallelize()",
        .values = "OPTIMIZER; the learning rate is constant",
        .cluster = true,
    };
    text_builder text;

    text_builder_init(&text, arena);
    scripts_append_head(launch,
                        "# pipeline.py - one step of schedule.csv by torch.distributed.pipelining; "
                        "run.sh starts it",
                        &places, &text);
    // replace the mark in pipeline.py by the constants of the plan
    static const char mark[] = "# THE PLAN\n";
    const char *const at = strstr(launch_pipeline_py.text, mark);

    text_append_bytes(&text, launch_pipeline_py.text, (size_t)(at - launch_pipeline_py.text));
    append_constants(launch, &text);
    text_append(&text, at + strlen(mark));
    PLAIT_TRY(folder_add(out, "pipeline.py", text_builder_finish(&text, NULL), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_pipelining = {
    .name = "pipelining",
    .runtime = NULL,
    .unsupported = unsupported,
    .render = render,
};
