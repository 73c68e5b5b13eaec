/* shell_assign.c - assignments of a shell: NAME=VALUE, NAME+=(LIST), NAME[INDEX]=VALUE */
#include <ctype.h>
#include <string.h>

#include "shell_parts.h"

/* Length of the NAME of a `NAME=`, `NAME+=` or `NAME[INDEX]=` at the cursor, or 0. */
size_t shell_assignment_at(const shell_reader *in)
{
    const char *at = in->at;

    while (at < in->end && (isalnum((unsigned char)*at) || *at == '_'))
        at++;
    const size_t length = (size_t)(at - in->at);
    if (length == 0 || isdigit((unsigned char)*in->at))
        return 0;
    if (at < in->end && *at == '[') {
        while (at < in->end && *at != ']' && *at != '\n' && *at != ' ')
            at++;
        at += at < in->end && *at == ']';
    } else if (at < in->end && *at == '+') {
        at++;
    }
    return at < in->end && *at == '=' ? length : 0;
}

static plait_status read_array(shell_reader *in, shell_list *list, plait_error *err)
{
    for (;;) {
        PLAIT_TRY(shell_skip_space(in, err));
        if (in->at == in->end)
            return shell_fail(in, "a ( that is not closed", err);
        if (*in->at == ')') {
            in->at++;
            return PLAIT_OK;
        }
        if (strchr(";&|(<>", *in->at) != NULL)
            in->at++;
        else
            PLAIT_TRY(shell_read_word(in, list, err));
    }
}

/* An unquoted value is not cut in an assignment. */
static plait_status read_value(shell_reader *in, shell_list *list, plait_error *err)
{
    shell_list words = {0};

    if (in->at < in->end && *in->at == '(') {
        in->at++;
        return read_array(in, list, err);
    }
    PLAIT_TRY(shell_read_word(in, &words, err));
    return shell_list_add(in, list, shell_joined(in, &words, 0), err);
}

/* Is the new value the old one with something behind it? */
static bool adds(const shell_reader *in, const char *name, bool more, const shell_list *value)
{
    const shell_variable *const old = shell_find(in, name, strlen(name));

    if (more)
        return true;
    if (old == NULL || value->count < old->value.count || old->value.count == 0)
        return false;
    for (int i = 0; i < old->value.count; i++)
        if (!text_starts_with(value->word[i], old->value.word[i]))
            return false;
    return true;
}

/* Behind an open condition what is set becomes unknown; what is added to stays as it is. */
static plait_status assign_in_doubt(shell_reader *in, const char *name, bool more,
                                    const shell_list *value, plait_error *err)
{
    const char *word;

    PLAIT_TRY(shell_add_doubts(in, value, err));
    for (int i = 0; more && i < value->count; i++) // a hole stays a hole
        if (!shell_word_known(value->word[i]))
            PLAIT_TRY(shell_set(in, name, true, &(shell_list){&value->word[i], 1, 1}, err));
    if (adds(in, name, more, value) || in->doubt < 0)
        return PLAIT_OK;
    word = shell_unknown_set(in, in->doubt);
    if (word == NULL)
        return plait_fail_nomem(err);
    return shell_set(in, name, false, &(shell_list){&word, 1, 1}, err);
}

/* NAME+=TEXT of a variable is one word still. */
static plait_status assign(shell_reader *in, const char *name, bool more, bool array,
                           const shell_list *value, plait_error *err)
{
    const shell_variable *const old = shell_find(in, name, strlen(name));
    const char *word;

    if (in->mode == SHELL_SKIP)
        return PLAIT_OK;
    if (in->mode == SHELL_DOUBT)
        return assign_in_doubt(in, name, more, value, err);
    if (!more || array || old == NULL || old->value.count != 1 || value->count != 1)
        return shell_set(in, name, more, value, err);
    word = plait_arena_printf(in->arena, "%s%s", old->value.word[0], value->word[0]);
    return word == NULL ? plait_fail_nomem(err)
                        : shell_set(in, name, false, &(shell_list){&word, 1, 1}, err);
}

/* NAME[INDEX]=VALUE is kept as "[INDEX]=VALUE", as in NAME=([INDEX]=VALUE). */
static plait_status read_element(shell_reader *in, const char *name, plait_error *err)
{
    const char *const first = in->at;
    const char *index, *word;
    shell_list list = {0};

    shell_skip_to_close(in, '(', '=');
    PLAIT_TRY(shell_expand(in, first, (size_t)(in->at - first), &index, err));
    PLAIT_TRY(read_value(in, &list, err));
    char *const bare = plait_arena_text(in->arena, index);
    if (bare == NULL)
        return plait_fail_nomem(err);
    size_t width = 0;
    for (const char *c = index; *c != '\0'; c++)
        if (*c != '"' && *c != '\'')
            bare[width++] = *c;
    bare[width] = '\0';
    word = plait_arena_printf(in->arena, "%s%s", bare, shell_joined(in, &list, 0));
    return word == NULL ? plait_fail_nomem(err)
                        : assign(in, name, true, true, &(shell_list){&word, 1, 1}, err);
}

plait_status shell_read_assignment(shell_reader *in, size_t length, plait_error *err)
{
    const char *const name = plait_arena_printf(in->arena, "%.*s", (int)length, in->at);
    shell_list list = {0};

    if (name == NULL)
        return plait_fail_nomem(err);
    in->at += length;
    if (*in->at == '[')
        return read_element(in, name, err);
    const bool more = *in->at == '+';
    in->at += more ? 2 : 1;
    const bool array = in->at < in->end && *in->at == '(';
    PLAIT_TRY(read_value(in, &list, err));
    return assign(in, name, more, array, &list, err);
}
