/* sweep_run.c - runs a sweep block by block: answers, gathers and writes lines */
#include "cli/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "base/text.h"

enum {
    BLOCK = 256,
    PREFIX = 96,
    MOST_ERRORS = 20
}; /* BLOCK: scenarios that a process answers at a time; MOST_ERRORS: errors printed */

typedef struct running {
    const sweep_work *work;
    plait_arena *arena;
    sweep sweep;
    int64_t lines, done; /* lines of the shard, and those already written */
    FILE *out;           /* output; NULL except on the first rank */
    sweep_counts *counts;
} running;

plait_status sweep_shard_parse(const char *text, int *shard, int *shards, plait_error *err)
{
    enum { MOST = 1000000 };
    const char *const slash = strchr(text, '/');
    char first[16];

    if (slash != NULL && (size_t)(slash - text) < sizeof first) {
        snprintf(first, sizeof first, "%.*s", (int)(slash - text), text);
        if (text_parse_int(slash + 1, 1, MOST, shards) && text_parse_int(first, 1, *shards, shard))
            return PLAIT_OK;
    }
    return plait_fail(err, PLAIT_ERROR_RANGE, "--shard",
                      "expected K/N with K from 1 to N, found \"%.40s\"", text);
}

/*
 * Return the first index of a part. Parts are contiguous, because neighbouring scenarios share
 * searches.
 */
static int64_t part_of(int64_t count, int64_t part, int64_t parts)
{
    return count * part / parts;
}

/* Return the index of the scenario that a line of the shard answers. */
static int64_t scenario_of(const running *r, int64_t line)
{
    return part_of(r->sweep.count, r->work->shard - 1, r->work->shards) + line;
}

static bool is_writer(const running *r)
{
    return r->work->team == NULL || r->work->team->rank == 0;
}

/* ---- lines of an earlier run ---- */

/* Write the first bytes of a scenario's line, which identify it. */
static const char *line_start(const sweep *of, int64_t scenario, char text[PREFIX])
{
    snprintf(text, PREFIX, "{\"sweep\": \"%016llx\", \"index\": %lld, \"of\": %lld, ",
             (unsigned long long)of->digest, (long long)scenario, (long long)of->count);
    return text;
}

/* Return whether the file continues with the first bytes of the next line, or a part of them. */
static bool is_next_line(const running *r, FILE *in)
{
    char prefix[PREFIX], found[PREFIX];
    const long at = ftell(in);
    const size_t length =
        fread(found, 1, strlen(line_start(&r->sweep, scenario_of(r, r->done), prefix)), in);

    return memcmp(found, prefix, length) == 0 && fseek(in, at, SEEK_SET) == 0;
}

/*
 * Count the complete lines of this shard, and set *end to their end. The last line of the file may
 * be incomplete.
 */
static plait_status count_lines(running *r, FILE *in, long *end, plait_error *err)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length = 0;

    *end = 0;
    while (r->done < r->lines && is_next_line(r, in) && (length = getline(&line, &size, in)) > 0 &&
           line[length - 1] == '\n') {
        r->done++;
        *end += length;
    }
    const int error = errno;
    free(line);
    if (ferror(in) || (length < 0 && !feof(in))) // getline() also fails if memory runs out
        return file_fail_read(r->work->output, error, err);
    // Only the first bytes of the next line may follow the complete lines.
    return fseek(in, *end, SEEK_SET) == 0 &&
                   (r->done < r->lines ? is_next_line(r, in) : getc(in) == EOF)
               ? PLAIT_OK
               : plait_fail(err, PLAIT_ERROR_SCHEMA, r->work->output,
                            "expected lines of this sweep and shard, found a different one in line "
                            "%lld: remove the file or give another file with -o",
                            (long long)r->done + 1);
}

static plait_status open_output(running *r, plait_error *err)
{
    const char *const path = r->work->output;
    struct stat info;
    // A regular file is continued; a pipe or a device is only written.
    const bool regular = path != NULL && (stat(path, &info) != 0 || S_ISREG(info.st_mode));
    plait_status status;
    long end;

    r->out = stdout;
    if (path == NULL)
        return PLAIT_OK;
    r->out = fopen(path, regular ? "a+" : "w");
    if (r->out == NULL)
        return file_fail_write(path, errno, err);
    if (!regular)
        return PLAIT_OK;
    rewind(r->out);
    status = count_lines(r, r->out, &end, err);
    if (status == PLAIT_OK &&
        (ftruncate(fileno(r->out), end) != 0 || fseek(r->out, 0, SEEK_END) != 0))
        status = file_fail_write(path, errno, err);
    r->counts->kept = r->done;
    return status;
}

