/* notes.c - what a config has no words for, in comments that plait reads back */
#include "launch/write/notes.h"

#include <stdio.h>

#include "plait/runtime.h"

#include "io/file.h"
#include "base/shell_word.h"

void notes_append_one(const char *key, const char *value, text_builder *out)
{
    text_append_printf(out, NOTES_MARK "%s ", key);
    text_append_plain(out, value); // a note is one line
    text_append_char(out, '\n');
}

void notes_append(const plait_launch *launch, text_builder *out)
{
    const plait_problem *const problem = launch->problem;
    char *const name = shell_quoted(problem->model->name, out->arena);
    char gpus[16];

    snprintf(gpus, sizeof gpus, "%d", problem->job.gpus);
    notes_append_one("gpus", gpus, out);
    notes_append_one("runtime", file_base_name(plait_runtime_handle(problem->runtime)), out);
    notes_append_one("attention", plait_attention_kernel_name[launch->plan->degrees.attention],
                     out);
    notes_append_one("model", name != NULL ? name : "", out);
    out->failed = out->failed || name == NULL;
}
