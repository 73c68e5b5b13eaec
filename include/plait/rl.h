/*
 * rl.h - reinforcement learning of a language model: the time and memory of a step
 *
 * A step generates several answers to each prompt with an inference engine, computes their
 * log-probabilities, updates the policy, and hands the new weights to the engine. Generation and
 * training either take turns on the same GPUs (colocated), or run on separate ones (apart). With a
 * staleness of 0 the phases follow each other; otherwise generation runs ahead of training by that
 * number of steps.
 *
 * In order: plait_rl_job_init, set the job, then plait_rl_price_of for one plan, or
 * plait_rl_search. plait_rl_fewest finds the least number of GPUs on which the job runs at all.
 *
 * Left out: data loading, the time of Ray or another controller, evaluation runs.
 */
#ifndef PLAIT_RL_H
#define PLAIT_RL_H

#include <stdbool.h>

#include "plait/cost.h"
#include "plait/launch.h"
#include "plait/search.h"
#include "plait/serve.h"

PLAIT_BEGIN_DECLS

/** Algorithms, which determine the models and passes of a step. */
typedef enum plait_rl_algorithm {
    PLAIT_RL_GRPO,
    PLAIT_RL_DAPO, /* GRPO without a reference, with prompts sampled again */
    PLAIT_RL_PPO,  /* with a critic, which is trained as well */
    PLAIT_RL_RLOO,
    PLAIT_RL_ALGORITHMS
} plait_rl_algorithm;

extern const char *const plait_rl_algorithm_name[PLAIT_RL_ALGORITHMS + 1];

typedef enum plait_rl_placement {
    PLAIT_RL_COLOCATED, /* the same GPUs generate, then train */
    PLAIT_RL_APART,     /* some GPUs generate, the others train */
    PLAIT_RL_PLACEMENTS
} plait_rl_placement;

extern const char *const plait_rl_placement_name[PLAIT_RL_PLACEMENTS + 1];

/** Software that runs a step: it starts the engine and the training software. */
typedef enum plait_rl_framework {
    PLAIT_RL_VERL,
    PLAIT_RL_NEMO_RL,
    PLAIT_RL_FRAMEWORKS
} plait_rl_framework;

extern const char *const plait_rl_framework_name[PLAIT_RL_FRAMEWORKS + 1];

/** How new weights reach the engine. */
typedef enum plait_rl_handover {
    PLAIT_RL_BUCKETED,     /* tensors are packed into large buffers */
    PLAIT_RL_BY_PARAMETER, /* one collective for each tensor */
    PLAIT_RL_HANDOVERS
} plait_rl_handover;

extern const char *const plait_rl_handover_name[PLAIT_RL_HANDOVERS + 1];

enum { PLAIT_RL_MAX_STALENESS = 64 };

/** A job. One step uses prompts * generations answers. */
typedef struct plait_rl_job {
    /**
     * Model, cluster, training software, precision of training and tuning of the policy. Of its job
     * only these and `gpus` are read.
     */
    plait_problem problem;
    const plait_engine *engine; /* profile of the inference engine */
    const plait_model *critic;  /* trained value model; NULL: none */
    const plait_model *reward;  /* reward model; NULL: a rule without GPU time */
    plait_rl_algorithm algorithm;
    plait_rl_framework framework;
    bool reference; /* log-probabilities of a reference model (KL term) */
    bool logprobs;  /* log-probabilities are computed again by the training software */
    int prompts;
    int generations;
    int update_prompts;           /* prompts of one update; 0: all of a step */
    const plait_lengths *lengths; /* lengths of prompts and answers */
    double pack_tokens;           /* longest packed sequence of training; 0: the longest request */
    double environment_s;         /* time of tools or an environment for each answer */
    bool partial;                 /* answers continue while weights are replaced (stale > 0) */
    const void *reserved[4];      /* zero; later versions turn it into fields */
} plait_rl_job;

/** An empty job with GRPO, logprobs and a reference: set the rest. */
void plait_rl_job_init(plait_rl_job *job);

/**
 * Lengths of prompts, all equal, and of answers: a log-normal distribution with this mean that ends
 * at shape.max. (C.450)
 *
 * @param answer  mean, p90 (0: unknown) and max; p50 and spread are not read
 * @return        RANGE if the values are not ordered; NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_rl_lengths_of(double prompt, plait_length_shape answer,
                                                  plait_arena *arena, plait_lengths *out,
                                                  plait_error *err);

/** Is a job complete? Fails (RANGE) otherwise; the functions below check it as well. */
PLAIT_MUST_CHECK plait_status plait_rl_job_check(const plait_rl_job *job, plait_error *err);

/** A plan: who runs where, and how. */
typedef struct plait_rl_plan {
    plait_rl_placement placement;
    int train_gpus;
    int rollout_gpus;            /* equal to train_gpus if colocated */
    int staleness;               /* steps that generation runs ahead; 0: synchronous */
    plait_degrees degrees;       /* degrees of training */
    plait_worker worker;         /* one worker of generation */
    plait_weight_format weights; /* weights of the engine */
    bool offload; /* colocated: training state is in host memory while the engine runs */
    plait_rl_handover handover;
    double memory_fraction; /* share of device memory that the engine uses; 0: its default */
} plait_rl_plan;

