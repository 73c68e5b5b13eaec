/*
 * mixed.h - plans over several sorts of nodes: stages to groups, layers to stages
 *
 * A line is an order of some of the groups, and for each of them one run of stages, or two of unlike
 * degrees. Stages are dealt along the line, and the layers along the stages:
 *
 *     minimise   w (T(f, b) + sends + max reduce_s + max gather_s + max optimizer_s)            (S.60)
 *     over       orders of groups, runs of each, layers l_1 .. l_p >= 1 that sum to L, and
 *                for each stage what it recomputes
 *     such that  dp mbs, cp and the ZeRO stage are the same for all runs, the sum of n tp cp dp over
 *                the runs of a group that is used is G_g, the second begins as rule P48 says,
 *                state_s + min(p - s, m) flight_s <= capacity of the nodes of stage s
 *
 * T is the pipeline of 1F1B, exactly (C.73); w is 1, or dollars an hour of the groups that are used. The
 * files, in the order in which they are used:
 *
 *     choices.c   degrees of each group, and what a layer takes at least
 *     runs.c      so many stages of a choice
 *     ways.c      prices of one stage: which layers, what is recomputed
 *     rows.c      the least of these prices, by layers and microbatches in flight
 *     bounds.c    what no layers of a line can undercut (S.61, S.62, S.68)
 *     sets.c      groups with a run or two each, whose bound is below the limit (S.66, S.70)
 *     layers.c    the best layers of one line, by labels (S.63 to S.65)
 *     lines.c     all lines, best bound first (S.66)
 *     closest.c   nothing fits: what lacks least (S.69)
 *     alone.c     each group alone
 *     mixed.c     the answer, with each group alone beside it (S.67)
 */
#pragma once

#include "plait/runtime.h"
#include "plait/search.h"
#include "search/pipeline/engine.h"

enum {
    HETERO_PLACES = 3, /* of a stage: in the middle, first, last */
    HETERO_RUNS = 2 * PLAIT_MAX_NODE_GROUPS,
};

typedef enum hetero_place { HETERO_MIDDLE, HETERO_FIRST, HETERO_LAST } hetero_place;

/** One stage, with one choice of what it recomputes. */
typedef struct stage_option {
    double forward_s, backward_s; /* as in plait_stage_price */
    double reduce_s, gather_s, optimizer_s;
    int most_in_flight; /* microbatches that its nodes have room for */
    int recompute;      /* which of the question's */
} stage_option;

static inline double stage_option_s(const stage_option *way)
{
    return way->forward_s + way->backward_s;
}

/** The ways of a stage that none is better than. */
typedef struct stage_options {
    bool known;
    int count;
    stage_option *way; /* [count] */
} stage_options;

/**
 * What some layers take at least, of the ways with room for so many microbatches in flight; infinite
 * where none has, or where no plan that uses it is worth keeping.
 */
typedef struct stage_bound {
    double stage_s; /* f + b */
    double after_s; /* gradients, gathers and optimizer together */
} stage_bound;

/** Bytes of one stage. (closest.c) */
typedef struct stage_min_memory stage_min_memory;

typedef struct stage_run stage_run;

/** Degrees of stages on one group. */
typedef struct group_degrees {
    plait_degrees degrees; /* pp: as many such stages as the group has room for */
    int group;
    int gpus;        /* of one stage */
    int most_stages; /* that the group has the GPUs for */
    bool whole;      /* which leave none of them over */
    int domain;      /* GPUs of the group's scale-up level */
    int64_t
        size; /* hetero_size: dp mbs sequences a microbatch, cp and ZeRO, which all groups share */
    plait_stage_sort *sort;
    double capacity_bytes;
    double kind_s[PLAIT_MAX_LAYER_KINDS]; /* forward and backward of a layer, nothing recomputed */
    double first_s, last_s;        /* that the embedding, or modules and loss, add to a stage */
    double unit_s;                 /* least time for a unit of work */
    double least_s;                /* for a layer: each stage has one */
    plait_between_stages boundary; /* between two of its stages */
    const double *after_s; /* [layers + 1]: what the fullest leaves behind the pipeline (S.68) */
    stage_options
        *ways[HETERO_PLACES]
             [PLAIT_MAX_NODE_GROUPS]; /* [question.ranges], by the group at the other end */
    stage_bound **least[HETERO_PLACES][PLAIT_MAX_NODE_GROUPS]; /* [in flight][question.ranges] */
    stage_min_memory *lean[HETERO_PLACES];                     /* [question.ranges] */
    stage_run **run;                                           /* [most_stages + 1], by stages */
} group_degrees;

/** So many stages of a choice, one behind the other. */
struct stage_run {
    group_degrees *choice;
    int stages;
    int fills;
    const double *fill_s; /* [fills]: times at which its stages hold one more layer (S.62) */
};

/** Choices of one group for one number of sequences, those with most units a second first. */
typedef struct degrees_list {
    int count;
    group_degrees **choice;
    int gpus; /* of the group */
} degrees_list;

