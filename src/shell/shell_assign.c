/* shell_assign.c - assignments, which depend on the certainty of the current command */
#include <string.h>

#include "shell/shell_state.h"

/* Is the new value known, and equal to the variable's? */
static bool is_same(const shell_variable *old, const shell_assignment *a)
{
    bool same =
        !a->more && old->set && old->value.count == a->value.count && old->array == a->array;

    for (int i = 0; same && i < a->value.count; i++)
        same =
            shell_word_known(a->value.word[i]) && strcmp(a->value.word[i], old->value.word[i]) == 0;
    return same;
}

/*
 * Does the new value begin with the old one? If so, *rest is set to the part after it. If that is
 * part of a word, it begins with a blank and is stored in *word.
 */
static bool find_addition(const shell_variable *old, const shell_assignment *a, shell_list *rest,
                          const char **word)
{
    const int first = a->more ? 0 : old->value.count;

    if (!old->set || a->value.count < first)
        return false;
    if (!old->array && !a->array && old->value.count == 1 && a->value.count == 1) {
        const char *const text = a->value.word[0], *const before = old->value.word[0];

        if (!a->more && !text_starts_with(text, before))
            return false;
        *word = a->more ? text : text + strlen(before);
        *rest = (shell_list){word, 1, 1};
        return before[0] == '\0' || strchr(" \t\n", **word) != NULL;
    }
    for (int i = 0; i < first; i++)
        if (strcmp(a->value.word[i], old->value.word[i]) != 0)
            return false;
    *rest =
        (shell_list){first > 0 ? a->value.word + first : a->value.word, a->value.count - first, 0};
    return true;
}

/*
 * Sets a variable to an unknown value with the text of an origin; if `adds`, after its old value.
 */
static void set_origin(shell_state *in, const shell_variable *old, bool adds, int origin)
{
    const char *const text = origin >= 0 ? in->out->origin[origin].text : "a condition";
    const char *unknown = shell_unknown(in, shell_text_of(text), false);

    if (adds && (old->array || old->value.count != 1)) {
        shell_set(in, old->name, true, &(shell_list){&unknown, 1, 1});
        return;
    }
    if (adds && old->value.word[0][0] != '\0')
        unknown = shell_concat(in->c, old->value.word[0], " ", unknown);
    shell_set_word(in, old->name, unknown);
}

/*
 * Assigns if the command may not run: added options keep the old value, other text makes it
 * uncertain.
 */
static void assign_possible(shell_state *in, const shell_variable *old, const shell_assignment *a)
{
    shell_list rest = {0};
    const char *word;
    const bool adds = find_addition(old, a, &rest, &word);
    int origin = -1;

    if (is_same(old, a) ||
        (adds && (rest.count == 0 || (rest.count == 1 && *rest.word[0] == '\0'))))
        return;
    shell_add_doubts(in, adds ? &rest : &a->value, adds);
    for (int i = 0; i < rest.count && origin < 0; i++)
        origin = shell_origin_index(in->out, rest.word[i]);
    if (!adds || origin >= 0 || !shell_is_option(rest.word[0] + strspn(rest.word[0], " \t\n")))
        set_origin(in, old, adds, adds && origin >= 0 ? origin : in->doubt);
}

/*
 * Assigns if the command runs. For arrays, NAME=TEXT and NAME+=TEXT change the first element only.
 */
static void assign_certain(shell_state *in, shell_variable *variable, const shell_assignment *a)
{
    const shell_list old = variable->value;
    const bool first = variable->set && !a->array && old.count > 0 && a->value.count == 1;
    const bool array = a->array || (variable->set && variable->array);
    shell_list list = {0};

    for (int i = 0; first && array && i < old.count; i++)
        if (shell_word_open(old.word[i])) { // may be any number of elements
            shell_set_unknown(in, a->name, shell_text_of(a->name));
            return;
        }
    if (first) {
        const char *const word = a->value.word[0];

        shell_list_add(in, &list, a->more ? shell_concat(in->c, old.word[0], word, "") : word);
        for (int i = 1; array && i < old.count; i++)
            shell_list_add(in, &list, old.word[i]);
    }
    shell_set(in, a->name, a->more && !first, first ? &list : &a->value);
    variable->array = a->array || ((a->more || first) && array);
}

void shell_assign(shell_state *in, const shell_assignment *a)
{
    const shell_text name = shell_text_of(a->name);
    shell_variable *const variable = shell_variable_of(in, a->name);
    shell_list rest;
    const char *word;

    if (variable->opaque || (a->more && !variable->set && shell_may_be_set(in, name)))
        shell_set_unknown(in, a->name, name);
    else if (in->certainty == SHELL_CERTAIN)
        assign_certain(in, variable, a);
    else if (!in->surveying)
        assign_possible(in, variable, a);
    else if (!a->constant || !is_same(variable, a))
        set_origin(in, variable, a->extends && find_addition(variable, a, &rest, &word), in->doubt);
}

void shell_assign_word(shell_state *in, const char *name, bool more, const char *word)
{
    shell_assign(in, &(shell_assignment){.name = name, .more = more, .value = {&word, 1, 1}});
}
