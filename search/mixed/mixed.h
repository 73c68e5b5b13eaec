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

enum {
    MIXED_PLACES = 3, /* of a stage: in the middle, first, last */
    MIXED_RUNS = 2 * PLAIT_MAX_NODE_GROUPS,
};

typedef enum mixed_place { MIXED_MIDDLE, MIXED_FIRST, MIXED_LAST } mixed_place;

/** One stage, with one choice of what it recomputes. */
typedef struct mixed_way {
    double forward_s, backward_s; /* as in plait_stage_price */
    double reduce_s, gather_s, optimizer_s;
    int most_in_flight; /* microbatches that its nodes have room for */
    int recompute;      /* which of the question's */
} mixed_way;

static inline double mixed_way_s(const mixed_way *way)
{
    return way->forward_s + way->backward_s;
}

/** The ways of a stage that none is better than. */
typedef struct mixed_ways {
    bool known;
    int count;
    mixed_way *way; /* [count] */
} mixed_ways;

/**
 * What some layers take at least, of the ways with room for so many microbatches in flight; infinite
 * where none has, or where no plan that uses it is worth keeping.
 */
typedef struct mixed_least {
    double stage_s; /* f + b */
    double after_s; /* gradients, gathers and optimizer together */
} mixed_least;

/** Bytes of one stage. (closest.c) */
typedef struct mixed_lean mixed_lean;

typedef struct mixed_run mixed_run;

/** Degrees of stages on one group. */
typedef struct mixed_choice {
    plait_degrees degrees; /* pp: as many such stages as the group has room for */
    int group;
    int gpus;        /* of one stage */
    int most_stages; /* that the group has the GPUs for */
    bool whole;      /* which leave none of them over */
    int domain;      /* GPUs of the group's scale-up level */
    int64_t
        size; /* mixed_size: dp mbs sequences a microbatch, cp and ZeRO, which all groups share */
    plait_stage_sort *sort;
    double capacity_bytes;
    double kind_s[PLAIT_MAX_LAYER_KINDS]; /* forward and backward of a layer, nothing recomputed */
    double first_s, last_s;        /* that the embedding, or modules and loss, add to a stage */
    double unit_s;                 /* least time for a unit of work */
    double least_s;                /* for a layer: each stage has one */
    plait_between_stages boundary; /* between two of its stages */
    const double *after_s; /* [layers + 1]: what the fullest leaves behind the pipeline (S.68) */
    mixed_ways *ways[MIXED_PLACES]
                    [PLAIT_MAX_NODE_GROUPS]; /* [question.ranges], by the group at the other end */
    mixed_least **least[MIXED_PLACES][PLAIT_MAX_NODE_GROUPS]; /* [in flight][question.ranges] */
    mixed_lean *lean[MIXED_PLACES];                           /* [question.ranges] */
    mixed_run **run;                                          /* [most_stages + 1], by stages */
} mixed_choice;

/** So many stages of a choice, one behind the other. */
struct mixed_run {
    mixed_choice *choice;
    int stages;
    int fills;
    const double *fill_s; /* [fills]: times at which its stages hold one more layer (S.62) */
};

/** Choices of one group for one number of sequences, those with most units a second first. */
typedef struct mixed_list {
    int count;
    mixed_choice **choice;
    int gpus; /* of the group */
} mixed_list;

/** A plan that was found. */
typedef struct mixed_found {
    plait_plan plan;
    double objective;
    int64_t index;
} mixed_found;

/** What stages may recompute beside each other, and the choices that are legal with it. */
typedef struct mixed_space {
    int recomputes;
    const plait_recompute *recompute; /* [recomputes] */
    int sizes;                        /* that some group has a choice for */
    int64_t *size;                    /* [sizes] */
    mixed_list *list;                 /* [sizes][PLAIT_MAX_NODE_GROUPS] */
} mixed_space;

typedef struct mixed_question {
    const plait_problem *problem;
    const plait_search_options *options;
    plait_arena *arena;
    plait_arena *scratch;                     /* of one stage */
    double usd_per_s[PLAIT_MAX_NODE_GROUPS];  /* of a whole group */
    mixed_space space;                        /* that is looked at */
    int ranges;                               /* that hold unlike layers */
    const int *range;                         /* [(layers + 1)^2], of [first, last) */
    double kind_units[PLAIT_MAX_LAYER_KINDS]; /* work of a layer of each kind */
    double units;                             /* of the model */
    unsigned must;                            /* groups that a plan has to use, bits */
    bool lean; /* choices of the fewest sequences a replica, whether they fit or not */
    int top;
    int found_count;
    mixed_found *found;                     /* [top], best first */
    int64_t lines;                          /* that there are */
    int64_t solved;                         /* of which layers were dealt */
    double lacks_bytes;                     /* that `closest` lacks; infinite: none is known */
    plait_plan closest;                     /* of one group alone */
    bool closest_open;                      /* a group has one that lacks nearly least */
    const char *why[PLAIT_MAX_NODE_GROUPS]; /* it has no legal plan alone; NULL: it has */
} mixed_question;