/** A plan that was found. */
typedef struct hetero_plan {
    plait_plan plan;
    double objective;
    int64_t index;
} hetero_plan;

/** What stages may recompute beside each other, and the choices that are legal with it. */
typedef struct hetero_space {
    int recomputes;
    const plait_recompute *recompute; /* [recomputes] */
    int sizes;                        /* that some group has a choice for */
    int64_t *size;                    /* [sizes] */
    degrees_list *list;               /* [sizes][PLAIT_MAX_NODE_GROUPS] */
} hetero_space;

typedef struct hetero_problem {
    const plait_problem *problem;
    const plait_search_options *options;
    plait_arena *arena;
    plait_arena *scratch;                     /* of one stage */
    double usd_per_s[PLAIT_MAX_NODE_GROUPS];  /* of a whole group */
    hetero_space space;                       /* that is looked at */
    int ranges;                               /* that hold unlike layers */
    const int *range;                         /* [(layers + 1)^2], of [first, last) */
    double kind_units[PLAIT_MAX_LAYER_KINDS]; /* work of a layer of each kind */
    double units;                             /* of the model */
    unsigned must;                            /* groups that a plan has to use, bits */
    bool lean; /* choices of the fewest sequences a replica, whether they fit or not */
    int top;
    int found_count;
    hetero_plan *found;                     /* [top], best first */
    int64_t lines;                          /* that there are */
    int64_t solved;                         /* of which layers were dealt */
    double lacks_bytes;                     /* that `closest` lacks; infinite: none is known */
    plait_plan closest;                     /* of one group alone */
    bool closest_open;                      /* a group has one that lacks nearly least */
    const char *why[PLAIT_MAX_NODE_GROUPS]; /* it has no legal plan alone; NULL: it has */
} hetero_problem;

enum { HETERO_SIZE_FACTOR = 1 << 22 }; /* room for cp and the ZeRO stage beside the sequences */

/** A size of microbatches, with cp and the ZeRO stage: choices of unlike groups meet in it. */
static inline int64_t hetero_size(const plait_degrees *d)
{
    return (int64_t)d->dp * d->mbs * HETERO_SIZE_FACTOR + (int64_t)d->cp * 4 + d->zero;
}

/** Microbatches of such a size in a step. */
static inline int hetero_microbatches(const hetero_problem *q, int64_t size)
{
    return (int)(q->problem->job.gbs / (size / HETERO_SIZE_FACTOR));
}

/** Stages that take the same for a unit of work. */
typedef struct divisible_part {
    double units_per_s; /* of all of them */
    double unit_s;
} divisible_part;

/** A pipeline whose work may be cut anywhere; made by divisible_add. */
typedef struct divisible_pipeline {
    double microbatches;
    double stages;
    double ends_s; /* that the ends of the model add to the work */
    double one_s;  /* that its longest stage takes at least */
    int parts;
    divisible_part part[HETERO_RUNS]; /* the quickest first */
} divisible_pipeline;

/** Runs of some groups, those of one group together, in no order yet. */
typedef struct group_choice {
    double bound;
    int64_t listed; /* its place among all that were */
    double weight;  /* of a second */
    int runs;
    stage_run *run[HETERO_RUNS];
    pipeline_shape shape;
    plait_between_stages inside; /* sends that every order of the groups has */
} group_choice;

typedef struct group_choices {
    int count, room;
    group_choice *set;
    plait_arena *arena;
} group_choices;

/** A set in one order. */
typedef struct group_order {
    const group_choice *set;
    stage_run *run[HETERO_RUNS];
    plait_between_stages between; /* sends alone */
    double most_s;                /* of a stage, in a plan worth keeping */
    int most_labels;              /* of a state: those with the least bounds; INT_MAX is exact */
} group_order;

static inline hetero_place hetero_place_of(const group_choice *set, int s)
{
    return s == 0 ? HETERO_FIRST : s == set->shape.stages - 1 ? HETERO_LAST : HETERO_MIDDLE;
}

/** Microbatches in flight on a stage. (C.77) */
static inline int hetero_in_flight(const group_choice *set, int s)
{
    const int behind = set->shape.stages - s;

    return behind < set->shape.microbatches ? behind : set->shape.microbatches;
}

/** The group at the other end of the pipeline, as the first and the last stage see it. */
static inline int hetero_other_end(const group_order *line, int s)
{
    return line->run[s == 0 ? line->set->runs - 1 : 0]->choice->group;
}

/** The best layers of one line. */
typedef struct hetero_layout {
    bool failed;              /* out of memory */
    bool solved;              /* its bound did not say enough */
    double objective;         /* infinite: nothing is worth keeping */
    short *last;              /* [stages]: one past a stage's layers */
    unsigned char *recompute; /* [stages]: which of the question's */
} hetero_layout;

// choices.c
PLAIT_MUST_CHECK plait_status hetero_list_degrees(hetero_problem *q, plait_error *err);
/** What a second of these groups (bits) is worth in the objective. */
double hetero_weight(const hetero_problem *q, unsigned groups);

