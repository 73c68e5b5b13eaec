/* shell_functions.c - functions of a script, and texts that are read as commands where they are called */
#include "launch/read/shell_parts.h"

#include <string.h>

#include "base/grow.h"

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

/* Does what stands at the cursor reach what is behind: it surely runs, in no subshell? */
static bool reaches_on(const shell_reader *in, const shell_frame *function)
{
    for (const shell_frame *frame = in->frame; frame < function; frame++)
        if (frame->block == SHELL_PAREN || frame->piped)
            return false;
    return function->outer == SHELL_RUN;
}

plait_status shell_end_function(shell_reader *in, plait_error *err)
{
    const shell_frame *const frame = shell_top(in, SHELL_FUNCTION);
    shell_function *more;

    if (frame->outer == SHELL_SKIP) {
        shell_pop(in, SHELL_FUNCTION);
        return PLAIT_OK;
    }
    if (in->functions == SHELL_MAX_FUNCTIONS)
        return shell_fail(in, "more than 1024 functions", err);
    const bool again = shell_function_named(in, frame->subject) != NULL;
    more =
        grow_by_one(in->arena, in->function, in->functions, &in->function_capacity, sizeof *more);
    if (more == NULL ||
        !name_index_put(&in->function_names, in->arena, frame->subject, in->functions))
        return plait_fail_nomem(err);
    in->function = more;
    more[in->functions++] = (shell_function){.name = frame->subject,
                                             .body = frame->body,
                                             .length = (size_t)(in->at - frame->body) - 1,
                                             .line = frame->line,
                                             .unsure = !reaches_on(in, frame),
                                             .again = again};
    shell_pop(in, SHELL_FUNCTION);
    return PLAIT_OK;
}

/* Read a text as commands, here and now. */
plait_status shell_read_nested(shell_reader *in, const char *text, size_t length, int line,
                               plait_error *err)
{
    const char *const at = in->at, *const end = in->end;
    const int outer_line = in->line, frames = in->frames, heres = in->heres, linked = in->linked;
    const int text_frames = in->text_frames;
    const shell_mode mode = in->mode;
    shell_here here[SHELL_MAX_HERE];

    PLAIT_TRY(shell_spend(in, length, err));
    if (in->nesting == SHELL_MAX_NESTING || in->mode == SHELL_SKIP)
        return PLAIT_OK;
    memcpy(here, in->here, sizeof here);
    in->heres = 0;
    in->ran = NULL; // it stands in the other text
    in->nesting++;
    in->text_frames = frames;
    in->linked = 0;
    in->at = text;
    in->end = text + length;
    in->line = line;
    PLAIT_TRY(shell_read_commands(in, err));
    in->at = at;
    in->end = end;
    in->line = outer_line;
    in->frames = frames;
    in->text_frames = text_frames;
    if (in->loop_frame >= in->frames)
        in->loop_frame = -1;
    in->mode = mode;
    in->nesting--;
    in->linked = linked;
    in->heres = heres;
    in->ran = NULL;
    memcpy(in->here, here, sizeof here);
    return PLAIT_OK;
}

static plait_status call(shell_reader *in, const shell_function *function, const shell_list *words,
                         plait_error *err)
{
    const shell_list outer = in->argument;
    const int locals = in->locals, call_frames = in->call_frames;
    const bool left = in->left, open = in->argument_open;

    in->argument_open = false;
    in->argument = (shell_list){words->word + 1, words->count - 1, words->count - 1};
    in->calls++;
    in->call_frames = in->frames;
    in->left = false;
    PLAIT_TRY(shell_read_nested(in, function->body, function->length, function->line, err));
    in->argument = outer;
    in->argument_open = open;
    in->calls--;
    in->call_frames = call_frames;
    if (in->left)
        shell_end_as(in, SHELL_RAN);
    in->left = left;
    return shell_end_locals(in, locals, err);
}

/* Of one that may not be defined what it sets is not known, and of one that may be another nothing. */
plait_status shell_call_function(shell_reader *in, const shell_function *function,
                                 const shell_list *words, plait_error *err)
{
    const shell_mode mode = in->mode;

    if (!function->unsure)
        return call(in, function, words, err);
    if (function->again)
        PLAIT_TRY(shell_forget(in, function->name, strlen(function->name), err));
    in->mode = mode == SHELL_RUN ? SHELL_LIKELY : mode;
    PLAIT_TRY(call(in, function, words, err));
    in->mode = mode;
    shell_end_as(in, SHELL_RAN);
    return PLAIT_OK;
}

/* Does the body surely end here? Not in a loop, and not in a subshell, which alone ends. */
static bool ends_surely(const shell_reader *in)
{
    if (in->mode != SHELL_RUN || in->loop_frame >= in->call_frames)
        return false;
    for (int f = in->call_frames; f < in->frames; f++)
        if (in->frame[f].block == SHELL_PAREN || in->frame[f].block == SHELL_LOOP ||
            in->frame[f].piped || in->frame[f].negated || in->frame[f].sign != '\0')
            return false;
    return true;
}

/* Blocks that are open in the body, and the rest of it, are otherwise in doubt. */
void shell_return(shell_reader *in)
{
    if (in->calls == 0 || in->surveying)
        return;
    if (ends_surely(in)) {
        in->at = in->end;
        return;
    }
    in->left = true;
    for (int f = in->call_frames; f < in->frames; f++)
        if (in->frame[f].outer <= SHELL_LIKELY) {
            in->frame[f].outer = SHELL_DOUBT;
            in->frame[f].outer_doubt = in->doubt;
        }
}

const shell_function *shell_function_named(const shell_reader *in, const char *name)
{
    const int found = name_index_find(&in->function_names, name, strlen(name));

    return found >= 0 ? &in->function[found] : NULL;
}
