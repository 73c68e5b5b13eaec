/*
 * serve_search.h - which deployment serves a load at the least cost.
 *
 * plait_serve_search looks at every engine, format of weights and of the cache, worker (tp, pp,
 * dp_attention, ep), chunk, and at one pool or two; plait_serve_evaluate prices one of them. What is
 * ranked meets the bounds on TTFT and TPOT and fits; of each way to cut a worker the fewest replicas that do.
 * Those are closed forms: plait_serve_decide has the simulation judge them, and plait_serve_reach_of finds
 * what can be had where nothing stands.
 */
#ifndef PLAIT_SERVE_SEARCH_H
#define PLAIT_SERVE_SEARCH_H

#include "plait/serve.h"

PLAIT_BEGIN_DECLS

/** Workers that a search looks at: so many stages, and tensor ranks within so many scale-up domains. */
enum { PLAIT_SERVE_MAX_STAGES = 8, PLAIT_SERVE_MAX_DOMAINS = 2 };
enum { PLAIT_SERVE_MAX_PLANS = 32, PLAIT_SERVE_MAX_FRONT = 64, PLAIT_SERVE_ROLES = 2 };

typedef struct plait_serve_question {
    size_t size; /* as plait_serve_question_init sets it; 0: that of this header */
    const plait_model *model;
    const plait_cluster *cluster;
    int gpus; /* at most */
    int engines;
    const plait_engine *engine[PLAIT_ENGINES];
    unsigned weights; /* formats that may be: bits 1 << plait_weight_format */
    unsigned kv;
    plait_load
        load; /* CLOSED with concurrency, RATE, or CLOSED with 0: the best concurrency of one replica */
    double ttft_s; /* bound on the mean; 0: none */
    double tpot_s;
    bool only_aggregated, only_disaggregated;
    plait_worker only;             /* degrees that any worker must have; 0: any */
    double ttft_p95_s, ttft_p99_s; /* bounds on what 95 and 99 of 100 requests see; 0: none */
    double tpot_p95_s, tpot_p99_s;
    const void *reserved[4]; /* zero: room for fields to come */
} plait_serve_question;

/** Bounds of a question: flag, key, and the field of the same name of a question and of a plan. */
#define PLAIT_SERVE_LIMIT_LIST(X)                                                                  \
    X("--ttft", ttft)                                                                              \
    X("--ttft-p95", ttft_p95)                                                                      \
    X("--ttft-p99", ttft_p99)                                                                      \
    X("--tpot", tpot)                                                                              \
    X("--tpot-p95", tpot_p95)                                                                      \
    X("--tpot-p99", tpot_p99)

typedef enum plait_serve_limit {
#define X(flag, name) PLAIT_SERVE_LIMIT_##name,
    PLAIT_SERVE_LIMIT_LIST(X)
#undef X
        PLAIT_SERVE_LIMITS
} plait_serve_limit;

extern const char *const plait_serve_limit_flag[PLAIT_SERVE_LIMITS + 1];

/** The bounds of a question, seconds; 0: none. */
void plait_serve_limits_asked(const plait_serve_question *question,
                              double seconds[PLAIT_SERVE_LIMITS]);

/** Nothing yet: set model, cluster, GPUs, engines, formats and the load. */
#define plait_serve_question_init(question)                                                        \
    plait_serve_question_init_sized((question), sizeof(plait_serve_question))

/** What it stands for: `size` is that of the header which the caller knows. */
void plait_serve_question_init_sized(plait_serve_question *question, size_t size);

/** One deployment: how each role is cut, and what it comes to. */
typedef struct plait_serve_plan {
    const plait_engine *engine;
    bool disaggregated;
    int replicas;                 /* of one worker, or of a set of prefill and decode workers */
    int count[PLAIT_SERVE_ROLES]; /* workers of a replica: aggregated, or prefill and decode */
    plait_worker worker[PLAIT_SERVE_ROLES];
    plait_weight_format weights;
    plait_kv_format kv;
    double chunk_tokens;                 /* of a step on a worker */
    double batch_cap;                    /* running sequences of a decode (or aggregated) worker */
    double kv_tokens[PLAIT_SERVE_ROLES]; /* of one attention rank */
    int gpus;
    double concurrency; /* that the service is of */
    plait_service service;
    double ttft_p99_s;
    double tokens_per_s_gpu;
    double usd_per_mtok;   /* of output; NaN: no price is known */
    double joules_per_tok; /* NaN: no power is known */
    double ttft_p95_s;
    double tpot_p95_s, tpot_p99_s; /* NaN without a simulation, as no closed form has them */
    bool simulated;                /* `drawn` is of it */
    bool settled;                  /* near saturation: times above are those of the simulation */
    bool unjudged;                 /* near saturation, and no work was left to simulate it */
    plait_serve_drawn drawn;
} plait_serve_plan;

/** Seconds of a plan beside each bound; TPOT's mean for its percentiles that are not known. */
void plait_serve_limits_found(const plait_serve_plan *plan, double seconds[PLAIT_SERVE_LIMITS]);

/** Reasons for which deployments are not among the answers. */
typedef enum plait_serve_reject {
    PLAIT_SERVE_REJECT_CUT,    /* degrees that do not divide the model */
    PLAIT_SERVE_REJECT_RULE,   /* workers that the engine does not start */
    PLAIT_SERVE_REJECT_MEMORY, /* weights, or one sequence, do not fit */
    PLAIT_SERVE_REJECT_LOAD,   /* more comes than leaves, on all GPUs */
    PLAIT_SERVE_REJECT_TTFT,
    PLAIT_SERVE_REJECT_TPOT,
    PLAIT_SERVE_REJECT_BOUND, /* pairs of workers that cost more at their best than those kept */
    PLAIT_SERVE_REJECT_SIMULATED, /* the simulation misses the load or a bound (S.108) */
    PLAIT_SERVE_REJECTS
} plait_serve_reject;

