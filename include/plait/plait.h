/*
 * plait.h - plan how to split the training and serving of a large model over a cluster
 *
 * plait answers: with this model, this cluster and this batch, which data, tensor, pipeline,
 * context and expert parallelism, which ZeRO stage, microbatch, recomputation and schedule give the
 * shortest step that fits in memory, and how sure is that.
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
 * Build it with `cc example.c $(pkg-config --cflags --libs --static plait)`, without --static where
 * the library is shared. Either kind exports what these headers declare, between PLAIT_BEGIN_DECLS and
 * PLAIT_END_DECLS, and no other name. C++ programs include them as they are.
 *
 * Everything lives in an arena and ends with it; nothing else is to be freed. The library never
 * prints or exits; what goes wrong comes back as plait_error. It aborts for one reason: a call against
 * what a function's comment asks of its arguments is a failed assert (error.h). Units are bytes, seconds,
 * FLOPs and their rates, as doubles, wherever a name does not say otherwise.
 *
 * Any thread may call it, each with arenas and tables of its own; models, clusters, runtimes and plans are
 * only read. A thread that calls it needs 512 KiB of stack: plait_degrees_complete and plait_plan_cost take
 * about 252 KiB of it, plait_search 132, plait_serve_search 88, and loading a file 32 at most (x86-64,
 * gcc). Threads that a search starts have the stack that OpenMP gives them (OMP_STACKSIZE).
 *
 * What is stable: names, words of keys, JSON members and what they mean. Structs that a program
 * fills (plait_problem, plait_search_options, plait_operators_options, plait_launch, plait_capacity_ask,
 * plait_fleet_ask, plait_serve_question, plait_serve_launch) begin with their size and end with room for
 * fields to come; their _init sets the one and clears the other, and a zero there means what there was
 * before. So such a field breaks neither source nor binary; a size that is not the library's is
 * refused. Structs that the library fills (plait_model,
 * plait_cluster, plait_runtime, plait_plan, plait_cost, the results) may grow from 0.x to 0.(x+1)
 * and, from 1.0 on, from x.y to (x+1).0, with another soname: tests/abi.sh.
 *
 * The headers, each readable on its own, in the order in which a program meets them:
 *
 *     error.h, arena.h, units.h    errors by value, ownership, constants of units
 *     version.h                    which library a program runs with
 *     data.h                       finding shipped models, clusters and runtimes by name
 *     model.h, cluster.h           what is trained, on what
 *     runtime.h, job.h             with which software, what one step is
 *     degrees.h, plan.h            how it is split: points and their keys; plans, legality
 *     cost.h                       the price of a plan, in terms
 *     fuse.h                       collectives of adjacent parallelisms in one
 *     stage.h                      a stage taken apart: what its layers choose
 *     limits.h                     when each kind of parallelism is bound by communication
 *     search.h                     the best plans, proven; why not; what would make it fit
 *     operators.h                  how each operator of a layer is cut over a mesh, proven
 *     launch.h                     the files that start a plan
 *     validate.h evidence.h        predictions against measured runs, and bands from them
 *     belief.h                     which plans to try, and what a measured one says of the others
 *     block.h, kernel.h            what a layer does, and seconds of one operator
 *     collective.h, schedule.h     seconds of a collective, and of a pipeline
 *     simulate.h                   a pipeline action by action
 *     capacity.h                   how many GPUs a run takes: days, dollars, what binds
 *     goodput.h                    failures and checkpoints: from seconds of work to days
 *     serve.h                      a step of a serving engine, and what users see of it
 *     serve_search.h               which deployment serves a load at the least cost
 *     serve_fleet.h                how many GPUs serve the requests of a day
 *     serve_launch.h               the files that start a deployment
 *     serve_volume.h               what ranks send each other to answer one request
 *     serve_runs.h                 predictions against measured runs of serving
 */
#ifndef PLAIT_PLAIT_H
#define PLAIT_PLAIT_H

#include "plait/arena.h"
#include "plait/block.h"
#include "plait/capacity.h"
#include "plait/cluster.h"
#include "plait/collective.h"
#include "plait/cost.h"
#include "plait/data.h"
#include "plait/degrees.h"
#include "plait/error.h"
#include "plait/belief.h"
#include "plait/evidence.h"
#include "plait/fuse.h"
#include "plait/goodput.h"
#include "plait/job.h"
#include "plait/kernel.h"
#include "plait/launch.h"
#include "plait/limits.h"
#include "plait/model.h"
#include "plait/operators.h"
#include "plait/plan.h"
#include "plait/runtime.h"
#include "plait/schedule.h"
#include "plait/stage.h"
#include "plait/simulate.h"
#include "plait/search.h"
#include "plait/serve.h"
#include "plait/serve_fleet.h"
#include "plait/serve_launch.h"
#include "plait/serve_runs.h"
#include "plait/serve_search.h"
#include "plait/serve_volume.h"
#include "plait/units.h"
#include "plait/validate.h"
#include "plait/version.h"

#endif
