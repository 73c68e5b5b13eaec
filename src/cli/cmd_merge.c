/*
 * cmd_merge.c - plait merge: joins the parts of a sweep into the file that one process would write
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/sweep.h"
#include "io/file.h"
#include "base/grow.h"
#include "cli/terminal.h"
#include "base/text.h"

typedef struct merge_values {
    const char *output;
} merge_values;

static const opt options[] = {
    OPT_OF_OUTPUT(merge_values, output, "output", 'o', "FILE",
                  "write all lines in order to FILE (default: standard output, also named -)"),
    OPT_END,
};

typedef struct merge_line {
    int64_t index;
    long offset;
    size_t length;
    int part;
} merge_line;

typedef struct merging {
    plait_arena *arena;
    const opt_operands *parts;
    FILE *in[OPT_MAX_OPERANDS];
    char digest[17];
    int64_t of;
    merge_line *line;
    int lines, capacity;
} merging;

/* ---- reading ---- */

/* Read the head of a line: {"sweep": "0123456789abcdef", "index": 12, "of": 100, ... } */
static bool read_head(const char *text, char digest[17], int64_t *index, int64_t *of)
{
    long long i, n;
    int end = 0;

    if (sscanf(text, "{\"sweep\": \"%16[0-9a-f]\", \"index\": %lld, \"of\": %lld, %n", digest, &i,
               &n, &end) != 3 ||
        end == 0 || strlen(digest) != 16 || i < 0 || i >= n || n > SWEEP_MOST)
        return false;
    *index = i;
    *of = n;
    return true;
}

static plait_status add_line(merging *m, int part, int number, const char *text, size_t length,
                             long offset, plait_error *err)
{
    merge_line one = {.offset = offset, .length = length, .part = part};
    char digest[17], where[sizeof err->where];
    int64_t of;

    snprintf(where, sizeof where, "%.200s:%d", m->parts->text[part], number);
    if (text[length - 1] != '\n')
        return plait_fail(err, PLAIT_ERROR_SCHEMA, where,
                          "expected a complete line, found a truncated one: run its shard again, "
                          "which continues there");
    if (!read_head(text, digest, &one.index, &of))
        return plait_fail(err, PLAIT_ERROR_SCHEMA, where,
                          "expected a line that `plait sweep` wrote, found something else");
    if (m->lines == 0) {
        memcpy(m->digest, digest, sizeof digest);
        m->of = of;
    }
    if (memcmp(m->digest, digest, sizeof digest) != 0 || m->of != of)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, where,
                          "expected a line of sweep %s, found one of sweep %s", m->digest, digest);
    m->line = grow_by_one(m->arena, m->line, m->lines, &m->capacity, sizeof *m->line);
    PLAIT_TRY(plait_check_allocated(m->line, err));
    m->line[m->lines++] = one;
    return PLAIT_OK;
}

static plait_status read_part(merging *m, int part, plait_error *err)
{
    char *text = NULL;
    size_t size = 0;
    long offset = 0;
    ssize_t length;
    plait_status status = PLAIT_OK;
    int fd;

    PLAIT_TRY(file_open(m->parts->text[part], &fd, err));
    m->in[part] = fdopen(fd, "r");
    if (m->in[part] == NULL) {
        close(fd);
        return file_fail_read(m->parts->text[part], errno, err);
    }
    for (int number = 1; status == PLAIT_OK && (length = getline(&text, &size, m->in[part])) > 0;
         number++) {
        status = add_line(m, part, number, text, (size_t)length, offset, err);
        offset += length;
    }
    if (status == PLAIT_OK && !feof(m->in[part])) // getline() failed before the end
        status = file_fail_read(m->parts->text[part], errno, err);
    free(text);
    return status;
}

/* ---- order ---- */

static int by_index(const void *a, const void *b)
{
    const merge_line *const one = a, *const other = b;

    if (one->index != other->index)
        return one->index < other->index ? -1 : 1;
    return one->part - other->part;
}

static char *load_line(const merging *m, const merge_line *line)
{
    char *const text = malloc(line->length + 1);

    if (text == NULL)
        return NULL;
    if (fseek(m->in[line->part], line->offset, SEEK_SET) != 0 ||
        fread(text, 1, line->length, m->in[line->part]) != line->length) {
        free(text);
        return NULL;
    }
    text[line->length] = '\0';
    return text;
}

