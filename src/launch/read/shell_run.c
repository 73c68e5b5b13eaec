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

static plait_status unset(shell_reader *in, const shell_list *words)
{
    for (int i = 1; i < words->count; i++) {
        shell_variable *const found = shell_find(in, words->word[i], strlen(words->word[i]));

        if (found != NULL)
            found->name = "";
    }
    return PLAIT_OK;
}

/* `read NAME ..`, `mapfile NAME`: what comes from outside is not known. */
static plait_status take_input(shell_reader *in, const shell_list *words, plait_error *err)
{
    const char *const word = shell_unknown(in, in->ran, false);

    if (word == NULL)
        return plait_fail_nomem(err);
    for (int i = 1; i < words->count; i++)
        if (words->word[i][0] != '-')
            PLAIT_TRY(shell_set(in, words->word[i], false,
                                &(shell_list){(const char *[]){word}, 1, 1}, err));
    return PLAIT_OK;
}

plait_status shell_run(shell_reader *in, const shell_list *words, plait_error *err)
{
    static const char *const readers[] = {"read", "mapfile", "readarray", NULL};
    const char *const name = words->count > 0 ? words->word[0] : ":";
    const shell_function *const function = shell_function_named(in, name);
    const int script = script_of(words);
    const char *text;

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
    if (strcmp(name, "unset") == 0)
        return unset(in, words);
    if (text_index(name, readers) >= 0)
        return take_input(in, words, err);
    if (strcmp(name, "eval") == 0 || script > 0) {
        text = script > 0 ? words->word[script] : shell_joined(in, words, 1);
        if (text == NULL)
            return plait_fail_nomem(err);
        PLAIT_TRY(
            shell_add_command(in, &(shell_list){words->word, script > 0 ? script : 1, 0}, err));
        return shell_read_nested(in, text, strlen(text), err);
    }
    if (strcmp(name, "echo") == 0 && in->target != NULL && in->heres == 0) {
        text = shell_joined(in, words, 1);
        PLAIT_TRY(text != NULL ? shell_add_file(in, text, err) : plait_fail_nomem(err));
    }
    return shell_add_command(in, words, err);
}
