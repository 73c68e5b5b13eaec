/*
 * pipelining.c - PyTorch's torch.distributed.pipelining: schedule.csv and a script that runs it
 *
 * schedule.csv is read by _PipelineScheduleRuntime._load_csv as "compute_only" (PyTorch 00722e6):
 * one row per pipeline rank, cells such as 0F0, 0B0, 0I0, 0W0 of stage, action and microbatch, in
 * the order of the rank; PyTorch inserts sends, receives and reductions. Stages are numbered as in
 * plait, from the embedding to the loss.
 */
#include "plait/lowlevel/schedule.h"

#include "base/text.h"
#include "launch/target.h"
#include "launch/write/scripts.h"
#include "launch/write/training.h"
#include "plan/split.h"

// clang-format off: one line of the script a line
static const char script_imports[] =
    "# Layers are stand-ins of the model's width: replace build_stage, parallelize and batch by "
    "yours.\n"
    "# The names in STAGES are torchtitan's; adapt them to your model. Data parallelism is "
    "fully_shard,\n"
    "# which divides all state, whatever the plan's ZeRO stage.\n"
    "import os\n"
    "import time\n"
    "\n"
    "import torch\n"
    "import torch.distributed as dist\n"
    "from torch import nn\n"
    "from torch.distributed.device_mesh import init_device_mesh\n"
    "from torch.distributed.fsdp import fully_shard\n"
    "from torch.distributed.pipelining import PipelineStage\n"
    "from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime\n";

static const char script_body[] =
    "\n"
    "\n"
    "class Layer(nn.Module):\n"
    "    \"\"\"Stands for one layer of yours: as wide on the way out as on the way in.\"\"\"\n"
    "\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.norm = nn.LayerNorm(HIDDEN)\n"
    "        self.mlp = nn.Linear(HIDDEN, HIDDEN, bias=False)\n"
    "\n"
    "    def forward(self, x):\n"
    "        return x + self.mlp(self.norm(x))\n"
    "\n"
    "\n"
    "class Stage(nn.Module):\n"
    "    \"\"\"The modules that `names` lists, under their names in the whole model.\"\"\"\n"
    "\n"
    "    def __init__(self, names):\n"
    "        super().__init__()\n"
    "        self.tok_embeddings = nn.Embedding(VOCAB, HIDDEN) if \"tok_embeddings\" in names else "
    "None\n"
    "        self.layers = nn.ModuleDict(\n"
    "            {n.replace(\".\", \"_\"): Layer() for n in names if n.startswith((\"layers.\", "
    "\"mtp.\"))}\n"
    "        )\n"
    "        self.norm = nn.LayerNorm(HIDDEN) if \"norm\" in names else None\n"
    "        self.output = nn.Linear(HIDDEN, VOCAB, bias=False) if \"output\" in names else None\n"
    "\n"
    "    def forward(self, x):\n"
    "        if self.tok_embeddings is not None:\n"
    "            x = self.tok_embeddings(x)\n"
    "        for layer in self.layers.values():\n"
    "            x = layer(x)\n"
    "        if self.norm is not None:\n"
    "            x = self.norm(x)\n"
    "        return self.output(x) if self.output is not None else x\n"
    "\n"
    "\n"
    "def build_stage(names, device):\n"
    "    \"\"\"Yours: build your model, keep what `names` lists, drop the rest.\"\"\"\n"
    "    return Stage(names).to(device, torch.bfloat16)\n"
    "\n"
    "\n"
    "def parallelize(module, mesh):\n"
    "    \"\"\"Yours: tensor, context and expert parallelism, recomputation. Data parallelism is "
    "here.\"\"\"\n"
    "    if MESH[\"dp\"] == 1:\n"
    "        return module\n"
    "    for layer in module.layers.values():\n"
    "        fully_shard(layer, mesh=mesh[\"dp\"], reshard_after_forward=RESHARD)\n"
    "    return fully_shard(module, mesh=mesh[\"dp\"], reshard_after_forward=RESHARD)\n"
    "\n"
    "\n"
    "def batch(mesh, device):\n"
    "    \"\"\"Yours: the sequences of one data-parallel rank. All stages of a pipeline see the "
    "same.\"\"\"\n"
    "    seed = torch.Generator().manual_seed(mesh[\"dp\"].get_local_rank())\n"
    "    shape = (MICROBATCHES * MICROBATCH, SEQUENCE // MESH[\"cp\"] + 1)\n"
    "    tokens = torch.randint(VOCAB, shape, generator=seed).to(device)\n"
    "    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()\n"
    "\n"
    "\n"
    "def loss_of(logits, targets):\n"
    "    return nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())\n"
    "\n"
    "\n"
    "def main():\n"
    "    device = torch.device(\"cuda\", int(os.environ[\"LOCAL_RANK\"]))\n"
    "    torch.cuda.set_device(device)\n"
    "    dist.init_process_group(\"nccl\", device_id=device)\n"
    "    mesh = init_device_mesh(\"cuda\", tuple(MESH.values()), mesh_dim_names=tuple(MESH))\n"
    "\n"
    "    own = range(mesh[\"pp\"].get_local_rank(), len(STAGES), MESH[\"pp\"])\n"
    "    modules = [parallelize(build_stage(STAGES[s], device), mesh) for s in own]\n"
    "    stages = [\n"
    "        PipelineStage(module, s, len(STAGES), device, group=mesh[\"pp\"].get_group())\n"
    "        for s, module in zip(own, modules)\n"
    "    ]\n"
    "    schedule = _PipelineScheduleRuntime(stages, MICROBATCHES, loss_fn=loss_of)\n"
    "    schedule._load_csv(os.path.join(os.path.dirname(os.path.abspath(__file__)), "
    "\"schedule.csv\"))\n"
    "    optimizer = torch.optim.AdamW(\n"
    "        [p for module in modules for p in module.parameters()], **OPTIMIZER\n"
    "    )\n"
    "\n"
    "    tokens, targets = batch(mesh, device)\n"
    "    inputs = (tokens,) if stages[0].is_first else ()\n"
    "    losses = []\n"
    "    last = {\"target\": targets, \"losses\": losses} if stages[-1].is_last else {}\n"
    "    for step in range(int(os.environ.get(\"STEPS\", \"1\"))):\n"
    "        torch.cuda.synchronize()\n"
    "        begin = time.perf_counter()\n"
    "        schedule.step(*inputs, **last)\n"
    "        optimizer.step()\n"
    "        optimizer.zero_grad()\n"
    "        torch.cuda.synchronize()\n"
    "        if losses:\n"
    "            took = time.perf_counter() - begin\n"
    "            print(f\"step {step}: loss {torch.stack(losses).mean().item():.4f}, {took:.3f} "
    "s\")\n"
    "    dist.destroy_process_group()\n"
    "\n"
    "\n"
    "if __name__ == \"__main__\":\n"
    "    main()\n";
