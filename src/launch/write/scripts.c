/* scripts.c - what starts a program on every node: by hand, under SLURM, on Kubernetes */
#include "scripts.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "plait/units.h"
#include "text.h"

/* ---- what the files say of themselves ---- */

/* A text that is to stay inside a comment: one line of printable characters. */
static const char *one_line(const char *text, plait_arena *arena)
{
    char *const copy = plait_arena_text(arena, text);

    for (char *c = copy; c != NULL && *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == '\x7f')
            *c = ' ';
    return copy;
}

const char *scripts_title(const plait_launch *launch, plait_arena *arena)
{
    const plait_degrees *const d = &launch->plan->degrees;
    const plait_problem *const problem = launch->problem;
    const char *text;

    text = plait_arena_printf(
        arena, "plan of %s on %d x %s: tp %d, cp %d, pp %d, vpp %d, dp %d, ep %d, etp %d, ZeRO-%d",
        problem->model->name, problem->job.gpus, problem->cluster->group[0].accelerator->name,
        d->tp, d->cp, d->pp, d->vpp, d->dp, d->ep, d->etp, d->zero);
    return text == NULL ? NULL : one_line(text, arena);
}

const char *scripts_expectation(const plait_launch *launch, plait_arena *arena)
{
    const plait_cost *const cost = launch->cost;
    const double gib = cost->memory.peak_bytes / PLAIT_GIB;
    const double capacity = cost->memory.capacity_bytes / PLAIT_GIB;

    if (isnan(cost->step_low_s))
        return plait_arena_printf(arena,
                                  "expected: %.4g s a step, %.1f of %.1f GiB on the fullest GPU",
                                  cost->step_s, gib, capacity);
    return plait_arena_printf(
        arena, "expected: %.4g s a step (%.4g to %.4g), %.1f of %.1f GiB on the fullest GPU",
        cost->step_s, cost->step_low_s, cost->step_high_s, gib, capacity);
}

int scripts_nodes(const plait_problem *problem, int *gpus_per_node)
{
    const int shape = problem->cluster->group[0].gpus_per_node;
    const int gpus = problem->job.gpus;

    *gpus_per_node = gpus < shape ? gpus : shape;
    return gpus / *gpus_per_node;
}

/* ---- one node ---- */

static void append_head(const plait_launch *launch, const char *first, plait_arena *arena,
                        text_builder *out)
{
    const char *const title = scripts_title(launch, arena);
    const char *const expected = scripts_expectation(launch, arena);

    text_append_printf(out, "%s\n#\n# %s\n# %s\n", first, title != NULL ? title : "",
                       expected != NULL ? expected : "");
    out->failed = out->failed || title == NULL || expected == NULL;
}

static const char read_arguments[] = "# Lines of %s are `export NAME=value` or arguments.\n"
                                     "args=()\n"
                                     "while IFS= read -r line || [ -n \"$line\" ]; do\n"
                                     "    case $line in\n"
                                     "    'export '*) eval \"$line\" ;;\n"
                                     "    *) eval \"args+=($line\"$'\\n'\")\" ;;\n"
                                     "    esac\n"
                                     "done <\"$here/%s\"\n\n";

static const char *run_script(const plait_launch *launch, const launch_program *program,
                              plait_arena *arena)
{
    int gpus_per_node;
    const int nodes = scripts_nodes(launch->problem, &gpus_per_node);
    text_builder out;

    text_builder_init(&out, arena);
    text_append_printf(&out, "#!/bin/bash\n");
    append_head(launch, "# run.sh - start one node; run the same on each", arena, &out);
    text_append(&out,
                "#\n"
                "#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    the node whose ranks are 0, 1, ...\n"
                "#   ./run.sh                              where SLURM says both, or on one node\n"
                "#\n"
                "# Arguments are handed on behind those of the plan.\n");
    if (program->notes != NULL)
        text_append_printf(&out, "#\n%s", program->notes);
    text_append(&out, "set -efuo pipefail\n"); // -f: a bracket in an argument is no pattern
    text_append(&out, "here=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\n");
    text_append_printf(&out, "nodes=%d\ngpus_per_node=%d\n", nodes, gpus_per_node);
    text_append(&out, "node_rank=${NODE_RANK:-${SLURM_NODEID:-0}}\n"
                      "head=${HEAD:-${MASTER_ADDR:-localhost}}\n"
                      "port=${MASTER_PORT:-29500}\n\n");
    if (program->args != NULL)
        text_append_printf(&out, read_arguments, program->args, program->args);
    if (program->checkout != NULL)
        text_append_printf(&out, "cd \"${%s:?expected the folder of a checkout of %s}\"\n",
                           program->checkout, program->what);
    if (program->script != NULL)
        text_append_printf(&out, ": \"${%s:?expected the training script}\"\n", program->script);
    text_append(&out, program->start);
    text_append_char(&out, '\n');
    return text_builder_finish(&out, NULL);
}

/* ---- SLURM ---- */

/* A name that SLURM and Kubernetes take: letters, digits and hyphens, a letter first, 40 at most. */
static const char *job_name(const plait_launch *launch, plait_arena *arena)
{
    const char *const model = launch->problem->model->name;
    char name[48] = "plait-";
    size_t length = strlen(name);

    for (const char *c = model; *c != '\0' && length < 40; c++)
        name[length++] = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
    while (length > 0 && name[length - 1] == '-')
        length--;
    name[length] = '\0';
    return plait_arena_text(arena, name);
}

