/* shell_run.c - what a simple command does to what is known of a script */
#include "launch/read/shell_parts.h"

#include <string.h>

/* Where the TEXT of `bash -c TEXT` stands among the words; 0: nowhere. */
static int script_of(const shell_list *words)
{
    static const char *const shells[] = {"bash", "sh", "/bin/bash", "/bin/sh", "zsh", NULL};

    for (int i = 0; i + 2 < words->count; i++) {
        const char *const option = words->word[i + 1];

        if (text_index(words->word[i], shells) >= 0 && option[0] == '-' && option[1] != '-' &&
            text_ends_with(option, "c"))
            return i + 2;
    }
    return 0;
}

/* `command NAME` and `builtin NAME` are NAME, past a function of that name. */
int shell_prefix(const shell_list *words)
{
    static const char *const prefixes[] = {"command", "builtin", NULL};
    int first = 0;

    while (first + 1 < words->count && text_index(words->word[first], prefixes) >= 0 &&
           words->word[first + 1][0] != '-')
        first++;
    return first;
}

static plait_status unset_one(shell_reader *in, const char *name, plait_error *err)
{
    const size_t width = strcspn(name, "[");

    if (!shell_word_known(name))
        return shell_forget(in, name, strlen(name), err);
    if (name[width] == '\0')
        return shell_unset(in, name, err);
    const char *const array = plait_arena_printf(in->arena, "%.*s", (int)width, name);
    return array == NULL ? plait_fail_nomem(err)
                         : shell_set_unknown(in, array, name, strlen(name), err);
}

/* `unset NAME ..`; functions stay. */
static plait_status unset(shell_reader *in, const shell_list *words, plait_error *err)
{
    if (words->count > 1 && strcmp(words->word[1], "-f") == 0)
        return PLAIT_OK;
    for (int i = 1; i < words->count; i++)
        if (words->word[i][0] != '-')
            PLAIT_TRY(unset_one(in, words->word[i], err));
    return PLAIT_OK;
}

/* `let SUM ..` */
static plait_status run_sums(shell_reader *in, const shell_list *words, plait_error *err)
{
    in->status = SHELL_OPEN;
    in->cause = -1;
    for (int i = 1; i < words->count; i++)
        PLAIT_TRY(shell_run_sum(in, words->word[i], strlen(words->word[i]), err));
    return PLAIT_OK;
}

/* Is it known how often a command at the cursor is run: once? */
static bool runs_once(const shell_reader *in)
{
    return in->mode == SHELL_RUN && in->loop_frame < 0;
}

/* `shift`, `shift 2` */
static void shift_arguments(shell_reader *in, const shell_list *words)
{
    int by = 1;

    if (in->argument.count == 0 || in->argument_open)
        return;
    if (!runs_once(in) ||
        (words->count > 1 && !text_parse_int(words->word[1], 0, SHELL_MAX_WORDS, &by))) {
        in->argument_open = true;
    } else if (by <= in->argument.count) {
        in->argument.word += by;
        in->argument.count -= by;
        in->argument.capacity = in->argument.count;
    }
}

/* `set -- WORDS` */
static void set_arguments(shell_reader *in, const shell_list *words)
{
    in->argument_open = !runs_once(in);
    in->argument = (shell_list){words->word + 2, words->count - 2, words->count - 2};
}

/* `exit`, and `exec PROGRAM`, that no condition guards: what is behind it is not run. */
static void end_script(shell_reader *in)
{
    in->ended = in->ended ||
                (in->mode == SHELL_RUN && in->frames == 0 && in->nesting == 0 && in->linked == 0);
}

static bool replaces_itself(const shell_list *words)
{
    return strcmp(words->word[0], "exec") == 0 && words->count > 1 &&
           shell_word_known(words->word[1]);
}

/* An `exit` in a subshell ends that one alone. */
static void exit_here(shell_reader *in)
{
    int f = in->frames;

    while (f > in->text_frames && in->frame[f - 1].block != SHELL_PAREN)
        f--;
    if (f > in->text_frames)
        in->frame[f - 1].exited = true;
    end_script(in);
}

