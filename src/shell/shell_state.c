/* shell_state.c - variables of a script, unknown values, and the output */
#include "shell/shell_state.h"

#include <ctype.h>
#include <string.h>

enum { MAX_WORDS = 1 << 16, MAX_VARIABLES = 1 << 10, MAX_ORIGINS = 1 << 9, MAX_ORIGIN_TEXT = 60 };

/* ---- lists, unknown values ---- */

void shell_list_add(shell_state *in, shell_list *list, const char *word)
{
    if (list->count == MAX_WORDS)
        shell_fail(in->c, "more than 65536 words");
    shell_spend(in->c, strlen(word) + 8);
    list->word = shell_grow(in->c, list->word, list->count, &list->capacity, sizeof *list->word);
    list->word[list->count++] = word;
}

const char *shell_joined(shell_state *in, const shell_list *words, int from)
{
    text_builder out;

    text_builder_init(&out, in->c->arena);
    for (int i = from; i < words->count; i++) {
        text_append(&out, i > from ? " " : "");
        text_append(&out, words->word[i]);
    }
    return shell_finish(in->c, &out);
}

/* After MAX_ORIGINS origins, further unknown values share the first origin. */
const char *shell_unknown(shell_state *in, shell_text text, bool unset)
{
    shell_words *const out = in->out;
    const char *const newline = memchr(text.at, '\n', text.length);
    int index = 0;

    text.length = newline != NULL ? (size_t)(newline - text.at) : text.length;
    text.length = text.length < MAX_ORIGIN_TEXT ? text.length : MAX_ORIGIN_TEXT;
    const char *const copy = shell_copy(in->c, text);
    while (index < out->unknown &&
           (out->origin[index].unset != unset || strcmp(out->origin[index].text, copy) != 0))
        index++;
    if (index == MAX_ORIGINS) {
        index = 0;
    } else if (index == out->unknown) {
        out->origin =
            shell_grow(in->c, out->origin, out->unknown, &in->origin_capacity, sizeof *out->origin);
        out->origin[out->unknown++] = (shell_origin){copy, unset};
    }
    char mark[] = {SHELL_UNKNOWN, (char)('0' + index / 100), (char)('0' + index / 10 % 10),
                   (char)('0' + index % 10), SHELL_UNKNOWN_END};
    return shell_copy(in->c, (shell_text){mark, sizeof mark});
}

int shell_origin_index(const shell_words *words, const char *word)
{
    const char *const at = strchr(word, SHELL_UNKNOWN);
    int index = 0;

    if (at == NULL)
        return -1;
    for (const char *digit = at + 1; isdigit((unsigned char)*digit) && index < words->unknown;)
        index = 10 * index + (*digit++ - '0');
    return index < words->unknown ? index : words->unknown - 1;
}

/* ---- variables ---- */

shell_variable *shell_find(const shell_state *in, shell_text name)
{
    const int found = name_index_find(&in->variable_names, name.at, name.length);

    return found >= 0 && in->variable[found].set ? &in->variable[found] : NULL;
}

bool shell_may_be_set(const shell_state *in, shell_text name)
{
    static const char set_by_bash[] =
        "HOSTNAME HOME USER LOGNAME PATH PWD SHELL UID EUID PPID RANDOM SECONDS LINENO BASHPID "
        "BASH BASH_VERSION BASH_SOURCE HOSTTYPE OSTYPE MACHTYPE SHLVL IFS OPTIND GROUPS OPTARG "
        "REPLY EPOCHSECONDS PIPESTATUS BASH_REMATCH MAPFILE _ EPOCHREALTIME ";
    const int found = name_index_find(&in->variable_names, name.at, name.length);

    for (const char *at = set_by_bash; *at != '\0'; at += strcspn(at, " ") + 1)
        if (strcspn(at, " ") == name.length && memcmp(at, name.at, name.length) == 0)
            return true;
    return in->unread > (found >= 0 ? in->variable[found].unset_at : 0);
}

shell_variable *shell_variable_of(shell_state *in, const char *name)
{
    const int found = name_index_find(&in->variable_names, name, strlen(name));

    if (found >= 0)
        return &in->variable[found];
    if (in->variables == MAX_VARIABLES)
        shell_fail(in->c, "more than 1024 variables");
    in->variable = shell_grow(in->c, in->variable, in->variables, &in->variable_capacity,
                              sizeof *in->variable);
    if (!name_index_put(&in->variable_names, in->c->arena, name, in->variables))
        shell_fail_nomem(in->c);
    in->variable[in->variables] = (shell_variable){.name = name};
    return &in->variable[in->variables++];
}

