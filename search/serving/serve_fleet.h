/* serve_fleet.h - one deployment through the hours of a day */
#pragma once

#include "plait/serve.h"
#include "search/serving/serve_price.h"

/** A deployment whose number of workers varies with the load. */
typedef struct fleet_kind {
    const plait_serve_options *q;
    const plait_fleet_options *ask;
    plait_serve_plan plan;
    const serve_candidate *role[PLAIT_SERVE_ROLES];
    int gpus_per_node;
    int most_gpus;
    double margin; /* factor on the rate that the closed forms must sustain; 1: no margin */
} fleet_kind;

/**
 * Returns the unit that fails together with a worker: the nodes of the worker, or the workers on
 * one node, and the availability. (S.102)
 */
plait_fleet_unit fleet_unit_of(const plait_reliability *failures, int worker_gpus,
                               int gpus_per_node);

/**
 * Chooses the spare units of each role: the fewest nodes that reach the requested availability, or,
 * if the number of spare nodes is given, its best division between the roles.
 *
 * @return the share of the time that enough units of all roles are up; NaN: no number of spares is
 *     enough
 */
double fleet_spares(const plait_fleet_options *ask, const plait_fleet_unit *unit, const int *needed,
                    int roles, int *spare);

/**
 * Fills hours, nodes and totals, but not the fields of fleet_fill_details(). Returns false if no
 * number of workers is enough.
 */
bool fleet_day(const fleet_kind *kind, plait_fleet *out);

/** Returns the hour with the most requests per serving GPU. */
int fleet_tightest(const fleet_kind *kind, const plait_fleet *fleet);

/**
 * Returns a part of a fleet's workers in an hour for a simulation, or all of them if they are few.
 *
 * @param question  receives the options with the part's share of the requests
 * @return          the part, priced; its service is not stable if the closed forms find it
 *     overloaded
 */
plait_serve_plan fleet_slice(const fleet_kind *kind, const plait_fleet_hour *hour,
                             plait_serve_options *question);

/** Fills the fields that only reported fleets have: utilisation, energy and the band. */
void fleet_fill_details(const fleet_kind *kind, plait_fleet *fleet);