/* Commands of the shell itself, which set what it knows; false: it is none of them. */
static bool run_own(shell_reader *in, const shell_list *words, plait_status *status,
                    plait_error *err)
{
    static const char *const readers[] = {"read", "mapfile", "readarray", NULL};
    const char *const name = words->word[0];

    *status = PLAIT_OK;
    if (strcmp(name, "unset") == 0)
        *status = unset(in, words, err);
    else if (text_index(name, readers) >= 0)
        *status = shell_take_input(in, words, 1, err);
    else if (strcmp(name, "getopts") == 0)
        *status = shell_take_input(in, words, 2, err);
    else if (strcmp(name, "source") == 0 || strcmp(name, ".") == 0)
        *status = shell_source(in, words, err);
    else if (strcmp(name, "let") == 0)
        *status = run_sums(in, words, err);
    else if (strcmp(name, "shift") == 0)
        shift_arguments(in, words);
    else if (strcmp(name, "return") == 0)
        shell_return_as(in, words), shell_return(in);
    else if (strcmp(name, "break") == 0 || strcmp(name, "continue") == 0)
        shell_break(in);
    else if (strcmp(name, "exit") == 0)
        exit_here(in);
    else
        return false;
    return true;
}

/* `set -o pipefail`, `shopt -s nocasematch`: how what follows is to be read. */
static void take_settings(shell_reader *in, const shell_list *words)
{
    const bool shopt = strcmp(words->word[0], "shopt") == 0;

    for (int i = 1; i < words->count; i++) {
        in->caseless = in->caseless || (shopt && strcmp(words->word[i], "nocasematch") == 0);
        in->pipefail = in->pipefail || (!shopt && strcmp(words->word[i], "pipefail") == 0);
    }
}

/* Commands that set something, and come out all the same. */
static plait_status run_setter(shell_reader *in, const shell_list *words, plait_error *err)
{
    const char *const name = words->word[0];

    if (shell_declares(name))
        return shell_declare_words(in, words, err);
    if (strcmp(name, "printf") == 0 && words->count > 2 && strcmp(words->word[1], "-v") == 0)
        return shell_take_input(in, &(shell_list){words->word, 3, 3}, 2, err);
    if (strcmp(name, "set") == 0 || strcmp(name, "shopt") == 0)
        take_settings(in, words);
    if (strcmp(name, "set") == 0 && words->count > 1 && strcmp(words->word[1], "--") == 0)
        set_arguments(in, words);
    return PLAIT_OK;
}

/* ---- texts that are commands ---- */

/* Behind eval a word that is not known may be an assignment, or many. */
static plait_status run_unknown(shell_reader *in, const char *word, plait_error *err)
{
    const int origin = shell_origin_index(in->out, word);

    if (in->evaluations == 0 || word[0] != SHELL_UNKNOWN || in->out->origin[origin].unset)
        return PLAIT_OK;
    const char *const text = in->out->origin[origin].text;
    return shell_forget(in, text, strlen(text), err);
}

