/* shell_values.c - what a shell script sets: lists of words, variables, marks of what is not known */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "launch/read/shell_parts.h"

/* ---- lists and variables ---- */

plait_status shell_fail(const shell_reader *in, const char *found, plait_error *err)
{
    char where[256];

    snprintf(where, sizeof where, "%.200s:%d", in->name, in->line);
    return plait_fail(err, PLAIT_ERROR_SYNTAX, where, "expected shell words, found %s", found);
}

plait_status shell_spend(shell_reader *in, size_t bytes, plait_error *err)
{
    in->bytes += bytes;
    return in->bytes > SHELL_MAX_BYTES ? shell_fail(in, "more than 4 MiB of them", err) : PLAIT_OK;
}

plait_status shell_list_add(shell_reader *in, shell_list *list, const char *word, plait_error *err)
{
    const char **more;

    if (list->count == SHELL_MAX_WORDS)
        return shell_fail(in, "more than 65536 of them", err);
    PLAIT_TRY(shell_spend(in, word != NULL ? strlen(word) + 8 : 0, err));
    more = grow_by_one(in->arena, list->word, list->count, &list->capacity, sizeof *more);
    if (more == NULL || word == NULL)
        return plait_fail_nomem(err);
    list->word = more;
    more[list->count++] = word;
    return PLAIT_OK;
}

shell_variable *shell_find(const shell_reader *in, const char *name, size_t length)
{
    const int found = name_index_find(&in->variable_names, name, length);

    return found >= 0 && !in->variable[found].unset ? &in->variable[found] : NULL;
}

plait_status shell_make(shell_reader *in, const char *name, shell_variable **out, plait_error *err)
{
    const int found = name_index_find(&in->variable_names, name, strlen(name));
    shell_variable *more;

    if (found >= 0) {
        *out = &in->variable[found];
        return PLAIT_OK;
    }
    if (in->variables == SHELL_MAX_VARIABLES)
        return shell_fail(in, "more than 1024 variables", err);
    more =
        grow_by_one(in->arena, in->variable, in->variables, &in->variable_capacity, sizeof *more);
    if (more == NULL || !name_index_put(&in->variable_names, in->arena, name, in->variables))
        return plait_fail_nomem(err);
    in->variable = more;
    *out = &more[in->variables++];
    **out = (shell_variable){.name = name, .unset = true};
    return PLAIT_OK;
}

plait_status shell_set(shell_reader *in, const char *name, bool more, const shell_list *value,
                       plait_error *err)
{
    shell_variable *variable;

    PLAIT_TRY(shell_make(in, name, &variable, err));
    PLAIT_TRY(shell_keep(in, variable, err));
    if (!more || variable->unset) {
        variable->value = (shell_list){0};
        variable->array = false;
    }
    variable->unset = false;
    variable->line = in->command_line;
    for (int i = 0; i < value->count; i++)
        PLAIT_TRY(shell_list_add(in, &variable->value, value->word[i], err));
    return PLAIT_OK;
}

/* ---- what is not known ---- */

static const char *mark(shell_reader *in, int origin)
{
    return plait_arena_printf(in->arena, "%c%d%c", SHELL_UNKNOWN, origin, SHELL_UNKNOWN_END);
}

static const char *add_origin(shell_reader *in, const char *text, bool unset)
{
    shell_words *const out = in->out;
    shell_origin *more;

    for (int i = 0; i < out->unknown; i++)
        if (out->origin[i].unset == unset && strcmp(out->origin[i].text, text) == 0)
            return mark(in, i);
    if (out->unknown == SHELL_MAX_ORIGINS)
        return mark(in, 0);
    more = grow_by_one(in->arena, out->origin, out->unknown, &in->origin_capacity, sizeof *more);
    if (more == NULL)
        return NULL;
    out->origin = more;
    more[out->unknown] = (shell_origin){text, unset};
    return mark(in, out->unknown++);
}

const char *shell_unknown_text(shell_reader *in, const char *text, size_t length, bool unset)
{
    size_t shown = 0;

    while (shown < length && shown < 60 && text[shown] != '\n')
        shown++;
    const char *const copy = plait_arena_printf(in->arena, "%.*s", (int)shown, text);

    return copy != NULL ? add_origin(in, copy, unset) : NULL;
}

const char *shell_unknown(shell_reader *in, const char *from, bool unset)
{
    return shell_unknown_text(in, from, in->at > from ? (size_t)(in->at - from) : 0, unset);
}

const char *shell_unknown_set(shell_reader *in, int origin)
{
    return add_origin(in, in->out->origin[origin].text, false);
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
