/*
 * shell_status.c - how commands end, and what that lets through
 *
 * A program may fail. A launch behind `make &&` is the one that the script is for, so it is read as
 * one that runs; but what is set there, or behind `||`, is not known.
 */
#include <string.h>

#include "launch/read/shell_parts.h"

void shell_end_as(shell_reader *in, shell_answer answer)
{
    in->status = answer;
    in->code = answer == SHELL_YES ? 0 : answer == SHELL_NO ? 1 : -1;
}

shell_answer shell_program_answer(const char *name)
{
    static const char *const hardly_fail[] = {
        "cd",     "pushd", "popd",    "mkdir", "echo",    "printf", "export", "set",
        "module", "ml",    "declare", "local", "typeset", "alias",  "shopt",  "ulimit",
        "trap",   "umask", "unset",   "touch", "sleep",   NULL};

    return text_index(name, hardly_fail) >= 0 ? SHELL_DONE : SHELL_RAN;
}

/* ---- && and || ---- */

bool shell_passes(char sign, shell_answer first)
{
    return sign == '&' ? first == SHELL_NO : first == SHELL_YES || first == SHELL_DONE;
}

shell_mode shell_linked_mode(const shell_reader *in, char sign)
{
    const bool runs = in->mode == SHELL_RUN || in->mode == SHELL_LIKELY;

    if (in->mode == SHELL_SKIP || shell_passes(sign, in->status))
        return in->mode == SHELL_SKIP ? SHELL_SKIP : shell_skipped(in);
    if (in->status == SHELL_OPEN || (in->status == SHELL_RAN && sign == '|'))
        return SHELL_DOUBT;
    return in->status == SHELL_RAN && runs ? SHELL_LIKELY : in->mode;
}

void shell_end_linked(shell_reader *in, char sign, shell_answer first)
{
    const shell_answer deciding = sign == '&' ? SHELL_NO : SHELL_YES, second = in->status;

    if (first <= SHELL_YES && !shell_passes(sign, first))
        return; // the second part alone decides
    if (shell_passes(sign, first) || second != deciding)
        shell_end_as(in, shell_passes(sign, first) || first > second ? first : second);
    if (sign == '&')
        in->code = -1; // 1, or what the first part ended with
}

/* ---- !, blocks ---- */

void shell_turn(shell_reader *in)
{
    if (in->status == SHELL_YES || in->status == SHELL_NO)
        shell_end_as(in, in->status == SHELL_YES ? SHELL_NO : SHELL_YES);
    else
        shell_end_as(in, SHELL_OPEN);
}

/* No branch that is taken ends well; a loop, or one of several branches, who knows. */
static void end_of_kind(shell_reader *in, const shell_frame *frame)
{
    const bool branches = frame->block == SHELL_IF || frame->block == SHELL_CASE;

    if (frame->block == SHELL_FUNCTION || (branches && !frame->open && !frame->taken))
        shell_end_as(in, SHELL_YES);
    else if (frame->block == SHELL_LOOP || (branches && frame->open) || frame->exited)
        shell_end_as(in, SHELL_RAN);
}

void shell_end_block(shell_reader *in, const shell_frame *frame)
{
    if (frame->idle && frame->sign == '\0')
        return;
    if (!frame->idle)
        end_of_kind(in, frame);
    if (frame->piped && in->pipe_fails && in->status < SHELL_RAN)
        shell_end_as(in, SHELL_RAN);
    if (frame->negated && !frame->idle)
        shell_turn(in);
    if (frame->sign != '\0')
        shell_end_linked(in, frame->sign, frame->first);
}

/* ---- return ---- */

void shell_return_as(shell_reader *in, const shell_list *words)
{
    int code;

    in->status = in->before;
    in->code = in->code_before;
    if (words->count < 2)
        return;
    if (!text_parse_int(words->word[1], 0, 255, &code)) {
        shell_end_as(in, SHELL_RAN);
        return;
    }
    in->status = code == 0 ? SHELL_YES : SHELL_NO;
    in->code = code;
}
