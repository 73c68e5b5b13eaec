/*
 * scripts.c - writes run.sh, submit.sbatch and pytorchjob.yaml, which start a program on every node
 */
#include "launch/write/scripts.h"

#include <math.h>
#include <string.h>

#include "plait/units.h"
#include "base/text.h"

/* ---- heads of files ---- */

/* Return the title of a plan: "plan of deepseek-v3 on 2048 x h800-80gb-sxm: tp 1, pp 16, ..." */
static const char *title_of(const plait_launch *launch, plait_arena *arena)
{
    const plait_degrees *const d = &launch->plan->degrees;
    const plait_problem *const problem = launch->problem;
    // the GPUs: "16 x h100-80gb-sxm", or for several kinds of nodes "16 x h100-80gb-sxm + 8 x
    // a100-80gb-sxm"
    const plait_cluster *const cluster = launch->problem->cluster;
    text_builder out;
    text_builder_init(&out, arena);
    for (int g = 0; g < cluster->groups; g++)
        if (plait_plan_gpus(launch->plan, g) > 0)
            text_append_printf(&out, "%s%d x %s", out.length > 0 ? " + " : "",
                               plait_plan_gpus(launch->plan, g),
                               cluster->group[g].accelerator->name);
    const char *const on = text_builder_finish(&out, NULL);
    const char *text;

    if (on == NULL)
        return NULL;
    text = plait_arena_printf(
        arena, "plan of %s on %s: tp %d, cp %d, pp %d, vpp %d, dp %d, ep %d, etp %d, ZeRO-%d",
        problem->model->name, on, d->tp, d->cp, d->pp, d->vpp, d->dp, d->ep, d->etp, d->zero);
    return text != NULL ? text_plain(arena, text)
                        : NULL; // one line, since the title is inside a comment
}

static const char *expectation_of(const plait_launch *launch, plait_arena *arena)
{
    const plait_cost *const cost = launch->cost;
    const double gib = cost->memory.peak_bytes / PLAIT_GIB;
    const double capacity = cost->memory.capacity_bytes / PLAIT_GIB;
    const char *risk = "", *band = "";

    if (cost->verdict == PLAIT_TIGHT)
        risk = plait_arena_printf(arena, ", a %.0f %% risk of running out of memory",
                                  100.0 * cost->risk);
    if (!isnan(cost->step_low_s))
        band = plait_arena_printf(arena, " (80 %% band: %.4g to %.4g)", cost->step_low_s,
                                  cost->step_high_s);
    if (risk == NULL || band == NULL)
        return NULL;
    return plait_arena_printf(arena,
                              "predicted: %.4g s per step%s, %.1f of %.1f GiB on the fullest GPU%s",
                              cost->step_s, band, gib, capacity, risk);
}

void scripts_append_head(const plait_launch *launch, const char *first,
                         const training_places *places, text_builder *out)
{
    const char *const title = title_of(launch, out->arena);
    const char *const expectation = expectation_of(launch, out->arena);

    if (title == NULL || expectation == NULL) {
        out->failed = true;
        return;
    }
    text_append_printf(out, "%s\n#\n# %s\n# %s\n", first, title, expectation);
    if (places == NULL)
        return;
    text_append(out, "#\n");
    training_append_edits(launch->problem, places, out);
}

int scripts_nodes(const plait_problem *problem, int *gpus_per_node)
{
    const int shape = problem->cluster->group[0].gpus_per_node;
    const int gpus = problem->job.gpus;

    *gpus_per_node = gpus < shape ? gpus : shape;
    return gpus / *gpus_per_node;
}

static const char read_arguments[] = "# Lines of %s are `export NAME=value` or arguments.\n"
                                     "args=()\n"
                                     "while IFS= read -r line || [ -n \"$line\" ]; do\n"
                                     "    case $line in\n"
                                     "    'export '*) eval \"$line\" ;;\n"
                                     "    *) eval \"args+=($line\"$'\\n'\")\" ;;\n"
                                     "    esac\n" LAUNCH_READS_FROM "%s\"\n\n";

