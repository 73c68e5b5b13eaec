/* shell_assign.c - assignments of a shell: NAME=VALUE, NAME+=(LIST), NAME[INDEX]=VALUE */
#include <ctype.h>
#include <string.h>

#include "launch/read/shell_parts.h"

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
    }
    at += at < in->end && *at == '+';
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

/* ---- what an assignment does ---- */

/* NAME=VALUE, with what its text tells of the value. */
typedef struct shell_assignment {
    const char *name;
    bool more;     /* NAME+= */
    bool array;    /* (LIST), or an element */
    bool constant; /* nothing in it is expanded */
    bool grows;    /* the old value, and behind a blank more: NAME="$NAME MORE" */
    shell_list value;
} shell_assignment;

static const shell_variable *old_of(const shell_reader *in, const shell_assignment *a)
{
    return shell_find(in, a->name, strlen(a->name));
}

/* Is the value the one that the variable has, and known? */
static bool is_same(const shell_reader *in, const shell_assignment *a)
{
    const shell_variable *const old = old_of(in, a);

    if (a->more || old == NULL || old->value.count != a->value.count || old->array != a->array)
        return false;
    for (int i = 0; i < a->value.count; i++)
        if (!shell_word_known(a->value.word[i]) ||
            strcmp(a->value.word[i], old->value.word[i]) != 0)
            return false;
    return true;
}

/* What the new text has behind the old one and a blank; NULL: it is another one. */
static const char *text_behind(const char *old, const char *text, bool more)
{
    const char *const rest = more ? text : text_starts_with(text, old) ? text + strlen(old) : NULL;

    return rest != NULL && (old[0] == '\0' || strchr(" \t\n", rest[0]) != NULL) ? rest : NULL;
}

/* What the new value has behind the old one; false: it is another value. */
static bool find_rest(shell_reader *in, const shell_assignment *a, shell_list *rest)
{
    const shell_variable *const old = old_of(in, a);
    const shell_list *const value = &a->value;
    const int first = a->more || old == NULL ? 0 : old->value.count;

    if (old == NULL || value->count < first)
        return false;
    *rest = (shell_list){first > 0 ? value->word + first : value->word, value->count - first,
                         value->count - first};
    if (!old->array && !a->array && old->value.count == 1 && value->count == 1) {
        const char **const word = plait_arena_alloc(in->arena, 1, sizeof *word);

        *rest = (shell_list){word, 1, 1};
        if (word != NULL)
            *word = text_behind(old->value.word[0], value->word[0], a->more);
        return word != NULL && *word != NULL;
    }
    for (int i = 0; i < first; i++)
        if (strcmp(value->word[i], old->value.word[i]) != 0)
            return false;
    return true;
}

static bool is_empty(const shell_list *list)
{
    return list->count == 0 || (list->count == 1 && list->word[0][0] == '\0');
}

/* Options from the first word on, all of them known? */
static bool has_only_options(const shell_list *list)
{
    for (int i = 0; i < list->count; i++)
        if (!shell_word_known(list->word[i]))
            return false;
    return shell_is_option(list->word[0] + strspn(list->word[0], " \t\n"));
}

/* A word for what a list does not tell, else for what the open condition hangs on. */
static const char *doubt_of(shell_reader *in, const shell_list *list)
{
    static const char condition[] = "a condition";

    for (int i = 0; i < list->count; i++) {
        const int origin = shell_origin_index(in->out, list->word[i]);

        if (origin >= 0)
            return shell_unknown_set(in, origin);
    }
    return in->doubt >= 0 ? shell_unknown_set(in, in->doubt)
                          : shell_unknown_text(in, condition, sizeof condition - 1, false);
}

/* The old value with a hole behind it. */
static plait_status add_hole(shell_reader *in, const shell_assignment *a, const shell_list *rest,
                             plait_error *err)
{
    const shell_variable *const old = old_of(in, a);
    const char *word = doubt_of(in, rest);

    if (word == NULL)
        return plait_fail_nomem(err);
    if (old->array || old->value.count != 1)
        return shell_set(in, a->name, true, &(shell_list){&word, 1, 1}, err);
    if (old->value.word[0][0] != '\0')
        word = plait_arena_printf(in->arena, "%s %s", old->value.word[0], word);
    return word == NULL ? plait_fail_nomem(err)
                        : shell_set(in, a->name, false, &(shell_list){&word, 1, 1}, err);
}

/* Behind an open condition what is set becomes unknown; that options are added to stays as it is. */
static plait_status assign_in_doubt(shell_reader *in, const shell_assignment *a, plait_error *err)
{
    shell_list rest = {0};
    const bool adds = find_rest(in, a, &rest);
    const char *word;

    if (is_same(in, a) || (adds && is_empty(&rest)))
        return PLAIT_OK;
    PLAIT_TRY(shell_add_doubts(in, adds ? &rest : &a->value, adds, err));
    if (adds)
        return has_only_options(&rest) ? PLAIT_OK : add_hole(in, a, &rest, err);
    word = doubt_of(in, &(shell_list){0});
    return word == NULL ? plait_fail_nomem(err)
                        : shell_set(in, a->name, false, &(shell_list){&word, 1, 1}, err);
}

