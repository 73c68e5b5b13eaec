/*
 * goodput.h - from seconds of useful work to days on the calendar: failures, checkpoints, restarts.
 *
 * A job on many nodes is interrupted every few hours. It then loses what it did since its last
 * checkpoint, and the time to notice and to start again. These are the closed forms of that, and one
 * run of a simulation that draws each interruption, to check them and to give quantiles.
 *
 * In order: plait_reliability_init, set what is known of the fleet, plait_goodput_of for the means,
 * plait_goodput_run for one drawn run, plait_finish_probability for a deadline.
 *
 * Left out: repairs that take a job to fewer nodes, wear, silent corruption that is noticed late.
 */
#ifndef PLAIT_LOWLEVEL_GOODPUT_H
#define PLAIT_LOWLEVEL_GOODPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "plait/capacity.h"

PLAIT_BEGIN_DECLS

/** Mean hours between events. (C.320) */
double plait_mtbf_hours(double days, double events);

/** Mean years between events that one of n parts causes. (C.320) */
double plait_part_mtbf_years(double days, double events, double parts);

/**
 * Young's interval between checkpoints, seconds: sqrt(2 C M). (C.321)
 *
 * @param blocked_s  C, that training stands still for one checkpoint
 * @param mtbf_s     M
 */
double plait_young_interval_s(double blocked_s, double mtbf_s);

/** Daly's higher order of it, the best interval also where C is not small beside M. (C.322) */
double plait_daly_interval_s(double blocked_s, double mtbf_s);

/**
 * The means of a job. (C.320, C.322, C.323, C.324, C.325)
 *
 * @param nodes             that compute, at least 1
 * @param work_s            steps of the run, which begins with all nodes; 0: it has no end
 * @param checkpoint_bytes  weights and optimizer state of the whole model
 */
plait_goodput plait_goodput_of(const plait_reliability *fleet, int nodes, double work_s,
                               double checkpoint_bytes);

/**
 * Share of time that a job waits for a node: Erlang's B of s + 1. (C.324)
 *
 * @param nodes_in_repair  a, the mean if the job never waited
 */
double plait_waiting_share(double nodes_in_repair, int spares);

/** The number of spares that minimises the node-days of a run, spares included. (C.324) */
int plait_spares_worth(double nodes_in_repair, int nodes);

/** Wall-clock seconds of `work_s` seconds of steps; infinite if failures undo all progress. (C.323) */
double plait_goodput_wall_s(const plait_goodput *goodput, double work_s);

/**
 * The factor on a step at a normal deviate z: 80 % of runs lie between low and high. (C.326)
 *
 * @param low,high  factors as of plait_band; both 0: the step is certain
 */
double plait_step_factor(double low, double high, double z);

/** Probability that a run of wall_s at its mean step ends by deadline_s, by the band. (C.326) */
double plait_finish_probability(double wall_s, double deadline_s, double low, double high);

/**
 * Draw one run, event by event; seconds on the calendar, at most `most_s`. (C.327)
 *
 * @param run  which one: the same number gives the same run
 */
double plait_goodput_run(const plait_goodput *goodput, double work_s, double low, double high,
                         double most_s, uint64_t run);

PLAIT_END_DECLS

#endif
