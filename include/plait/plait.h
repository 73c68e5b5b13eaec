/*
 * plait.h - plan how to split the training and serving of a large model over a cluster
 *
 * For a model, a cluster and a batch, plait finds the data, tensor, pipeline, context and expert
 * parallelism, the ZeRO stage, the microbatch, the recomputation and the schedule that give the
 * shortest step that fits in memory, with an error band of the predicted time.
 *
 * The smallest complete program:
 *
 *     #include <plait/plait.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         plait_arena *arena = plait_arena_new();
 *         plait_model model;
 *         plait_cluster cluster;
 *         plait_runtime runtime;
 *         plait_problem problem;
 *         plait_search_options options;
 *         plait_search_result result;
 *         plait_error err;
 *
 *         if (plait_model_find("llama-3.1-8b", arena, &model, NULL, &err) != PLAIT_OK ||
 *             plait_cluster_find("h100-80gb-sxm:1x8", arena, &cluster, &err) != PLAIT_OK ||
 *             plait_runtime_find("megatron", arena, &runtime, &err) != PLAIT_OK ||
 *             plait_cluster_take(&cluster, 8, &err) != PLAIT_OK) {
 *             fprintf(stderr, "%s: %s\n", err.where, err.message);
 *             return 2;
 *         }
 *         plait_problem_init(&problem);
 *         problem.model = &model;
 *         problem.cluster = &cluster;
 *         problem.runtime = &runtime;
 *         problem.job.seq = 8192;
 *         problem.job.gbs = 64;
 *         problem.job.gpus = 8;
 *         problem.job.precision = PLAIT_BF16;
 *         plait_search_options_init(&options);
 *         if (plait_search(&problem, &options, arena, &result, &err) != PLAIT_OK) {
 *             fprintf(stderr, "%s: %s\n", err.where, err.message);
 *             return 2;
 *         }
 *         if (result.plans > 0)
 *             printf("best plan: tp %d, pp %d, dp %d: %.3g s a step, %.1f GiB\n",
 *                    result.plan[0].plan.degrees.tp, result.plan[0].plan.degrees.pp,
 *                    result.plan[0].plan.degrees.dp, result.plan[0].price.step_s,
 *                    result.plan[0].price.peak_bytes / PLAIT_GIB);
 *         plait_arena_free(arena);
 *         return 0;
 *     }
 *
 * Build it with `cc example.c $(pkg-config --cflags --libs --static plait)`, without --static for a
 * shared library. Both kinds of library export only the names that these headers declare between
 * PLAIT_BEGIN_DECLS and PLAIT_END_DECLS. C++ programs can include the headers directly.
 *
 * All results live in an arena and are released with it; nothing else must be freed. The library
 * never prints or exits; functions return their errors as plait_error. The library aborts only if
 * an argument violates the comment of its function, which is a failed assert (error.h). Units are
 * bytes, seconds, FLOPs and their rates, as doubles, unless a name states another.
 *
 * Any thread may call the library with its own arenas and tables; models, clusters, runtimes and
 * plans are only read. A thread that calls it needs 512 KiB of stack: plait_degrees_complete and
 * plait_plan_cost take about 252 KiB of it, plait_search 132, plait_serve_search 88, and loading a
 * file at most 32 (x86-64, gcc). Threads that a search starts have 1 MiB.
 *
 * Names, the words of keys, and JSON members with their meanings are stable. Structs that a program
 * fills (plait_problem, plait_search_options, plait_operators_options, plait_launch,
 * plait_capacity_options, plait_fleet_options, plait_serve_options, plait_serve_launch) end with
 * reserved[], which later versions turn into fields. Their _init clears it, and a zero in such a
 * field means the earlier behaviour, so a new field breaks neither source nor binary. Structs that
 * the library fills (plait_model, plait_cluster, plait_runtime, plait_plan, plait_cost, the
 * results) may grow from 0.x to 0.(x+1) and, from 1.0 on, from x.y to (x+1).0, with another soname:
 * tests/abi.sh.
 *
 * The headers, in the order in which a program uses them:
 *
 *     error.h, arena.h, units.h    errors by value, ownership, constants of units
 *     version.h                    version of the library that a program runs with
 *     data.h                       shipped models, clusters and runtimes by name
 *     model.h, cluster.h           the model, and the hardware that trains it
 *     runtime.h, problem.h         the software, and the job: what one step computes
 *     tuning.h                     what a job trains: adapters, frozen parts (part of problem.h)
 *     degrees.h, plan.h            points of the plan space and their keys; plans, legality
 *     cost.h                       the price of a plan, in terms
 *     search.h                     the best plans, proven; reasons against others; relaxations
 *     operators.h                  optimal sharding of each operator of a layer over a mesh
 *     launch.h                     the files that start a plan
 *     validate.h                   predictions against measured runs, error bands, next tries
 *     capacity.h                   the number of GPUs for a run: days, dollars, limits
 *     serve.h                      serving: steps, latencies, deployments, fleets, launch files
 *     rl.h                         steps of reinforcement learning: prices, search, launch files
 *
 * Headers in plait/lowlevel are documented and exported, but may change in any release. plait.h
 * does not include them:
 *
 *     block.h, kernel.h            operators of a layer, and seconds of one operator
 *     collective.h, schedule.h     seconds of a collective, and of a pipeline
 *     simulate.h                   simulation of a pipeline, action by action
 *     fuse.h, limits.h             fused collectives; limits by communication
 *     goodput.h                    failures and checkpoints: from seconds of work to days
 */
#ifndef PLAIT_PLAIT_H
#define PLAIT_PLAIT_H

#include "plait/arena.h"
#include "plait/capacity.h"
#include "plait/cluster.h"
#include "plait/cost.h"
#include "plait/data.h"
#include "plait/degrees.h"
#include "plait/error.h"
#include "plait/validate.h"
#include "plait/problem.h"
#include "plait/launch.h"
#include "plait/model.h"
#include "plait/operators.h"
#include "plait/plan.h"
#include "plait/runtime.h"
#include "plait/rl.h"
#include "plait/search.h"
#include "plait/serve.h"
#include "plait/tuning.h"
#include "plait/units.h"
#include "plait/version.h"

#endif
