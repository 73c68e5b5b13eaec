/* named_file.c - a file that a launch names */
#include "named_file.h"

#include <string.h>

#include "file.h"
#include "text.h"

enum { NAMED_MAX_BYTES = 1 << 20 };

static const char *base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* JSON has no word for what is not known: null outside of quotes, ? inside. */
static const char *without_unknown(const char *text, plait_arena *arena)
{
    bool quoted = false;
    text_builder out;

    text_builder_init(&out, arena);
    for (; *text != '\0'; text++) {
        quoted = *text == '"' ? !quoted : quoted;
        if (!shell_word_known((char[]){*text, '\0'})) {
            text_append(&out, quoted ? "?" : "null");
            text += strspn(text + 1, "0123456789");
            text += text[1] == '\x02';
        } else {
            text_append_char(&out, *text);
        }
    }
    return text_builder_finish(&out, NULL);
}

static const char *made_by_script(const launch_flags *flags, const char *name)
{
    const shell_words *const script = &flags->script;

    for (int f = script->files - 1; f >= 0; f--)
        if (strcmp(base_name(script->file[f].name), base_name(name)) == 0)
            return without_unknown(script->file[f].text, flags->arena);
    return NULL;
}

static const char *beside_script(const launch_flags *flags, const char *name)
{
    const size_t folder = (size_t)(base_name(flags->file) - flags->file);
    const char *const path =
        plait_arena_printf(flags->arena, "%.*s%s", (int)folder, flags->file, base_name(name));
    const char *text;

    if (path == NULL || base_name(name)[0] == '\0' || !shell_word_known(base_name(name)) ||
        file_read_all(path, NAMED_MAX_BYTES, flags->arena, &text, NULL, NULL) != PLAIT_OK)
        return NULL;
    return text;
}

const char *named_json(const launch_flags *flags, const char *name)
{
    const char *const text = made_by_script(flags, name);

    return text != NULL ? text : beside_script(flags, name);
}
