/*
 * goodput.h - from seconds of useful work to days on the calendar: failures, checkpoints, restarts
 *
 * A job on many nodes is interrupted every few hours. Each interruption costs the work since the
 * last checkpoint, and the time for detection and restart. This header has the closed forms of
 * these costs, and a simulation that draws each interruption, which checks them and gives
 * quantiles.
 *
 * In order: plait_reliability_init (capacity.h), set the fleet's rates, plait_goodput_of for the
 * means, plait_goodput_run for one drawn run, plait_finish_probability for a deadline.
 *
 * Left out: jobs that continue on fewer nodes, wear, silent data corruption.
 */
#ifndef PLAIT_LOWLEVEL_GOODPUT_H
#define PLAIT_LOWLEVEL_GOODPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "plait/capacity.h"

PLAIT_BEGIN_DECLS

/** Mean hours between events, of which `events` occurred in `days` days. (C.320) */
double plait_mtbf_hours(double days, double events);

/**
 * Mean years between events of one part, if `parts` parts caused `events` in `days` days. (C.320)
 */
double plait_part_mtbf_years(double days, double events, double parts);

/**
 * Young's interval between checkpoints, seconds: sqrt(2 C M). (C.321)
 *
 * @param blocked_s  C, time for which one checkpoint blocks training
 * @param mtbf_s     M, mean time between failures
 */
double plait_young_interval_s(double blocked_s, double mtbf_s);

/**
 * Daly's higher-order interval, seconds, which is also accurate if C is not small against M.
 * (C.322)
 */
double plait_daly_interval_s(double blocked_s, double mtbf_s);

/**
 * The mean goodput of a job. (C.320, C.322, C.323, C.324, C.325)
 *
 * @param nodes             computing nodes, at least 1
 * @param work_s            seconds of all steps; the run starts with all nodes; 0: an endless run
 * @param checkpoint_bytes  weights and optimizer state of the whole model
 */
plait_goodput plait_goodput_of(const plait_reliability *fleet, int nodes, double work_s,
                               double checkpoint_bytes);

/**
 * Share of time that a job waits for a node: Erlang's B of s + 1. (C.324)
 *
 * @param nodes_in_repair  a, mean number of nodes in repair of a job that never waits
 * @param spares           s
 */
double plait_waiting_share(double nodes_in_repair, int spares);

/** The number of spares that minimises the node-days of a run, spares included. (C.324) */
int plait_spares_worth(double nodes_in_repair, int nodes);

/**
 * Wall-clock seconds of `work_s` seconds of steps; infinite if failures undo all progress. (C.323)
 */
double plait_goodput_wall_s(const plait_goodput *goodput, double work_s);

/**
 * The factor on a step at the normal deviate z, if 80 % of runs lie between low and high. (C.326)
 *
 * @param low,high  factors as in plait_band; both 0: no uncertainty, the factor is 1
 */
double plait_step_factor(double low, double high, double z);

/**
 * Probability that a run ends by deadline_s, if it takes wall_s at the predicted step. (C.326)
 *
 * @param low,high  band of the step, as in plait_step_factor
 */
double plait_finish_probability(double wall_s, double deadline_s, double low, double high);

/**
 * Simulate one run, event by event. (C.327)
 *
 * @param most_s  limit of the simulated time
 * @param run     number of the run; the same number gives the same run
 * @return        seconds on the calendar, at most most_s
 */
double plait_goodput_run(const plait_goodput *goodput, double work_s, double low, double high,
                         double most_s, uint64_t run);

PLAIT_END_DECLS

#endif