/** Phases of a step: field, description. */
#define PLAIT_RL_PHASE_LIST(X)                                                                     \
    X(rollout, "generation of answers")                                                            \
    X(reward, "reward model")                                                                      \
    X(logprob, "log-probabilities of the policy")                                                  \
    X(reference, "log-probabilities of the reference")                                             \
    X(critic, "values and updates of the critic")                                                  \
    X(train, "updates of the policy")                                                              \
    X(handover, "weights from training to generation")                                             \
    X(swap, "weights and state between device and host")                                           \
    X(wait, "training waits for answers")

typedef enum plait_rl_phase {
#define X(name, what) PLAIT_RL_##name,
    PLAIT_RL_PHASE_LIST(X)
#undef X
        PLAIT_RL_PHASES
} plait_rl_phase;

extern const char *const plait_rl_phase_name[PLAIT_RL_PHASES + 1];

/** Memory during one phase. */
typedef struct plait_rl_memory {
    double device_bytes; /* bytes of the fullest GPU */
    double host_bytes;   /* bytes of a node */
} plait_rl_memory;

/** Price of a plan. */
typedef struct plait_rl_price {
    plait_verdict verdict;
    char why[256]; /* reason in one sentence if the plan is invalid or does not fit */
    double step_s;
    double phase_s[PLAIT_RL_PHASES]; /* asynchronous: phases overlap, so they exceed step_s */
    double tokens;                   /* tokens of prompts and answers in a step */
    double tokens_per_s_per_gpu;
    double idle_share;       /* mean share of the step in which a GPU waits */
    int updates;             /* number of updates of a step */
    double update_s;         /* one update of the policy */
    double imbalance;        /* tokens of the fullest data-parallel rank over the mean */
    int sequences;           /* packed sequences of one update */
    int sequence_tokens;     /* tokens of each */
    int replicas;            /* workers that generate */
    double batch;            /* answers of one worker */
    double memory_fraction;  /* share of device memory that the engine may use next to training */
    double cache_tokens;     /* cache of an attention rank of a worker */
    double handover_bytes;   /* weights that are sent */
    double usd;              /* price of one step; NaN: unknown */
    plait_rl_memory rollout; /* while the engine runs */
    plait_rl_memory update;  /* during updates */
    plait_rl_memory forward; /* during log-probabilities */
    double capacity_bytes;   /* device memory that plans may use */
    double host_capacity_bytes; /* host memory of a node; 0: unknown */
} plait_rl_price;

/**
 * Price one plan.
 *
 * @param simulate  simulate all workers of the engine; else one of them with its share of answers
 * @return          RANGE for an incomplete job; NOMEM. A plan that cannot run is a verdict in *out
 */
PLAIT_MUST_CHECK plait_status plait_rl_price_of(const plait_rl_job *job, const plait_rl_plan *plan,
                                                bool simulate, plait_arena *arena,
                                                plait_rl_price *out, plait_error *err);

/**
 * Sets seq, gbs and document of the training job of one update: its packed sequences. (C.440,
 * C.441)
 */
void plait_rl_update_job(const plait_rl_job *job, plait_job *out);

/** Limits of a search; zero values leave a choice open. */
typedef struct plait_rl_options {
    plait_search_options training; /* limits on the keys of the training plan */
    int only_placement;            /* 1 + plait_rl_placement; 0: any */
    int least_staleness;           /* apart: steps that generation runs ahead */
    int most_staleness;
    int rollout_gpus;  /* apart: this number only; 0: any */
    plait_worker only; /* degrees of generation; 0: any */
    unsigned weights;  /* formats of generation: bits 1 << plait_weight_format; 0: bf16 */
    plait_rl_handover handover;
    int top;
    const void *reserved[4];
} plait_rl_options;

/** Default options: the best five plans, synchronous, any placement. */
void plait_rl_options_init(plait_rl_options *options);

typedef struct plait_rl_ranked {
    plait_rl_plan plan;
    plait_rl_price price;
} plait_rl_ranked;

enum { PLAIT_RL_MAX_PLANS = 32 };

typedef struct plait_rl_answer {
    int plans;
    plait_rl_ranked plan[PLAIT_RL_MAX_PLANS]; /* fastest first */
    int64_t training_plans;                   /* priced by the search of training */
    int workers;                              /* workers of generation, over all divisions */
    int priced;                               /* pairs of both */
    bool has_closest;
    plait_rl_ranked closest; /* if no plan fits: the one that lacks the least memory */
} plait_rl_answer;

/** Search the plans of a job on problem.job.gpus GPUs. */
PLAIT_MUST_CHECK plait_status plait_rl_search(const plait_rl_job *job,
                                              const plait_rl_options *options, plait_arena *arena,
                                              plait_rl_answer *out, plait_error *err);

/**
 * The fewest GPUs, in a doubling series of GPUs of a node and then of nodes, on which a plan fits.
 *
 * @param gpus  0: no plan fits on up to `most` GPUs
 */
PLAIT_MUST_CHECK plait_status plait_rl_fewest(const plait_rl_job *job,
                                              const plait_rl_options *options, int most,
                                              plait_arena *arena, int *gpus, plait_error *err);

/**
 * Make the files that start a plan with the job's framework: overrides of verl, or the YAML of
 * NeMo-RL, and run.sh. *out lives in `arena`.
 *
 * Fails (RANGE) if the framework cannot run the plan; `message` has the reason.
 */
PLAIT_MUST_CHECK plait_status plait_rl_launch_render(const plait_rl_job *job,
                                                     const plait_rl_plan *plan,
                                                     const plait_rl_price *price,
                                                     plait_arena *arena, plait_launch_folder *out,
                                                     plait_error *err);

PLAIT_END_DECLS

#endif
