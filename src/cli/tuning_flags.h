/* tuning_flags.h - options of what a job trains */
#pragma once

#include "cli/opt.h"
#include "plait/problem.h"

/** Values of the options; 0 and NULL if not given. */
typedef struct tuning_flags {
    const char *job, *targets, *format, *freeze, *reference, *teacher, *lengths;
    int rank, teacher_gpus;
    bool padding, balance;
} tuning_flags;

#define TUNING_TEXT(values, member, field, name, value, help)                                      \
    OPT_OF_TEXT(values, member.field, name, 0, value, help)
/** Rows of an option table; `member` of `values` is the tuning_flags. */
#define TUNING_OPTIONS(values, member)                                                             \
    OPT_OF_WORD(values, member.job, "job", "KIND", OPT_WORDS(plait_job_name),                      \
                "what is trained: pretrain (default), sft, lora, qlora, dpo, distill or reward"),  \
        OPT_OF_INT(values, member.rank, "lora-rank", "R", 1, 1 << 16,                              \
                   "rank of the adapters of lora and qlora (default: 32)"),                        \
        TUNING_TEXT(values, member, targets, "lora-targets", "LIST",                               \
                    "matrices with adapters: q, k, v, o, gate, up, down, or the fused qkv and "    \
                    "fc1; experts; all (default: qkv,o,fc1,down)"),                                \
        OPT_OF_WORD(values, member.format, "frozen-format", "FORMAT",                              \
                    OPT_WORDS(plait_frozen_format_name),                                           \
                    "format of the weights under adapters: bf16, fp8 or nf4 (default: bf16, for "  \
                    "qlora nf4)"),                                                                 \
        TUNING_TEXT(values, member, freeze, "freeze", "LIST",                                      \
                    "parts that are not trained: embedding, head, attention, mlp, experts, "       \
                    "router, norms, vision, audio, projector"),                                    \
        OPT_OF_WORD(values, member.reference, "reference", "WHERE",                                \
                    OPT_WORDS(plait_reference_name),                                               \
                    "weights of dpo's reference: resident (default), offloaded to the host, "      \
                    "cached log-probabilities, or adapters: the model without them"),              \
        OPT_OF_WORD(values, member.teacher, "teacher", "MODEL", OPT_NAMES(PLAIT_DATA_MODELS),      \
                    "teacher of distill, on the same GPUs"),                                       \
        OPT_OF_INT(values, member.teacher_gpus, "teacher-gpus", "N", 1, PLAIT_MAX_GPUS,            \
                   "other GPUs, of the same kind, that run the teacher during the step")

#define DATA_OPTIONS(values, member)                                                               \
    TUNING_TEXT(values, member, lengths, "lengths", "MEAN[,P50,P90,MAX]|FILE",                     \
                "tokens of the documents that are packed into a sequence: attention costs the "    \
                "sum of their squares, and ranks wait for the longest; a file has one length a "   \
                "line, or is CSV or lines of JSON with `length`"),                                 \
        OPT_OF_FLAG(values, member.padding, "padding",                                             \
                    "do not pack: a sequence is one document, padded to the longest of its "       \
                    "microbatch"),                                                                 \
        OPT_OF_FLAG(values, member.balance, "balance",                                             \
                    "packs are distributed over data-parallel ranks by their attention work")

/**
 * Sets the tuning and the documents of a job.
 *
 * @param out  the job; its kind, adapters, frozen parts, reference and `document` are set
 */
PLAIT_MUST_CHECK plait_status tuning_flags_resolve(const tuning_flags *flags,
                                                   const plait_model *model, plait_arena *arena,
                                                   plait_job *out, plait_error *err);
