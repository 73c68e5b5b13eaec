/*
 * serve_volume.h - what ranks send each other to answer one request, call by call.
 *
 * A model cut over tp tensor and pp pipeline ranks answers a prompt by one prefill pass, which also
 * yields the first token, and one decode pass for each further token. plait_serve_volume_of lists
 * both phases' collectives and sends: how many, of which shape, how many bytes a message has, and
 * their volume by each way of counting. Below it stand the closed forms that turn bytes into limits
 * of latency and room: a decode step, a prefill, cached keys, servers of disaggregated serving.
 *
 * Left out: sequence, context, expert and data parallelism; seconds of collectives (collective.h);
 * batches that change while they run.
 *
 * Source of the volumes: "Characterizing Communication Patterns in Distributed Large Language Model
 * Inference", Hot Interconnects 2025, arXiv 2507.14392, tables III to VI; of the rest Austin et al.,
 * "How to Scale Your Model", chapter on inference, where no other is named.
 */
#ifndef PLAIT_SERVE_VOLUME_H
#define PLAIT_SERVE_VOLUME_H

#include <stdint.h>

#include "plait/error.h"
#include "plait/model.h"

PLAIT_BEGIN_DECLS

typedef enum plait_serve_phase {
    PLAIT_SERVE_PREFILL,
    PLAIT_SERVE_DECODE,
    PLAIT_SERVE_PHASES
} plait_serve_phase;

/** What is sent, in the order of a pass. */
#define PLAIT_SERVE_CALL_LIST(X)                                                                   \
    X(embedding, "all-reduce of the embedding, cut by its rows")                                   \
    X(all_reduce, "all-reduce behind attention and behind the feed-forward part")                  \
    X(send, "send of hidden states and residual to the next stage, each rank its columns")         \
    X(all_gather, "all-gather of what the next stage received")                                    \
    X(gather, "gather of the logits to one rank")

typedef enum plait_serve_call {
#define X(name, what) PLAIT_SERVE_##name,
    PLAIT_SERVE_CALL_LIST(X)
#undef X
        PLAIT_SERVE_CALLS
} plait_serve_call;

/** Whose bytes are counted. (C.356) */
typedef enum plait_serve_counting {
    PLAIT_SERVE_PUBLISHED, /* the study's formulas, which mix the next two */
    PLAIT_SERVE_ONE_GPU,   /* what one GPU that takes part sends */
    PLAIT_SERVE_ALL_GPUS,  /* what all GPUs send together */
    PLAIT_SERVE_COUNTINGS
} plait_serve_counting;

extern const char *const plait_serve_call_what[PLAIT_SERVE_CALLS + 1];
extern const char *const plait_serve_phase_name[PLAIT_SERVE_PHASES + 1];
extern const char *const plait_serve_counting_name[PLAIT_SERVE_COUNTINGS + 1];

/** A request, or several of one length that run together, and how the model is cut. */
typedef struct plait_serve_request {
    int sequences;
    int prompt_tokens; /* S_p of each */
    int output_tokens; /* S_d of each, the first of which the prefill yields */
    int tp;
    int pp;
    double element_bytes; /* b of activations and logits */
} plait_serve_request;

/** Calls of one kind in one phase; none where `count` is 0. */
typedef struct plait_serve_line {
    int64_t count; /* all-reduces, gathers: of the first stage; sends, all-gathers: of all stages */
    int64_t all_count;    /* of the whole pipeline; a group of tp ranks counts once */
    int64_t rows;         /* tokens of a message */
    int64_t columns;      /* elements a token: the hidden width, h/t, or V/t */
    double message_bytes; /* rows x columns x b */
    double bytes[PLAIT_SERVE_COUNTINGS]; /* of all calls of the phase */
} plait_serve_line;

typedef struct plait_serve_volume {
    plait_serve_line line[PLAIT_SERVE_PHASES][PLAIT_SERVE_CALLS];
    double bytes[PLAIT_SERVE_COUNTINGS]; /* of both phases */
} plait_serve_volume;