enum { MIXED_ALIKE = 1 << 22 }; /* room for cp and the ZeRO stage beside the sequences */

/** A size of microbatches, with cp and the ZeRO stage: choices of unlike groups meet in it. */
static inline int64_t mixed_size(const plait_degrees *d)
{
    return (int64_t)d->dp * d->mbs * MIXED_ALIKE + (int64_t)d->cp * 4 + d->zero;
}

/** Microbatches of such a size in a step. */
static inline int mixed_microbatches(const mixed_question *q, int64_t size)
{
    return (int)(q->problem->job.gbs / (size / MIXED_ALIKE));
}

/** Stages and microbatches, and the work that they do at most in a pipeline of one second. */
typedef struct mixed_shape {
    int stages;
    int microbatches;
    double most_work;
} mixed_shape;

/** Stages that take the same for a unit of work. */
typedef struct mixed_part {
    double units_per_s; /* of all of them */
    double unit_s;
} mixed_part;

/** A pipeline whose work may be cut anywhere; made by mixed_cut_add. */
typedef struct mixed_cut {
    double microbatches;
    double stages;
    double ends_s; /* that the ends of the model add to the work */
    double one_s;  /* that its longest stage takes at least */
    int parts;
    mixed_part part[MIXED_RUNS]; /* the quickest first */
} mixed_cut;

/** Runs of some groups, those of one group together, in no order yet. */
typedef struct mixed_set {
    double bound;
    int64_t listed; /* its place among all that were */
    double weight;  /* of a second */
    int runs;
    mixed_run *run[MIXED_RUNS];
    mixed_shape shape;
    plait_between_stages inside; /* sends that every order of the groups has */
} mixed_set;

typedef struct mixed_sets {
    int count, room;
    mixed_set *set;
    plait_arena *arena;
} mixed_sets;

/** A set in one order. */
typedef struct mixed_line {
    const mixed_set *set;
    mixed_run *run[MIXED_RUNS];
    plait_between_stages between; /* sends alone */
    double most_s;                /* of a stage, in a plan worth keeping */
    int most_labels;              /* of a state: those with the least bounds; INT_MAX is exact */
} mixed_line;

static inline mixed_place mixed_place_of(const mixed_set *set, int s)
{
    return s == 0 ? MIXED_FIRST : s == set->shape.stages - 1 ? MIXED_LAST : MIXED_MIDDLE;
}

/** Microbatches in flight on a stage. (C.77) */
static inline int mixed_in_flight(const mixed_set *set, int s)
{
    const int behind = set->shape.stages - s;

    return behind < set->shape.microbatches ? behind : set->shape.microbatches;
}

/** The group at the other end of the pipeline, as the first and the last stage see it. */
static inline int mixed_other(const mixed_line *line, int s)
{
    return line->run[s == 0 ? line->set->runs - 1 : 0]->choice->group;
}

/** The best layers of one line. */
typedef struct mixed_dealt {
    bool failed;              /* out of memory */
    bool solved;              /* its bound did not say enough */
    double objective;         /* infinite: nothing is worth keeping */
    short *last;              /* [stages]: one past a stage's layers */
    unsigned char *recompute; /* [stages]: which of the question's */
} mixed_dealt;

// choices.c
PLAIT_MUST_CHECK plait_status mixed_list_choices(mixed_question *q, plait_error *err);
/** What a second of these groups (bits) is worth in the objective. */
double mixed_weight(const mixed_question *q, unsigned groups);

// ways.c
PLAIT_MUST_CHECK plait_status mixed_list_ranges(mixed_question *q, plait_error *err);
/** Which range layers [first, last) are. */
static inline int mixed_range(const mixed_question *q, int first, int last)
{
    return q->range[first * (q->problem->model->layers + 1) + last];
}
/** The group at the other end where a stage's price depends on it, else its own. */
static inline int mixed_end(const mixed_question *q, const mixed_choice *choice, mixed_place place,
                            int other)
{
    return place == MIXED_MIDDLE || !q->problem->model->tied ? choice->group : other;
}
/** Of layers [first, last) at a place of the pipeline; NULL when out of memory. */
const mixed_ways *mixed_ways_of(mixed_question *q, mixed_choice *choice, mixed_place place,
                                int other, int first, int last);
