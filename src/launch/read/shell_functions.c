/* shell_functions.c - functions of a script, and texts that are read as commands where they are called */
#include "shell_parts.h"

#include <string.h>

#include "grow.h"

plait_status shell_begin_function(shell_reader *in, const char *name, plait_error *err)
{
    PLAIT_TRY(shell_skip_space(in, err));
    if (in->at == in->end || *in->at != '{')
        return PLAIT_OK;
    in->at++;
    PLAIT_TRY(shell_push(in, SHELL_FUNCTION, err));
    shell_top(in, SHELL_FUNCTION)->subject = name;
    shell_top(in, SHELL_FUNCTION)->body = in->at;
    in->mode = SHELL_SKIP;
    return PLAIT_OK;
}

plait_status shell_end_function(shell_reader *in, plait_error *err)
{
    const shell_frame *const frame = shell_top(in, SHELL_FUNCTION);
    shell_function *more;

    if (in->functions == SHELL_MAX_FUNCTIONS)
        return shell_fail(in, "more than 1024 functions", err);
    more =
        grow_by_one(in->arena, in->function, in->functions, &in->function_capacity, sizeof *more);
    if (more == NULL ||
        !name_index_put(&in->function_names, in->arena, frame->subject, in->functions))
        return plait_fail_nomem(err);
    in->function = more;
    more[in->functions++] =
        (shell_function){frame->subject, frame->body, (size_t)(in->at - frame->body) - 1};
    shell_pop(in, SHELL_FUNCTION);
    return PLAIT_OK;
}

/* Read a text as commands, here and now. */
plait_status shell_read_nested(shell_reader *in, const char *text, size_t length, plait_error *err)
{
    const char *const at = in->at, *const end = in->end;
    const int line = in->line, frames = in->frames, heres = in->heres;
    const shell_mode mode = in->mode;
    shell_here here[SHELL_MAX_HERE];

    PLAIT_TRY(shell_spend(in, length, err));
    if (in->nesting == SHELL_MAX_NESTING || in->mode == SHELL_SKIP)
        return PLAIT_OK;
    memcpy(here, in->here, sizeof here);
    in->heres = 0;
    in->ran = NULL; // it stands in the other text
    in->nesting++;
    in->at = text;
    in->end = text + length;
    PLAIT_TRY(shell_read_commands(in, err));
    in->at = at;
    in->end = end;
    in->line = line;
    in->frames = frames < in->frames ? frames : in->frames;
    in->mode = mode;
    in->nesting--;
    in->heres = heres;
    in->ran = NULL;
    memcpy(in->here, here, sizeof here);
    return PLAIT_OK;
}

plait_status shell_call_function(shell_reader *in, const shell_function *function,
                                 const shell_list *words, plait_error *err)
{
    const shell_list outer = in->argument;

    in->argument = (shell_list){words->word + 1, words->count - 1, words->count - 1};
    PLAIT_TRY(shell_read_nested(in, function->body, function->length, err));
    in->argument = outer;
    return PLAIT_OK;
}

const shell_function *shell_function_named(const shell_reader *in, const char *name)
{
    const int found = name_index_find(&in->function_names, name, strlen(name));

    return found >= 0 ? &in->function[found] : NULL;
}
