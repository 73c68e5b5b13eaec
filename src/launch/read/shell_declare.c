/* shell_declare.c - export, declare, local: what they make of variables */
#include <ctype.h>
#include <string.h>

#include "launch/read/shell_parts.h"

bool shell_declares(const char *word)
{
    static const char *const words[] = {"export", "declare", "local", "readonly", "typeset", NULL};

    return text_index(word, words) >= 0;
}

/* Has the command an option of a letter? */
static bool has_letter(const shell_list *words, char letter)
{
    for (int i = 1; i < words->count; i++)
        if (words->word[i][0] == '-' && strchr(words->word[i], letter) != NULL)
            return true;
    return false;
}

static shell_kind kind_of(const shell_list *words)
{
    if (has_letter(words, 'n'))
        return SHELL_REFERENCE;
    if (has_letter(words, 'A'))
        return SHELL_KEYED;
    return has_letter(words, 'i') || has_letter(words, 'l') || has_letter(words, 'u') ? SHELL_SHAPED
                                                                                      : SHELL_PLAIN;
}

/* `local`, `declare` and `typeset` in a function, but for -g: the name is its own. */
static bool is_own(const shell_list *words)
{
    static const char *const own[] = {"local", "declare", "typeset", NULL};

    return text_index(words->word[0], own) >= 0 && !has_letter(words, 'g');
}

plait_status shell_declare_name(shell_reader *in, const shell_list *words, const char *name,
                                plait_error *err)
{
    shell_variable *variable;

    if (in->mode == SHELL_SKIP || strcmp(words->word[0], "export") == 0)
        return PLAIT_OK;
    if (is_own(words))
        PLAIT_TRY(shell_make_local(in, name, err));
    const shell_kind kind = kind_of(words);
    if (kind == SHELL_PLAIN)
        return PLAIT_OK;
    PLAIT_TRY(shell_make(in, name, &variable, err));
    PLAIT_TRY(shell_keep(in, variable, err));
    variable->kind = kind;
    return PLAIT_OK;
}

static size_t name_width(const char *word)
{
    size_t width = 0;

    while (isalnum((unsigned char)word[width]) || word[width] == '_')
        width++;
    return isdigit((unsigned char)word[0]) ? 0 : width;
}

/* NAME: one of a function's own is not set, until it is. */
static plait_status declare_bare(shell_reader *in, const shell_list *words, const char *name,
                                 plait_error *err)
{
    PLAIT_TRY(shell_declare_name(in, words, name, err));
    return is_own(words) && in->calls > 0 ? shell_unset(in, name, err) : PLAIT_OK;
}

static plait_status declare_one(shell_reader *in, const shell_list *words, const char *word,
                                plait_error *err)
{
    const size_t width = name_width(word);
    const bool more = word[width] == '+' && word[width + 1] == '=';
    const int origin = shell_origin_index(in->out, word);
    const char *const name = plait_arena_printf(in->arena, "%.*s", (int)width, word);

    if (name == NULL)
        return plait_fail_nomem(err);
    if (width > 0 && word[width] == '\0')
        return declare_bare(in, words, name, err);
    if (width > 0 && word[width] == '[')
        return shell_set_unknown(in, name, word, strlen(word), err);
    if (width > 0 && (word[width] == '=' || more)) {
        PLAIT_TRY(shell_declare_name(in, words, name, err));
        return shell_assign_text(in, name, more, word + width + (more ? 2 : 1), err);
    }
    if (origin < 0 || (in->out->origin[origin].unset && shell_word_open(word)))
        return PLAIT_OK; // no name; what is not set is no word
    const char *const text = in->out->origin[origin].text;
    return shell_forget(in, text, strlen(text), err);
}

/* -p and -f only show; export -n only hides. */
plait_status shell_declare_words(shell_reader *in, const shell_list *words, plait_error *err)
{
    if (has_letter(words, 'p') || has_letter(words, 'f') || has_letter(words, 'F'))
        return PLAIT_OK;
    for (int i = 1; i < words->count; i++)
        if (words->word[i][0] != '-')
            PLAIT_TRY(declare_one(in, words, words->word[i], err));
    return PLAIT_OK;
}
