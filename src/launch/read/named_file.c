/* named_file.c - a file that a launch names */
#include "launch/read/named_file.h"

#include <string.h>

#include "base/status.h"
#include "io/file.h"
#include "base/text.h"

enum { NAMED_MAX_BYTES = 1 << 20 };

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

static plait_status beside_script(const launch_flags *flags, const char *name, const char **out,
                                  plait_error *err)
{
    const char *const path = file_beside(flags->file, name, flags->arena);
    plait_error inner;

    *out = NULL;
    if (path == NULL)
        return plait_fail_nomem(err);
    if (file_base_name(name)[0] == '\0' || !shell_word_known(file_base_name(name)))
        return PLAIT_OK;
    return faults_only(file_read_all(path, NAMED_MAX_BYTES, flags->arena, out, NULL, &inner),
                       &inner, err);
}

plait_status named_json(const launch_flags *flags, const char *name, const char **out,
                        plait_error *err)
{
    const shell_words *const script = &flags->script;

    for (int f = script->files - 1; f >= 0; f--)
        if (strcmp(file_base_name(script->file[f].name), file_base_name(name)) == 0) {
            *out = without_unknown(script->file[f].text, flags->arena);
            return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
        }
    return beside_script(flags, name, out, err);
}