static plait_status check_same(const merging *m, const merge_line *a, const merge_line *b,
                               plait_error *err)
{
    char *const one = load_line(m, a), *const other = one != NULL ? load_line(m, b) : NULL;
    plait_status status = PLAIT_OK;

    if (other == NULL)
        status = file_fail_read(m->parts->text[one == NULL ? a->part : b->part], errno, err);
    else if (strcmp(one, other) != 0)
        status =
            plait_fail(err, PLAIT_ERROR_SCHEMA, m->parts->text[b->part],
                       "expected the same line of scenario %lld as in %.80s, found a different one",
                       (long long)b->index, m->parts->text[a->part]);
    free(one);
    free(other);
    return status;
}

/* ---- writing ---- */

static plait_status merge_file(merging *m, const char *path, bool *no, plait_error *err)
{
    int kept = 0;
    text_builder out;
    size_t length;

    for (int part = 0; part < m->parts->count; part++)
        PLAIT_TRY(read_part(m, part, err));
    if (m->lines == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, m->parts->text[0],
                          "expected lines of `plait sweep`, found none");
    qsort(m->line, (size_t)m->lines, sizeof *m->line, by_index);
    for (int i = 0; i < m->lines; i++) { // a line may occur in several parts
        if (kept > 0 && m->line[kept - 1].index == m->line[i].index)
            PLAIT_TRY(check_same(m, &m->line[kept - 1], &m->line[i], err));
        else
            m->line[kept++] = m->line[i];
    }
    m->lines = kept;
    *no = m->lines < m->of;
    if (*no) {
        enum { MOST_RANGES = 8 };
        int64_t next = 0;
        int ranges = 0;

        print_message("%lld of %lld scenarios are missing: ", (long long)(m->of - m->lines),
                      (long long)m->of);
        for (int i = 0; i <= m->lines && ranges <= MOST_RANGES; i++) {
            const int64_t index = i < m->lines ? m->line[i].index : m->of;

            if (index > next && ranges++ < MOST_RANGES) {
                print_message("%s%lld", ranges > 1 ? ", " : "", (long long)next);
                if (index > next + 1)
                    print_message(" to %lld", (long long)index - 1);
            }
            next = index + 1;
        }
        print_message("%s\nnext: run their shards again, with the same -o\n",
                      ranges > MOST_RANGES ? ", ..." : "");
        return PLAIT_OK;
    }
    text_builder_init(&out, m->arena);
    for (int i = 0; i < m->lines; i++) {
        char *const text = load_line(m, &m->line[i]);

        if (text == NULL)
            return file_fail_read(m->parts->text[m->line[i].part], errno, err);
        if (path == NULL)
            fwrite(text, 1, m->line[i].length, stdout);
        else
            text_append_bytes(&out, text, m->line[i].length);
        free(text);
    }
    if (path == NULL)
        return PLAIT_OK;
    const char *const text = text_builder_finish(&out, &length);
    return text == NULL ? plait_fail_nomem(err) : file_write_atomically(path, text, length, err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const merge_values *const flags = values;
    const char *path = flags->output;
    merging *m = plait_arena_alloc(arena, 1, sizeof *m);
    plait_status status;

    PLAIT_TRY(plait_check_allocated(m, err));
    if (operands->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "PART.jsonl",
                          "expected files that `plait sweep` wrote, found none");
    if (path != NULL && text_equal(path, "-"))
        path = NULL;
    for (int part = 0; part < operands->count; part++)
        PLAIT_TRY(command_apart(operands->text[part], path, err));
    if (path != NULL)
        PLAIT_TRY(file_check_writable(path, err));
    *m = (merging){.arena = arena, .parts = operands};
    status = merge_file(m, path, no, err);
    for (int part = 0; part < operands->count; part++)
        if (m->in[part] != NULL)
            fclose(m->in[part]);
    return status;
}

const command command_merge = {
    .usage =
        {.command = "merge",
         .synopsis = "PART.jsonl... -o ALL.jsonl",
         .summary = "Merge the parts of a sweep into the file that one process would write.",
         .about =
             "Exit status 1 when scenarios are missing; they are listed, and nothing is written.",
         .max_operands = OPT_MAX_OPERANDS,
         .options = options},
    .values_size = sizeof(merge_values),
    .run = run,
};
