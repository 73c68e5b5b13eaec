/* torchtitan_text.c - what torchtitan's files share: their head, and words in quotes */
#include "notes.h"
#include "scripts.h"
#include "torchtitan_private.h"

void titan_append_quoted(const char *text, text_builder *out)
{
    text_append_char(out, '"');
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c < ' ' || c == 0x7f)
            text_append_printf(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            text_append_printf(out, "\\%c", c);
        else
            text_append_char(out, *text);
    }
    text_append_char(out, '"');
}

static void append_plan_notes(const plait_launch *launch, text_builder *out)
{
    static const char *const keys[] = {"vpp", "split", "cp_comm", "etp", NULL};
    const plait_degrees *const d = &launch->plan->degrees;
    char text[96];

    notes_append(launch, out);
    notes_append_one("precision", plait_precision_name[launch->problem->job.precision], out);
    for (const char *const *key = keys; *key != NULL; key++)
        notes_append_one(*key, plait_degrees_get(d, *key, text, sizeof text), out);
}

void titan_append_head(const plait_launch *launch, const char *what, text_builder *out)
{
    const char *const title = scripts_title(launch, out->arena);
    const char *const expectation = scripts_expectation(launch, out->arena);

    if (title == NULL || expectation == NULL) {
        out->failed = true;
        return;
    }
    text_append_printf(out, "# %s\n#\n# %s\n# %s\n", what, title, expectation);
    append_plan_notes(launch, out);
}
