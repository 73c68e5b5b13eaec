/* shell_lines.c - blanks, comments, here-documents and redirections of a shell */
#include <ctype.h>
#include <string.h>

#include "launch/read/shell_parts.h"

/* ---- blanks, comments, here-documents ---- */

static plait_status read_comment(shell_reader *in, plait_error *err)
{
    const char *const line = in->at;

    while (in->at < in->end && *in->at != '\n')
        in->at++;
    const size_t width = (size_t)(in->at - line);
    // sbatch reads whole lines, and none behind the first command
    if (width > 8 && strncmp(line, "#SBATCH", 7) == 0 && isspace((unsigned char)line[7]) &&
        !in->begun && (line == in->first || line[-1] == '\n'))
        return shell_read_job_line(in, line, width, err);
    return PLAIT_OK;
}

/* The text of one here-document, which begins at the cursor. */
static plait_status read_here(shell_reader *in, const shell_here *here, plait_error *err)
{
    text_builder text;
    const char *body, *expanded;
    size_t length;

    text_builder_init(&text, in->arena);
    while (in->at < in->end) {
        const char *const newline = memchr(in->at, '\n', (size_t)(in->end - in->at));
        const char *line = in->at, *const last = newline != NULL ? newline : in->end;

        in->at = newline != NULL ? newline + 1 : in->end;
        in->line++;
        while (here->indented && line < last && *line == '\t')
            line++;
        if ((size_t)(last - line) == strlen(here->end) &&
            memcmp(line, here->end, strlen(here->end)) == 0)
            break;
        text_append_bytes(&text, line, (size_t)(last - line));
        text_append_char(&text, '\n');
    }
    body = expanded = text_builder_finish(&text, &length);
    if (body == NULL)
        return plait_fail_nomem(err);
    if (!here->quoted && in->mode != SHELL_SKIP)
        PLAIT_TRY(shell_expand(in, body, length, &expanded, err));
    return shell_add_file(in, expanded, err);
}

static plait_status read_newline(shell_reader *in, plait_error *err)
{
    in->at++;
    in->line++;
    for (int h = 0; h < in->heres; h++)
        PLAIT_TRY(read_here(in, &in->here[h], err));
    in->heres = 0;
    in->target = NULL;
    return PLAIT_OK;
}

/* Blanks and continuations within a command. */
void shell_skip_blanks(shell_reader *in)
{
    while (in->at < in->end) {
        if (in->end - in->at >= 2 && in->at[0] == '\\' && in->at[1] == '\n') {
            in->line++;
            in->at += 2;
        } else if (*in->at != '\n' && isspace((unsigned char)*in->at)) {
            in->at++;
        } else {
            break;
        }
    }
}

plait_status shell_skip_space(shell_reader *in, plait_error *err)
{
    for (;;) {
        shell_skip_blanks(in);
        if (in->at == in->end || (*in->at != '#' && *in->at != '\n'))
            return PLAIT_OK;
        PLAIT_TRY(*in->at == '#' ? read_comment(in, err) : read_newline(in, err));
    }
}

/* ---- redirections ---- */

static plait_status read_here_mark(shell_reader *in, plait_error *err)
{
    shell_here here = {.indented = in->at < in->end && *in->at == '-'};
    shell_list words = {0};

    in->at += here.indented;
    shell_skip_blanks(in);
    here.quoted = in->at < in->end && strchr("'\"\\", *in->at) != NULL;
    PLAIT_TRY(shell_read_word(in, &words, err));
    if (words.count != 1 || in->heres == SHELL_MAX_HERE)
        return PLAIT_OK;
    here.end = words.word[0];
    in->here[in->heres++] = here;
    return PLAIT_OK;
}

/* From the < or > at the cursor; where a file is written to is kept. */
plait_status shell_read_redirection(shell_reader *in, plait_error *err)
{
    const bool writes = *in->at == '>';
    shell_list words = {0};
    int signs = 0;

    while (in->at < in->end && (*in->at == '<' || *in->at == '>') && signs < 3) {
        in->at++;
        signs++;
    }
    if (signs == 1 && in->at < in->end && *in->at == '(') { // <(COMMAND) is a process of its own
        in->at++;
        shell_skip_to_close(in, '(', ')');
        return PLAIT_OK;
    }
    if (!writes && signs == 2)
        return read_here_mark(in, err);
    if (in->at < in->end && (*in->at == '&' || *in->at == '|'))
        in->at++;
    shell_skip_blanks(in);
    PLAIT_TRY(shell_read_word(in, &words, err));
    if (writes && words.count == 1 && signs == 1)
        in->target = words.word[0];
    return PLAIT_OK;
}