extern const char *const plait_serve_reject_name[PLAIT_SERVE_REJECTS + 1];

typedef struct plait_serve_answer {
    int plans; /* that meet all bounds, the cheapest first */
    plait_serve_plan plan[PLAIT_SERVE_MAX_PLANS];
    int front; /* of tokens/s/GPU against TPOT, the lowest TPOT first; within the bound on TTFT */
    plait_serve_plan at_front[PLAIT_SERVE_MAX_FRONT];
    int64_t workers; /* ways to cut and to run a worker */
    int64_t looked;  /* deployments priced */
    int64_t rejected[PLAIT_SERVE_REJECTS];
    /* where none meets the bounds: the one that lacks least, and the bounds that would let it in */
    bool has_nearest;
    plait_serve_plan nearest;
    double needs_ttft_s, needs_tpot_s;
    int simulations; /* that judged them (S.108); 0: the closed forms alone did */
} plait_serve_answer;

/**
 * Why an engine would not start such workers; NULL: it would. What a search answers breaks no rule; measured runs are
 * priced whatever the rules say.
 */
const char *plait_serve_rule_broken(plait_engine_kind kind, const plait_model *model,
                                    const plait_load *load, plait_worker worker);

/** Fails (RANGE) where the question asks for nothing that can be: no engine, no GPU, no format. */
PLAIT_MUST_CHECK plait_status plait_serve_search(const plait_serve_question *question,
                                                 plait_arena *arena, plait_serve_answer *out,
                                                 plait_error *err);

/**
 * Price one deployment: what `plan` says of engine, workers, counts, formats and chunk.
 *
 * @param why  a reason why it cannot run, with amounts, in `arena`; NULL: the rest of *plan is filled
 * @return     RANGE where question or plan hold values that there are not, NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_serve_evaluate(const plait_serve_question *question,
                                                   plait_arena *arena, plait_serve_plan *plan,
                                                   const char **why, plait_error *err);

/** Every step of a plan of an answer under the question's load. As plait_serve_simulate; RANGE where it cannot run. */
PLAIT_MUST_CHECK plait_status plait_serve_plan_simulate(const plait_serve_question *question,
                                                        const plait_serve_plan *plan,
                                                        plait_serve_draws draws, plait_arena *arena,
                                                        plait_serve_drawn *out, plait_error *err);

/**
 * Simulates a priced plan: `simulated`, `drawn`, and near saturation also its times.
 *
 * @param draws  requests 0: as many as tell what it carries near saturation, some thousand elsewhere
 * @param why    what of the load or the bounds its simulation misses, in `arena`; NULL: nothing
 * @return     as plait_serve_simulate
 */
PLAIT_MUST_CHECK plait_status plait_serve_judge(const plait_serve_question *question,
                                                plait_serve_draws draws, plait_arena *arena,
                                                plait_serve_plan *plan, const char **why,
                                                plait_error *err);

/** Plans of an answer that plait_serve_decide judges: as many as a report shows. */
enum { PLAIT_SERVE_SHOWN = 10 };

/**
 * As plait_serve_search, and the simulation judges what is shown: the first plan always, the others near saturation. Plans
 * that miss the load or a bound give way to the same with more workers, and to what comes next. (S.108)
 */
PLAIT_MUST_CHECK plait_status plait_serve_decide(const plait_serve_question *question,
                                                 plait_serve_draws draws, plait_arena *arena,
                                                 plait_serve_answer *out, plait_error *err);

/** A rate and a number of GPUs that do, where a question of arrivals has no answer. */
typedef struct plait_serve_reach {
    double rate; /* requests/s that the GPUs of the question carry within the bounds; 0: none */
    int gpus;    /* that the rate of the question needs; 0: not found */
    plait_serve_plan plan; /* what carries `rate`, where it is above 0 */
    bool
        answers; /* copies of it carry all of the rate after all: `plan` is those, `rate` is the rate of the question */
} plait_serve_reach;

/** By the same decision at other rates and with more GPUs. (S.109) */
PLAIT_MUST_CHECK plait_status plait_serve_reach_of(const plait_serve_question *question,
                                                   plait_serve_draws draws, plait_arena *arena,
                                                   plait_serve_reach *out, plait_error *err);

enum { PLAIT_SERVE_CURVE = 16 };

/** A deployment under one rate of requests that arrive at random. */
typedef struct plait_serve_point {
    double load; /* share of what it sustains, 0.05 .. 1 */
    double rate; /* requests/s */
    double ttft_s, ttft_p99_s, tpot_s;
    double running; /* on a decode (or aggregated) worker */
    double output_tokens_per_s;
} plait_serve_point;

typedef struct plait_serve_curve {
    double rate; /* requests/s that it sustains: 99 % of where more come than leave */
    plait_serve_point point[PLAIT_SERVE_CURVE];
} plait_serve_curve;

/**
 * What a deployment's requests see as the load rises, by the closed forms. (S.106)
 *
 * @param why  a reason why it cannot run; NULL: *out is filled
 * @return     as plait_serve_evaluate
 */
PLAIT_MUST_CHECK plait_status plait_serve_load_curve(const plait_serve_question *question,
                                                     const plait_serve_plan *plan,
                                                     plait_arena *arena, plait_serve_curve *out,
                                                     const char **why, plait_error *err);

PLAIT_END_DECLS

#endif
