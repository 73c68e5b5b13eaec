/*
 * plan_reader.c - marks known keys and adds warnings of an imported plan, and reads the notes that
 * launch writes
 */
#include "launch/read/plan_reader.h"

#include <stdio.h>
#include <string.h>

#include "plait/data.h"

#include "base/status.h"
#include "base/text.h"
#include "io/data/data.h"
#include "shell/shell.h"
#include "launch/write/training.h"

void import_mark_known(plan_reader *in, const char *keys)
{
    char key[24];

    for (int used; sscanf(keys, "%23s%n", key, &used) == 1; keys += used)
        in->out->given |= PLAIT_KEY_BIT(plait_key_find(key));
}

void import_set_key(plans_entry *out, plait_key_id key, int value)
{
    if (value < 0)
        return;
    plait_key_put(&out->degrees, key, value);
    out->given |= PLAIT_KEY_BIT(key);
}

void import_fill_plain(plans_entry *out)
{
    for (int k = 0; k < PLAIT_KEYS; k++)
        if (!(out->given & PLAIT_KEY_BIT(k)))
            import_set_key(out, (plait_key_id)k, plait_keys[k].absent_value);
}

text_builder *import_warn(text_builder *warnings, const char *sentence)
{
    text_append_printf(warnings, "%s%s", warnings->length > 0 ? "\n" : "", sentence);
    return warnings;
}

void import_list_add(import_list *list, const char *item)
{
    if (item == NULL) {
        list->warnings->failed = true;
        return;
    }
    if (!list->begun)
        import_warn(list->warnings, list->sentence);
    text_append_printf(list->warnings, "%s%s", list->begun ? ", " : ": ", item);
    list->begun = true;
}

void import_list_add_flags(import_list *list, const launch_flags *flags, const char *const *names)
{
    for (int i = 0; i < flags->count; i++) {
        const launch_flag *const flag = &flags->flag[i];

        if (text_index(flag->name, names) >= 0 && flags_last(flags, flag->name) == flag &&
            !flags_value_is_off(flag->value[0]) && flag->value[0][0] != '\0')
            import_list_add(list, flag->name);
    }
}

typedef struct note {
    const char *key;
    const char *value;
    char where[256];
} note;

static plait_status take_count(const note *n, int most, int *out, plait_error *err)
{
    int number;

    if (!text_parse_int(n->value, 1, most, &number))
        return plait_fail(err, PLAIT_ERROR_RANGE, n->where,
                          "expected an integer from 1 to %d, found \"%.60s\"", most, n->value);
    *out = *out == 0 ? number : *out;
    return PLAIT_OK;
}

/* Read a note, "KEY VALUE" up to the end of the line. */
static plait_status take_line(const char *line, size_t length, const char *name, int number,
                              plait_arena *arena, plans_entry *out, plait_error *err)
{
    char *const copy = plait_arena_printf(arena, "%.*s", (int)length, line);
    note n = {.key = copy};

    PLAIT_TRY(plait_check_allocated(copy, err));
    n.value = text_cut(copy, ' ');
    if (n.value == NULL)
        return PLAIT_OK;
    for (size_t end = strlen(n.value); end > 0 && strchr(" \t\r", n.value[end - 1]) != NULL;)
        ((char *)n.value)[--end] = '\0';
    snprintf(n.where, sizeof n.where, "%.200s:%d", name, number);
    if (text_equal(n.key, "gpus"))
        return take_count(&n, PLAIT_MAX_GPUS, &out->gpus, err);
    if (text_equal(n.key, "seq"))
        return take_count(&n, PLAIT_MAX_SEQ, &out->seq, err);
    if (text_equal(n.key, "gbs"))
        return take_count(&n, PLAIT_MAX_GBS, &out->gbs, err);
    if (text_equal(n.key, "precision")) {
        const int word = text_index(n.value, plait_precision_name);
        if (word < 0)
            return plait_fail(err, PLAIT_ERROR_RANGE, n.where,
                              "expected a known %s, found \"%.60s\"", n.key, n.value);
        out->precision = out->precision < 0 ? word : out->precision;
        return PLAIT_OK;
    }
    if (text_equal(n.key, "job")) {
        const int word = text_index(n.value, plait_job_name);

        out->tuning.kind = word >= 0 ? (plait_job_kind)word : out->tuning.kind;
        return PLAIT_OK;
    }
    if (text_equal(n.key, "model")) {
        // ignore a path, since a config must not make plait open other files
        plait_model *const model = plait_arena_alloc(arena, 1, sizeof *model);
        shell_words words;
        plait_error ignored = {.status = PLAIT_OK};
        PLAIT_TRY(plait_check_allocated(model, err));
        const shell_source source = {.text = n.value, .length = strlen(n.value), .name = n.where};
        PLAIT_TRY(shell_read(&source, arena, &words, err));
        if (out->model != NULL || words.count != 1 || data_is_path(words.word[0]))
            return PLAIT_OK;
        if (plait_model_find(words.word[0], arena, model, NULL, &ignored) == PLAIT_OK)
            out->model = model;
        return faults_only(ignored.status, &ignored, err);
    }
    if (text_equal(n.key, "runtime")) {
        // the path of a runtime is relative to the config's folder
        if (out->runtime != NULL)
            return PLAIT_OK;
        out->runtime = data_named_in(name, n.value, arena);
        return out->runtime != NULL ? PLAIT_OK : plait_fail_nomem(err);
    }
    const int key = plait_key_find(n.key);
    plait_error inner;

    if (key < 0 || out->given & PLAIT_KEY_BIT(key))
        return PLAIT_OK;
    if (plait_degrees_set(&out->degrees, n.key, n.value, &inner) != PLAIT_OK)
        return plait_fail(err, inner.status, n.where, "%s", inner.message);
    out->given |= PLAIT_KEY_BIT(key);
    return PLAIT_OK;
}

plait_status notes_read(const char *text, size_t length, const char *name, plait_arena *arena,
                        plans_entry *out, plait_error *err)
{
    const char *const end = text + length;
    const size_t marked = strlen(NOTES_MARK);
    int number = 1;

    for (const char *line = text; line < end; number++) {
        const char *const newline = memchr(line, '\n', (size_t)(end - line));
        const size_t width = (size_t)((newline != NULL ? newline : end) - line);

        if (width > marked && width < 4096 && memcmp(line, NOTES_MARK, marked) == 0)
            PLAIT_TRY(take_line(line + marked, width - marked, name, number, arena, out, err));
        line += width + 1;
    }
    return PLAIT_OK;
}

plait_status notes_find(const char *text, size_t length, const char *key, plait_arena *arena,
                        const char **out, plait_error *err)
{
    char *const sought = plait_arena_printf(arena, "\n" NOTES_MARK "%s ", key);
    char *const copy = plait_arena_printf(arena, "\n%.*s", (int)length, text);
    const char *found = NULL;
    shell_words words = {0};
    plait_error inner;

    *out = NULL;
    PLAIT_TRY(plait_check_allocated(sought && copy, err));
    for (const char *at = copy; (at = strstr(at, sought)) != NULL;)
        found = at += strlen(sought);
    if (found == NULL)
        return PLAIT_OK;
    // the key is the command of the line, since a name such as "true" could be another command
    const char *const line = found - strlen(key) - 1;
    const shell_source source = {.text = line, .length = strcspn(line, "\r\n"), .name = "note"};
    PLAIT_TRY(faults_only(shell_read(&source, arena, &words, &inner), &inner, err));
    if (words.count == 2)
        *out = words.word[1];
    return PLAIT_OK;
}
