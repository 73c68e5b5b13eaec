/* arguments_parse.c - Megatron-LM's arguments on their way in, by their table */
#include <string.h>

#include "launch/megatron/argument_table.h"

/* ---- the text of a value ---- */

static char *join(const launch_flag *flag, const char *open, const char *between, const char *close,
                  plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    for (int v = 0; v < flag->values && shell_word_known(flag->value[v]); v++)
        text_append_printf(&out, "%s%s", v == 0 ? open : between, flag->value[v]);
    text_append(&out, close);
    return text_builder_finish(&out, NULL);
}

/* "'([0]*3+[1]*58)'": of quotes in a variable the shell takes none away. */
static const char *unquoted(const char *text, plait_arena *arena)
{
    const size_t length = strlen(text);

    if (length < 2 || (text[0] != '\'' && text[0] != '"') || text[length - 1] != text[0])
        return text;
    return plait_arena_printf(arena, "%.*s", (int)length - 2, text + 1);
}

static bool are_digits(const launch_flag *flag)
{
    for (int v = 0; v < flag->values; v++)
        if (flag->value[v][strspn(flag->value[v], "0123456789")] != '\0')
            return false;
    return true;
}

/* Behind a flag of one word stands what a script goes on with. NULL when out of memory. */
static const char *text_of(const argument_row *row, const launch_flag *flag, plait_arena *arena)
{
    if (row->kind == ARGUMENT_WORDS)
        return join(flag, "", " ", "", arena);
    if (row->kind == ARGUMENT_LIST && flag->values > 1 && are_digits(flag))
        return join(flag, "[", ",", "]", arena);
    return row->kind == ARGUMENT_LIST || row->kind == ARGUMENT_WORD
               ? unquoted(flag->value[0], arena)
               : flag->value[0];
}

/* ---- one row ---- */

static plait_status refuse(const launch_flags *flags, const argument_row *row, const char *text,
                           plait_error *err)
{
    if (row->kind != ARGUMENT_INT)
        return flags_fail(flags, row->name, err, "expected a number, found \"%.40s\"", text);
    return flags_fail(flags, row->name, err, "expected an integer from %d to %d, found \"%.40s\"",
                      row->least, row->most, text);
}

/* Behind a switch stands no value; of $DATA/gpt2-vocab.json the end is enough. */
static bool is_readable(const argument_row *row, const char *value)
{
    return row->kind == ARGUMENT_SWITCH || (row->kind == ARGUMENT_WORD && row->placeholder) ||
           shell_word_known(value);
}

static plait_status read_row(const launch_flags *flags, const argument_row *row, megatron_args *out,
                             plait_error *err)
{
    const launch_flag *flag = flags_last(flags, row->name);
    bool turns_off = false;

    if (flag == NULL && row->also != NULL)
        flag = flags_last(flags, row->also);
    if (flag == NULL && row->flag != NULL) {
        flag = flags_last(flags, row->flag);
        turns_off = row->kind == ARGUMENT_SWITCH;
    }
    if (flag == NULL || !is_readable(row, flag->value[0]))
        return PLAIT_OK;
    const char *const text = text_of(row, flag, flags->arena);
    if (text == NULL)
        return plait_fail_nomem(err);
    if (!megatron_argument_set(row, text, out))
        return row->placeholder ? PLAIT_OK : refuse(flags, row, text, err);
    if (turns_off) {
        bool *const on = (void *)((char *)out + row->field);

        *on = !*on;
    }
    return PLAIT_OK;
}

plait_status megatron_args_parse(const launch_flags *flags, megatron_args *out, plait_error *err)
{
    for (const argument_row *row = megatron_arguments; row->name != NULL; row++)
        PLAIT_TRY(read_row(flags, row, out, err));
    return PLAIT_OK;
}
