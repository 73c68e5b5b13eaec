/* plait_mpi.c - plait-mpi: a sweep over the ranks of an MPI job; the only file that uses MPI
 *
 *     mpirun -n 64 plait-mpi sweep SCENARIOS.json -o ALL.jsonl
 *
 * Each rank computes a part of each block. The first rank writes the results in order, byte for
 * byte as `plait sweep` does; a restarted job continues an interrupted file. A rank that fails
 * prints one line and aborts the job.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plait/arena.h"
#include "cli/sweep.h"

enum { EXIT_USAGE = 2, EXIT_FAULT = 3 };

/* ---- collectives of a sweep (sweep_team) ---- */

static plait_status gather(void *context, const char *mine, plait_arena *arena, const char **texts,
                           plait_error *err)
{
    const sweep_team *const team = context;
    const size_t ranks = (size_t)team->ranks;
    const int length = (int)strlen(mine) + 1;
    int *lengths = plait_arena_alloc(arena, ranks, sizeof *lengths);
    int *starts = plait_arena_alloc(arena, ranks, sizeof *starts);
    char *all;
    int sum = 0;

    PLAIT_TRY(plait_check_allocated(lengths && starts, err));
    MPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (size_t r = 0; team->rank == 0 && r < ranks; r++) {
        starts[r] = sum;
        sum += lengths[r];
    }
    all = plait_arena_alloc(arena, (size_t)sum + 1, 1);
    PLAIT_TRY(plait_check_allocated(all, err));
    MPI_Gatherv(mine, length, MPI_CHAR, all, lengths, starts, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (size_t r = 0; team->rank == 0 && r < ranks; r++)
        texts[r] = all + starts[r];
    return PLAIT_OK;
}

static plait_status broadcast(void *context, int64_t *value, plait_error *err)
{
    (void)context;
    (void)err;
    MPI_Bcast(value, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return PLAIT_OK;
}

/* ---- the command line: fewer options than plait sweep, since mpirun sets the parallelism ---- */

static int print_usage(int rank)
{
    if (rank == 0)
        fputs("plait-mpi: expected `plait-mpi sweep SCENARIOS.json -o ALL.jsonl`\n", stderr);
    return EXIT_USAGE;
}

static int print_error(const sweep_team *team, const plait_error *err)
{
    fprintf(stderr, "plait-mpi: rank %d: %s: %s\n", team->rank, err->where, err->message);
    return EXIT_USAGE;
}

/* The first rank alone loads the file and reports its errors, so that they are printed once. */
static bool can_be_read(const sweep_team *team, const char *scenarios, plait_arena *arena)
{
    plait_error err = {PLAIT_OK, "", ""};
    sweep of;
    int64_t fine = 1;

    if (team->rank == 0 && sweep_load(scenarios, arena, &of, &err) != PLAIT_OK) {
        print_error(team, &err);
        fine = 0;
    }
    return broadcast(NULL, &fine, &err) == PLAIT_OK && fine != 0;
}

/* Runs the sweep. A failing rank aborts the job, since the others would wait for it. */
static int run(sweep_team *team, const char *scenarios, const char *output, plait_arena *arena)
{
    const sweep_work work = {.scenarios = scenarios,
                             .output = output,
                             .shard = 1,
                             .shards = 1,
                             .threads = 1,
                             .progress = isatty(STDERR_FILENO) != 0,
                             .team = team};
    plait_error err = {PLAIT_OK, "", ""};
    sweep_counts counts;

    if (arena == NULL)
        return MPI_Abort(MPI_COMM_WORLD, EXIT_FAULT);
    if (!can_be_read(team, scenarios, arena))
        return EXIT_USAGE;
    if (sweep_run(&work, arena, &counts, &err) == PLAIT_OK)
        return 0;
    return MPI_Abort(MPI_COMM_WORLD, print_error(team, &err));
}

int main(int argc, char **argv)
{
    sweep_team team = {.gather = gather, .broadcast = broadcast};
    plait_arena *arena = plait_arena_new();
    int status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &team.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &team.ranks);
    team.context = &team;
    status = argc == 5 && strcmp(argv[1], "sweep") == 0 && strcmp(argv[3], "-o") == 0
                 ? run(&team, argv[2], argv[4], arena)
                 : print_usage(team.rank);
    plait_arena_free(arena);
    MPI_Finalize();
    return status;
}
