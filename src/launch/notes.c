/* notes.c - what a format has no words for, in comments */
#include "notes.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

static const char mark[] = "# plait: ";

const char *notes_of(const plait_launch *launch, plait_arena *arena)
{
    const plait_problem *const problem = launch->problem;
    text_builder out;

    text_builder_init(&out, arena);
    text_append_printf(&out, "%sgpus %d\n", mark, problem->job.gpus);
    text_append_printf(&out, "%sruntime %s\n", mark, problem->runtime->name);
    text_append_printf(&out, "%sattention %s\n", mark,
                       plait_attention_kernel_name[problem->job.attention]);
    text_append_printf(&out, "%smodel ", mark);
    for (const char *c = problem->model->name; *c != '\0'; c++)
        text_append_char(&out, (unsigned char)*c < ' ' || *c == '\x7f' ? ' ' : *c);
    text_append_char(&out, '\n');
    return text_builder_finish(&out, NULL);
}

static plait_status read_note(const char *note, const char *where, plait_arena *arena,
                              plans_entry *out, notes_found *found, plait_error *err)
{
    const char *const value = strchr(note, ' ') != NULL ? strchr(note, ' ') + 1 : "";

    if (text_starts_with(note, "gpus ")) {
        if (!text_parse_int(value, 1, 1 << 24, &out->gpus))
            return plait_fail(err, PLAIT_ERROR_RANGE, where,
                              "expected a number of GPUs, found \"%.40s\"", value);
    } else if (text_starts_with(note, "runtime ")) {
        out->runtime = plait_arena_text(arena, value);
    } else if (text_starts_with(note, "attention ")) {
        out->attention = text_index(value, plait_attention_kernel_name);
        if (out->attention < 0)
            return plait_fail(err, PLAIT_ERROR_RANGE, where,
                              "expected an attention kernel, found \"%.40s\"", value);
    } else if (text_starts_with(note, "model ")) {
        found->model = plait_arena_text(arena, value);
    }
    return PLAIT_OK;
}

plait_status notes_read(const char *text, size_t length, const char *name, plait_arena *arena,
                        plans_entry *out, notes_found *found, plait_error *err)
{
    const char *const end = text + length;
    int line = 1;

    *found = (notes_found){0};
    for (const char *at = text; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t size = (size_t)((newline != NULL ? newline : end) - at);
        char note[320], where[256];

        if (size > sizeof mark - 1 && size < sizeof note &&
            memcmp(at, mark, sizeof mark - 1) == 0) {
            memcpy(note, at + sizeof mark - 1, size - (sizeof mark - 1));
            note[size - (sizeof mark - 1)] = '\0';
            snprintf(where, sizeof where, "%.200s:%d", name, line);
            PLAIT_TRY(read_note(note, where, arena, out, found, err));
        }
        at += size + 1;
    }
    return PLAIT_OK;
}
