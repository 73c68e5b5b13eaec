/*
 * nccl_log.c - read the output of nccl-tests as points
 *
 *     # nThread 1 nGpus 8 minBytes 8 ...
 *     #  Rank  0 Group  0 Pid  1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3
 *     #       size         count      type   redop    root     time   algbw   busbw #wrong ...
 *          1048576        262144     float     sum      -1    27.76   37.78   66.11      0 ...
 *
 * The reader uses the out-of-place times, which are in the first half of a row. The size is the
 * buffer size as in collective.h. The collective follows from the program's name (all_reduce_perf)
 * in the output or in the file name; without such a name, the ratio of bus to algorithm bandwidth
 * distinguishes all-reduce from reduce-scatter.
 *
 * A file can contain several outputs. The reader skips mpirun's prefix of a line and the lines of
 * other programs, and rejects a row without times. The accelerator is the name after the bracket in
 * the line of a rank, if names.c lists that name.
 */
#include "calibrate/points.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

#include "plait/units.h"

#include "base/text.h"

enum { MOST_WORDS = 16, LONGEST_LINE = 512 };

/* One run of one test. */
typedef struct nccl_run {
    const char *name; /* name of the file, for error messages */
    int line;         /* current line of the file, from 1 */
    int op;           /* plait_collective_op; -1: unknown so far */
    bool other;       /* whether no constant is fitted to the test, so that its rows are dropped */
    int ranks;
    int nodes;
    char host[64];
    char device[80]; /* the driver's name of the GPU; "": names.c lists none of the names */
    int time_word;   /* index of the time in a row: 5, or 4 without a root column */
    double bus;      /* ratio of bus to algorithm bandwidth in the last row */
    bool sums;       /* whether some row has a reduction operator */
    size_t first;    /* index of the run's first point */
} nccl_run;

static const struct known_test {
    const char *program;
    int op; /* plait_collective_op; -1: its collective is not fitted */
} tests[] = {
    {"all_reduce_perf", PLAIT_ALL_REDUCE},
    {"all_gather_perf", PLAIT_ALL_GATHER},
    {"reduce_scatter_perf", PLAIT_REDUCE_SCATTER},
    {"alltoall_perf", PLAIT_ALL_TO_ALL},
    {"sendrecv_perf", PLAIT_P2P},
    {"broadcast_perf", -1},
    {"reduce_perf", -1},
    {"gather_perf", -1},
    {"scatter_perf", -1},
    {"hypercube_perf", -1},
};

/* ---- lines ---- */

/*
 * Copies the next line without its line break and without mpirun's prefix "[1,0]<stdout>:". Returns
 * false at the end of the text.
 */
static bool next_line(const char **at, const char *end, char line[LONGEST_LINE])
{
    const char *const begin = *at;
    const char *stop, *prefix;
    size_t length;

    if (begin >= end)
        return false;
    stop = memchr(begin, '\n', (size_t)(end - begin));
    length = (size_t)((stop != NULL ? stop : end) - begin);
    *at = begin + length + 1;
    if (length > 0 && begin[length - 1] == '\r')
        length--;
    if (length >= LONGEST_LINE)
        length = LONGEST_LINE - 1;
    memcpy(line, begin, length);
    line[length] = '\0';
    prefix = strstr(line, "<stdout>:");
    if (prefix != NULL)
        memmove(line, prefix + 9, strlen(prefix + 9) + 1);
    return true;
}

bool nccl_log_recognises(const char *text, size_t length)
{
    const char *at = text, *const end = text + length;
    char line[LONGEST_LINE];

    while (next_line(&at, end, line))
        if (strstr(line, "algbw") != NULL && strstr(line, "busbw") != NULL &&
            strstr(line, "redop") != NULL && strchr(line, ',') == NULL)
            return true;
    return false;
}

/* ---- test, ranks, device ---- */

/* tests[] lists longer names first, since gather_perf is a suffix of all_gather_perf. */
static void name_test(nccl_run *run, const char *text)
{
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (strstr(text, tests[i].program) == NULL)
            continue;
        run->op = tests[i].op;
        run->other = tests[i].op < 0;
        return;
    }
}

static nccl_run begin_run(const char *name, size_t first)
{
    nccl_run run = {.name = name, .op = -1, .time_word = 5, .first = first};

    name_test(&run, name);
    return run;
}

/*
 * Reads "#  Rank  0 Group  0 Pid  1887 on   worker-1 device  0 [0x8d] NVIDIA ..."; the words after
 * "[0x8d]" are the device, if names.c lists them.
 */
static void count_rank(nccl_run *run, char *const *word, int words)
{
    char name[LONGEST_LINE] = "";
    int i = 0;

    while (i + 1 < words && !text_equal(word[i], "on"))
        i++;
    if (i + 1 < words) {
        if (run->ranks == 0 || strcmp(word[i + 1], run->host) != 0)
            run->nodes++;
        snprintf(run->host, sizeof run->host, "%.63s", word[i + 1]);
    }
    run->ranks++;
    for (i = 0; i < words && word[i][0] != '[';)
        i++;
    for (i++; i < words; i++) {
        const size_t length = strlen(name);
        snprintf(name + length, sizeof name - length, "%s%s", length > 0 ? " " : "", word[i]);
    }
    if (names_accelerator(name) != NULL)
        snprintf(run->device, sizeof run->device, "%.79s", name);
}

static plait_status fail_run(const nccl_run *run, plait_error *err, const char *expected,
                             const char *found)
{
    return plait_fail(err, PLAIT_ERROR_SCHEMA, run->name, "expected %s, found %s", expected, found);
}

