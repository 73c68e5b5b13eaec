/* shell_scope.c - how far what is set reaches: subshells, functions, sums that set as they count */
#include <ctype.h>
#include <string.h>

#include "base/grow.h"
#include "launch/read/shell_parts.h"

/* ---- what is taken back ---- */

static plait_status add_undo(shell_reader *in, const shell_variable *variable, shell_undo **list,
                             int *count, int *capacity, plait_error *err)
{
    shell_undo *more;

    PLAIT_TRY(shell_spend(in, 16, err));
    more = grow_by_one(in->arena, *list, *count, capacity, sizeof *more);
    if (more == NULL)
        return plait_fail_nomem(err);
    *list = more;
    more[(*count)++] = (shell_undo){(int)(variable - in->variable), *variable};
    return PLAIT_OK;
}

plait_status shell_keep(shell_reader *in, const shell_variable *variable, plait_error *err)
{
    return add_undo(in, variable, &in->undo, &in->undos, &in->undo_capacity, err);
}

void shell_take_back(shell_reader *in, int undos)
{
    while (in->undos > undos) {
        const shell_undo *const last = &in->undo[--in->undos];

        in->variable[last->variable] = last->old;
    }
}

plait_status shell_put_back(shell_reader *in, const shell_undo *was, plait_error *err)
{
    shell_variable *const variable = &in->variable[was->variable];
    const shell_change change = variable->change;
    const shell_list entry = variable->entry;

    PLAIT_TRY(shell_keep(in, variable, err));
    *variable = was->old;
    variable->change = change;
    variable->entry = entry;
    return PLAIT_OK;
}

plait_status shell_set_aside(shell_reader *in, int undos, shell_aside *out, plait_error *err)
{
    const int count = in->undos - undos;

    *out = (shell_aside){.count = count};
    if (count == 0)
        return PLAIT_OK;
    out->set = plait_arena_alloc(in->arena, (size_t)count, sizeof *out->set);
    out->old = plait_arena_alloc(in->arena, (size_t)count, sizeof *out->old);
    if (out->set == NULL || out->old == NULL)
        return plait_fail_nomem(err);
    for (int i = 0; i < count; i++) {
        const int variable = in->undo[undos + i].variable;

        out->set[i] = (shell_undo){variable, in->variable[variable]};
    }
    shell_take_back(in, undos);
    return PLAIT_OK;
}

plait_status shell_begin_aside(shell_reader *in, shell_aside *aside, plait_error *err)
{
    for (int i = 0; i < aside->count; i++) {
        const int variable = aside->set[i].variable;

        aside->old[i] = (shell_undo){variable, in->variable[variable]};
        PLAIT_TRY(shell_put_back(in, &aside->set[i], err));
    }
    return PLAIT_OK;
}

plait_status shell_end_aside(shell_reader *in, const shell_aside *aside, plait_error *err)
{
    for (int i = aside->count - 1; i >= 0; i--)
        PLAIT_TRY(shell_put_back(in, &aside->old[i], err));
    return PLAIT_OK;
}

/* ---- functions ---- */

plait_status shell_make_local(shell_reader *in, const char *name, plait_error *err)
{
    shell_variable *variable;

    if (in->calls == 0 || in->mode == SHELL_SKIP)
        return PLAIT_OK;
    PLAIT_TRY(shell_make(in, name, &variable, err));
    return add_undo(in, variable, &in->local, &in->locals, &in->local_capacity, err);
}

plait_status shell_end_locals(shell_reader *in, int locals, plait_error *err)
{
    while (in->locals > locals)
        PLAIT_TRY(shell_put_back(in, &in->local[--in->locals], err));
    return PLAIT_OK;
}

/* ---- what is not known ---- */

plait_status shell_note_change(shell_reader *in, const char *name, shell_change change,
                               plait_error *err)
{
    shell_variable *variable;

    if (in->loop_frame < 0 || change == SHELL_KEPT)
        return PLAIT_OK;
    PLAIT_TRY(shell_make(in, name, &variable, err));
    if (change <= variable->change)
        return PLAIT_OK;
    PLAIT_TRY(shell_keep(in, variable, err));
    variable->change = change;
    return PLAIT_OK;
}

plait_status shell_set_unknown(shell_reader *in, const char *name, const char *text, size_t length,
                               plait_error *err)
{
    const char *word;

    if (in->mode == SHELL_SKIP)
        return PLAIT_OK;
    PLAIT_TRY(shell_note_change(in, name, SHELL_CHANGED, err));
    if (in->surveying)
        return PLAIT_OK;
    word = shell_unknown_text(in, text, length, false);
    return word == NULL ? plait_fail_nomem(err)
                        : shell_set(in, name, false, &(shell_list){&word, 1, 1}, err);
}

plait_status shell_unset(shell_reader *in, const char *name, plait_error *err)
{
    shell_variable *variable = shell_find(in, name, strlen(name));

    if (in->mode == SHELL_SKIP || (variable == NULL && in->unread == 0))
        return PLAIT_OK;
    if (in->mode != SHELL_RUN)
        return shell_set_unknown(in, name, name, strlen(name), err);
    PLAIT_TRY(shell_note_change(in, name, SHELL_CHANGED, err));
    if (in->surveying)
        return PLAIT_OK;
    PLAIT_TRY(shell_make(in, name, &variable, err));
    PLAIT_TRY(shell_keep(in, variable, err));
    variable->unset = true;
    variable->unset_since = in->unread;
    variable->kind = SHELL_PLAIN;
    return PLAIT_OK;
}

/* ---- sums ---- */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *behind_blanks(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

/* = and its like, ++, -- at a sign; == and <= only compare. */
static bool sets(const char *at, const char *end)
{
    static const char *const signs[] = {
        "<<=", ">>=", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", NULL};

    for (const char *const *sign = signs; *sign != NULL; sign++)
        if ((size_t)(end - at) >= strlen(*sign) && memcmp(at, *sign, strlen(*sign)) == 0)
            return true;
    return at < end && *at == '=' && (at + 1 == end || at[1] != '=');
}

/* NAME++, ++NAME, NAME = 1, NAME[1] += 1: a NAME in [first, end) that begins at `at`. */
static bool is_set(const char *first, const char *at, const char *behind, const char *end)
{
    while (at > first && isspace((unsigned char)at[-1]))
        at--;
    if (at - first >= 2 && at[-1] == at[-2] && (at[-1] == '+' || at[-1] == '-'))
        return true;
    behind = behind_blanks(behind, end);
    if (behind < end && *behind == '[') {
        const char *const close = memchr(behind, ']', (size_t)(end - behind));

        behind = close != NULL ? behind_blanks(close + 1, end) : end;
    }
    return sets(behind, end);
}

plait_status shell_run_sum(shell_reader *in, const char *text, size_t length, plait_error *err)
{
    const char *const end = text + length;

    for (const char *at = text, *behind; at < end; at = behind) {
        behind = at;
        while (behind < end && is_name(*behind))
            behind++;
        if (behind == at) {
            behind++;
            continue;
        }
        if (isdigit((unsigned char)*at) || !is_set(text, at, behind, end))
            continue;
        const char *const name = plait_arena_printf(in->arena, "%.*s", (int)(behind - at), at);
        if (name == NULL)
            return plait_fail_nomem(err);
        PLAIT_TRY(shell_set_unknown(in, name, text, length, err));
    }
    return PLAIT_OK;
}