/* ---- a block ---- */

/* Answer this rank's part of a block; lines are in the order of the scenarios. */
static plait_status answer_mine(const running *r, int64_t from, int count, plait_arena *arena,
                                const char **text, int64_t *errors, plait_error *err)
{
    const sweep_team *const team = r->work->team;
    const int rank = team != NULL ? team->rank : 0, ranks = team != NULL ? team->ranks : 1;
    int64_t mine[BLOCK] = {0};
    const char *line[BLOCK], *wrong[BLOCK];
    text_builder out;
    int own = 0;

    for (int64_t i = part_of(count, rank, ranks); i < part_of(count, rank + 1, ranks); i++)
        mine[own++] = scenario_of(r, from + i);
    PLAIT_TRY(sweep_answer(&r->sweep, mine, own, r->work->threads, arena, line, wrong, err));
    text_builder_init(&out, arena);
    for (int i = 0; i < own; i++) {
        text_append(&out, line[i]);
        if (wrong[i][0] == '\0')
            continue;
        if (++*errors > MOST_ERRORS)
            continue;
        fprintf(stderr, "plait: %s: scenario %lld: %s\n", r->sweep.name, (long long)mine[i],
                wrong[i]);
    }
    *text = text_builder_finish(&out, NULL);
    return *text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

static plait_status run_block(running *r, int64_t from, int count, plait_arena *arena,
                              plait_error *err)
{
    const sweep_team *const team = r->work->team;
    const int ranks = team != NULL ? team->ranks : 1;
    const char **texts = plait_arena_alloc(arena, (size_t)ranks, sizeof *texts), *mine;

    PLAIT_TRY(plait_check_allocated(texts, err));
    PLAIT_TRY(answer_mine(r, from, count, arena, &mine, &r->counts->errors, err));
    if (team != NULL)
        PLAIT_TRY(team->gather(team->context, mine, arena, texts, err));
    else
        texts[0] = mine;
    if (!is_writer(r))
        return PLAIT_OK;
    for (int rank = 0; rank < ranks; rank++)
        fputs(texts[rank], r->out);
    return fflush(r->out) == 0 && !ferror(r->out)
               ? PLAIT_OK
               : file_fail_write(r->work->output != NULL ? r->work->output : "stdout", errno, err);
}

static plait_status run_blocks(running *r, plait_error *err)
{
    const int ranks = r->work->team != NULL ? r->work->team->ranks : 1;

    while (r->done < r->lines) {
        const int64_t left = r->lines - r->done, block = (int64_t)BLOCK * ranks;
        const int count = (int)(left < block ? left : block);
        const plait_arena_mark mark = plait_arena_save(r->arena);

        PLAIT_TRY(run_block(r, r->done, count, r->arena, err));
        plait_arena_rewind(r->arena, mark);
        r->done += count;
        if (r->work->progress && is_writer(r))
            fprintf(stderr, "\r%lld of %lld scenarios%s", (long long)r->done, (long long)r->lines,
                    r->done == r->lines ? "\n" : "");
    }
    return PLAIT_OK;
}

/* Open the output on the first rank, and make all ranks start after its last complete line. */
static plait_status begin_sweep(running *r, plait_error *err)
{
    const sweep_team *const team = r->work->team;
    plait_status status = PLAIT_OK;

    if (is_writer(r))
        status = open_output(r, err);
    if (team == NULL)
        return status;
    int64_t done = status == PLAIT_OK ? r->done : -1;
    PLAIT_TRY(team->broadcast(team->context, &done, err));
    r->done = done;
    return status != PLAIT_OK || done >= 0 ? status
                                           : plait_fail(err, PLAIT_ERROR_IO, r->work->output,
                                                        "the first rank cannot write this file");
}

plait_status sweep_run(const sweep_work *work, plait_arena *arena, sweep_counts *out,
                       plait_error *err)
{
    running r = {.work = work, .arena = arena, .counts = out};
    plait_status status;

    *out = (sweep_counts){0};
    PLAIT_TRY(sweep_load(work->scenarios, arena, &r.sweep, err));
    r.lines = part_of(r.sweep.count, work->shard, work->shards) -
              part_of(r.sweep.count, work->shard - 1, work->shards);
    out->lines = r.lines;
    status = begin_sweep(&r, err);
    if (status == PLAIT_OK)
        status = run_blocks(&r, err);
    if (r.out != NULL && r.out != stdout && fclose(r.out) != 0 && status == PLAIT_OK)
        status = file_fail_write(work->output, errno, err);
    return status;
}
