/* scripts.h - what starts a program on every node: by hand, under SLURM, on Kubernetes
 *
 * Ranks are numbered node by node, as the plan's placement assumed: rank = node * GPUs + GPU.
 */
#pragma once

#include "launch/target.h"
#include "launch/write/training.h"

/** What schedulers call the devices of a node. */
typedef struct launch_device {
    const char *slurm;      /* "gpus-per-node", "gres=npu": behind it goes how many */
    const char *kubernetes; /* "nvidia.com/gpu" */
    const char *base;       /* for people: the image that an own one stands on */
} launch_device;

/** A program that runs once a node. */
typedef struct launch_program {
    const char *what;     /* for people: "Megatron-LM" */
    const char *checkout; /* variable that names the folder it runs in; NULL: the current one */
    const char *script;   /* variable that names the reader's own program; NULL: there is none */
    const char *args;     /* file of the folder with arguments, "args.sh"; NULL: none */
    const char *notes;    /* comment lines for the head of run.sh; NULL: none */
    const char *image;    /* container that has all of it; NULL: none is known */
    const launch_device *device; /* NULL: GPUs of NVIDIA */
    const char *start;           /* shell lines that start it: see SCRIPTS_TORCHRUN */
} launch_program;

/** PyTorch and Transformer Engine: the base of Megatron-LM's own container at d98e8a6 (2026-08-22). */
#define SCRIPTS_PYTORCH_IMAGE "nvcr.io/nvidia/pytorch:26.06-py3"

/** Start of a command line; in it and behind it, $here is the folder and "${args[@]}" the words. */
#define SCRIPTS_TORCHRUN                                                                           \
    "exec torchrun --nnodes \"$nodes\" --nproc_per_node \"$gpus_per_node\" \\\n"                   \
    "    --node_rank \"$node_rank\" --master_addr \"$head\" --master_port \"$port\" \\\n"

/** Add run.sh, submit.sbatch and pytorchjob.yaml. */
PLAIT_MUST_CHECK plait_status scripts_add(const plait_launch *launch, const launch_program *program,
                                          plait_arena *arena, plait_launch_folder *out,
                                          plait_error *err);

enum { SCRIPTS_NAME_SIZE = 40 };

/** A model's name in letters, digits and hyphens: what SLURM, Kubernetes and file systems take. */
const char *scripts_plain_name(const plait_model *model, char name[SCRIPTS_NAME_SIZE]);

/** Nodes of a job, and GPUs that it takes of each. */
int scripts_nodes(const plait_problem *problem, int *gpus_per_node);

/**
 * The head of a file, in comments: what it is, what the plan is, and what it is expected to take.
 *
 * @param first   lines that say what the file is, `# ` before each, without a newline at the end
 * @param places  of what is to be edited, a list that follows; NULL: none does
 */
void scripts_append_head(const plait_launch *launch, const char *first,
                         const training_places *places, text_builder *out);