static plait_status run_eval(shell_reader *in, const shell_list *words, plait_error *err)
{
    const char *const text = shell_joined(in, words, 1);

    if (text == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(shell_add_command(in, &(shell_list){words->word, 1, 0}, err));
    in->evaluations++;
    PLAIT_TRY(shell_read_nested(in, text, strlen(text), in->command_line, err));
    in->evaluations--;
    return PLAIT_OK;
}

/* `bash -c TEXT $0 $1 ..` is another process: what it sets ends with it. */
static plait_status run_script(shell_reader *in, const shell_list *words, int script,
                               plait_error *err)
{
    const shell_list outer = in->argument;
    const bool open = in->argument_open;
    const int first = script + 2 < words->count ? script + 2 : words->count;
    const int undos = in->undos;
    const char *const text = words->word[script];
    shell_list head = {words->word, script, 0}, settled = {0};

    PLAIT_TRY(shell_settle_job_words(in, &head, true, &settled, err));
    PLAIT_TRY(shell_add_command(in, &settled, err));
    in->argument = (shell_list){words->word + first, words->count - first, words->count - first};
    in->argument_open = false;
    PLAIT_TRY(shell_read_nested(in, text, strlen(text), in->command_line, err));
    in->argument = outer;
    in->argument_open = open;
    shell_take_back(in, undos);
    return PLAIT_OK;
}

/* ---- a command ---- */

/* [ -n $NAME ] of a variable that is not set is [ -n ], which holds; so is [ ! -n ]'s answer no. */
static bool run_vanished(shell_reader *in, const shell_list *inner)
{
    const bool turned = inner->count > 0 && strcmp(inner->word[0], "!") == 0;
    const int left = inner->count - turned;
    const char *const sign = left > 0 ? inner->word[turned] : "";

    if (left == 2 && strcmp(sign, "-n") == 0)
        shell_end_as(in, turned ? SHELL_NO : SHELL_YES);
    else if (left > 2 || (left == 2 && strcmp(sign, "-z") != 0))
        shell_end_as(in, SHELL_OPEN);
    else
        return false;
    in->cause = -1;
    for (int i = 0; i < inner->count && in->cause < 0; i++)
        in->cause = shell_origin_index(in->out, inner->word[i]);
    return true;
}

/* `[ WORDS ]`, `test WORDS` */
static void run_test(shell_reader *in, const shell_list *words)
{
    const bool closes = words->word[0][0] == '[';
    const bool closed = !closes || strcmp(words->word[words->count - 1], "]") == 0;
    const shell_list inner = {words->word + 1, words->count - 1 - (closes && closed), 0};

    if (!closed)
        shell_end_as(in, SHELL_OPEN);
    else if (!in->vanishing || !run_vanished(in, &inner))
        shell_end_as(in, shell_test(in, &inner, false));
    in->code = in->erred && in->status == SHELL_NO ? 2 : in->code;
    in->erred = false;
}

static bool run_constant(shell_reader *in, const char *name)
{
    static const char *const constants[] = {"false", "true", ":", NULL};
    const int which = text_index(name, constants);

    if (which >= 0)
        shell_end_as(in, which == 0 ? SHELL_NO : SHELL_YES);
    return which >= 0;
}

static plait_status run_program(shell_reader *in, const shell_list *words, plait_error *err)
{
    shell_list settled = {0};

    if (strcmp(words->word[0], "echo") == 0 && in->target != NULL && in->heres == 0) {
        const char *const text = shell_joined(in, words, 1);
        PLAIT_TRY(text != NULL ? shell_add_file(in, text, err) : plait_fail_nomem(err));
    }
    PLAIT_TRY(run_setter(in, words, err));
    PLAIT_TRY(run_unknown(in, words->word[0], err));
    PLAIT_TRY(shell_settle_job_words(in, words, false, &settled, err));
    PLAIT_TRY(shell_add_command(in, &settled, err));
    if (replaces_itself(words))
        end_script(in);
    return PLAIT_OK;
}

plait_status shell_run(shell_reader *in, const shell_list *all, plait_error *err)
{
    const int prefix = shell_prefix(all);
    const shell_list behind = {all->word + prefix, all->count - prefix, 0};
    const shell_list *const words = &behind;
    const char *const name = words->word[0];
    const shell_function *const function = prefix == 0 ? shell_function_named(in, name) : NULL;
    const int script = script_of(words);
    plait_status status;

    if (function != NULL) {
        shell_end_as(in, SHELL_RAN);
        return shell_call_function(in, function, words, err);
    }
    shell_end_as(in, shell_program_answer(name));
    if (strcmp(name, "[") == 0 || strcmp(name, "test") == 0) {
        run_test(in, words);
        return PLAIT_OK;
    }
    if (run_constant(in, name))
        return PLAIT_OK;
    if (run_own(in, words, &status, err))
        return status;
    if (strcmp(name, "eval") == 0)
        return run_eval(in, words, err);
    return script > 0 ? run_script(in, words, script, err) : run_program(in, words, err);
}
