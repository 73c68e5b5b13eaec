/*
 * main.c - the command line of plait: runs a command and returns an exit status
 *
 * Answers go to standard output. Errors go to standard error, each on one line: `plait: where:
 * expected ..., found ...`.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "report/lines.h"
#include "cli/stack.h"
#include "plait/version.h"
#include "base/text.h"

/*
 * EXIT_NO: the answer is negative. EXIT_USAGE: invalid input. EXIT_FAULT: out of memory, a full
 * disk, or a defect of plait.
 */
enum { EXIT_DONE = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_FAULT = 3 };

/* All commands, in the order of `plait --help`. */
static const command *const commands[] = {
    &command_search,   &command_eval,     &command_explain,   &command_operators, &command_launch,
    &command_import,   &command_validate, &command_calibrate, &command_case,      &command_models,
    &command_clusters, &command_next,     &command_capacity,  &command_serve,     &command_rl,
    &command_doctor,   &command_report,   &command_sweep,     &command_merge,     &command_diff,
    &command_schema,   &command_mcp,
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static int print_error(const plait_error *err)
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

/* Flush standard output; a full disk or a closed pipe may not be detected before. */
static int flush_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "plait: stdout: expected to write the answer, found: %s\n", strerror(errno));
    return EXIT_FAULT;
}

static const command *find_command(const char *name, plait_error *err)
{
    const char *names[COMMANDS + 1] = {NULL}, *nearest;
    char all[COMMANDS * 16];
    size_t used = 0;

    for (int c = 0; c < COMMANDS; c++) {
        names[c] = commands[c]->usage.command;
        if (strcmp(name, names[c]) == 0)
            return commands[c];
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s",
                                 c == 0             ? ""
                                 : c + 1 < COMMANDS ? ", "
                                                    : " or ",
                                 names[c]);
    }
    nearest = text_nearest(name, names);
    (void)!plait_fail(err, PLAIT_ERROR_SCHEMA, "command",
                      nearest != NULL ? "expected \"%s\", found \"%.60s\""
                                      : "expected %s, found \"%.60s\"",
                      nearest != NULL ? nearest : all, name);
    return NULL;
}

static int run_command(int argc, const char **argv)
{
    plait_error err = {PLAIT_OK, "", ""};
    const command *verb = find_command(argv[0], &err);
    plait_arena *arena;
    plait_status status;
    bool no = false;

    if (verb == NULL)
        return print_error(&err);
    arena = plait_arena_new();
    status =
        arena == NULL ? plait_fail_nomem(&err) : command_run(verb, argc, argv, arena, &no, &err);
    if (status == PLAIT_OK)
        status = lines_flush(&err);
    else
        (void)!lines_flush(NULL); // an earlier failure is reported instead
    plait_arena_free(arena);
    return status == PLAIT_OK ? flush_output(no ? EXIT_NO : EXIT_DONE) : print_error(&err);
}

static plait_status print_completion(const char *verb, plait_arena *arena, plait_error *err)
{
    const command *found = verb != NULL ? find_command(verb, err) : NULL;

    if (verb != NULL)
        return found != NULL ? opt_complete(&found->usage, arena, stdout, err) : err->status;
    for (int c = 0; c < COMMANDS; c++)
        puts(commands[c]->usage.command);
    puts("--help\n--version");
    return PLAIT_OK;
}

/* Run the options --complete and --manual, which describe the command line itself. */
static int run_description(const char *option, const char *operand)
{
    plait_arena *arena = plait_arena_new();
    plait_error err = {PLAIT_OK, "", ""};
    const opt_usage *usages[COMMANDS];
    plait_status status = PLAIT_OK;

    for (int c = 0; c < COMMANDS; c++)
        usages[c] = &commands[c]->usage;
    if (arena == NULL)
        status = plait_fail_nomem(&err);
    else if (strcmp(option, "--complete") == 0)
        status = print_completion(operand, arena, &err);
    else
        status = opt_manual(usages, COMMANDS, arena, stdout, &err);
    plait_arena_free(arena);
    return status == PLAIT_OK ? flush_output(EXIT_DONE) : print_error(&err);
}

/* Run "plait help serve", which equals "plait serve --help". */
static int run_help(const char *verb)
{
    const char *argv[] = {verb, "--help", NULL};
    plait_error err;

    if (verb != NULL)
        return run_command(2, argv);
    FILE *const out = lines_out();
    fputs("usage: plait COMMAND ARGUMENTS\n\n"
          "Plans the parallel training and serving of large models on a cluster: finds the\n"
          "fastest plan, predicts its time, memory and cost, and explains them.\n\n",
          out);
    for (int c = 0; c < COMMANDS; c++)
        fprintf(out, "  %-10s %s\n", commands[c]->usage.command, commands[c]->usage.summary);
    fputs("\n  plait COMMAND --help    the options of a command, also plait help COMMAND\n"
          "  plait --version         the version of plait\n\n"
          "For example:\n\n"
          "  plait search llama-3.1-8b h100-80gb-sxm:2x8 --seq 8192 --gbs 128\n",
          out);
    return lines_flush(&err) == PLAIT_OK ? flush_output(EXIT_DONE) : print_error(&err);
}

static int run_program(int argc, const char **argv)
{
    if (argc < 2) {
        fputs("plait: command: expected a command that `plait --help` lists, found nothing\n",
              stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return run_help(NULL);
    if (strcmp(argv[1], "help") == 0)
        return run_help(argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--version") == 0) {
        printf("plait %s\n", plait_version());
        return flush_output(EXIT_DONE);
    }
    if (strcmp(argv[1], "--complete") == 0 || strcmp(argv[1], "--manual") == 0)
        return run_description(argv[1], argc > 2 ? argv[2] : NULL);
    return run_command(argc - 1, argv + 1);
}

int main(int argc, const char **argv)
{
    plait_error err;

    if (stack_reserve(&err) != PLAIT_OK)
        return print_error(&err);
    signal(SIGXFSZ, SIG_IGN); // a write beyond the file size limit then fails like a full disk
#ifdef M_ARENA_MAX
    // Keep freed memory between searches (glibc). Returning it cost commands with many searches a
    // third of their time in page faults.
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 4 << 20);
    // All threads share one heap. A separate one for each thread maps 64 MiB, and malloc() fails in
    // a thread whose heap cannot be mapped, even if other heaps have space.
    mallopt(M_ARENA_MAX, 1);
#endif
    return run_program(argc, argv);
}