/* Nodes that one scale-up domain spans, where jobs have to be dealt whole ones; else 0. */
static int nodes_of_domain(const plait_problem *problem)
{
    int gpus_per_node;
    const int nodes = scripts_nodes(problem, &gpus_per_node);
    const int domain = problem->cluster->level[0].gpus / gpus_per_node;

    if (problem->cluster->level[0].kind == PLAIT_LEVEL_TORUS)
        return 0;
    return domain > 1 && domain < nodes && nodes % domain == 0 ? domain : 0;
}

static const char *submit_script(const plait_launch *launch, const launch_program *program,
                                 const char *job, plait_arena *arena)
{
    int gpus_per_node;
    const int nodes = scripts_nodes(launch->problem, &gpus_per_node);
    const int domain = nodes_of_domain(launch->problem);
    text_builder out;

    text_builder_init(&out, arena);
    text_append_printf(&out,
                       "#!/bin/bash\n"
                       "#SBATCH --job-name=%s\n"
                       "#SBATCH --nodes=%d\n"
                       "#SBATCH --ntasks-per-node=1\n"
                       "#SBATCH --gpus-per-node=%d\n"
                       "#SBATCH --exclusive\n"
                       "#SBATCH --distribution=block\n",
                       job, nodes, gpus_per_node);
    if (domain > 0)
        text_append_printf(&out, "#SBATCH --segment=%d\n", domain);
    append_head(launch, "# submit.sbatch - sbatch submit.sbatch, in this folder", arena, &out);
    if (program->checkout != NULL)
        text_append_printf(&out, "# %s is to name the folder of a checkout of %s.\n",
                           program->checkout, program->what);
    if (program->script != NULL)
        text_append_printf(&out, "# %s is to name the training script.\n", program->script);
    text_append(&out, "set -euo pipefail\n"
                      "hosts=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\")\n"
                      "export HEAD=${hosts%%$'\\n'*}\n"
                      "srun --kill-on-bad-exit=1 \"$SLURM_SUBMIT_DIR/run.sh\"\n");
    return text_builder_finish(&out, NULL);
}

/* ---- Kubernetes ---- */

/* The base of Megatron-LM's own container at d98e8a6 (2026-08-22): docker/.ngc_version.dev. */
static const char pytorch_image[] = "nvcr.io/nvidia/pytorch:26.06-py3";

static void append_replica(text_builder *out, const char *role, int replicas, const char *job,
                           const launch_program *program, int gpus)
{
    text_append_printf(out,
                       "    %s:\n"
                       "      replicas: %d\n"
                       "      restartPolicy: Never\n"
                       "      template:\n"
                       "        spec:\n"
                       "          containers:\n"
                       "            - name: pytorch\n"
                       "              image: %s # or yours\n"
                       "              command: [\"bash\", \"-c\"]\n"
                       "              args: [\"NODE_RANK=$RANK exec bash /plait/run.sh\"]\n",
                       role, replicas, program->image != NULL ? program->image : pytorch_image);
    if (program->checkout != NULL || program->script != NULL)
        text_append_printf(out,
                           "              env:\n"
                           "                - name: %s\n"
                           "                  value: %s\n",
                           program->checkout != NULL ? program->checkout : program->script,
                           program->checkout != NULL ? "/workspace" : "/workspace/train.py");
    text_append_printf(out,
                       "              resources:\n"
                       "                limits:\n"
                       "                  nvidia.com/gpu: %d\n"
                       "              volumeMounts:\n"
                       "                - name: plan\n"
                       "                  mountPath: /plait\n"
                       "                - name: shm\n"
                       "                  mountPath: /dev/shm\n"
                       "          volumes:\n"
                       "            - name: plan\n"
                       "              configMap:\n"
                       "                name: %s\n"
                       "            - name: shm\n"
                       "              emptyDir:\n"
                       "                medium: Memory\n",
                       gpus, job);
}

static const char *manifest(const plait_launch *launch, const launch_program *program,
                            const char *job, plait_arena *arena)
{
    int gpus_per_node;
    const int nodes = scripts_nodes(launch->problem, &gpus_per_node);
    text_builder out;

    text_builder_init(&out, arena);
    append_head(launch, "# pytorchjob.yaml - Kubeflow Training Operator", arena, &out);
    text_append_printf(&out,
                       "#\n"
                       "#   kubectl create configmap %s --from-file=.\n"
                       "#   kubectl apply -f pytorchjob.yaml\n"
                       "apiVersion: kubeflow.org/v1\n"
                       "kind: PyTorchJob\n"
                       "metadata:\n"
                       "  name: %s\n"
                       "spec:\n"
                       "  pytorchReplicaSpecs:\n",
                       job, job);
    append_replica(&out, "Master", 1, job, program, gpus_per_node);
    if (nodes > 1)
        append_replica(&out, "Worker", nodes - 1, job, program, gpus_per_node);
    return text_builder_finish(&out, NULL);
}

plait_status scripts_add(const plait_launch *launch, const launch_program *program,
                         plait_arena *arena, plait_launch_folder *out, plait_error *err)
{
    const char *const job = job_name(launch, arena);

    if (job == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(folder_add(out, "run.sh", run_script(launch, program, arena), true, err));
    PLAIT_TRY(
        folder_add(out, "submit.sbatch", submit_script(launch, program, job, arena), true, err));
    return folder_add(out, "pytorchjob.yaml", manifest(launch, program, job, arena), false, err);
}
