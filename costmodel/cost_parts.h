/* cost_parts.h - what full prices of uniform and of mixed plans fill in alike */
#ifndef PLAIT_COSTMODEL_COST_PARTS_H
#define PLAIT_COSTMODEL_COST_PARTS_H

#include "stage_sum.h"

// cost.c
/** One microbatch of a stage, by term. */
void stage_terms(const plait_problem *problem, const layer_row *row, const gather_row *gather,
                 const stage_parts *parts, double terms[LAYER_TERMS]);
/** Forward FLOPs a token that a stage runs again. (C.5) */
double stage_rerun_flops(const plait_problem *problem, const stage_parts *parts);
double sum_of_terms(const plait_step_time *step);
/** C.98: a factor on the step; NaN, which writes as null, where no evidence speaks. */
double band_edge(double step_s, double factor);
/** The verdict on cost->memory, and why; `problem` has the fullest stage's nodes. */
void cost_judge(const plait_problem *problem, plait_cost *cost);
/** Low where kernels are priced by defaults, high where links and software are measured too. */
plait_confidence confidence_of(const plait_problem *problem, const plait_degrees *d);

// cost_mixed.c
/** The price of a legal plan whose stages differ; *cost has its confidence. */
PLAIT_MUST_CHECK plait_status mixed_cost(const plait_problem *problem, const plait_plan *plan,
                                         plait_arena *arena, plait_cost *cost, plait_error *err);

#endif
