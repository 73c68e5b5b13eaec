/* shell_blocks.c - if and case of a shell: what of them is read, and how */
#include <string.h>

#include "launch/read/shell_parts.h"

/* ---- blocks ---- */

plait_status shell_push(shell_reader *in, shell_block block, plait_error *err)
{
    if (in->frames == SHELL_MAX_FRAMES)
        return shell_fail(in, "blocks in blocks, more than 64", err);
    in->frame[in->frames++] = (shell_frame){.block = block,
                                            .outer = in->mode,
                                            .outer_doubt = in->doubt,
                                            .piped = in->piped,
                                            .idle = in->mode == SHELL_SKIP,
                                            .undos = in->undos,
                                            .line = in->line};
    in->piped = false;
    return PLAIT_OK;
}

shell_frame *shell_top(shell_reader *in, shell_block block)
{
    shell_frame *const frame = in->frames > in->text_frames ? &in->frame[in->frames - 1] : NULL;

    return frame != NULL && frame->block == block ? frame : NULL;
}

void shell_pop(shell_reader *in, shell_block block)
{
    const shell_frame *const frame = shell_top(in, block);

    if (frame == NULL)
        return;
    if (frame->piped || block == SHELL_PAREN)
        shell_take_back(in, frame->undos);
    in->element = frame->undos;
    in->mode = frame->outer;
    in->doubt = frame->outer_doubt;
    shell_end_block(in, frame);
    in->frames--;
}

/* How the next branch is read, whose condition has an answer. */
void shell_enter_branch(shell_reader *in, shell_frame *frame, shell_answer answer)
{
    if (frame->outer == SHELL_SKIP || frame->taken || answer == SHELL_NO) {
        in->mode = frame->outer == SHELL_SKIP ? SHELL_SKIP : shell_skipped(in);
        return;
    }
    if (answer == SHELL_YES) {
        frame->taken = true;
    } else {
        frame->open = true;
        frame->cause = in->cause;
    }
    in->mode = frame->open ? SHELL_DOUBT : frame->outer;
    in->doubt = frame->open ? frame->cause : frame->outer_doubt;
}

/* Between branches conditions are read, not skipped, as long as no branch is surely taken. */
void shell_leave_branch(shell_reader *in, const shell_frame *frame)
{
    const bool doubts = frame->open && frame->outer != SHELL_SKIP;

    in->mode = frame->taken && frame->outer != SHELL_SKIP ? shell_skipped(in)
               : doubts                                   ? SHELL_DOUBT
                                                          : frame->outer;
    in->doubt = doubts ? frame->cause : frame->outer_doubt;
}

/* ---- case ---- */

plait_status shell_begin_case(shell_reader *in, plait_error *err)
{
    shell_list words = {0};

    PLAIT_TRY(shell_push(in, SHELL_CASE, err));
    shell_skip_blanks(in);
    PLAIT_TRY(shell_read_word(in, &words, err));
    shell_frame *const frame = shell_top(in, SHELL_CASE);
    frame->subject = shell_joined(in, &words, 0);
    frame->pattern = true;
    PLAIT_TRY(shell_skip_space(in, err));
    words.count = 0;
    return shell_read_word(in, &words, err); // in
}

/* The first one that surely matches decides; one that may match leaves it open. */
static shell_answer case_answer(shell_reader *in, const shell_frame *frame, const shell_list *words)
{
    const int subject = shell_origin_index(in->out, frame->subject);
    shell_answer found = SHELL_NO;

    for (int i = 0; i < words->count; i++) {
        const int origin = shell_origin_index(in->out, words->word[i]);
        const shell_answer one = strcmp(words->word[i], "*") == 0 ? SHELL_YES
                                 : subject >= 0 || origin >= 0
                                     ? SHELL_OPEN
                                     : shell_matches(in, words->word[i], frame->subject);

        if (one == SHELL_YES)
            return SHELL_YES;
        if (one == SHELL_OPEN) {
            in->cause = subject >= 0 ? subject : origin;
            found = SHELL_OPEN;
        }
    }
    return found;
}

/* The patterns of a branch; `*open`: one of them, @(A|B), is not read. */
static plait_status read_patterns(shell_reader *in, shell_list *words, bool *open, plait_error *err)
{
    while (in->at < in->end && *in->at != ')' && *in->at != '\n') {
        shell_skip_blanks(in);
        if (in->at < in->end && *in->at == '(') {
            in->at++;
            shell_skip_to_close(in, '(', ')');
            *open = true;
        } else if (in->at < in->end && strchr("|;&<>", *in->at) != NULL) {
            in->at++;
        } else {
            const int before = words->count;
            PLAIT_TRY(shell_read_word(in, words, err));
            if (words->count == before) // what vanishes is an empty pattern
                PLAIT_TRY(shell_list_add(in, words, "", err));
        }
        if (words->count == 1 && strcmp(words->word[0], "esac") == 0)
            return PLAIT_OK;
        shell_skip_blanks(in);
    }
    in->at += in->at < in->end && *in->at == ')';
    return PLAIT_OK;
}

/* "A | B)", or esac. */
plait_status shell_read_pattern(shell_reader *in, plait_error *err)
{
    shell_frame *const frame = shell_top(in, SHELL_CASE);
    shell_list words = {0};
    bool open = false;

    if (*in->at == '(')
        in->at++;
    in->pattern = true;
    const plait_status status = read_patterns(in, &words, &open, err);
    in->pattern = false;
    PLAIT_TRY(status);
    if (words.count == 1 && strcmp(words.word[0], "esac") == 0) {
        shell_pop(in, SHELL_CASE);
        return PLAIT_OK;
    }
    if (frame->subject == NULL)
        return plait_fail_nomem(err);
    in->cause = -1;
    const shell_answer answer = open ? SHELL_OPEN : case_answer(in, frame, &words);
    if (frame->falls)
        in->cause = -1;
    shell_enter_branch(in, frame, frame->falls && answer == SHELL_NO ? SHELL_OPEN : answer);
    if (in->mode == SHELL_RUN)
        shell_end_as(in, SHELL_YES); // of a branch without a command
    frame->falls = false;
    frame->pattern = false;
    return PLAIT_OK;
}
