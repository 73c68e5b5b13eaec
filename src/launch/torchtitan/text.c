/* text.c - what torchtitan's files share: their head, and words in quotes */
#include "launch/write/notes.h"
#include "launch/write/scripts.h"
#include "launch/torchtitan/torchtitan.h"

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
    static const plait_key_id keys[] = {PLAIT_KEY_VPP, PLAIT_KEY_SPLIT, PLAIT_KEY_CP_COMM,
                                        PLAIT_KEY_ETP};
    const plait_degrees *const d = &launch->plan->degrees;
    char text[96];

    notes_append(launch, out);
    notes_append_one("precision", plait_precision_name[launch->problem->job.precision], out);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        notes_append_one(plait_keys[keys[k]].name, plait_degrees_get(d, keys[k], text, sizeof text),
                         out);
}

void titan_append_head(const plait_launch *launch, const char *first, const training_places *places,
                       text_builder *out)
{
    scripts_append_head(launch, first, places, out);
    append_plan_notes(launch, out);
}

static void append_words(const char *words, text_builder *out)
{
    char **const list = text_split(out->arena, words, ',', NULL);

    text_append_char(out, '[');
    for (int i = 0; list != NULL && list[i] != NULL; i++) {
        text_append(out, i > 0 ? ", " : "");
        titan_append_quoted(list[i], out);
    }
    text_append_char(out, ']');
    out->failed = out->failed || list == NULL;
}

void titan_append_value(const titan_setting *s, const char *on, const char *off, text_builder *out)
{
    switch (s->kind) {
    case TITAN_NUMBER:
        text_append_printf(out, "%lld", (long long)s->number);
        break;
    case TITAN_SWITCH:
        text_append(out, s->number != 0 ? on : off);
        break;
    case TITAN_TEXT:
        titan_append_quoted(s->text, out);
        break;
    case TITAN_TEXTS:
        append_words(s->text, out);
        break;
    }
}
