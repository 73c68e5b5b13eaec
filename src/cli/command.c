/* command.c - helpers that commands share */
#include "cli/command.h"

#include <sys/stat.h>
#include <unistd.h>

#include "io/data/data.h"
#include "io/file.h"
#include "cli/terminal.h"
#include "report/lines.h"
#include "shell/shell.h"
#include "base/text.h"

/*
 * Return the number of words that an option takes if it does not affect the answer; 0 for other
 * options.
 */
static int words_aside(const char *word)
{
    if (text_equal(word, "--threads") || text_equal(word, "--output") || text_equal(word, "-o"))
        return 2;
    return text_equal(word, "--json") || text_equal(word, "--wide") ||
           text_starts_with(word, "--threads=") || text_starts_with(word, "--output=") ||
           text_starts_with(word, "-o");
}

const char *command_text(int argc, const char *const *argv, plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    text_append(&out, "plait");
    for (int i = 0; i < argc; i++) {
        const int aside = words_aside(argv[i]);

        if (aside > 0) {
            i += aside - 1;
            continue;
        }
        text_append_char(&out, ' ');
        shell_append_word(&out, argv[i]);
    }
    return text_builder_finish(&out, NULL);
}

plait_status command_run(const command *verb, int argc, const char **argv, plait_arena *arena,
                         bool *no, plait_error *err)
{
    void *values = plait_arena_alloc(arena, 1, verb->values_size);
    opt_operands operands;

    PLAIT_TRY(plait_check_allocated(values, err));
    PLAIT_TRY(opt_parse(&verb->usage, argc, argv, arena, values, &operands, err));
    if (operands.help) {
        opt_help(&verb->usage, lines_out());
        return PLAIT_OK;
    }
    lines_keep_whole(operands.wide);
    operands.line = command_text(argc, argv, arena);
    PLAIT_TRY(plait_check_allocated(operands.line, err));
    return verb->run(values, &operands, arena, no, err);
}

plait_status command_output(const char **path, bool *json, plait_error *err)
{
    if (*path == NULL)
        return PLAIT_OK;
    if (text_equal(*path, "-")) {
        *path = NULL;
        *json = true;
        return PLAIT_OK;
    }
    return file_check_writable(*path, err);
}

plait_status command_apart(const char *input, const char *output, plait_error *err)
{
    struct stat in, out;

    if (output == NULL || stat(input, &in) != 0 || stat(output, &out) != 0 ||
        !S_ISREG(out.st_mode) || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_RANGE, "--output",
                      "expected a file other than the input %.120s", input);
}

plait_status command_page_check(const char *path, plait_error *err)
{
    if (page_form_of(path) == PAGE_FORMS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--output",
                          "expected a file that ends in .html, .md, .csv or .json, found \"%.80s\"",
                          path);
    return file_check_writable(path, err);
}

plait_status command_page_write(page *made, const char *path, plait_error *err)
{
    const char *text;
    size_t length;

    PLAIT_TRY(page_write(made, page_form_of(path), &text, &length, err));
    return file_write_atomically(path, text, length, err);
}

plait_status command_deliver(const char *text, size_t length, const char *path, bool print,
                             plait_error *err)
{
    if (path != NULL)
        PLAIT_TRY(file_write_atomically(path, text, length, err));
    if (print)
        fwrite(text, 1, length, stdout);
    return PLAIT_OK;
}

void command_begin_json(json_writer *json, plait_arena *arena)
{
    json_writer_init(json, arena);
    json_begin_object(json);
}

plait_status command_deliver_json(json_writer *json, const char *path, bool print, plait_error *err)
{
    const char *text;
    size_t length;

    json_end_object(json);
    PLAIT_TRY(json_writer_finish(json, &text, &length, err));
    return command_deliver(text, length, path, print, err);
}

plait_status command_deliver_command(const char *line, const char *path, bool print,
                                     plait_arena *arena, plait_error *err)
{
    json_writer json;

    if (path == NULL && !print)
        return PLAIT_OK;
    command_begin_json(&json, arena);
    json_member_version(&json);
    json_member_string(&json, "command", line);
    return command_deliver_json(&json, path, print, err);
}

plait_status command_check_runtime(const char *path, const char *runtime, plait_arena *arena,
                                   plait_error *err)
{
    const char *beside;

    if (path == NULL || runtime == NULL || !data_is_path(runtime))
        return PLAIT_OK;
    beside = file_beside(path, runtime, arena);
    PLAIT_TRY(plait_check_allocated(beside, err));
    if (access(beside, F_OK) != 0)
        print_warning("%s needs the runtime %s in the same folder: copy %s there", path,
                      file_base_name(runtime), runtime);
    return PLAIT_OK;
}
