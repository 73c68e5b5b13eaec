/*
 * training.h - writes values that no plan decides, the list of values to edit, and notes of the
 * plan
 *
 * If a model file has the values with which the model was trained, the learning rates and the
 * schedule are these values, otherwise placeholders with which a run starts. The list at the head
 * of a file shows which values are placeholders.
 *
 * Notes contain values that a config cannot express; plait reads them back:
 *
 *     # plait: gpus 64
 *     # plait: runtime torchtitan
 *     # plait: attention flash2
 *     # plait: model llama-3.1-70b
 *
 * Notes may also have any key of a plan, seq, gbs and precision. The config takes precedence over
 * its notes.
 */
#pragma once

#include <stdint.h>

#include "plait/launch.h"

#include "base/text.h"

/** Steps of an unedited launch, steps between checkpoints, minutes until a collective times out. */
enum { TRAINING_TRY_STEPS = 100, TRAINING_SAVE_STEPS = 1000, TRAINING_TIMEOUT_MINUTES = 60 };

typedef struct launch_training {
    double lr, min_lr;
    plait_lr_decay decay; /* decay of the rate, never unknown */
    int total_steps;      /* steps until the decay ends */
    int decay_steps;  /* steps of the decay: total_steps - warmup_steps, or fewer after a plateau */
    int warmup_steps; /* steps of the warm-up, fewer than total_steps */
    double beta1, beta2, eps;
    double weight_decay;
    double clip;
} launch_training;

/** Returns a number of a model file, or `otherwise` if the number is 0, which means unknown. */
static inline double known_or(double number, double otherwise)
{
    return number > 0.0 ? number : otherwise;
}

launch_training training_of(const plait_problem *problem);

/**
 * Returns the folder of checkpoints, "checkpoints/llama-3-1-8b", relative to the folder in which
 * the program runs.
 */
const char *training_checkpoints(const plait_model *model, plait_arena *arena);

/**
 * Places of the values to edit in a target's files; NULL: there is no such value, and the list
 * omits it.
 */
typedef struct training_places {
    const char *program;     /* a line of the program to change for the plan */
    const char *data;        /* data and tokenizer: "--mock-data, --tokenizer-type" */
    const char *length;      /* length of the run: "--train-iters" */
    const char *values;      /* rates and schedule: "--lr to --clip-grad" */
    const char *checkpoints; /* checkpoints: "--save, --load" */
    bool cluster;            /* true if the launch includes submit.sbatch and pytorchjob.yaml */
} training_places;

/** Append the list of values to edit; each line begins with `# `. */
void training_append_edits(const plait_problem *problem, const training_places *places,
                           text_builder *out);

/** The beginning of a note. */
#define NOTES_MARK "# plait: "

/** Append the four notes above. */
void notes_append(const plait_launch *launch, text_builder *out);

/** Append notes of further keys of the plan. */
void notes_append_keys(const plait_launch *launch, const plait_key_id *keys, size_t count,
                       text_builder *out);

/** Append one more note; the value has no line breaks. */
void notes_append_one(const char *key, const char *value, text_builder *out);
