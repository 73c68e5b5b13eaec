/* serve_fleet.h - one deployment through the hours of a day */
#pragma once

#include "plait/serve.h"
#include "search/serving/serve_price.h"

/** A deployment whose workers are counted. */
typedef struct fleet_kind {
    const plait_serve_options *q;
    const plait_fleet_options *ask;
    plait_serve_plan plan;
    const serve_candidate *role[PLAIT_SERVE_ROLES];
    int gpus_per_node;
    int most_gpus;
    double margin; /* factor on the rate that the closed forms must carry; 1: none */
} fleet_kind;

/** What of a worker lies on nodes, and how often it is up. */
plait_fleet_unit fleet_unit_of(const plait_reliability *failures, int worker_gpus,
                               int gpus_per_node);

/**
 * Spare units of each role beside those that are needed, so that the fewest nodes are up often enough; or the
 * best use of so many spare nodes as the fleet has.
 *
 * @return the share of the time that enough of all roles are up; NaN: no number of spares is enough
 */
double fleet_spares(const plait_fleet_options *ask, const plait_fleet_unit *unit, const int *needed,
                    int roles, int *spare);

/** Hours, nodes, and totals but for what they use and its band; false: no number of workers is enough. */
bool fleet_day(const fleet_kind *kind, plait_fleet *out);

/** The hour with the most requests for each GPU that serves them. */
int fleet_tightest(const fleet_kind *kind, const plait_fleet *fleet);

/**
 * Part of a fleet's workers in an hour, for a simulation: all of few.
 *
 * @param question  receives the question with the part's requests
 * @return          the part, priced; its service is not stable where the closed forms do not carry it
 */
plait_serve_plan fleet_slice(const fleet_kind *kind, const plait_fleet_hour *hour,
                             plait_serve_options *question);

/** The rest of a fleet that is told: how much of it is used, energy, its band. */
void fleet_tell(const fleet_kind *kind, plait_fleet *fleet);
