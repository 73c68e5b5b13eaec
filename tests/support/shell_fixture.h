/* shell_fixture.h - what a script says, as a text that a test can compare */
#pragma once

#include <string.h>

#include "support/arena_fixture.h"
#include "support/must.h"
#include "shell/shell.h"
#include "base/text.h"

/* The words of a script, "|" between them; "?" for one that is not known. */
static const char *words(const char *script)
{
    shell_words found;
    plait_error err;
    text_builder out;

    must(shell_read(&(shell_source){.text = script, .length = strlen(script), .name = "s.sh"},
                    arena, &found, &err),
         &err);
    text_builder_init(&out, arena);
    for (int i = 0; i < found.count; i++)
        text_append_printf(&out, "%s%s", i > 0 ? "|" : "",
                           shell_word_open(found.word[i]) ? "?" : found.word[i]);
    return text_builder_finish(&out, NULL);
}

/* The last word of `x $A` behind a script; "?" where it is not known. */
static const char *value(const char *script)
{
    const char *const text = plait_arena_printf(arena, "%s\nx $A", script);
    shell_words found;
    plait_error err;

    must(shell_read(&(shell_source){.text = text, .length = strlen(text), .name = "s.sh"}, arena,
                    &found, &err),
         &err);
    const char *const word = found.word[found.count - 1];
    return shell_word_known(word) ? word : "?";
}
