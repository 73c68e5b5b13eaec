/* plan_request.h - the plan that eval and explain are asked about: by flags, by a file, or by both */
#pragma once

#include "cli/problem.h"
#include "report/report.h"

/** What the command line says of the question and the plan. */
typedef struct plan_request_flags {
    problem_flags problem;
    const char *key[PLAIT_KEYS]; /* as given; NULL: not */
    const char *microbatches;    /* in place of mbs */
    const char *plan;            /* PATH[:RANK] */
} plan_request_flags;

/** Rows of an option table whose values begin with an asked_flags. */
#define PLAN_REQUEST_OPTIONS                                                                       \
    PROBLEM_OPTIONS(plan_request_flags, problem),                                                  \
        OPT_HEADING("the plan; what is left out is filled in as the runtime would"),               \
        OPT_OF_KEYS(plan_request_flags, key),                                                      \
        OPT_OF_TEXT(plan_request_flags, microbatches, "microbatches", 0, "N",                      \
                    "microbatches a step, in place of mbs"),                                       \
        OPT_OF_TEXT(plan_request_flags, plan, "plan", 0, "FILE[:RANK]",                            \
                    "the plan of a file that `plait search -o` wrote; MODEL, CLUSTER and the "     \
                    "job default to the file's")

/** The question and the plan that was asked about. */
typedef struct plan_request {
    plait_problem problem;
    const plans_entry *file; /* of --plan; NULL without */
    report_plan plan;
    plait_key_set given; /* keys that flags or the file gave */
    int microbatches;    /* of --microbatches; 0: not given */
} plan_request;

/** Is there any flag about the plan? */
bool plan_request_any(const plan_request_flags *flags);

/** Resolve the question, fill in what is not given, and price the plan. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status plan_request_resolve(const plan_request_flags *flags,
                                                   const opt_operands *operands, plait_arena *arena,
                                                   plan_request *out, plait_error *err);

/** The same with the file that `flags->plan` would name already read; NULL: none. */
PLAIT_MUST_CHECK plait_status plan_request_from_entry(const plan_request_flags *flags,
                                                      const opt_operands *operands,
                                                      const plans_entry *file, plait_arena *arena,
                                                      plan_request *out, plait_error *err);

/** Another plan, out of a file; what that file leaves open is as in `problem`. */
PLAIT_MUST_CHECK plait_status plan_request_versus(const char *path, const plait_problem *problem,
                                                  plait_arena *arena, plan_request *out,
                                                  plait_error *err);

/** "--tp 8 --pp 4 ...": flags from which eval completes exactly these degrees. */
PLAIT_MUST_CHECK plait_status plan_request_text(const plait_problem *problem,
                                                const plait_degrees *degrees, plait_arena *arena,
                                                const char **text, plait_error *err);

enum { PLAN_REQUEST_REMEDIES = 3 };

/** Flags with which a plan that cannot run does, and fits; none for a plan out of a file. */
PLAIT_MUST_CHECK plait_status plan_request_remedies(const plan_request *question,
                                                    plait_arena *arena,
                                                    plait_relaxation way[PLAN_REQUEST_REMEDIES],
                                                    int *ways, plait_error *err);
