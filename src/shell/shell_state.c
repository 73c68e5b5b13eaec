/*
 * shell_state.c - state of the evaluator: variables, unknown values, assignments (by the certainty
 * of the current command), output, memory, limits and failures
 */
#include "shell/shell_state.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"

enum { MAX_WORDS = 1 << 16, MAX_VARIABLES = 1 << 10, MAX_ORIGINS = 1 << 9, MAX_ORIGIN_TEXT = 60 };

/* ---- memory, limits, failures ---- */

shell_text shell_text_of(const char *word)
{
    return (shell_text){word, strlen(word)};
}

void shell_fail(shell_context *c, const char *found)
{
    char where[256];

    snprintf(where, sizeof where, "%.200s:%d", c->name, c->line);
    c->status = plait_fail(c->err, PLAIT_ERROR_SYNTAX, where,
                           "expected a valid shell script, found %s", found);
    longjmp(c->failed, 1);
}

void shell_fail_nomem(shell_context *c)
{
    c->status = plait_fail_nomem(c->err);
    longjmp(c->failed, 1);
}

static void *check_memory(shell_context *c, void *memory)
{
    if (memory == NULL)
        shell_fail_nomem(c);
    return memory;
}

void shell_spend(shell_context *c, size_t cost)
{
    c->spent += cost;
    if (c->spent > SHELL_MAX_BYTES)
        shell_fail(c, "more than 4 MiB of parsed and expanded text");
}

void *shell_alloc(shell_context *c, size_t count, size_t size)
{
    return check_memory(c, plait_arena_alloc(c->arena, count, size));
}

void *shell_grow(shell_context *c, void *list, int count, int *capacity, size_t size)
{
    return check_memory(c, grow_by_one(c->arena, list, count, capacity, size));
}

char *shell_copy(shell_context *c, shell_text text)
{
    return check_memory(c, plait_arena_printf(c->arena, "%.*s", (int)text.length, text.at));
}

char *shell_concat(shell_context *c, const char *a, const char *b, const char *d)
{
    return check_memory(c, plait_arena_printf(c->arena, "%s%s%s", a, b, d));
}

char *shell_finish(shell_context *c, text_builder *text)
{
    return check_memory(c, text_builder_finish(text, NULL));
}

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

/* If there are MAX_ORIGINS origins, all further unknown values have the first origin. */
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

/* The variables of SLURM and of the caller's arguments, which have no line, stay known. */
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

/* ---- assignments ---- */

/* Records a doubt for each option of a value that depends on the current condition. */
static void add_doubts(shell_state *in, const shell_list *value, bool added)
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

/* Returns whether the new value is known and equals the variable's value. */
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
 * Returns whether the new value begins with the old value, and sets *rest to the part that follows.
 * If this part is the rest of a word, it must begin with a blank, and *word points to it.
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
 * Sets a variable to an unknown value with the text of an origin. If `adds`, the unknown value
 * follows the old value.
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
 * Assigns a value if the command possibly does not run. If the new value only adds options, the
 * variable keeps its old value; otherwise the added text or the whole value becomes unknown.
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
    add_doubts(in, adds ? &rest : &a->value, adds);
    for (int i = 0; i < rest.count && origin < 0; i++)
        origin = shell_origin_index(in->out, rest.word[i]);
    if (!adds || origin >= 0 || !shell_is_option(rest.word[0] + strspn(rest.word[0], " \t\n")))
        set_origin(in, old, adds, adds && origin >= 0 ? origin : in->doubt);
}

/*
 * Assigns a value if the command certainly runs. For arrays, NAME=TEXT and NAME+=TEXT change the
 * first element only.
 */
static void assign_certain(shell_state *in, shell_variable *variable, const shell_assignment *a)
{
    const shell_list old = variable->value;
    const bool first = variable->set && !a->array && old.count > 0 && a->value.count == 1;
    const bool array = a->array || (variable->set && variable->array);
    shell_list list = {0};

    for (int i = 0; first && array && i < old.count; i++)
        if (shell_word_open(old.word[i])) { // an unknown word can be any number of elements
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