// clang-format on

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
        return "pp 1: there is no pipeline to schedule";
    if (!split_has_ends_outside(problem->model, d) || !split_fills_chunks(problem->model, d))
        return "a stage without modules, or tokens and loss elsewhere than in the first and the "
               "last";
    if (plait_schedule_replicas(shape.schedule) > 1)
        return "a schedule that holds each stage on two ranks, and PyTorch does on one";
    if (!plait_schedule_has_actions(&shape))
        return "microbatches that its schedule cannot take in equal rounds";
    if (plait_schedule_action_count(&shape) > MAX_ACTIONS)
        return "a schedule of more than 4194304 actions";
    return NULL;
}

/* ---- schedule.csv ---- */

static void append_row(const plait_rank_actions *rank, text_builder *out)
{
    char text[40];

    for (int i = 0; i < rank->count; i++) {
        text_append(out, i > 0 ? "," : "");
        text_append(out, plait_action_text(&rank->action[i], text, sizeof text));
    }
    text_append_char(out, '\n');
}

static plait_status schedule_text(const plait_launch *launch, plait_arena *arena, const char **text,
                                  plait_error *err)
{
    const plait_pipeline_shape shape = shape_of(launch->problem, &launch->plan->degrees);
    plait_rank_actions *const rank = plait_arena_alloc(arena, (size_t)shape.ranks, sizeof *rank);
    text_builder out;

    if (rank == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(plait_schedule_actions(&shape, arena, rank, err));
    text_builder_init(&out, arena);
    for (int r = 0; r < shape.ranks; r++)
        append_row(&rank[r], &out);
    *text = text_builder_finish(&out, NULL);
    return *text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/* ---- pipeline.py ---- */

/* ["tok_embeddings", "layers.0", ...] of one chunk. */
static void append_modules(const plait_chunk *chunk, text_builder *out)
{
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

static void append_constants(const plait_launch *launch, text_builder *out)
{
    const plait_plan *const plan = launch->plan;
    const plait_problem *const problem = launch->problem;
    const plait_degrees *const d = &plan->degrees;

    text_append(out,
                "\n# The plan: ranks along each axis, outermost first, and the modules of each "
                "stage.\n");
    // axes outermost first, the order of a device mesh
    const int size[PLAIT_AXES] = {[PLAIT_AXIS_TP] = d->tp,
                                  [PLAIT_AXIS_CP] = d->cp,
                                  [PLAIT_AXIS_DP] = d->dp,
                                  [PLAIT_AXIS_PP] = d->pp};

    text_append(out, "MESH = {");
    for (int a = PLAIT_AXES - 1; a >= 0; a--)
        text_append_printf(out, "\"%s\": %d%s", plait_axis_name[plan->order[a]],
                           size[plan->order[a]], a > 0 ? ", " : "}\n");
    text_append(out, "STAGES = [\n");
    for (int s = 0; s < d->pp * d->vpp; s++)
        append_modules(plait_plan_chunk(plan, s), out);
    text_append_printf(out,
                       "]\nMICROBATCHES = %d\nMICROBATCH = %d  # sequences\nSEQUENCE = %d\n"
                       "RESHARD = %s  # parameters after forward: ZeRO-%d\n"
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

static const char *script_text(const plait_launch *launch, plait_arena *arena)
{
    static const training_places places = {
        .data = "random tokens: batch; layers are stand-ins: build_stage, parallelize",
        .values = "OPTIMIZER; there is no schedule",
        .cluster = true,
    };
    text_builder out;

    text_builder_init(&out, arena);
    scripts_append_head(launch,
                        "# pipeline.py - one step of schedule.csv by torch.distributed.pipelining; "
                        "run.sh starts it",
                        &places, &out);
    text_append(&out, script_imports);
    append_constants(launch, &out);
    text_append(&out, script_body);
    return text_builder_finish(&out, NULL);
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

    PLAIT_TRY(schedule_text(launch, arena, &schedule, err));
    PLAIT_TRY(folder_add(out, "schedule.csv", schedule, false, err));
    PLAIT_TRY(folder_add(out, "pipeline.py", script_text(launch, arena), false, err));
    return scripts_add(launch, &program, arena, out, err);
}

const launch_target target_pipelining = {
    .name = "pipelining",
    .runtime = NULL,
    .unsupported = unsupported,
    .render = render,
};
