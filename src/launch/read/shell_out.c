/* shell_out.c - what a shell script says: its commands, files and doubts */
#include <string.h>

#include "base/grow.h"
#include "launch/read/shell_parts.h"

static plait_status add_doubt(shell_reader *in, const char *option, bool added, plait_error *err)
{
    shell_words *const out = in->out;
    shell_doubt *const more =
        grow_by_one(in->arena, out->doubt, out->doubts, &in->doubt_capacity, sizeof *more);

    if (more == NULL)
        return plait_fail_nomem(err);
    out->doubt = more;
    more[out->doubts++] =
        (shell_doubt){option, in->doubt >= 0 ? out->origin[in->doubt].text : "a condition", added};
    return PLAIT_OK;
}

/* Options in a text that was not in one piece: "--a 1 --b" has two. */
plait_status shell_add_doubts(shell_reader *in, const shell_list *value, bool added,
                              plait_error *err)
{
    for (int i = 0; i < value->count; i++)
        for (const char *at = value->word[i]; (at = strstr(at, "--")) != NULL;) {
            const size_t width = strcspn(at, " \t\n=");
            const char *const option = plait_arena_printf(in->arena, "%.*s", (int)width, at);

            if (option == NULL)
                return plait_fail_nomem(err);
            if (shell_is_option(option))
                PLAIT_TRY(add_doubt(in, option, added, err));
            at += width;
        }
    return PLAIT_OK;
}

plait_status shell_add_command(shell_reader *in, const shell_list *words, plait_error *err)
{
    shell_words *const out = in->out;

    if (in->surveying)
        return PLAIT_OK;
    shell_list all = {out->word, out->count, in->words_capacity};
    shell_command *const more =
        grow_by_one(in->arena, out->command, out->commands, &in->command_capacity, sizeof *more);

    if (more == NULL)
        return plait_fail_nomem(err);
    out->command = more;
    more[out->commands++] = (shell_command){.first = out->count,
                                            .count = words->count,
                                            .doubtful = in->mode == SHELL_DOUBT,
                                            .ended = in->ended,
                                            .line = in->command_line};
    for (int i = 0; i < words->count; i++)
        PLAIT_TRY(shell_list_add(in, &all, words->word[i], err));
    out->word = all.word;
    out->count = all.count;
    in->words_capacity = all.capacity;
    return PLAIT_OK;
}

plait_status shell_add_file(shell_reader *in, const char *text, plait_error *err)
{
    shell_words *const out = in->out;
    shell_file *more;

    if (in->target == NULL || in->mode == SHELL_SKIP || in->surveying)
        return PLAIT_OK;
    more = grow_by_one(in->arena, out->file, out->files, &in->file_capacity, sizeof *more);
    if (more == NULL)
        return plait_fail_nomem(err);
    out->file = more;
    more[out->files++] = (shell_file){in->target, text};
    return PLAIT_OK;
}

/* Words with a blank between them. */
const char *shell_joined(shell_reader *in, const shell_list *words, int from)
{
    text_builder out;

    text_builder_init(&out, in->arena);
    for (int i = from; i < words->count; i++)
        text_append_printf(&out, "%s%s", i > from ? " " : "", words->word[i]);
    return text_builder_finish(&out, NULL);
}