void shell_set(shell_state *in, const char *name, bool more, const shell_list *value)
{
    shell_variable *const variable = shell_variable_of(in, name);

    if (!more || !variable->set) {
        variable->value = (shell_list){0};
        variable->array = false;
    }
    variable->set = true;
    variable->line = in->c->line;
    for (int i = 0; i < value->count; i++)
        shell_list_add(in, &variable->value, value->word[i]);
}

void shell_set_word(shell_state *in, const char *name, const char *word)
{
    shell_set(in, name, false, &(shell_list){&word, 1, 1});
}

void shell_set_unknown(shell_state *in, const char *name, shell_text text)
{
    shell_set_word(in, name, shell_unknown(in, text, false));
}

void shell_unset(shell_state *in, const char *name)
{
    if (shell_find(in, shell_text_of(name)) == NULL && in->unread == 0)
        return;
    if (in->certainty != SHELL_CERTAIN)
        shell_set_unknown(in, name, shell_text_of(name));
    else
        *shell_variable_of(in, name) = (shell_variable){.name = name, .unset_at = in->unread};
}

/* Keeps the variables of SLURM and of the caller's arguments, which have no line. */
void shell_forget(shell_state *in, shell_text text)
{
    in->unread++;
    shell_spend(in->c, (size_t)in->variables);
    for (int v = 0; v < in->variables; v++)
        if (in->variable[v].set && in->variable[v].line > 0)
            shell_set_unknown(in, in->variable[v].name, text);
}

shell_saved shell_save(shell_state *in)
{
    const shell_saved saved = {
        shell_alloc(in->c, (size_t)in->variables + 1, sizeof *saved.variable), in->variables};

    shell_spend(in->c, (size_t)in->variables * sizeof *saved.variable / 4);
    if (saved.count > 0)
        memcpy(saved.variable, in->variable, (size_t)saved.count * sizeof *saved.variable);
    return saved;
}

void shell_restore(shell_state *in, shell_saved saved)
{
    for (int v = 0; v < in->variables; v++)
        in->variable[v] =
            v < saved.count ? saved.variable[v] : (shell_variable){.name = in->variable[v].name};
}

/* ---- output ---- */

void shell_add_command(shell_state *in, const shell_list *words)
{
    shell_words *const out = in->out;
    shell_list all = {out->word, out->count, in->word_capacity};

    if (in->surveying)
        return;
    out->command =
        shell_grow(in->c, out->command, out->commands, &in->command_capacity, sizeof *out->command);
    out->command[out->commands++] = (shell_command){.first = out->count,
                                                    .count = words->count,
                                                    .doubtful = in->certainty == SHELL_POSSIBLE,
                                                    .ended = in->ended,
                                                    .line = in->c->line};
    for (int i = 0; i < words->count; i++)
        shell_list_add(in, &all, words->word[i]);
    out->word = all.word;
    out->count = all.count;
    in->word_capacity = all.capacity;
}

void shell_add_file(shell_state *in, const char *name, const char *text)
{
    shell_words *const out = in->out;

    if (in->surveying)
        return;
    out->file = shell_grow(in->c, out->file, out->files, &in->file_capacity, sizeof *out->file);
    out->file[out->files++] = (shell_file){name, text};
}

void shell_add_doubts(shell_state *in, const shell_list *value, bool added)
{
    shell_words *const out = in->out;
    const char *const origin = in->doubt >= 0 ? out->origin[in->doubt].text : "a condition";

    for (int i = 0; i < value->count; i++)
        for (const char *at = value->word[i]; (at = strstr(at, "--")) != NULL;) {
            const shell_text option = {at, strcspn(at, " \t\n=")};

            if (shell_is_option(at)) {
                out->doubt = shell_grow(in->c, out->doubt, out->doubts, &in->doubt_capacity,
                                        sizeof *out->doubt);
                out->doubt[out->doubts++] = (shell_doubt){shell_copy(in->c, option), origin, added};
            }
            at += option.length;
        }
}
