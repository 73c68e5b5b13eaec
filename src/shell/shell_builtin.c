/* shell_builtin.c - builtins that set variables, parameters and the status */
#include <ctype.h>
#include <string.h>

#include "shell/shell_state.h"

/* ---- declare ---- */

static bool has_letter(const shell_list *words, const char *letters)
{
    for (int i = 1; i < words->count; i++)
        if (words->word[i][0] == '-' && strpbrk(words->word[i], letters) != NULL)
            return true;
    return false;
}

/* In a function, `local` and `declare` without -g make a variable local. */
static bool makes_local(const shell_state *in, const shell_list *words)
{
    static const char *const builtins[] = {"local", "declare", "typeset", NULL};

    return in->calls > 0 && text_index(words->word[0], builtins) >= 0 && !has_letter(words, "g");
}

void shell_declare(shell_state *in, const shell_list *words, const char *name)
{
    if (strcmp(words->word[0], "export") == 0)
        return;
    shell_variable *const variable = shell_variable_of(in, name);
    if (makes_local(in, words)) {
        shell_spend(in->c, sizeof *in->local);
        in->local =
            shell_grow(in->c, in->local, in->locals, &in->local_capacity, sizeof *in->local);
        in->local[in->locals++] = (shell_local){(int)(variable - in->variable), *variable};
    }
    variable->opaque = variable->opaque || has_letter(words, "Ailnu");
    if (has_letter(words, "n")) // -n makes a reference to another variable
        shell_forget(in, shell_text_of(name));
}

/* Assigns a word that is NAME=VALUE only after expansion, as in export "$NAME=$VALUE". */
static void declare_word(shell_state *in, const shell_list *words, const char *word)
{
    const shell_text text = shell_text_of(word);
    const int origin = shell_origin_index(in->out, word);
    size_t width = shell_assignment_length(text);
    const bool assigns = width > 0;

    while (!assigns && shell_is_name(word[width]) && !isdigit((unsigned char)word[0]))
        width++;
    const char *const name = shell_copy(in->c, (shell_text){word, width});
    const bool more = word[width] == '+';
    if (width > 0)
        shell_declare(in, words, name);
    if (width > 0 && word[width] == '[')
        shell_set_unknown(in, name, text);
    else if (assigns)
        shell_assign_word(in, name, more, word + width + (more ? 2 : 1));
    else if (width > 0 && makes_local(in, words))
        shell_unset(in, name);
    else if (width == 0 && origin >= 0 && !(in->out->origin[origin].unset && shell_word_open(word)))
        shell_forget(in, shell_text_of(in->out->origin[origin].text)); // can assign any variable
}

/* ---- unset, read, source ---- */

/*
 * Makes the named variables unknown, or unsets them if `unset`. An unknown name can refer to any
 * variable.
 */
static void clear_names(shell_state *in, const shell_list *words, int first, bool unset)
{
    for (int i = first; i < words->count; i++) {
        const char *const word = words->word[i];
        const char *const name = shell_copy(in->c, (shell_text){word, strcspn(word, "[")});

        if (word[0] == '-')
            continue;
        if (!shell_word_known(name))
            shell_forget(in, in->command->text);
        else if (unset && strcmp(name, word) == 0)
            shell_unset(in, name);
        else
            shell_set_unknown(in, name, in->command->text);
    }
}

/* Returns whether a file only sets up an environment (paths, on which no plan depends). */
static bool sets_paths_only(const char *file)
{
    static const char *const names[] = {
        "activate",      "profile",    ".profile",   ".bashrc",         "bashrc",    "bash.bashrc",
        ".bash_profile", "conda.sh",   "modules.sh", "lmod.sh",         "module.sh", "setvars.sh",
        "set_env.sh",    ".cargo/env", "init/bash",  "bash_completion", NULL};
    const size_t width = strlen(file);

    for (const char *const *name = names; *name != NULL; name++)
        if (text_ends_with(file, *name) &&
            (width == strlen(*name) || file[width - strlen(*name) - 1] == '/'))
            return true;
    return false;
}

