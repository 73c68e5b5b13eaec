/* shell_braces.c - ${NAME}: its whole, an element, a default, an alternative */
#include <ctype.h>
#include <string.h>

#include "launch/read/shell_parts.h"

/* A word that stands in braces, out of its quotes: a default, an index. */
static plait_status expand_inner(shell_reader *in, const char *text, size_t length, bool *quoted,
                                 const char **out, plait_error *err)
{
    *quoted = length >= 2 && (text[0] == '"' || text[0] == '\'') && text[length - 1] == text[0];
    return shell_expand(in, text + *quoted, length - (*quoted ? 2 : 0), out, err);
}

/* The element of a list that an index picks: [3], or of an associative array [7B]. NULL: none. */
static const char *element_of(const shell_list *value, const char *index)
{
    const size_t width = strlen(index);
    int number;

    for (int i = value->count - 1; i >= 0; i--) {
        const char *const word = value->word[i];

        if (word[0] == '[' && strncmp(word + 1, index, width) == 0 &&
            strncmp(word + 1 + width, "]=", 2) == 0)
            return word + width + 3;
        if (shell_word_open(word)) // any number of elements
            return NULL;
    }
    return text_parse_int(index, 0, value->count - 1, &number) ? value->word[number] : NULL;
}

/* ${NAME[INDEX]} */
static plait_status append_element(shell_reader *in, const shell_list *value, const char *text,
                                   size_t length, bool quoted, shell_word *word, shell_list *list,
                                   const char *from, plait_error *err)
{
    const char *index, *element;
    bool ignored;

    PLAIT_TRY(expand_inner(in, text, length, &ignored, &index, err));
    PLAIT_TRY(shell_spend(in, (size_t)value->count, err)); // each may be looked at
    element = element_of(value, index);
    if (element == NULL)
        return shell_append_unknown(in, word, from, false, err);
    word->begun = word->begun || quoted;
    return shell_append_split(in, element, quoted, word, list, err);
}

static bool is_all(const shell_braces *b)
{
    return b->length == 3 && (memcmp(b->rest, "[@]", 3) == 0 || memcmp(b->rest, "[*]", 3) == 0);
}

/* ${NAME}, ${NAME[@]}, ${NAME[*]} */
plait_status shell_append_whole(shell_reader *in, const shell_braces *b, shell_word *word,
                                shell_list *list, plait_error *err)
{
    const shell_variable *const variable = shell_find(in, b->name, b->name_length);

    if (b->value == NULL)
        return shell_append_unknown(in, word, b->from, !b->settable, err);
    if (variable != NULL && variable->kind == SHELL_KEYED)
        return shell_append_unknown(in, word, b->from, false, err); // its order is bash's own
    if (variable != NULL && variable->array && b->length == 0)
        return shell_append_value(in, &(shell_list){b->value->word, b->value->count > 0, 0},
                                  b->quoted, word, list, err);
    if (b->quoted && b->length == 3 && b->rest[1] == '*')
        return shell_append_joined(in, b->value, word, list, b->from, err);
    return shell_append_value(in, b->value, b->quoted, word, list, err);
}

/* ${NAME:=TEXT} */
static plait_status assign_default(shell_reader *in, const shell_braces *b, const char *text,
                                   plait_error *err)
{
    const char *const name = plait_arena_printf(in->arena, "%.*s", (int)b->name_length, b->name);

    if (name == NULL)
        return plait_fail_nomem(err);
    return b->name_length > 0 && !isdigit((unsigned char)name[0])
               ? shell_assign_text(in, name, false, text, err)
               : PLAIT_OK;
}

/* ${NAME:-TEXT}, ${NAME:=TEXT} of one that is empty, ${NAME:+TEXT} of one that is not. */
static plait_status append_other(shell_reader *in, const shell_braces *b, bool colon,
                                 shell_word *word, shell_list *list, plait_error *err)
{
    const size_t skipped = (size_t)colon + 1;
    const char *text;
    bool inner;

    PLAIT_TRY(expand_inner(in, b->rest + skipped, b->length - skipped, &inner, &text, err));
    if (b->rest[colon] == '=')
        PLAIT_TRY(assign_default(in, b, text, err));
    word->begun = word->begun || b->quoted || inner;
    return shell_append_split(in, text, b->quoted || inner, word, list, err);
}

/* Is a value empty, so far as that is known? What is not known may be either. */
static shell_answer is_empty(const shell_braces *b, bool colon)
{
    if (b->value == NULL)
        return b->settable ? SHELL_OPEN : SHELL_YES;
    if (!colon || b->value->count > 1)
        return SHELL_NO;
    if (b->value->count == 0 || b->value->word[0][0] == '\0')
        return SHELL_YES;
    return shell_word_open(b->value->word[0]) ? SHELL_OPEN : SHELL_NO;
}

/* What stands behind the name in braces: a default, an alternative, an index, or nothing. */
plait_status shell_append_operation(shell_reader *in, const shell_braces *b, shell_word *word,
                                    shell_list *list, plait_error *err)
{
    const bool colon = b->length >= 2 && b->rest[0] == ':';
    const char sign = b->length >= 1 ? b->rest[colon] : '\0';
    const shell_answer empty = is_empty(b, colon);

    if (b->length == 0 || is_all(b))
        return shell_append_whole(in, b, word, list, err);
    if (sign == '\0' || strchr("-=+?", sign) == NULL) {
        if (b->value != NULL && b->rest[0] == '[' && b->rest[b->length - 1] == ']')
            return append_element(in, b->value, b->rest + 1, b->length - 2, b->quoted, word, list,
                                  b->from, err);
        return shell_append_unknown(in, word, b->from, b->value == NULL && !b->settable, err);
    }
    if (b->value == NULL && (b->settable || sign == '+'))
        return shell_append_unknown(in, word, b->from, !b->settable, err);
    if (sign == '+' && empty == SHELL_OPEN)
        return shell_append_unknown(in, word, b->from, false, err);
    if (sign == '+' ? empty == SHELL_NO : empty == SHELL_YES && sign != '?')
        return append_other(in, b, colon, word, list, err);
    if (sign == '?' && empty == SHELL_YES)
        return shell_append_unknown(in, word, b->from, true, err);
    word->begun = word->begun || b->quoted;
    return sign == '+' ? PLAIT_OK : shell_append_value(in, b->value, b->quoted, word, list, err);
}
