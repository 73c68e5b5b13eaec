/* main.c - plait's command line: a verb, its options, an exit status
 *
 * Exit: 0 done; 1 the answer is no; 2 bad input or usage; 3 our fault. Answers go to stdout,
 * complaints to stderr, each on one line: `plait: where: expected ..., found ...`.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/manual.h"
#include "report/lines.h"
#include "plait/version.h"
#include "base/text.h"

enum { EXIT_DONE = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_FAULT = 3 };

static const command *const commands[] = {
    &command_search,   &command_eval,     &command_explain,   &command_operators, &command_launch,
    &command_import,   &command_validate, &command_calibrate, &command_case,      &command_models,
    &command_clusters, &command_next,     &command_capacity,  &command_serve,     &command_doctor,
    &command_report,   &command_sweep,    &command_merge,     &command_diff,
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
    fputs("usage: plait COMMAND ARGUMENTS\n\n"
          "A planner for the parallel training of large models: which split of a model\n"
          "over a cluster is fastest, what it costs, and why.\n\n",
          out);
    for (int c = 0; c < COMMANDS; c++)
        fprintf(out, "  %-10s %s\n", commands[c]->usage.command, commands[c]->usage.summary);
    fputs("\n  plait COMMAND --help    its options, as plait help COMMAND\n"
          "  plait --version\n\n"
          "For example:\n\n"
          "  plait search llama-3.1-8b h100-80gb-sxm:2x8 --seq 8192 --gbs 128\n",
          out);
}

static int complain(const plait_error *err)
{
    fprintf(stderr, "plait: %s%s%s\n", err->where, err->where[0] != '\0' ? ": " : "", err->message);
    switch (err->status) {
    case PLAIT_ERROR_NOMEM:
    case PLAIT_ERROR_DISK:
        return EXIT_FAULT;
    default:
        return EXIT_USAGE;
    }
}

/* OpenMP ends the program itself where it can make no thread, with the status that says no. */
static bool running = true;

static void fail_unfinished(void)
{
    if (running)
        _exit(EXIT_FAULT);
}

/* A full disk or a closed pipe shows only when what was printed leaves the buffer. */
static int flush(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "plait: stdout: expected to write the answer, found: %s\n", strerror(errno));
    return EXIT_FAULT;
}

/* "search, eval or models" */
static void join_names(const char *const *names, char *text, size_t size)
{
    size_t used = 0;

    for (int c = 0; c < COMMANDS; c++) {
        const char *before = c == 0 ? "" : c + 1 < COMMANDS ? ", " : " or ";

        used += (size_t)snprintf(text + used, size - used, "%s%s", before, names[c]);
    }
}

static const command *find_command(const char *name, plait_error *err)
{
    const char *names[COMMANDS + 1] = {NULL};
    const char *nearest;
    char all[COMMANDS * 16];

    for (int c = 0; c < COMMANDS; c++) {
        names[c] = commands[c]->usage.command;
        if (strcmp(name, names[c]) == 0)
            return commands[c];
    }
    nearest = text_nearest(name, names);
    join_names(names, all, sizeof all);
    (void)!plait_fail(err, PLAIT_ERROR_SCHEMA, "command",
                      nearest != NULL ? "expected \"%s\", found \"%.60s\""
                                      : "expected %s, found \"%.60s\"",
                      nearest != NULL ? nearest : all, name);
    return NULL;
}

static plait_status run(const command *verb, int argc, const char **argv, plait_arena *arena,
                        bool *no, plait_error *err)
{
    void *values = plait_arena_alloc(arena, 1, verb->values_size);
    opt_operands operands;

    if (values == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(opt_parse(&verb->usage, argc, argv, arena, values, &operands, err));
    if (operands.help) {
        opt_help(&verb->usage, lines_out());
        return PLAIT_OK;
    }
    lines_keep_whole(operands.wide);
    operands.line = command_text(argc, argv, arena);
    if (operands.line == NULL)
        return plait_fail_nomem(err);
    return verb->run(values, &operands, arena, no, err);
}

static int run_command(int argc, const char **argv)
{
    plait_error err = {PLAIT_OK, "", ""};
    const command *verb = find_command(argv[0], &err);
    plait_arena *arena;
    plait_status status;
    bool no = false;

    if (verb == NULL)
        return complain(&err);
    arena = plait_arena_new();
    status = arena == NULL ? plait_fail_nomem(&err) : run(verb, argc, argv, arena, &no, &err);
    if (status == PLAIT_OK)
        status = lines_flush(&err);
    else
        (void)!lines_flush(NULL); // the first failure is reported
    plait_arena_free(arena);
    if (status != PLAIT_OK)
        return complain(&err);
    return flush(no ? EXIT_NO : EXIT_DONE);
}

/* For completions/plait.bash: the verbs, or what one of them takes. */
static plait_status print_completion(const char *verb, plait_arena *arena, plait_error *err)
{
    const command *found = verb != NULL ? find_command(verb, err) : NULL;

    if (arena == NULL)
        return plait_fail_nomem(err);
    if (verb != NULL)
        return found != NULL ? opt_complete(&found->usage, arena, stdout, err) : err->status;
    for (int c = 0; c < COMMANDS; c++)
        puts(commands[c]->usage.command);
    puts("--help\n--version");
    return PLAIT_OK;
}

static int run_completion(const char *verb)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    const plait_status status = print_completion(verb, arena, &err);

    plait_arena_free(arena);
    return status == PLAIT_OK ? flush(EXIT_DONE) : complain(&err);
}

static int run_manual(const char *form)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    const plait_status status = arena != NULL
                                    ? manual_print(commands, COMMANDS, form, arena, stdout, &err)
                                    : plait_fail_nomem(&err);

    plait_arena_free(arena);
    return status == PLAIT_OK ? flush(EXIT_DONE) : complain(&err);
}

/* "plait help serve" is "plait serve --help". */
static int run_help(const char *verb)
{
    const char *argv[] = {verb, "--help", NULL};
    plait_error err;

    if (verb != NULL)
        return run_command(2, argv);
    print_help(lines_out());
    return lines_flush(&err) == PLAIT_OK ? flush(EXIT_DONE) : complain(&err);
}

static int run_program(int argc, const char **argv)
{
    if (argc < 2) {
        fputs("plait: command: expected a verb that `plait --help` lists, found nothing\n", stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return run_help(NULL);
    if (strcmp(argv[1], "help") == 0)
        return run_help(argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--version") == 0) {
        printf("plait %s\n", plait_version());
        return flush(EXIT_DONE);
    }
    if (strcmp(argv[1], "--complete") == 0)
        return run_completion(argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--manual") == 0)
        return run_manual(argc > 2 ? argv[2] : NULL);
    return run_command(argc - 1, argv + 1);
}

/*
 * A search frees what it needed, and the next one asks for it again: memory that goes back to the system in
 * between, and comes anew page by page, was a third of a command of many searches.
 */
static void keep_freed_memory(void)
{
#ifdef M_TRIM_THRESHOLD                   // glibc's
    mallopt(M_TRIM_THRESHOLD, 256 << 20); // bytes, both chosen
    mallopt(M_TOP_PAD, 4 << 20);
#endif
}

int main(int argc, const char **argv)
{
    int code;

    signal(SIGXFSZ, SIG_IGN); // a file beyond the limit is a full disk
    keep_freed_memory();
    if (atexit(fail_unfinished) != 0)
        return EXIT_FAULT;
    code = run_program(argc, argv);
    running = false;
    return code;
}
