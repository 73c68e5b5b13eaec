/*
 * serve_fleet.h - how many GPUs serve the requests of a day, with spares for those that fail.
 *
 * plait_fleet_find takes the deployments that plait_serve_search finds at the busiest hour, counts the workers
 * that each needs in every hour, adds spare nodes, and ranks them by what the day costs: reserved, when all
 * is kept around the clock, or elastic, when each hour has only what it needs.
 *
 * Left out: the network and storage of a fleet, several models on one, loads that change within an hour.
 */
#ifndef PLAIT_SERVE_FLEET_H
#define PLAIT_SERVE_FLEET_H

#include "plait/goodput.h"
#include "plait/serve_search.h"

PLAIT_BEGIN_DECLS

enum { PLAIT_FLEET_HOURS = 24, PLAIT_FLEET_BEST = 5 };

/** How the nodes of a fleet are paid for. */
typedef enum plait_fleet_mode {
    PLAIT_FLEET_RESERVED, /* the nodes of the busiest hour, always */
    PLAIT_FLEET_ELASTIC,  /* those of each hour, from a restart before it begins */
    PLAIT_FLEET_MODES
} plait_fleet_mode;

typedef struct plait_fleet_ask {
    size_t size;                    /* as plait_fleet_ask_init sets it; 0: that of this header */
    double rate[PLAIT_FLEET_HOURS]; /* requests/s of each hour of a day */
    double available;               /* share of the time that enough workers are up, below 1 */
    plait_reliability failures;     /* spares < 0: as many nodes as that takes */
    double usd_per_gpu_hour;        /* 0: as the accelerator's file says */
    plait_fleet_mode mode;          /* whose cost decides */
    const void *reserved[8];        /* zero: room for fields to come */
} plait_fleet_ask;

/** No rate, 99.9 %, the usual failures, reserved. */
#define plait_fleet_ask_init(ask) plait_fleet_ask_init_sized((ask), sizeof(plait_fleet_ask))

/** What it stands for: `size` is that of the header which the caller knows. */
void plait_fleet_ask_init_sized(plait_fleet_ask *ask, size_t size);

/** What a worker less misses in an hour. */
#define PLAIT_FLEET_LACK_LIST(X)                                                                   \
    X(NOTHING, "-")                                                                                \
    X(LOAD, "load")                                                                                \
    X(TTFT, "TTFT")                                                                                \
    X(TPOT, "TPOT")

typedef enum plait_fleet_lack {
#define X(constant, word) PLAIT_FLEET_LACKS_##constant,
    PLAIT_FLEET_LACK_LIST(X)
#undef X
        PLAIT_FLEET_LACKS
} plait_fleet_lack;

extern const char *const plait_fleet_lack_name[PLAIT_FLEET_LACKS + 1];

typedef struct plait_fleet_hour {
    double rate;                    /* requests/s */
    int workers[PLAIT_SERVE_ROLES]; /* the fewest that meet the bounds; 0 without requests */
    int nodes;                      /* of these workers ... */
    int spare_nodes;                /* ... and beside them, when only this hour is paid for */
    double available;               /* share of the time that `workers` of both are up */
    plait_fleet_lack lack;
    double ttft_s, ttft_p99_s, tpot_s; /* of `workers` without spares; NaN without requests */
    double used[PLAIT_FLEET_MODES];    /* rate over what all nodes of it take within the bounds */
} plait_fleet_hour;

/** How workers of one role lie on nodes: what fails together. (S.102) */
typedef struct plait_fleet_unit {
    int nodes;        /* that one worker spans, or 1 */
    int workers;      /* of one unit */
    double available; /* share of the time that a unit is up */
} plait_fleet_unit;

/** What a fleet comes to if the engine gives more or less than predicted. */
typedef struct plait_fleet_totals {
    int nodes, gpus;                      /* reserved */
    double node_hours[PLAIT_FLEET_MODES]; /* of a day */
    double usd[PLAIT_FLEET_MODES];        /* a month; NaN: no price is known */
} plait_fleet_totals;

typedef struct plait_fleet {
    plait_serve_plan plan; /* what meets the bounds in the busiest hour, priced there */
    int busiest;           /* the hour that needs most nodes, of these that with most requests */
    plait_fleet_unit unit[PLAIT_SERVE_ROLES];
    plait_fleet_hour hour[PLAIT_FLEET_HOURS];
    plait_fleet_totals totals;
    plait_fleet_totals band[2]; /* of 80 % of runs: the engine's highest rate, its lowest */
    double sustained;           /* requests/s of all nodes within the bounds */
    double tokens_per_day;      /* of output */
    double usd_per_mtok[PLAIT_FLEET_MODES];
    double kwh[PLAIT_FLEET_MODES]; /* a month; NaN: no power is known */
    bool simulated; /* its tightest hour: workers carry it within the bounds (S.101) */
    double
        margin; /* factor on the rates that workers are counted for, so that the simulation carries them */
} plait_fleet;

typedef struct plait_fleet_answer {
    int gpus_per_node;
    int fleets;     /* the cheapest first */
    int considered; /* deployments of the search */
    int divided;    /* the search was for this part of the busiest hour's requests */
    plait_fleet fleet[PLAIT_FLEET_BEST];
    int needs_gpus; /* without a fleet: of the smallest that is above the limit; 0: none is */
    bool unsteady;  /* some carry the load, but no number of spares is enough */
    const plait_serve_answer *search;
} plait_fleet_answer;

/** Probability that at least `needed` of `units` are up, each by itself so much of the time. (S.103) */
double plait_fleet_up(int units, int needed, double available);

/** The fewest spare units with plait_fleet_up >= share; -1: not up to PLAIT_MOST_SPARES. (S.103) */
int plait_fleet_spares(int needed, double available, double share);

/** The cheapest fleets of a question, whose load is a rate; its number is that of `ask`. (S.101) */
PLAIT_MUST_CHECK plait_status plait_fleet_find(const plait_serve_question *question,
                                               const plait_fleet_ask *ask, plait_arena *arena,
                                               plait_fleet_answer *out, plait_error *err);

/** Hours of a month: 8760 / 12. */
double plait_fleet_month_hours(void);

PLAIT_END_DECLS

#endif
