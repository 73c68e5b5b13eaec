/* cmd_sweep.c - plait sweep: answers thousands of scenarios, each with a line of JSON */
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "io/file.h"
#include "shell/shell.h"
#include "cli/sweep.h"
#include "base/text.h"

typedef struct sweep_values {
    const char *shard, *output, *sbatch;
    int threads, shards;
} sweep_values;

static const opt options[] = {
    OPT_OF_TEXT(sweep_values, shard, "shard", 0, "K/N",
                "run only part K of the scenarios, which are divided into N parts"),
    OPT_OF_OUTPUT(
        sweep_values, output, "output", 'o', "FILE",
        "write one line of JSON per scenario to FILE (default: standard output, also named "
        "-); an interrupted run continues at its last line"),
    OPT_OF_INT(sweep_values, threads, "threads", "N", 1, 1024,
               "threads (default: OMP_NUM_THREADS or all processors); does not change the answer"),
    OPT_OF_OUTPUT(
        sweep_values, sbatch, "sbatch", 0, "FILE",
        "write a SLURM script with an array of --shards jobs instead of running the sweep"),
    OPT_OF_INT(sweep_values, shards, "shards", "N", 1, 100000,
               "number of jobs in the array of --sbatch (default: 16)"),
    OPT_END,
};

/*
 * Write a SLURM script in which each job of an array answers one shard. A job that is submitted
 * again continues an interrupted shard.
 */
static plait_status write_script(const sweep_values *flags, const char *scenarios,
                                 plait_arena *arena, plait_error *err)
{
    const int shards = flags->shards > 0 ? flags->shards : 16;
    const char *const file = shell_quoted(scenarios, arena);
    const char *const script = shell_quoted(flags->sbatch, arena);
    sweep checked;
    text_builder out;
    size_t length;

    PLAIT_TRY(sweep_load(scenarios, arena, &checked, err));
    PLAIT_TRY(plait_check_allocated(file && script, err));
    text_builder_init(&out, arena);
    text_append_printf(&out,
                       "#!/bin/bash\n"
                       "# %lld scenarios in %d jobs: sbatch %s\n"
                       "# Then: plait merge part-*.jsonl -o all.jsonl\n"
                       "#SBATCH --job-name=plait-sweep\n"
                       "#SBATCH --array=1-%d\n"
                       "#SBATCH --nodes=1\n"
                       "#SBATCH --ntasks=1\n"
                       "#SBATCH --cpus-per-task=8\n"
                       "#SBATCH --time=04:00:00\n"
                       "#SBATCH --requeue\n"
                       "set -euo pipefail\n\n"
                       "plait sweep %s \\\n"
                       "    --shard \"$SLURM_ARRAY_TASK_ID/%d\" \\\n"
                       "    --threads \"${SLURM_CPUS_PER_TASK:-8}\" \\\n"
                       "    -o \"part-$(printf %%0%dd \"$SLURM_ARRAY_TASK_ID\").jsonl\"\n",
                       (long long)checked.count, shards, script, shards, file, shards,
                       snprintf(NULL, 0, "%d", shards));
    const char *const text = text_builder_finish(&out, &length);
    return text == NULL ? plait_fail_nomem(err)
                        : file_write_atomically(flags->sbatch, text, length, err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const sweep_values *const flags = values;
    sweep_work work = {.shard = 1, .shards = 1, .threads = flags->threads};
    sweep_counts counts;

    (void)no;
    if (operands->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "SCENARIOS.json",
                          "expected a file of scenarios, found nothing");
    PLAIT_TRY(command_apart(operands->text[0], flags->output, err));
    PLAIT_TRY(command_apart(operands->text[0], flags->sbatch, err));
    if (flags->sbatch != NULL)
        return write_script(flags, operands->text[0], arena, err);
    if (flags->shard != NULL)
        PLAIT_TRY(sweep_shard_parse(flags->shard, &work.shard, &work.shards, err));
    work.scenarios = operands->text[0];
    work.output = flags->output != NULL && !text_equal(flags->output, "-") ? flags->output : NULL;
    work.progress = isatty(STDERR_FILENO) && work.output != NULL;
    PLAIT_TRY(sweep_run(&work, arena, &counts, err));
    if (counts.kept > 0)
        fprintf(stderr, "plait: %s: kept %lld of %lld lines of an earlier run\n", work.output,
                (long long)counts.kept, (long long)counts.lines);
    if (counts.errors > 0)
        fprintf(stderr,
                "plait: %s: %lld scenario%s of %lld failed; their lines contain the error\n",
                work.scenarios, (long long)counts.errors, counts.errors == 1 ? "" : "s",
                (long long)counts.lines);
    return PLAIT_OK;
}

const command command_sweep = {
    .usage = {.command = "sweep",
              .synopsis = "SCENARIOS.json [--shard K/N] [-o PART.jsonl]",
              .summary =
                  "Run thousands of scenarios from one file, with one line of JSON for each.",
              .about = "The file is {\"defaults\": {...}, \"scenarios\": [{\"model\": ..., "
                       "\"cluster\": ..., \"gpus\": [64, 128],\n...}]}. Keys are options of search "
                       "and capacity; a list runs each of its values.\nSee "
                       "docs/reference/files/scenarios.md. `plait merge` merges the parts.",
              .max_operands = 1,
              .options = options},
    .values_size = sizeof(sweep_values),
    .run = run,
};
