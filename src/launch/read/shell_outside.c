/*
 * shell_outside.c - what comes from outside: files that are sourced, lines that are read
 *
 * A sourced file is not read: it may set any variable. What the script has set before is not known
 * behind it, and what the script has not set may be set.
 */
#include <string.h>

#include "launch/read/shell_parts.h"

/* Variables that bash or a login sets. */
bool shell_may_be_set(const shell_reader *in, const char *name, size_t length)
{
    static const char *const own[] = {"HOSTNAME",
                                      "HOME",
                                      "USER",
                                      "LOGNAME",
                                      "PATH",
                                      "PWD",
                                      "SHELL",
                                      "UID",
                                      "EUID",
                                      "PPID",
                                      "RANDOM",
                                      "SECONDS",
                                      "LINENO",
                                      "BASHPID",
                                      "BASH",
                                      "BASH_VERSION",
                                      "BASH_SOURCE",
                                      "HOSTTYPE",
                                      "OSTYPE",
                                      "MACHTYPE",
                                      "SHLVL",
                                      "IFS",
                                      "OPTIND",
                                      "GROUPS",
                                      "OPTARG",
                                      "REPLY",
                                      "EPOCHSECONDS",
                                      "PIPESTATUS",
                                      "BASH_REMATCH",
                                      "MAPFILE",
                                      "_",
                                      "EPOCHREALTIME",
                                      NULL};
    const int found = name_index_find(&in->variable_names, name, length);
    const int since = found >= 0 ? in->variable[found].unset_since : 0;

    for (const char *const *known = own; *known != NULL; known++)
        if (strlen(*known) == length && memcmp(*known, name, length) == 0)
            return true;
    return in->unread > since;
}

/* Variables without a line are those of SLURM, and those that the user gives: they stay. */
plait_status shell_forget(shell_reader *in, const char *text, size_t length, plait_error *err)
{
    if (in->mode == SHELL_SKIP)
        return PLAIT_OK;
    in->unread++;
    PLAIT_TRY(shell_spend(in, (size_t)in->variables, err));
    for (int v = 0; v < in->variables; v++)
        if (!in->variable[v].unset && in->variable[v].line > 0)
            PLAIT_TRY(shell_set_unknown(in, in->variable[v].name, text, length, err));
    return PLAIT_OK;
}

/* ---- files ---- */

/* Files of environments, which set paths, and no run hangs on what they set. */
static bool sets_paths_only(const char *file)
{
    static const char *const names[] = {
        "activate",      "profile",    ".profile",   ".bashrc",         "bashrc",    "bash.bashrc",
        ".bash_profile", "conda.sh",   "modules.sh", "lmod.sh",         "module.sh", "setvars.sh",
        "set_env.sh",    ".cargo/env", "init/bash",  "bash_completion", NULL};

    for (const char *const *name = names; *name != NULL; name++) {
        const size_t width = strlen(file), end = strlen(*name);

        if (text_ends_with(file, *name) && (width == end || file[width - end - 1] == '/'))
            return true;
    }
    return false;
}

plait_status shell_source(shell_reader *in, const shell_list *words, plait_error *err)
{
    const char *const at = in->ran != NULL ? in->ran : "source";
    const size_t length = in->ran != NULL ? (size_t)(in->at - in->ran) : strlen(at);

    if (words->count > 1 && sets_paths_only(words->word[1]))
        return PLAIT_OK;
    if (in->out->sourced == NULL && !in->surveying) {
        char *const said = plait_arena_printf(in->arena, "%.*s", (int)length, at);
        if (said == NULL)
            return plait_fail_nomem(err);
        said[strcspn(said, "\n;&|")] = '\0';
        in->out->sourced = said;
    }
    return shell_forget(in, at, length, err);
}

/* ---- lines ---- */

static plait_status take_into(shell_reader *in, const char *word, plait_error *err)
{
    const char *const text = in->ran != NULL ? in->ran : word;
    const size_t length = in->ran != NULL ? (size_t)(in->at - in->ran) : strlen(word);
    const char *const name = plait_arena_printf(in->arena, "%.*s", (int)strcspn(word, "["), word);

    if (name == NULL)
        return plait_fail_nomem(err);
    return shell_word_known(name) ? shell_set_unknown(in, name, text, length, err)
                                  : shell_forget(in, text, length, err);
}

plait_status shell_take_input(shell_reader *in, const shell_list *words, int first,
                              plait_error *err)
{
    for (int i = first; i < words->count; i++)
        if (words->word[i][0] != '-')
            PLAIT_TRY(take_into(in, words->word[i], err));
    return PLAIT_OK;
}
