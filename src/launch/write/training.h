/*
 * training.h - values that no plan decides, the list of values to edit, and notes of the plan
 *
 * Where a model says with what it was trained, learning rates and schedule are those, else
 * placeholders with which a run starts; the list at the head of a file says which.
 *
 * Notes hold what a config has no words for, and plait reads them back:
 *
 *     # plait: gpus 64
 *     # plait: runtime torchtitan
 *     # plait: attention flash2
 *     # plait: model llama-3.1-70b
 *
 * Any key of a plan may stand there too, and seq, gbs and precision. The config itself counts
 * before the notes.
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

/** A number of a model file, in which 0 is unknown. */
static inline double known_or(double number, double otherwise)
{
    return number > 0.0 ? number : otherwise;
}

launch_training training_of(const plait_problem *problem);

/**
 * The folder of checkpoints: "checkpoints/llama-3-1-8b", in the folder in which the program runs.
 */
const char *training_checkpoints(const plait_model *model, plait_arena *arena);

/**
 * The places in a target's files of values to edit; NULL: there is none, and the line is left out.
 */
typedef struct training_places {
    const char *data;        /* data and tokenizer: "--mock-data, --tokenizer-type" */
    const char *length;      /* length of the run: "--train-iters" */
    const char *values;      /* rates and schedule: "--lr to --clip-grad" */
    const char *checkpoints; /* checkpoints: "--save, --load" */
    bool cluster;            /* submit.sbatch and pytorchjob.yaml are there */
} training_places;

/** Append the list, `# ` before each line. */
void training_append_edits(const plait_problem *problem, const training_places *places,
                           text_builder *out);

/** The beginning of a note. */
#define NOTES_MARK "# plait: "

/** Append the four notes above. */
void notes_append(const plait_launch *launch, text_builder *out);

/** Append notes of further keys of the plan. */
void notes_append_keys(const plait_launch *launch, const plait_key_id *keys, size_t count,
                       text_builder *out);

/** Append one note more; the value has no line breaks. */
void notes_append_one(const char *key, const char *value, text_builder *out);
