/*
 * shell_read.c - commands of a shell script, as far as they can be known without running it
 *
 * One pass over the text cuts commands and follows assignments. What is open at the cursor (`if`,
 * `case`, `{`) stands on a stack of frames, and says whether what is read runs, is skipped, or hangs
 * on something that is not known. Nothing is executed.
 */
#include "launch/read/shell_read.h"

#include <string.h>

#include "launch/read/shell_parts.h"

static bool any_option(const char *const *word, int count)
{
    for (int i = 0; i < count; i++)
        if (shell_is_option(word[i]))
            return true;
    return false;
}

static bool any_command_has_options(const shell_words *words)
{
    for (int c = 0; c < words->commands; c++) {
        const shell_command *const command = &words->command[c];
        const char *const *const word = words->word + command->first;

        if (strcmp(word[0], "#SBATCH") != 0 && any_option(word, command->count))
            return true;
    }
    return false;
}

static plait_status add_pieces(shell_reader *in, const char *text, shell_list *words,
                               plait_error *err)
{
    for (size_t width; *(text += strspn(text, " \t\r\n")) != '\0'; text += width) {
        width = strcspn(text, " \t\r\n");
        PLAIT_TRY(shell_list_add(in, words, plait_arena_printf(in->arena, "%.*s", (int)width, text),
                                 err));
    }
    return PLAIT_OK;
}

static plait_status add_variable(shell_reader *in, const shell_list *value, shell_list *words,
                                 plait_error *err)
{
    if (value->count == 1)
        return strstr(value->word[0], "--") != NULL ? add_pieces(in, value->word[0], words, err)
                                                    : PLAIT_OK;
    for (int i = 0; any_option(value->word, value->count) && i < value->count; i++)
        PLAIT_TRY(shell_list_add(in, words, value->word[i], err));
    return PLAIT_OK;
}

/* A file that only sets variables is for others to source: what they hold is what it says. */
static plait_status add_variables(shell_reader *in, plait_error *err)
{
    shell_list words = {0};
    text_builder names;

    text_builder_init(&names, in->arena);
    for (int v = 0; v < in->variables; v++) {
        const shell_variable *const variable = &in->variable[v];
        const int before = words.count;

        if (!variable->unset)
            PLAIT_TRY(add_variable(in, &variable->value, &words, err));
        if (words.count > before)
            text_append_printf(&names, "%s%s (line %d)", before > 0 ? ", " : "", variable->name,
                               variable->line);
    }
    if (words.count == 0)
        return PLAIT_OK;
    in->out->instead = text_builder_finish(&names, NULL);
    return in->out->instead == NULL ? plait_fail_nomem(err) : shell_add_command(in, &words, err);
}

/* A text that would hold what stands for unknown words, or end before its end, is none. */
static plait_status check_bytes(const shell_reader *in, const char *text, size_t length,
                                plait_error *err)
{
    static const char never[] = {'\0', SHELL_UNKNOWN, SHELL_UNKNOWN_END};
    static const char *const what[] = {"a zero byte", "a byte of value 1", "a byte of value 2"};

    for (size_t i = 0; i < sizeof never; i++)
        if (memchr(text, never[i], length) != NULL)
            return shell_fail(in, what[i], err);
    return PLAIT_OK;
}

/* NAME=VALUE among the arguments stands as if the script began with it. */
static plait_status take_call(shell_reader *in, const launch_call *call, plait_error *err)
{
    if (call != NULL && call->taken != NULL)
        *call->taken = true;
    for (int i = 0; call != NULL && i < call->arguments; i++) {
        const char *const text = call->argument[i];

        in->at = text;
        in->end = text + strlen(text);
        PLAIT_TRY(check_bytes(in, text, strlen(text), err));
        if (shell_assignment_at(in) == 0) {
            PLAIT_TRY(shell_list_add(in, &in->argument, text, err));
            continue;
        }
        char *const name = plait_arena_text(in->arena, text);
        const char *const value = name != NULL ? text_cut(name, '=') : NULL;
        PLAIT_TRY(name == NULL ? plait_fail_nomem(err)
                               : shell_set(in, name, false,
                                           &(shell_list){(const char **)&value, 1, 1}, err));
    }
    return PLAIT_OK;
}

plait_status shell_read(const char *text, size_t length, const char *name, const launch_call *call,
                        plait_arena *arena, shell_words *out, plait_error *err)
{
    shell_reader in = {.line = 1,
                       .name = name,
                       .arena = arena,
                       .out = out,
                       .status = SHELL_YES,
                       .cause = -1,
                       .doubt = -1,
                       .loop_frame = -1};

    *out = (shell_words){0};
    PLAIT_TRY(check_bytes(&in, text, length, err));
    if (length > SHELL_MAX_BYTES)
        return shell_fail(&in, "more than 4 MiB of them", err);
    PLAIT_TRY(take_call(&in, call, err));
    in.at = in.first = text;
    in.end = text + length;
    PLAIT_TRY(shell_read_commands(&in, err));
    in.mode = SHELL_RUN;
    if (!any_command_has_options(out))
        PLAIT_TRY(add_variables(&in, err));
    out->variable = in.variable;
    out->variables = in.variables;
    return PLAIT_OK;
}

bool shell_word_known(const char *word)
{
    return strchr(word, SHELL_UNKNOWN) == NULL;
}

bool shell_word_open(const char *word)
{
    const size_t length = strlen(word);

    return length > 0 && word[0] == SHELL_UNKNOWN && word[length - 1] == SHELL_UNKNOWN_END;
}

const shell_origin *shell_word_origin(const shell_words *words, const char *word)
{
    const int index = shell_origin_index(words, word);

    return index >= 0 ? &words->origin[index] : NULL;
}

static const char *word_of(const shell_variable *variable, int count, const char *name)
{
    for (int v = 0; v < count; v++)
        if (strcmp(variable[v].name, name) == 0 && !variable[v].unset &&
            variable[v].value.count == 1 && shell_word_known(variable[v].value.word[0]))
            return variable[v].value.word[0];
    return NULL;
}

const char *shell_variable_word(const shell_words *words, const char *name)
{
    return word_of(words->variable, words->variables, name);
}

const char *shell_setting_word(const shell_command *command, const char *name)
{
    return word_of(command->setting, command->settings, name);
}