static const char *run_script(const plait_launch *launch, const launch_program *program,
                              plait_arena *arena)
{
    int gpus_per_node;
    const int nodes = scripts_nodes(launch->problem, &gpus_per_node);
    text_builder out;

    text_builder_init(&out, arena);
    text_append_printf(&out, "#!/bin/bash\n");
    scripts_append_head(launch, "# run.sh - starts training on one node; run it on every node",
                        NULL, &out);
    text_append(&out, "#\n"
                      "#   HEAD=10.0.0.1 NODE_RANK=0 ./run.sh    on the node of ranks 0, 1, ...\n"
                      "#   ./run.sh                              under SLURM, or on a single node\n"
                      "#\n"
                      "# Further arguments are appended to those of the plan.\n");
    if (program->notes != NULL)
        text_append_printf(&out, "#\n%s", program->notes);
    text_append(&out, "set -efuo pipefail\n"); // -f, so that brackets are not expanded
    text_append(&out, LAUNCH_FINDS_HERE);
    text_append_printf(&out, "nodes=%d\ngpus_per_node=%d\n", nodes, gpus_per_node);
    text_append(&out, "node_rank=${NODE_RANK:-${SLURM_NODEID:-0}}\n"
                      "head=${HEAD:-${MASTER_ADDR:-localhost}}\n"
                      "port=${MASTER_PORT:-29500}\n\n");
    if (program->args != NULL)
        text_append_printf(&out, read_arguments, program->args, program->args);
    if (program->checkout != NULL)
        text_append_printf(&out, "cd -- \"${%s:?expected the folder of a checkout of %s}\"\n",
                           program->checkout, program->what);
    if (program->script != NULL)
        text_append_printf(&out, ": \"${%s:?expected the training script}\"\n", program->script);
    text_append(&out, program->start);
    text_append_char(&out, '\n');
    return text_builder_finish(&out, NULL);
}

/* ---- SLURM ---- */

static const launch_device *device_of(const launch_program *program)
{
    static const launch_device nvidia = {"gpus-per-node", "nvidia.com/gpu", SCRIPTS_PYTORCH_IMAGE};

    return program->device != NULL ? program->device : &nvidia;
}

const char *scripts_plain_name(const plait_model *model, char name[SCRIPTS_NAME_SIZE])
{
    size_t length = 0;

    for (const char *c = model->name; *c != '\0' && length + 1 < SCRIPTS_NAME_SIZE; c++)
        name[length++] = text_is_alphanumeric(*c) ? text_lower(*c) : '-';
    while (length > 0 && name[length - 1] == '-')
        length--;
    name[length] = '\0';
    return name;
}

/* Return a job name that begins with a letter and has at most 40 characters. */
static const char *job_name(const plait_launch *launch, plait_arena *arena)
{
    char name[SCRIPTS_NAME_SIZE];
    char *const job =
        plait_arena_printf(arena, "plait-%.34s", scripts_plain_name(launch->problem->model, name));

    for (size_t length = job != NULL ? strlen(job) : 0; length > 0 && job[length - 1] == '-';)
        job[--length] = '\0';
    return job;
}

/* Return the nodes of a scale-up domain if the job must use whole domains, else 0. */
static int nodes_of_domain(const plait_problem *problem)
{
    int gpus_per_node;
    const int nodes = scripts_nodes(problem, &gpus_per_node);
    const int domain = problem->cluster->level[0].gpus / gpus_per_node;

    if (plait_level_is_grid(&problem->cluster->level[0]))
        return 0;
    return domain > 1 && domain < nodes && nodes % domain == 0 ? domain : 0;
}

/*
 * Return the name of an image with the character `between` after its registry: enroot needs '#',
 * "nvcr.io#nvidia/pytorch:26.06-py3", and all other programs '/'. A file's path is not changed.
 */