/* How many elements a variable surely has; -1: not known. */
static int elements_of(const shell_variable *variable)
{
    for (int i = 0; variable != NULL && i < variable->value.count; i++)
        if (shell_word_open(variable->value.word[i]))
            return -1;
    return variable != NULL ? variable->value.count : 0;
}

/* NAME=TEXT and NAME+=TEXT of a list are about its first element. */
static plait_status assign_first(shell_reader *in, const shell_assignment *a, plait_error *err)
{
    const shell_variable *const old = old_of(in, a);
    const char *const text =
        a->more ? plait_arena_printf(in->arena, "%s%s", old->value.word[0], a->value.word[0])
                : a->value.word[0];
    shell_list list = {0};
    shell_variable *set;

    for (int i = 0; i < old->value.count; i++)
        PLAIT_TRY(shell_list_add(in, &list, i == 0 ? text : old->value.word[i], err));
    PLAIT_TRY(shell_set(in, a->name, false, &list, err));
    PLAIT_TRY(shell_make(in, a->name, &set, err));
    set->array = true;
    return PLAIT_OK;
}

/* NAME+=TEXT of a variable is one word still. */
static plait_status assign_surely(shell_reader *in, const shell_assignment *a, plait_error *err)
{
    const shell_variable *const old = old_of(in, a);
    shell_variable *set;
    const char *word;

    if (!a->array && old != NULL && old->array && old->value.count > 0 && a->value.count == 1)
        return old->kind == SHELL_KEYED || elements_of(old) < 0
                   ? shell_set_unknown(in, a->name, a->name, strlen(a->name), err)
                   : assign_first(in, a, err);
    if (a->more && !a->array && old != NULL && !old->array && old->value.count == 1 &&
        a->value.count == 1) {
        word = plait_arena_printf(in->arena, "%s%s", old->value.word[0], a->value.word[0]);
        return word == NULL ? plait_fail_nomem(err)
                            : shell_set(in, a->name, false, &(shell_list){&word, 1, 1}, err);
    }
    PLAIT_TRY(shell_set(in, a->name, a->more, &a->value, err));
    PLAIT_TRY(shell_make(in, a->name, &set, err));
    set->array = set->array || a->array;
    return PLAIT_OK;
}

static plait_status assign(shell_reader *in, const shell_assignment *a, plait_error *err)
{
    if (in->mode == SHELL_SKIP)
        return PLAIT_OK;
    PLAIT_TRY(shell_note_change(in, a->name,
                                a->constant && is_same(in, a) ? SHELL_KEPT
                                : a->grows                    ? SHELL_GROWN
                                                              : SHELL_CHANGED,
                                err));
    if (in->surveying)
        return PLAIT_OK;
    return in->mode == SHELL_RUN ? assign_surely(in, a, err) : assign_in_doubt(in, a, err);
}

/* Digits alone are the same number, or text, in any shape. */
static bool keeps_shape(const shell_assignment *a)
{
    return !a->more && !a->array && a->value.count == 1 && a->value.word[0][0] != '0' &&
           a->value.word[0][strspn(a->value.word[0], "0123456789")] == '\0';
}

/* What `declare` made of the variable may change the value, or set another one. */
static plait_status assign_kind(shell_reader *in, const shell_assignment *a, plait_error *err)
{
    const int found = name_index_find(&in->variable_names, a->name, strlen(a->name));
    const shell_kind kind = found >= 0 ? in->variable[found].kind : SHELL_PLAIN;

    if (kind == SHELL_REFERENCE && in->mode != SHELL_SKIP) {
        PLAIT_TRY(shell_set_unknown(in, a->name, a->name, strlen(a->name), err));
        return shell_forget(in, a->name, strlen(a->name), err);
    }
    if (a->more && old_of(in, a) == NULL && shell_may_be_set(in, a->name, strlen(a->name)))
        return shell_set_unknown(in, a->name, a->name, strlen(a->name), err);
    if (kind == SHELL_SHAPED && !keeps_shape(a))
        return shell_set_unknown(in, a->name, a->name, strlen(a->name), err);
    return assign(in, a, err);
}

plait_status shell_assign_text(shell_reader *in, const char *name, bool more, const char *text,
                               plait_error *err)
{
    const char *word = text;

    return assign_kind(in, &(shell_assignment){.name = name, .more = more, .value = {&word, 1, 1}},
                       err);
}

/* ---- reading ---- */

static bool is_keyed(const shell_reader *in, const char *name)
{
    const int found = name_index_find(&in->variable_names, name, strlen(name));

    return found >= 0 && in->variable[found].kind == SHELL_KEYED;
}

/* An index without its quotes. */
static char *bare_index(shell_reader *in, const char *index)
{
    char *const bare = plait_arena_text(in->arena, index);
    size_t width = 0;

    if (bare == NULL)
        return NULL;
    for (const char *c = index; *c != '\0'; c++)
        if (*c != '"' && *c != '\'')
            bare[width++] = *c;
    bare[width] = '\0';
    return bare;
}

