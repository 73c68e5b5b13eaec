/*
 * scripts.h - writes run.sh, submit.sbatch and pytorchjob.yaml, which start a program on every node
 *
 * Ranks are numbered node by node, as the plan's placement assumes: rank = node * GPUs + GPU.
 */
#pragma once

#include "launch/target.h"
#include "launch/write/training.h"

/** Schedulers' names for the devices of a node. */
typedef struct launch_device {
    const char *slurm;      /* SLURM's option, before the number: "gpus-per-node", "gres=npu" */
    const char *kubernetes; /* resource of Kubernetes: "nvidia.com/gpu" */
    const char *base;       /* base image that a message recommends */
} launch_device;

/** A program that runs once per node. */
typedef struct launch_program {
    const char *what;     /* name of the software in comments: "Megatron-LM" */
    const char *checkout; /* variable with the folder in which it runs; NULL: the current folder */
    const char *script;   /* variable with the user's own program; NULL: none */
    const char *args;     /* file of the launch with the arguments, "args.sh"; NULL: none */
    const char *notes;    /* comment lines for the head of run.sh; NULL: none */
    const char *image;    /* container with all software; NULL: none is known */
    bool runs_here;       /* true: $here is the current folder, where checkpoints are written */
    const launch_device *device; /* devices; NULL: GPUs of NVIDIA */
    const char *start;           /* shell lines that start the program, see SCRIPTS_TORCHRUN */
} launch_program;

/**
 * Image with PyTorch and Transformer Engine, the base of Megatron-LM's container at d98e8a6
 * (2026-08-22).
 */
#define SCRIPTS_PYTORCH_IMAGE "nvcr.io/nvidia/pytorch:26.06-py3"

/**
 * Start of a command line, in which $here is the folder of run.sh and "${args[@]}" are the
 * arguments.
 */
#define SCRIPTS_TORCHRUN                                                                           \
    "exec torchrun --nnodes \"$nodes\" --nproc_per_node \"$gpus_per_node\" \\\n"                   \
    "    --node_rank \"$node_rank\" --master_addr \"$head\" --master_port \"$port\" \\\n"

/** A Python file of the source tree that cmake/embed.cmake embeds in the program. */
typedef struct launch_python {
    const char *text;
    size_t length;
} launch_python;

extern const launch_python launch_pipeline_py;  /* pipelining/pipeline.py */
extern const launch_python launch_partition_py; /* megatron/partition.py */

/** Add run.sh, submit.sbatch and pytorchjob.yaml. */
PLAIT_MUST_CHECK plait_status scripts_add(const plait_launch *launch, const launch_program *program,
                                          plait_arena *arena, plait_launch_folder *out,
                                          plait_error *err);

enum { SCRIPTS_NAME_SIZE = 40 };

/**
 * Returns a model's name in letters, digits and hyphens, which SLURM, Kubernetes and file systems
 * accept.
 */
const char *scripts_plain_name(const plait_model *model, char name[SCRIPTS_NAME_SIZE]);

/** Returns the nodes of a job, and the GPUs that the job uses on each. */
int scripts_nodes(const plait_problem *problem, int *gpus_per_node);

/**
 * Append the comments at the head of a file: its purpose, the plan, expected time and memory.
 *
 * @param first   lines with the file's purpose, each beginning with `# `, without a newline at the
 *                end
 * @param places  places of the values to edit, which the head lists; NULL: the head lists none
 */
void scripts_append_head(const plait_launch *launch, const char *first,
                         const training_places *places, text_builder *out);