static const char *image_with(char between, const char *image, plait_arena *arena)
{
    const size_t registry = strcspn(image, "/#");
    char *const copy = plait_arena_text(arena, image);

    if (copy != NULL && image[registry] != '\0' && registry > 0 && image[0] != '.' &&
        memchr(image, '.', registry) != NULL)
        copy[registry] = between;
    return copy;
}

static const char *submit_script(const plait_launch *launch, const launch_program *program,
                                 const char *job, plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    const char *const devices = device_of(program)->slurm;
    int gpus_per_node;
    const int nodes = scripts_nodes(launch->problem, &gpus_per_node);
    const int domain = nodes_of_domain(launch->problem);
    text_append_printf(&out,
                       "#!/bin/bash\n"
                       "#SBATCH --job-name=%s\n"
                       "#SBATCH --nodes=%d\n"
                       "#SBATCH --ntasks-per-node=1\n"
                       "#SBATCH --%s%c%d\n"
                       "#SBATCH --exclusive\n"
                       "#SBATCH --distribution=block\n",
                       job, nodes, devices, strchr(devices, '=') != NULL ? ':' : '=',
                       gpus_per_node);
    if (domain > 0)
        text_append_printf(&out, "#SBATCH --segment=%d\n", domain);
    // the time limit is 1.5 times the trial's steps plus half an hour to start, in whole hours
    const double trial_s = 1.5 * TRAINING_TRY_STEPS * launch->cost->step_s;
    text_append_printf(&out,
                       "# To edit: time limit, account and partition of the run.\n"
                       "#SBATCH --time=%d:00:00\n",
                       (int)fmin(ceil(trial_s / 3600.0 + 0.5), 9999.0));
    if (launch->account != NULL)
        text_append_printf(&out, "#SBATCH --account=%s\n", launch->account);
    else
        text_append(&out, "##SBATCH --account=NAME\n");
    text_append(&out, "##SBATCH --partition=NAME\n");
    scripts_append_head(launch, "# submit.sbatch - run `sbatch submit.sbatch` in this folder", NULL,
                        &out);
    if (program->checkout != NULL)
        text_append_printf(&out, "# Set %s to the folder of a checkout of %s.\n", program->checkout,
                           program->what);
    if (program->script != NULL)
        text_append_printf(&out, "# Set %s to the training script.\n", program->script);
    text_append(&out, "set -euo pipefail\n"
                      "hosts=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\")\n"
                      "export HEAD=${hosts%%$'\\n'*}\n");
    // pyxis starts containers and mounts only the folders in --container-mounts
    if (launch->container == NULL) {
        text_append(&out,
                    "# No container is set: the nodes need the software; `plait launch --container "
                    "IMAGE` sets one.\n"
                    "srun --kill-on-bad-exit=1 \"$SLURM_SUBMIT_DIR/run.sh\"\n");
    } else {
        const char *const image = image_with('#', launch->container, out.arena);

        if (program->checkout != NULL)
            text_append_printf(&out, ": \"${%s:?expected the folder of a checkout of %s}\"\n",
                               program->checkout, program->what);
        text_append(&out, "# To edit: mount the folders of data and checkpoints in the same way.\n"
                          "mounts=\n"
                          "for folder in \"$SLURM_SUBMIT_DIR\"");
        if (program->checkout != NULL)
            text_append_printf(&out, " \"$%s\"", program->checkout);
        text_append_printf(
            &out,
            "; do\n"
            "    if [[ $folder == *[,:]* ]]; then\n"
            "        echo \"submit.sbatch: expected folders without comma and colon, "
            "which --container-mounts interprets, found $folder\" >&2\n"
            "        exit 1\n"
            "    fi\n"
            "    mounts+=${mounts:+,}$folder:$folder\n"
            "done\n"
            "srun --kill-on-bad-exit=1 --container-image=%s \\\n"
            "    --container-mounts=\"$mounts\" \"$SLURM_SUBMIT_DIR/run.sh\"\n",
            image != NULL ? image : "");
        out.failed = out.failed || image == NULL;
    }
    return text_builder_finish(&out, NULL);
}

