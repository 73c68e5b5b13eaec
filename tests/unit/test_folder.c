/* test_folder.c - folders of files: one or the other, whenever the program is killed */
#define _GNU_SOURCE // mkdtemp
#include "io/folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/must.h"

static const plait_launch_folder old = {
    .files = 3,
    .file = {{"args.sh", "old", false}, {"run.sh", "old", true}, {"z.json", "old", false}}};
static const plait_launch_folder new = {
    .files = 3,
    .file = {{"args.sh", "new", false}, {"run.sh", "new", true}, {"z.json", "new", false}}};

static char scratch[64], target[128];

static int begin(void **state)
{
    (void)state;
    strcpy(scratch, "/tmp/plait-folder-XXXXXX");
    if (mkdtemp(scratch) == NULL)
        return 1;
    snprintf(target, sizeof target, "%s/run", scratch);
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

static int end(void **state)
{
    (void)state;
    return nftw(scratch, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", target, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *const file = fopen(path_of(name), "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The first word of a file; "" when there is none. */
static const char *text_of(const char *name)
{
    static char text[16];
    FILE *const file = fopen(path_of(name), "r");

    text[0] = '\0';
    if (file != NULL) {
        if (fscanf(file, "%15s", text) != 1)
            text[0] = '\0';
        fclose(file);
    }
    return text;
}

/* A launch, with a note and a folder of logs that somebody else put there. */
static void make_old(void)
{
    plait_error err;

    must(folder_write(target, &old, false, &err), &err);
    put("notes", "mine");
    assert_int_equal(mkdir(path_of("logs"), 0750), 0);
    put("logs/1", "log");
    assert_int_equal(symlink("1", path_of("logs/last")), 0);
}

static void assert_others_are_there(void)
{
    struct stat info;

    assert_string_equal(text_of("notes"), "mine");
    assert_string_equal(text_of("logs/last"), "log");
    assert_int_equal(stat(path_of("logs"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0750);
}

static void test_force__replaces_its_own_and_keeps_the_rest(void **state)
{
    plait_error err;
    struct stat before, after;

    (void)state;
    make_old();
    assert_int_equal(stat(path_of("logs/1"), &before), 0);
    must(folder_write(target, &new, true, &err), &err);
    for (int f = 0; f < new.files; f++)
        assert_string_equal(text_of(new.file[f].name), "new");
    assert_others_are_there();
    assert_int_equal(stat(path_of("logs/1"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); // who has it open goes on writing to it
}

/* A program that is killed before its n-th system call; false when it has fewer. */
static bool killed_at(int n)
{
    const pid_t child = fork();
    int status, calls = 0;

    if (child == 0) {
        plait_error err;

        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(2);
        raise(SIGSTOP);
        _exit(folder_write(target, &new, true, &err) == PLAIT_OK ? 0 : 1);
    }
    assert_true(child > 0);
    for (waitpid(child, &status, 0); WIFSTOPPED(status) && calls < n; calls++) {
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
        waitpid(child, &status, 0);
    }
    if (!WIFSTOPPED(status)) {
        if (WEXITSTATUS(status) == 2)
            skip(); // an emulator that traces nothing
        assert_int_equal(WEXITSTATUS(status), 0);
        return false;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return true;
}

/* Killed at each system call in turn, before it and behind it. */
static void test_force__is_all_or_nothing(void **state)
{
    char first[16];
    int kills = 0;

    (void)state;
    for (bool killed = true; killed; kills++) {
        make_old();
        killed = killed_at(kills);
        strcpy(first, text_of("args.sh"));
        assert_true(strcmp(first, "old") == 0 || strcmp(first, "new") == 0);
        for (int f = 0; f < new.files; f++)
            if (strcmp(text_of(new.file[f].name), first) != 0)
                fail_msg("killed at call %d: args.sh is %s, %s is not", kills, first,
                         new.file[f].name);
        assert_others_are_there();
        assert_int_equal(end(NULL), 0);
        assert_int_equal(begin(NULL), 0);
    }
    assert_true(kills > 20);
}

/* A program that everybody may run, but for what the umask takes. */
static void test_modes__go_by_the_umask(void **state)
{
    const mode_t before = umask(027);
    struct stat info;
    plait_error err;

    (void)state;
    must(folder_write(target, &new, false, &err), &err);
    umask(before);
    assert_int_equal(stat(path_of("run.sh"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0750);
    assert_int_equal(stat(path_of("args.sh"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_force__replaces_its_own_and_keeps_the_rest, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_force__is_all_or_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_modes__go_by_the_umask, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