/**
 * Lists what a request sends. (C.355, C.356)
 *
 * Stages take layers evenly, the first ones one more where they do not divide; V/t is rounded up.
 * An all-reduce stands behind each mixer and each feed-forward part that a layer has.
 *
 * @param out  filled whole; nothing is allocated
 * @return     PLAIT_ERROR_RANGE where there is no model, a count is below 1, tp does not divide the hidden width, or
 *             there are more stages than layers
 */
PLAIT_MUST_CHECK plait_status plait_serve_volume_of(const plait_model *model,
                                                    plait_serve_request request,
                                                    plait_serve_volume *out, plait_error *err);

/*
 * The formulas below take numbers of 0 or more. One below 0 or NaN breaks their contract: a failed assert.
 * Where what they divide by is 0, nothing stays 0 and anything else is HUGE_VAL, unless they say otherwise.
 */

/* ---- seconds ----------------------------------------------------------------------------- */

/**
 * Seconds of a decode pass without communication: every cached byte is read once, every weight read
 * or multiplied, whichever takes longer. B c/W + max(2 B P/C, w/W) (C.357)
 *
 * @param batch           B >= 0, sequences
 * @param cached_bytes    c >= 0, of one sequence
 * @param params          P >= 0 that a token uses; 0: reading is what takes longer
 * @param weight_bytes    w >= 0, of all weights
 * @param bytes_per_s     W >= 0, of the memory of all GPUs that work at the same time
 * @param flops_per_s     C >= 0, of the same GPUs; not read where params is 0
 * @return                HUGE_VAL at a rate of 0, unless there is nothing to read or multiply
 */
double plait_serve_decode_s(double batch, double cached_bytes, double params, double weight_bytes,
                            double bytes_per_s, double flops_per_s);

/**
 * Seconds of a prefill without communication: 2 P S / C. C: as reached, of all GPUs that work at
 * the same time. (C.357)
 *
 * Each is >= 0; at a C of 0 a prefill of anything takes HUGE_VAL.
 */
double plait_serve_prefill_s(double params, double tokens, double flops_per_s);

/**
 * Seconds in which experts' tokens leave and return at the wire's rate: n k h (d + r) / W. (C.357)
 *
 * @param tokens, copies  n tokens a GPU, k copies of each, both >= 0
 * @param hidden          h >= 0
 * @param out_bytes,back_bytes  d and r >= 0, an element of what is sent and of what returns
 * @param bytes_per_s     W >= 0; at 0 anything takes HUGE_VAL
 *
 * Source: DeepSeek-AI, "Insights into DeepSeek-V3", arXiv 2505.09343, section 2.3.2.
 */
double plait_serve_exchange_s(double tokens, double copies, double hidden, double out_bytes,
                              double back_bytes, double bytes_per_s);

/* ---- room and rates ---------------------------------------------------------------------- */

/** Bytes that sequences keep cached: c tokens B, each >= 0. (C.358) */
double plait_serve_cached_bytes(double bytes_per_token, double tokens, double sequences);

/**
 * Sequences that fit beside the weights, a fraction: (M - w) / c; 0 where weights alone do not. (C.358)
 *
 * Each is >= 0; of sequences that cache nothing, HUGE_VAL fit wherever there is any room.
 */
double plait_serve_most_sequences(double memory_bytes, double weight_bytes, double cached_bytes);

/**
 * Cached tokens that leave in a step once sequences come and go: B (S_p + S_d) / S_d. (C.358)
 *
 * Each is >= 0; of prompts without output, which leave at once, HUGE_VAL.
 */
double plait_serve_evicted_tokens(double sequences, double prompt_tokens, double output_tokens);

/**
 * Tokens a second of a batch whose step yields one for each sequence: B / t. (C.359)
 *
 * Both are >= 0; of a step that takes no time, HUGE_VAL.
 */
double plait_serve_tokens_per_s(double sequences, double step_s);

/**
 * Prefill servers that keep one decode server busy: T_prefill B / (t S_d). (C.359)
 *
 * Each is >= 0; a decode server that is done at once takes HUGE_VAL of them.
 */
double plait_serve_prefill_servers(double prefill_s, double sequences, double step_s,
                                   double output_tokens);

PLAIT_END_DECLS

#endif