/* NAME[KEY]=VALUE is kept as "[KEY]=VALUE", as in NAME=([KEY]=VALUE). */
static plait_status assign_key(shell_reader *in, const char *name, const char *key,
                               const char *value, plait_error *err)
{
    const char *word = plait_arena_printf(in->arena, "%s%s", key, value);

    if (word == NULL)
        return plait_fail_nomem(err);
    return assign(
        in, &(shell_assignment){.name = name, .more = true, .array = true, .value = {&word, 1, 1}},
        err);
}

/* NAME[3]=VALUE of a list that has three elements, or more. */
static plait_status assign_element(shell_reader *in, const char *name, int64_t index,
                                   const char *value, plait_error *err)
{
    const shell_variable *const old = shell_find(in, name, strlen(name));
    const int count = elements_of(old);
    shell_assignment a = {.name = name, .array = true};

    PLAIT_TRY(shell_spend(in, old != NULL ? (size_t)old->value.count : 0, err));
    if (count < 0 || index < 0 || index > count)
        return shell_set_unknown(in, name, name, strlen(name), err);
    a.more = index == count && (old == NULL || old->array);
    for (int i = 0; !a.more && i < count; i++)
        PLAIT_TRY(shell_list_add(in, &a.value, i == index ? value : old->value.word[i], err));
    if (index == count)
        PLAIT_TRY(shell_list_add(in, &a.value, value, err));
    return assign(in, &a, err);
}

/* NAME[INDEX]=VALUE */
static plait_status read_element(shell_reader *in, const char *name, plait_error *err)
{
    const char *const first = in->at;
    const char *index;
    shell_list list = {0};
    int64_t number;

    shell_skip_to_close(in, '(', '=');
    const bool more = in->at - first >= 2 && in->at[-2] == '+';
    const size_t width = (size_t)(in->at - first);
    PLAIT_TRY(shell_expand(in, first, width, &index, err));
    PLAIT_TRY(read_value(in, &list, err));
    const char *const bare = bare_index(in, index);
    if (bare == NULL)
        return plait_fail_nomem(err);
    if (more) // what stands there already is not looked up
        return shell_set_unknown(in, name, name, strlen(name), err);
    if (is_keyed(in, name))
        return assign_key(in, name, bare, shell_joined(in, &list, 0), err);
    if (width < 4 || !shell_arithmetic(in, first + 1, width - 3, &number))
        return shell_set_unknown(in, name, name, strlen(name), err);
    return assign_element(in, name, number, shell_joined(in, &list, 0), err);
}

/* NAME=([0]=A [1]=B) is NAME=(A B); other orders of a list are not followed. */
static bool settle_list(shell_reader *in, shell_assignment *a)
{
    int given = 0;

    if (!a->array || is_keyed(in, a->name))
        return true;
    for (int i = 0; i < a->value.count; i++) {
        const char *const word = a->value.word[i], *const close = strstr(word, "]=");
        const int width = word[0] == '[' && close != NULL ? (int)(close - word) - 1 : 0;
        const char *const index = plait_arena_printf(in->arena, "%.*s", width, word + 1);
        int number;

        if (width == 0)
            continue;
        if (index == NULL || a->more || !text_parse_int(index, i, i, &number))
            return false;
        a->value.word[i] = close + 2;
        given++;
    }
    return given == 0 || given == a->value.count;
}

/* Does a value begin with its variable, and something more behind a blank? "$NAME MORE", (${NAME[@]} */
static bool begins_with_itself(const char *at, const char *end, const char *name)
{
    const size_t length = strlen(name);

    at += at < end && *at == '(';
    at += at < end && *at == '"';
    if (at == end || *at++ != '$')
        return false;
    const bool braced = at < end && *at == '{';
    at += braced;
    if ((size_t)(end - at) < length || memcmp(at, name, length) != 0)
        return false;
    at += length;
    if (braced && end - at >= 4 && memcmp(at, "[@]}", 4) == 0)
        at += 4;
    else if (braced && (at == end || *at++ != '}'))
        return false;
    at += at < end && *at == '"';
    return at < end && isspace((unsigned char)*at);
}

plait_status shell_read_assignment(shell_reader *in, size_t length, plait_error *err)
{
    shell_assignment a = {.name = plait_arena_printf(in->arena, "%.*s", (int)length, in->at)};

    if (a.name == NULL)
        return plait_fail_nomem(err);
    in->at += length;
    if (*in->at == '[')
        return read_element(in, a.name, err);
    a.more = *in->at == '+';
    in->at += a.more ? 2 : 1;
    a.array = in->at < in->end && *in->at == '(';
    const char *const first = in->at;
    PLAIT_TRY(read_value(in, &a.value, err));
    const size_t width = (size_t)(in->at - first);
    a.constant = memchr(first, '$', width) == NULL && memchr(first, '`', width) == NULL;
    a.grows = a.more
                  ? a.array || (a.value.count == 1 && strchr(" \t\n", a.value.word[0][0]) != NULL)
                  : begins_with_itself(first, in->at, a.name);
    if (!settle_list(in, &a))
        return shell_set_unknown(in, a.name, first, width, err);
    return assign_kind(in, &a, err);
}
