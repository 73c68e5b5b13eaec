/*
 * shell_read.c - reads a shell script and returns the commands that its text determines; quotes
 * words
 */
#include <ctype.h>
#include <string.h>

#include "shell/shell_state.h"

/* Rejects zero bytes, which would end words, and the bytes that mark unknown values. */
static void check_bytes(shell_context *c, const char *text, size_t length)
{
    static const char bytes[] = {'\0', SHELL_UNKNOWN, SHELL_UNKNOWN_END};
    static const char *const names[] = {"a zero byte", "a byte of value 1", "a byte of value 2"};

    for (size_t i = 0; i < sizeof bytes; i++)
        if (memchr(text, bytes[i], length) != NULL)
            shell_fail(c, names[i]);
}

/* ---- scripts without a command ---- */

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

/*
 * Makes a command from the options in variables, for a file that only sets variables and that other
 * scripts source.
 */
static void add_variables(shell_state *in)
{
    shell_list words = {0};
    text_builder names;

    text_builder_init(&names, in->c->arena);
    for (int v = 0; v < in->variables; v++) {
        const shell_variable *const variable = &in->variable[v];
        const int before = words.count;

        if (variable->set) {
            // Add the words of a value that contains options. A text is split at blanks.
            static const char blanks[] = " \t\r\n";
            for (int i = 0; i < variable->value.count; i++) {
                const char *text = variable->value.word[i];

                if (variable->value.count > 1 &&
                    any_option(variable->value.word, variable->value.count))
                    shell_list_add(in, &words, text);
                else if (variable->value.count == 1 && strstr(text, "--") != NULL)
                    for (size_t width; *(text += strspn(text, blanks)) != '\0'; text += width) {
                        width = strcspn(text, blanks);
                        shell_list_add(in, &words, shell_copy(in->c, (shell_text){text, width}));
                    }
            }
        }
        if (words.count > before)
            text_append_printf(&names, "%s%s (line %d)", before > 0 ? ", " : "", variable->name,
                               variable->line);
    }
    if (words.count == 0)
        return;
    in->out->instead = shell_finish(in->c, &names);
    shell_add_command(in, &words);
}

/* ---- reading ---- */

plait_status shell_read(const shell_source *source, plait_arena *arena, shell_words *out,
                        plait_error *err)
{
    shell_context c = {.name = source->name, .line = 1, .arena = arena, .err = err};

    *out = (shell_words){0};
    // A failure jumps back to this function, which therefore contains the context.
    if (setjmp(c.failed) != 0)
        return c.status;
    const shell_text text = {source->text, source->length};
    shell_state in = {.c = &c, .out = out, .status = SHELL_TRUE, .cause = -1, .doubt = -1};
    check_bytes(&c, source->text, source->length);
    for (int i = 0; i < source->arguments; i++)
        check_bytes(&c, source->argument[i], strlen(source->argument[i]));
    if (source->length > SHELL_MAX_BYTES)
        shell_fail(&c, "more than 4 MiB");
    const shell_node *const commands = shell_parse(text, &c);
    c.line = 0; // line 0: before the first command
    for (int i = 0; i < source->arguments; i++) {
        char *const copy = shell_copy(in.c, shell_text_of(source->argument[i]));
        if (shell_assignment_length(shell_text_of(source->argument[i])) == 0)
            shell_list_add(&in, &in.argument, copy);
        else
            shell_set_word(&in, copy, text_cut(copy, '='));
    }
    shell_job_lines(&in, text);
    shell_eval(&in, commands);
    in.certainty = SHELL_CERTAIN;
    if (!any_command_has_options(out))
        add_variables(&in);
    out->variable = in.variable;
    out->variables = in.variables;
    return PLAIT_OK;
}

/* ---- results ---- */

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

static const char *known_word(const shell_variable *variable, int count, const char *name)
{
    for (int v = 0; v < count; v++)
        if (strcmp(variable[v].name, name) == 0 && variable[v].set &&
            variable[v].value.count == 1 && shell_word_known(variable[v].value.word[0]))
            return variable[v].value.word[0];
    return NULL;
}

const char *shell_variable_word(const shell_words *words, const char *name)
{
    return known_word(words->variable, words->variables, name);
}

const char *shell_setting_word(const shell_command *command, const char *name)
{
    return known_word(command->setting, command->settings, name);
}

/* ---- quotes, such that bash reads a word back unchanged ---- */

bool shell_is_option(const char *word)
{
    return word[0] == '-' && word[1] == '-' && isalpha((unsigned char)word[2]);
}

/*
 * Writes a word with escapes, as in $'a\012b'. Bytes that are not plain text (base/text.h) could
 * break the line or control the terminal.
 */
static void append_escaped(text_builder *out, const char *word)
{
    size_t left = strlen(word);

    text_append(out, "$'");
    while (left > 0) {
        const size_t plain = text_plain_prefix(word, left);

        for (size_t i = 0; i < plain; i++)
            text_append_printf(out, strchr("'\\", word[i]) != NULL ? "\\%c" : "%c", word[i]);
        word += plain;
        left -= plain;
        if (left == 0)
            break;
        text_append_printf(out, "\\%03o", (unsigned)(unsigned char)*word++);
        left--;
    }
    text_append_char(out, '\'');
}

void shell_append_word(text_builder *out, const char *word)
{
    if (!text_is_plain(word)) {
        append_escaped(out, word);
        return;
    }
    if (!(*word == '\0' ||
          strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                       "-_./:,=+@%") != strlen(word))) {
        text_append(out, word);
        return;
    }
    text_append_char(out, '\'');
    for (; *word != '\0'; word++)
        text_append(out, *word == '\'' ? "'\\''" : (char[]){*word, '\0'});
    text_append_char(out, '\'');
}

char *shell_quoted(const char *word, plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    shell_append_word(&out, word);
    return text_builder_finish(&out, NULL);
}
