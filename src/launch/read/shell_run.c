/* shell_run.c - what a simple command does to what is known of a script */
#include "shell_parts.h"

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

static plait_status unset_one(shell_reader *in, const char *name, plait_error *err)
{
    const size_t width = strcspn(name, "[");

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

/* `local NAME`: the value of outside comes back behind the function. */
static plait_status begin_locals(shell_reader *in, const shell_list *words, plait_error *err)
{
    for (int i = 1; i < words->count; i++)
        if (words->word[i][0] != '-') {
            PLAIT_TRY(shell_make_local(in, words->word[i], err));
            PLAIT_TRY(shell_unset(in, words->word[i], err));
        }
    return PLAIT_OK;
}

/* `read NAME ..`, `mapfile NAME`, `getopts NAME`: what comes from outside is not known. */
static plait_status take_input(shell_reader *in, const shell_list *words, int first,
                               plait_error *err)
{
    for (int i = first; i < words->count; i++)
        if (words->word[i][0] != '-')
            PLAIT_TRY(
                shell_set_unknown(in, words->word[i], in->ran, (size_t)(in->at - in->ran), err));
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
        *status = take_input(in, words, 1, err);
    else if (strcmp(name, "getopts") == 0)
        *status = take_input(in, words, 2, err);
    else if (strcmp(name, "let") == 0)
        *status = run_sums(in, words, err);
    else if (strcmp(name, "shift") == 0)
        shift_arguments(in, words);
    else if (strcmp(name, "return") == 0)
        shell_return(in);
    else if (strcmp(name, "exit") == 0)
        end_script(in);
    else
        return false;
    return true;
}

/* Commands that set something, and come out all the same. */
static plait_status run_setter(shell_reader *in, const shell_list *words, plait_error *err)
{
    const char *const name = words->word[0];

    if (strcmp(name, "local") == 0)
        return begin_locals(in, words, err);
    if (strcmp(name, "printf") == 0 && words->count > 2 && strcmp(words->word[1], "-v") == 0)
        return shell_set_unknown(in, words->word[2], in->ran, (size_t)(in->at - in->ran), err);
    if (strcmp(name, "set") == 0 && words->count > 1 && strcmp(words->word[1], "--") == 0)
        set_arguments(in, words);
    return PLAIT_OK;
}

plait_status shell_run(shell_reader *in, const shell_list *words, plait_error *err)
{
    const char *const name = words->count > 0 ? words->word[0] : ":";
    const shell_function *const function = shell_function_named(in, name);
    const int script = script_of(words);
    const char *text;
    plait_status status;

    in->status = SHELL_RAN;
    if (strcmp(name, "[") == 0 || strcmp(name, "test") == 0) {
        const bool closed = name[0] == 't' || strcmp(words->word[words->count - 1], "]") == 0;
        const shell_list inner = {words->word + 1, words->count - 1 - (name[0] == '[' && closed),
                                  0};

        in->status = closed ? shell_test(in, &inner, false) : SHELL_OPEN;
        return PLAIT_OK;
    }
    if (strcmp(name, "true") == 0 || strcmp(name, ":") == 0 || strcmp(name, "false") == 0) {
        in->status = name[0] == 'f' ? SHELL_NO : SHELL_YES;
        return PLAIT_OK;
    }
    if (function != NULL)
        return shell_call_function(in, function, words, err);
    if (words->count > 0 && run_own(in, words, &status, err))
        return status;
    if (strcmp(name, "eval") == 0 || script > 0) {
        text = script > 0 ? words->word[script] : shell_joined(in, words, 1);
        if (text == NULL)
            return plait_fail_nomem(err);
        PLAIT_TRY(
            shell_add_command(in, &(shell_list){words->word, script > 0 ? script : 1, 0}, err));
        return shell_read_nested(in, text, strlen(text), in->command_line, err);
    }
    if (strcmp(name, "echo") == 0 && in->target != NULL && in->heres == 0) {
        text = shell_joined(in, words, 1);
        PLAIT_TRY(text != NULL ? shell_add_file(in, text, err) : plait_fail_nomem(err));
    }
    PLAIT_TRY(run_setter(in, words, err));
    PLAIT_TRY(shell_add_command(in, words, err));
    if (replaces_itself(words))
        end_script(in);
    return PLAIT_OK;
}
