/* problem.h - options of the problem: a model on a cluster, a job, and the runtime */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "cli/opt.h"
#include "cli/tuning_flags.h"
#include "plait/validate.h"
#include "plait/data.h"
#include "plait/runtime.h"
#include "io/plans/plans.h"

/** Values of the options; 0 and NULL if not given. */
typedef struct problem_flags {
    int seq;
    int document;
    int images;
    int image_tokens;
    int gbs;
    int gpus;
    const char *precision;
    const char *runtime;
    const char *risk;
    const char *imbalance;
    bool frontier;
    bool assume_llama;
    bool quiet; /* do not print warnings */
    tuning_flags tuning;
} problem_flags;

#define DOCUMENT_HELP                                                                              \
    "tokens of one document, if a sequence packs several and attention is limited to each "        \
    "(default: one document a sequence)"

/** Rows of an option table; both fields of `values` are int. */
#define IMAGE_OPTIONS(values, images, image_tokens)                                                \
    OPT_OF_INT(values, images, "images", "N", 0, PLAIT_MAX_SEQ,                                    \
               "images (or tiles) of one sequence that the encoder of the model reads "            \
               "(default: 0, text alone)"),                                                        \
        OPT_OF_TOKENS(values, image_tokens, "image-tokens",                                        \
                      "tokens of the sequence for one image (default: as the encoder has, of "     \
                      "1024 x 1024 pixels if it takes any size)")

/** Row of an option table; `field` of `values` is a bool. */
#define MODEL_OPTION(values, field)                                                                \
    OPT_OF_FLAG(values, field, "assume-llama",                                                     \
                "read a Hugging Face config.json although some of its keys that give parameters "  \
                "or FLOPs are not understood; they are ignored, with a warning")

/** Rows of an option table; `member` of `values` is the problem_flags. */
#define PROBLEM_OPTIONS(values, member)                                                            \
    OPT_HEADING("the job"), OPT_OF_TOKENS(values, member.seq, "seq", "tokens of one sequence"),    \
        OPT_OF_TOKENS(values, member.document, "document", DOCUMENT_HELP),                         \
        IMAGE_OPTIONS(values, member.images, member.image_tokens),                                 \
        OPT_OF_INT(values, member.gbs, "gbs", "SEQUENCES", 1, PLAIT_MAX_GBS,                       \
                   "sequences of one step, over all GPUs; of --job dpo pairs of them"),            \
        OPT_OF_INT(values, member.gpus, "gpus", "N", 1, PLAIT_MAX_GPUS,                            \
                   "use N GPUs of the cluster (default: all, if the cluster has a size)"),         \
        OPT_OF_WORD(                                                                               \
            values, member.precision, "precision", "FORMAT", OPT_WORDS(plait_precision_name),      \
            "format of matrix products: bf16 (default), fp16, fp8, fp8_block, mxfp8, nvfp4"),      \
        OPT_OF_WORD(values, member.runtime, "runtime", "NAME", OPT_NAMES(PLAIT_DATA_RUNTIMES),     \
                    "software that runs the plan: megatron (default), torchtitan, fsdp, "          \
                    "deepspeed, nanotron, ...; megatron@25.09 selects the releases up to "         \
                    "that month, megatron@core-v0.14.0 one release"),                              \
        OPT_OF_TEXT(values, member.risk, "risk", 0, "P",                                           \
                    "a plan fits if its probability of running out of memory is at most P "        \
                    "(default: 0.05)"),                                                            \
        OPT_OF_TEXT(values, member.imbalance, "imbalance", 0, "X",                                 \
                    "expert imbalance: tokens of the fullest expert-parallel rank divided by the " \
                    "mean, 1 if balanced; natural: routing is not balanced, so the band is wider " \
                    "(default: from the runtime profile)"),                                        \
        OPT_OF_FLAG(values, member.frontier, "frontier",                                           \
                    "decide by the cost model alone: also search techniques that no measured run " \
                    "supports, and count the whole gain that the model claims"),                   \
        MODEL_OPTION(values, member.assume_llama), OPT_HEADING("fine-tuning"),                     \
        TUNING_OPTIONS(values, member.tuning), DATA_OPTIONS(values, member.tuning)

/**
 * Compute the correlated parts of the prediction errors of plans, from measured runs of similar
 * jobs.
 */
PLAIT_MUST_CHECK plait_status problem_error_parts(const plait_problem *problem, plait_arena *arena,
                                                  plait_error_parts *out, plait_error *err);

/**
 * Find a model by name or path, and print its warnings to stderr unless `quiet`. With `assume_llama`,
 * keys of a config.json that plait does not understand are ignored.
 */
PLAIT_MUST_CHECK plait_status problem_find_model(const char *name, bool assume_llama, bool quiet,
                                                 plait_arena *arena, plait_model *out,
                                                 plait_error *err);

/**
 * Resolve the problem, and print warnings to stderr.
 *
 * @param operands  MODEL and CLUSTER, which may be missing if `file` has them
 * @param file      defaults for options and operands that the command line does not give; may be
 *                  NULL
 * @param out       lives in `arena`
 */
PLAIT_MUST_CHECK plait_status problem_resolve(const problem_flags *flags,
                                              const opt_operands *operands, const plans_entry *file,
                                              plait_arena *arena, plait_problem *out,
                                              plait_error *err);

/**
 * Resolve the problem again for another runtime, with the error bands of that runtime's measured
 * runs.
 */
PLAIT_MUST_CHECK plait_status problem_for_runtime(const plait_problem *problem, const char *runtime,
                                                  plait_arena *arena, plait_problem *out,
                                                  plait_error *err);

/**
 * Resolve the problem again for fewer GPUs and another batch. Fails (RANGE) if the GPUs do not make
 * whole nodes.
 */
PLAIT_MUST_CHECK plait_status problem_for_size(const plait_problem *problem, int gpus, int gbs,
                                               plait_arena *arena, plait_problem *out,
                                               plait_error *err);

/**
 * Find the index of a word in a list; fails with the nearest word, or with the list if none is
 * near.
 */
PLAIT_MUST_CHECK plait_status problem_word(const char *where, const char *word,
                                           const char *const *words, int *out, plait_error *err);

/**
 * Return the operands and options of a command line that describes the same problem: "MODEL CLUSTER
 * --seq 4096 ...".
 */
char *problem_text(const plait_problem *problem, const problem_flags *flags,
                   const opt_operands *operands, plait_arena *arena);