/** The stage that they are of: its chunk and what it recomputes live in `arena`. */
bool mixed_stage(const mixed_question *q, const mixed_choice *choice, mixed_place place, int first,
                 int last, plait_recompute recompute, plait_arena *arena, plait_stage *out);

// rows.c
/**
 * Of a stage, by range. Ranges that take longer than a plan worth keeping may are infinite, their ways unknown.
 *
 * @return  NULL when out of memory
 */
const mixed_least *mixed_row(mixed_question *q, mixed_choice *choice, mixed_place place, int other,
                             int in_flight);

// runs.c
/** That many stages of a choice; NULL when out of memory. */
mixed_run *mixed_run_of(mixed_question *q, mixed_choice *choice, int stages);
/** May stages of b follow so many of a, the first of their group? (P48) */
bool mixed_follows(const mixed_choice *a, int stages, const mixed_choice *b);

// bounds.c
/** The shape's most_work. (S.62) */
double mixed_most_work(int stages, int microbatches);
/** What a pipeline with this slowest stage and this work in all stages takes at least. (S.61) */
double mixed_pipeline_bound_s(const mixed_shape *shape, double slowest_s, double work_s);
void mixed_cut_add(mixed_cut *cut, double stages, double units_per_s, double unit_s);
/** What its pipeline takes at least. (S.62) */
double mixed_cut_bound_s(const mixed_cut *cut, double units);
/** The longest that a stage may take in it for the pipeline to end within the limit. (S.70) */
double mixed_cut_most_s(const mixed_cut *cut, double units, double limit_s);
/** A choice's after_s; of layers of one kind. NULL when out of memory. */
const double *mixed_after_s(mixed_question *q, mixed_choice *choice);
/** A set's objective in any order, if layers could be cut. (S.62) */
double mixed_fractional_bound(const mixed_question *q, const mixed_set *set);
/** The same of whole layers of one kind that fit, below the limit; negative when out of memory. */
double mixed_whole_bound(mixed_question *q, const mixed_set *set);
/** What a stage of the set may take at most in a plan worth keeping. (S.68) */
double mixed_set_most_s(const mixed_question *q, const mixed_set *set);

// sets.c
/** Adds the sets of one size with one run a group whose bound is below the limit; false when out of memory. */
bool mixed_list_sets(mixed_question *q, int size, mixed_sets *out);
/**
 * The same with two runs in one group, of which `budget` options are tried; false when out of memory.
 *
 * @param budget   less what was tried; negative when it did not last
 * @param floor    what none of its sets undercuts
 */
bool mixed_list_unlike(mixed_question *q, int size, int64_t *budget, double *floor,
                       mixed_sets *out);

// layers.c
/** Deals layers to the stages of a line; what it finds lives in `arena`. */
mixed_dealt mixed_deal(const mixed_question *q, const mixed_line *line, double limit,
                       plait_arena *arena);

// lines.c
/** The plan of a line that was dealt; lives in the question's arena. */
PLAIT_MUST_CHECK plait_status mixed_build(mixed_question *q, const mixed_line *line,
                                          const mixed_dealt *dealt, plait_plan *plan,
                                          plait_error *err);
/** All lines of one run a group. */
PLAIT_MUST_CHECK plait_status mixed_walk(mixed_question *q, plait_error *err);
/**
 * Those with two runs in one group, as far as so many options go. (S.70)
 *
 * @param budget  less what was tried
 * @param floor   no more than what is not tried may cost
 */
PLAIT_MUST_CHECK plait_status mixed_walk_unlike(mixed_question *q, int64_t *budget, double *floor,
                                                plait_error *err);

// closest.c
/** The plan over several groups of a lean question that lacks least, if less than is known to. */
PLAIT_MUST_CHECK plait_status mixed_closest(mixed_question *q, plait_plan *plan, plait_error *err);

// alone.c
/** The best plans of group g alone, its closest, or why it has none. */
PLAIT_MUST_CHECK plait_status mixed_add_alone(mixed_question *q, int g, plait_search_result *sum,
                                              plait_error *err);

// mixed.c
/** What a plan must undercut to be kept. */
double mixed_limit(const mixed_question *q);
void mixed_keep(mixed_question *q, const plait_plan *plan, double objective);
/** plait_search where the job's nodes are of several sorts. */
PLAIT_MUST_CHECK plait_status mixed_search(const plait_problem *problem,
                                           const plait_search_options *options, plait_arena *arena,
                                           plait_search_result *result, plait_error *err);