/* ---- parameters ---- */

/* ---- conditions ---- */

/*
 * Runs `[` or `test`. An unset variable without quotes expands to no word, so the other words can
 * form another condition. Of such conditions, only [ -z $A ] is evaluated.
 */
static void run_bracket(shell_state *in, const shell_list *words)
{
    const bool closes = words->word[0][0] == '[';
    const bool closed = !closes || strcmp(words->word[words->count - 1], "]") == 0;
    const shell_list inner = {words->word + 1, words->count - 1 - (closes && closed), 0};
    const bool alone = inner.count >= 2 && strcmp(inner.word[inner.count - 2], "-z") == 0;

    in->status = closed ? shell_test(in, &inner, false) : SHELL_UNDECIDED;
    if (in->vanished && !alone)
        in->status = SHELL_UNDECIDED;
    for (int i = 0; i < inner.count && in->cause < 0; i++)
        in->cause = shell_origin_index(in->out, inner.word[i]);
}

/* ---- all ---- */

bool shell_run_builtin(shell_state *in, const shell_list *words)
{
    static const char *const hidden[] = {
        "[",         "test",    "true",   ":", "false", "unset", "read", "mapfile",
        "readarray", "getopts", "source", ".", "let",   "shift", "exit", NULL};
    const char *const name = words->word[0], *const option = words->count > 1 ? words->word[1] : "";
    const int which = text_index(name, hidden);

    in->status = SHELL_PROGRAM;
    if (which == 0 || which == 1)
        run_bracket(in, words);
    else if (which >= 2 && which <= 4)
        in->status = which == 4 ? SHELL_FALSE : SHELL_TRUE;
    else if (which == 5 && strcmp(option, "-f") != 0)
        clear_names(in, words, 1, true);
    else if (which >= 6 && which <= 9)
        clear_names(in, words, which == 9 ? 2 : 1, false);
    else if (which == 10 || which == 11) {
        char *const command = shell_copy(in->c, in->command->text);
        command[strcspn(command, "\n;&|")] = '\0';
        if (words->count <= 1 || !sets_paths_only(words->word[1])) {
            if (in->out->sourced == NULL && !in->surveying)
                in->out->sourced = command;
            shell_forget(in, shell_text_of(command));
        }
    } else if (which == 12) {
        int64_t ignored;
        in->status = SHELL_UNDECIDED;
        in->cause = -1;
        for (int i = 1; i < words->count; i++)
            (void)shell_expand_arith(in, shell_text_of(words->word[i]), &ignored);
    } else if (which == 13) {
        // The parameters become unknown if `shift N` can run several times or not at all.
        int by = 1;
        if (in->argument.count != 0) {
            if (in->certainty != SHELL_CERTAIN || in->loops > 0 ||
                (words->count > 1 && !text_parse_int(words->word[1], 0, in->argument.count, &by)))
                in->argument_unknown = true;
            else
                in->argument = (shell_list){in->argument.word + by, in->argument.count - by, 0};
        }
    } else if (strcmp(name, "printf") == 0 && strcmp(option, "-v") == 0)
        clear_names(in, &(shell_list){words->word, words->count < 3 ? words->count : 3, 0}, 2,
                    false);
    else if (strcmp(name, "set") == 0) {
        if (words->count >= 2 && strcmp(words->word[1], "--") == 0) {
            in->argument_unknown = in->certainty != SHELL_CERTAIN || in->loops > 0;
            in->argument = (shell_list){words->word + 2, words->count - 2, 0};
        }
    } else if (strcmp(name, "shopt") == 0)
        in->patterns_unknown = true;
    else if (shell_is_declaration(shell_text_of(name)) && !has_letter(words, "pfF")) // they print
        for (int i = 1; i < words->count; i++)
            if (words->word[i][0] != '-')
                declare_word(in, words, words->word[i]);
    return which >= 0;
}