// ways.c
/** Which range layers [first, last) are. */
static inline int hetero_range(const hetero_problem *q, int first, int last)
{
    return q->range[first * (q->problem->model->layers + 1) + last];
}
/** The group at the other end where a stage's price depends on it, else its own. */
static inline int hetero_end(const hetero_problem *q, const group_degrees *choice,
                             hetero_place place, int other)
{
    return place == HETERO_MIDDLE || !q->problem->model->tied ? choice->group : other;
}
/** Of layers [first, last) at a place of the pipeline; NULL when out of memory. */
const stage_options *hetero_stage_options(hetero_problem *q, group_degrees *choice,
                                          hetero_place place, int other, int first, int last);
/** The stage that they are of: its chunk and what it recomputes live in `arena`. */
bool hetero_stage(const hetero_problem *q, const group_degrees *choice, hetero_place place,
                  int first, int last, plait_recompute recompute, plait_arena *arena,
                  plait_stage *out);

// rows.c
/**
 * Of a stage, by range. Ranges that take longer than a plan worth keeping may are infinite, their ways unknown.
 *
 * @return  NULL when out of memory
 */
const stage_bound *hetero_stage_bounds(hetero_problem *q, group_degrees *choice, hetero_place place,
                                       int other, int in_flight);

// runs.c
/** That many stages of a choice; NULL when out of memory. */
stage_run *hetero_run(hetero_problem *q, group_degrees *choice, int stages);
/** May stages of b follow so many of a, the first of their group? (P48) */
bool hetero_may_follow(const group_degrees *a, int stages, const group_degrees *b);

// bounds.c
void divisible_add(divisible_pipeline *cut, double stages, double units_per_s, double unit_s);
/** What its pipeline takes at least. (S.62) */
double divisible_lower_bound_s(const divisible_pipeline *cut, double units);
/** The longest that a stage may take in it for the pipeline to end within the limit. (S.70) */
double divisible_max_stage_s(const divisible_pipeline *cut, double units, double limit_s);
/** A choice's after_s; of layers of one kind. NULL when out of memory. */
const double *hetero_tail_bounds(hetero_problem *q, group_degrees *choice);
/** A set's objective in any order, if layers could be cut. (S.62) */
double hetero_divisible_bound(const hetero_problem *q, const group_choice *set);
/** The same of whole layers of one kind that fit, below the limit; negative when out of memory. */
double hetero_whole_layer_bound(hetero_problem *q, const group_choice *set);
/** What a stage of the set may take at most in a plan worth keeping. (S.68) */
double hetero_max_stage_s(const hetero_problem *q, const group_choice *set);

// sets.c
/** Adds the sets of one size with one run a group whose bound is below the limit; false when out of memory. */
bool hetero_list_choices(hetero_problem *q, int size, group_choices *out);
/**
 * The same with two runs in one group, of which `budget` options are tried; false when out of memory.
 *
 * @param budget   less what was tried; negative when it did not last
 * @param floor    what none of its sets undercuts
 */
bool hetero_list_uneven(hetero_problem *q, int size, int64_t *budget, double *floor,
                        group_choices *out);

// layers.c
/** Deals layers to the stages of a line; what it finds lives in `arena`. */
hetero_layout hetero_dp(const hetero_problem *q, const group_order *line, double limit,
                        plait_arena *arena);

// lines.c
/** The plan of a line that was dealt; lives in the question's arena. */
PLAIT_MUST_CHECK plait_status hetero_build_plan(hetero_problem *q, const group_order *line,
                                                const hetero_layout *dealt, plait_plan *plan,
                                                plait_error *err);
/** All lines of one run a group. */
PLAIT_MUST_CHECK plait_status hetero_search_orders(hetero_problem *q, plait_error *err);
/**
 * Those with two runs in one group, as far as so many options go. (S.70)
 *
 * @param budget  less what was tried
 * @param floor   no more than what is not tried may cost
 */
PLAIT_MUST_CHECK plait_status hetero_search_uneven(hetero_problem *q, int64_t *budget,
                                                   double *floor, plait_error *err);

// closest.c
/** The plan over several groups of a lean question that lacks least, if less than is known to. */
PLAIT_MUST_CHECK plait_status hetero_closest(hetero_problem *q, plait_plan *plan, plait_error *err);

// alone.c
/** The best plans of group g alone, its closest, or why it has none. */
PLAIT_MUST_CHECK plait_status hetero_add_alone(hetero_problem *q, int g, plait_search_result *sum,
                                               plait_error *err);

// mixed.c
/** What a plan must undercut to be kept. */
double hetero_limit(const hetero_problem *q);
void hetero_keep(hetero_problem *q, const plait_plan *plan, double objective);
/** plait_search where the job's nodes are of several sorts. */
PLAIT_MUST_CHECK plait_status hetero_search(const plait_problem *problem,
                                            const plait_search_options *options, plait_arena *arena,
                                            plait_search_result *result, plait_error *err);
