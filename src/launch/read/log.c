/* log.c - finds parts of a training log, for targets whose software prints its config there */
#include "launch/read/log.h"

#include <string.h>

#include "base/text.h"

char *log_last(char *log, const char *text)
{
    char *last = NULL;

    for (char *at = log; (at = strstr(at, text)) != NULL; at += strlen(text))
        last = at;
    return last;
}

/*
 * The first line with an indented key gives the prefix of all lines and the smallest indentation:
 *
 *     [titan] - root - INFO - Running with configs: {
 *     [rank0]:  "model": {            prefix "[rank0]:", indentation 2
 *     [rank0]:    "name": "llama3"
 *     [rank0]:  }
 *     [rank0]:}                       a brace with less indentation ends the object
 */
plait_status log_object(const char *at, const char *what, const char *name, plait_arena *arena,
                        char **out, plait_error *err)
{
    const char *line = at + strcspn(at, "\n"), *first = NULL;
    size_t prefix = 0, indent = 0, length;
    bool ended = false;
    text_builder text;

    text_builder_init(&text, arena);
    text_append_bytes(&text, at, (size_t)(line - at));
    for (; !ended && *line != '\0'; line += length) {
        line++;
        length = strcspn(line, "\n");
        const char *const quote = first == NULL ? memchr(line, '"', length) : NULL;
        const char *key = quote;

        while (quote != NULL && key > line && key[-1] == ' ')
            key--;
        if (quote != NULL && quote - key >= 2) {
            first = line;
            prefix = (size_t)(key - line);
            indent = (size_t)(quote - key);
        }
        if (first == NULL || length <= prefix || memcmp(line, first, prefix) != 0)
            continue;
        const size_t blanks = strspn(line + prefix, " ");
        ended = blanks < indent && line[prefix + blanks] == '}';
        if (!ended && blanks < indent)
            continue; // the line is another message of the same rank
        text_append_char(&text, '\n');
        text_append_bytes(&text, line + prefix, ended ? blanks + 1 : length - prefix);
    }
    if (!ended)
        return plait_fail(err, PLAIT_ERROR_SYNTAX, name,
                          "expected the end of %s, found the end of the log: the log is cut off",
                          what);
    *out = text_builder_finish(&text, NULL);
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