/* ---- Kubernetes ---- */

/*
 * Write the image. An image without the software would fail during the start, so if none is known
 * write a placeholder.
 */
static void append_image(const plait_launch *launch, const launch_program *program,
                         text_builder *out)
{
    const char *const image =
        launch->container != NULL ? image_with('/', launch->container, out->arena) : program->image;

    out->failed = out->failed || (image == NULL && launch->container != NULL);
    if (image != NULL)
        text_append_printf(out, "              image: \"%s\"\n", image);
    else
        text_append_printf(
            out,
            "              # To edit: an image with %s and its dependencies, based on %s\n"
            "              image: \"image-of-yours\"\n",
            program->what, device_of(program)->base);
}

static void append_replica(const plait_launch *launch, text_builder *out, const char *role,
                           int replicas, const char *job, const launch_program *program)
{
    int gpus_per_node;
    const int nodes = scripts_nodes(launch->problem, &gpus_per_node);

    text_append_printf(out,
                       "    %s:\n"
                       "      replicas: %d\n"
                       "      restartPolicy: Never\n"
                       "      template:\n"
                       "        spec:\n"
                       "          containers:\n"
                       "            - name: pytorch\n",
                       role, replicas);
    append_image(launch, program, out);
    // a mounted ConfigMap is read-only
    text_append(out, "              command: [\"bash\", \"-c\"]\n");
    text_append(out, program->runs_here
                         ? "              args: [\"cp -rL /plait /tmp/plan && NODE_RANK=$RANK exec "
                           "bash /tmp/plan/run.sh\"]\n"
                         : "              args: [\"NODE_RANK=$RANK exec bash /plait/run.sh\"]\n");
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
                       "                  %s: %d\n",
                       device_of(program)->kubernetes, gpus_per_node);
    if (nodes > 1) {
        // each site chooses the names of its network's device plugins; pinned memory needs IPC_LOCK
        text_append(
            out, "                  # To edit: the network devices; without them traffic uses TCP\n"
                 "                  # rdma/hca_shared_devices_a: 1\n"
                 "                  # vpc.amazonaws.com/efa: 1\n"
                 "              securityContext:\n"
                 "                capabilities:\n"
                 "                  add: [\"IPC_LOCK\"]\n");
    }
    text_append_printf(out,
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
                       job);
}

plait_status scripts_add(const plait_launch *launch, const launch_program *program,
                         plait_arena *arena, plait_launch_folder *out, plait_error *err)
{
    const char *const job = job_name(launch, arena);

    PLAIT_TRY(plait_check_allocated(job, err));
    PLAIT_TRY(folder_add(out, "run.sh", run_script(launch, program, arena), true, err));
    PLAIT_TRY(
        folder_add(out, "submit.sbatch", submit_script(launch, program, job, arena), true, err));
    int gpus_per_node;
    const int nodes = scripts_nodes(launch->problem, &gpus_per_node);
    text_builder text;
    text_builder_init(&text, arena);
    scripts_append_head(launch, "# pytorchjob.yaml - Kubeflow Training Operator", NULL, &text);
    text_append_printf(&text,
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
    append_replica(launch, &text, "Master", 1, job, program);
    if (nodes > 1)
        append_replica(launch, &text, "Worker", nodes - 1, job, program);
    return folder_add(out, "pytorchjob.yaml", text_builder_finish(&text, NULL), false, err);
}

plait_status folder_add(plait_launch_folder *folder, const char *name, const char *text,
                        bool executable, plait_error *err)
{
    if (name == NULL || text == NULL || folder->files == PLAIT_MAX_LAUNCH_FILES)
        return plait_fail_nomem(err);
    folder->file[folder->files++] = (plait_launch_file){name, text, executable};
    return PLAIT_OK;
}
