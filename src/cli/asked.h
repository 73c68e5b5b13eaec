/* asked.h - the plan that eval and explain are asked about: by flags, by a file, or by both */
#ifndef ASKED_H
#define ASKED_H

#include "problem.h"
#include "report.h"

/** Keys of a plan that are flags: the key, its flag, its value in --help, and help. */
#define ASKED_DEGREES(X)                                                                           \
    X(tp, "tp", "N", "tensor parallelism")                                                         \
    X(sp, "sp", "0|1", "sequence parallelism beside it; 1 when tp > 1")                            \
    X(pp, "pp", "N", "pipeline stages")                                                            \
    X(vpp, "vpp", "N", "model chunks a pipeline rank; 1: not interleaved")                         \
    X(cp, "cp", "N", "context parallelism")                                                        \
    X(cp_comm, "cp-comm", "HOW", "p2p (ring), allgather, a2a (Ulysses)")                           \
    X(ep, "ep", "N", "expert parallelism, out of the ranks of tp, cp and dp")                      \
    X(etp, "etp", "N", "tensor parallelism inside an expert")                                      \
    X(dp, "dp", "N", "data parallelism; follows from the others, so it is only checked")           \
    X(zero, "zero", "0..3", "ZeRO stage")                                                          \
    X(shard_group, "shard-group", "N", "ranks that one ZeRO shard is spread over; dp cp")          \
    X(mbs, "mbs", "N", "sequences of one microbatch on one data-parallel rank")                    \
    X(microbatches, "microbatches", "N", "microbatches a step, in place of mbs")                   \
    X(recompute, "recompute", "WHAT",                                                              \
      "none, selective, full, full:N (N layers a stage), modules:a+b, sac; the least that fits")   \
    X(schedule, "schedule", "NAME",                                                                \
      "naive, gpipe, 1f1b, interleaved, zb-h1, zb-h2, dualpipe, ...; 1f1b, or interleaved when "   \
      "vpp > 1")                                                                                   \
    X(grad_sync, "grad-sync", "HOW", "bulk, bucketed, shifted; as the runtime would")              \
    X(fusion, "fusion", "WHAT", "fused collectives: none")                                         \
    X(split, "split", "HOW",                                                                       \
      "layers to stages: even, embedding, loss, both, first-last:F,L, spread, cost; the one that " \
      "balances the stages")                                                                       \
    X(order, "order", "AXES", "order of the ranks, innermost first: tp-cp-dp-pp or tp-cp-pp-dp")

/** What the command line says of the question and the plan. */
typedef struct asked_flags {
    problem_flags problem;
#define X(name, flag, value, help) const char *name;
    ASKED_DEGREES(X)
#undef X
    const char *plan; /* PATH[:RANK] */
} asked_flags;

#define ASKED_ROW(name, flag, value, help) OPT_OF_TEXT(asked_flags, name, flag, 0, value, help),

/** Rows of an option table whose values begin with an asked_flags. */
#define ASKED_OPTIONS                                                                              \
    PROBLEM_OPTIONS(asked_flags, problem),                                                         \
        OPT_HEADING("the plan; what is left out is filled in as the runtime would"),               \
        ASKED_DEGREES(ASKED_ROW)                                                                   \
            OPT_OF_TEXT(asked_flags, plan, "plan", 0, "FILE[:RANK]",                               \
                        "the plan of a file that `plait search -o` wrote; MODEL, CLUSTER and the " \
                        "job default to the file's")

/** The question and the plan that was asked about. */
typedef struct asked {
    plait_problem problem;
    const plans_entry *file; /* of --plan; NULL without */
    report_plan plan;
    unsigned long given; /* keys that flags or the file gave */
} asked;

/** Is there any flag about the plan? */
bool asked_any(const asked_flags *flags);

/** Resolve the question, fill in what is not given, and price the plan. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status asked_resolve(const asked_flags *flags, const opt_operands *operands,
                                            plait_arena *arena, asked *out, plait_error *err);

/** Another plan, out of a file; what that file leaves open is as in `problem`. */
PLAIT_MUST_CHECK plait_status asked_versus(const char *path, const plait_problem *problem,
                                           plait_arena *arena, asked *out, plait_error *err);

/** "--tp 8 --pp 4 ...": flags from which eval completes exactly these degrees. */
PLAIT_MUST_CHECK plait_status asked_text(const plait_problem *problem, const plait_degrees *degrees,
                                         plait_arena *arena, const char **text, plait_error *err);

#endif