/* After the last line of a run, sets collective, ranks and device of the run's points. */
static plait_status end_run(nccl_run *run, point_list *list, plait_error *err)
{
    if (run->first == list->count)
        return PLAIT_OK;
    // Infer the test of a reduction without a name: only all-reduce sends more than its buffer.
    if (run->op < 0 && !run->other && run->sums) {
        if (run->ranks > 0)
            run->op = run->bus > 1.5 * (run->ranks - 1.0) / run->ranks ? PLAIT_ALL_REDUCE
                                                                       : PLAIT_REDUCE_SCATTER;
        else if (run->bus > 1.0)
            run->op = PLAIT_ALL_REDUCE;
    }
    if (run->other) {
        list->count = run->first;
        return PLAIT_OK;
    }
    if (run->op < 0)
        return fail_run(run, err,
                        "the test's name (all_gather_perf, ...) in the log or in the file name",
                        "none");
    if (run->ranks == 0 && run->op == PLAIT_P2P) {
        run->ranks = 2;
    } else if (run->ranks == 0) {
        // Solve bus / algorithm bandwidth = rounds (n - 1) / n for the number n of ranks.
        const double rounds = run->op == PLAIT_ALL_REDUCE ? 2.0 : 1.0;
        const double ranks = rounds / (rounds - run->bus);

        if (run->bus > 0.0 && run->bus < rounds && ranks >= 1.5 && ranks < 1e5 &&
            fabs(ranks - round(ranks)) < 0.02 * ranks)
            run->ranks = (int)lround(ranks);
    }
    if (run->nodes == 0)
        run->nodes = 1;
    if (run->ranks < 2)
        return fail_run(run, err, "a line for each rank (#  Rank 0 ...)", "none");
    const char *const device = plait_arena_text(list->arena, run->device);
    PLAIT_TRY(plait_check_allocated(device, err));
    for (size_t i = run->first; i < list->count; i++) {
        point *const p = &list->point[i];
        p->kind = run->op == PLAIT_P2P ? POINT_P2P : POINT_COLLECTIVE;
        p->block = run->op;
        p->ranks = run->ranks;
        p->nodes = run->nodes;
        p->measured = device;
    }
    return PLAIT_OK;
}

/* ---- rows ---- */

/* Reads "1048576 262144 float sum -1 27.76 37.78 66.11 0 ..."; skips rows with N/A or 0 bytes. */
static plait_status read_row(nccl_run *run, char *const *word, int words, point_list *list,
                             plait_error *err)
{
    static const char *const types[] = {"int8",   "uint8",  "int32",    "uint32",   "int64",
                                        "uint64", "half",   "float",    "double",   "bfloat16",
                                        "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2", NULL};
    const int t = run->time_word;
    double bytes, elements, us, algorithm, bus;
    point p = {.measured = "", .source = "nccl-tests"};
    char where[200];

    // A row begins with bytes, elements and type; other lines do not belong to the tests.
    if (words < 3 || !text_parse_number(word[0], &bytes) ||
        !text_parse_number(word[1], &elements) || text_index(word[2], types) < 0 ||
        (words > t && text_equal(word[t], "N/A")))
        return PLAIT_OK;
    if (words < t + 3 || !text_parse_number(word[t], &us) ||
        !text_parse_number(word[t + 1], &algorithm) || !text_parse_number(word[t + 2], &bus) ||
        bytes < 0.0 || bytes > 1e15 || us < 0.0 || us > 1e12) {
        snprintf(where, sizeof where, "%.180s:%d", run->name, run->line);
        return plait_fail(err, PLAIT_ERROR_SYNTAX, where,
                          "expected a time and two bandwidths after the size, as nccl-tests prints "
                          "them, found a row without them");
    }
    if (bytes < 1.0 || us <= 0.0)
        return PLAIT_OK;
    run->sums = run->sums || !text_equal(word[3], "none");
    if (algorithm > 1.0 && bus > 0.0)
        run->bus = bus / algorithm;
    p.bytes = bytes;
    p.s = us * PLAIT_US;
    return points_add(list, &p, err);
}

static plait_status read_line(nccl_run *run, char *line, point_list *list, plait_error *err)
{
    const bool remark = line[strspn(line, " \t")] == '#';
    const bool names = strstr(line, "_perf") != NULL;
    char *word[MOST_WORDS];
    int words = 0;

    // A test ends at the program name or the first line (nThread) of the next one.
    if ((names || strstr(line, "nThread") != NULL) && run->first < list->count) {
        PLAIT_TRY(end_run(run, list, err));
        const int at = run->line;
        *run = begin_run(run->name, list->count);
        run->line = at;
    }
    if (names)
        name_test(run, line);
    if (strstr(line, "redop") != NULL)
        run->time_word = strstr(line, "root") != NULL ? 5 : 4;
    // Split the line at blanks.
    for (char *at = line + strspn(line, " \t"); *at != '\0' && words < MOST_WORDS;
         at += strspn(at, " \t")) {
        word[words++] = at;
        at += strcspn(at, " \t");
        if (*at != '\0')
            *at++ = '\0';
    }
    if (!remark)
        return read_row(run, word, words, list, err);
    if (words > 2 && text_equal(word[1], "Rank"))
        count_rank(run, word, words);
    return PLAIT_OK;
}

plait_status nccl_log_points(const char *text, size_t length, const char *name, point_list *list,
                             plait_error *err)
{
    const char *at = text, *const end = text + length;
    const size_t before = list->count;
    nccl_run run = begin_run(name, list->count);
    char line[LONGEST_LINE];

    while (next_line(&at, end, line)) {
        run.line++;
        PLAIT_TRY(read_line(&run, line, list, err));
    }
    PLAIT_TRY(end_run(&run, list, err));
    if (list->count == before && !run.other)
        return fail_run(&run, err, "rows of times as nccl-tests prints them", "none");
    return PLAIT_OK;
}
