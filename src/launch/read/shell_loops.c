/*
 * shell_loops.c - for, while and until: how many rounds there are is not known
 *
 * The body of an outermost loop is read twice. The first time, a survey, every branch of it is read,
 * and only which variables it changes is kept. Those are unknown at the head of any round; a variable
 * that options are added to keeps what it had, with something unknown behind it. So the second time
 * the body is read as what one round does, whichever it is. Behind the loop its variables are
 * unknown again. Loops within are read with it, so that no text is read more than twice for a loop.
 */
#include <string.h>

#include "launch/read/shell_parts.h"

shell_mode shell_skipped(const shell_reader *in)
{
    return in->surveying ? SHELL_DOUBT : SHELL_SKIP;
}

/* ---- what rounds change ---- */

/* The words of a variable with one behind them. */
static plait_status grown(shell_reader *in, const shell_variable *variable, const char *behind,
                          shell_list *out, plait_error *err)
{
    const shell_list *const old = &variable->value;

    if (!variable->array && old->count == 1)
        return shell_list_add(in, out,
                              old->word[0][0] == '\0'
                                  ? behind
                                  : plait_arena_printf(in->arena, "%s %s", old->word[0], behind),
                              err);
    for (int i = 0; i < old->count; i++)
        PLAIT_TRY(shell_list_add(in, out, old->word[i], err));
    return shell_list_add(in, out, behind, err);
}

/* At the head of a round. */
static plait_status enter_round(shell_reader *in, shell_variable *variable, plait_error *err)
{
    shell_list list = {0};

    PLAIT_TRY(shell_keep(in, variable, err));
    if (variable->change == SHELL_GROWN && !variable->unset) {
        PLAIT_TRY(grown(in, variable, in->loop.unknown, &list, err));
        variable->entry = list;
    } else {
        PLAIT_TRY(shell_list_add(in, &list, in->loop.unknown, err));
        variable->change = SHELL_CHANGED;
    }
    variable->value = list;
    variable->unset = false;
    return PLAIT_OK;
}

static plait_status leave_rounds(shell_reader *in, shell_variable *variable, plait_error *err)
{
    shell_list list = {0};

    PLAIT_TRY(shell_keep(in, variable, err));
    PLAIT_TRY(shell_list_add(in, &list, in->loop.unknown, err));
    variable->value =
        variable->change == SHELL_GROWN && variable->entry.count > 0 ? variable->entry : list;
    variable->unset = false;
    return PLAIT_OK;
}

static plait_status spend_variables(shell_reader *in, plait_error *err)
{
    return shell_spend(in, (size_t)in->variables, err);
}

/* ---- a survey ---- */

/* The text from there up to the body names what the loop leaves unknown. */
static plait_status begin_survey(shell_reader *in, const char *from, plait_error *err)
{
    size_t width = 0;

    if (in->mode == SHELL_SKIP || in->loop_frame >= 0)
        return PLAIT_OK;
    while (from + width < in->end && strchr(";\n", from[width]) == NULL)
        width++;
    in->loop = (shell_loop){.at = in->at,
                            .end = in->end,
                            .ran = in->ran,
                            .target = in->target,
                            .unknown = shell_unknown_text(in, from, width, false),
                            .line = in->line,
                            .nesting = in->nesting,
                            .doubt = in->doubt,
                            .cause = in->cause,
                            .heres = in->heres,
                            .mode = in->mode,
                            .status = in->status,
                            .argument_open = in->argument_open};
    memcpy(in->loop.here, in->here, sizeof in->here);
    if (in->loop.unknown == NULL)
        return plait_fail_nomem(err);
    in->loop_frame = in->frames - 1;
    in->surveying = true;
    for (int v = 0; v < in->variables; v++) {
        in->variable[v].change = SHELL_KEPT;
        in->variable[v].entry = (shell_list){0};
    }
    return spend_variables(in, err);
}

/* Back to the head of the outermost loop. */
static void end_survey(shell_reader *in)
{
    const shell_loop *const loop = &in->loop;

    in->surveying = false;
    in->frames = in->loop_frame + 1;
    in->at = loop->at;
    in->line = loop->line;
    in->ran = loop->ran;
    in->target = loop->target;
    in->doubt = loop->doubt;
    in->cause = loop->cause;
    in->heres = loop->heres;
    in->mode = loop->mode;
    in->status = loop->status;
    in->piped = false;
    memcpy(in->here, loop->here, sizeof in->here);
}

static plait_status read_again(shell_reader *in, plait_error *err)
{
    end_survey(in);
    PLAIT_TRY(spend_variables(in, err));
    for (int v = 0; v < in->variables; v++)
        if (in->variable[v].change != SHELL_KEPT)
            PLAIT_TRY(enter_round(in, &in->variable[v], err));
    return PLAIT_OK;
}

plait_status shell_end_text(shell_reader *in, bool *again, plait_error *err)
{
    *again = in->surveying && in->loop.nesting == in->nesting && in->loop.end == in->end;
    return *again ? read_again(in, err) : PLAIT_OK;
}

plait_status shell_end_loop(shell_reader *in, plait_error *err)
{
    if (shell_top(in, SHELL_LOOP) == NULL)
        return PLAIT_OK;
    if (in->loop_frame == in->frames - 1) {
        if (in->surveying)
            return read_again(in, err);
        in->loop_frame = -1;
        PLAIT_TRY(spend_variables(in, err));
        for (int v = 0; v < in->variables; v++)
            if (in->variable[v].change != SHELL_KEPT)
                PLAIT_TRY(leave_rounds(in, &in->variable[v], err));
    }
    if (in->broken == in->frames)
        in->broken = 0;
    shell_pop(in, SHELL_LOOP);
    return PLAIT_OK;
}

/* ---- heads ---- */

/* Words up to the end of the line. */
static plait_status read_line_words(shell_reader *in, shell_list *words, plait_error *err)
{
    for (shell_skip_blanks(in); in->at < in->end && strchr(";\n&|#)", *in->at) == NULL;
         shell_skip_blanks(in)) {
        if (strchr("(<>", *in->at) != NULL)
            in->at++;
        else
            PLAIT_TRY(shell_read_word(in, words, err));
    }
    return PLAIT_OK;
}

/* ((A; B; C)) */
static plait_status read_counting(shell_reader *in, const char *from, plait_error *err)
{
    const char *const first = in->at;

    in->at += 2;
    shell_skip_to_close(in, '(', ')');
    in->at += in->at < in->end && *in->at == ')';
    PLAIT_TRY(begin_survey(in, from, err));
    return shell_run_sum(in, first, (size_t)(in->at - first), err);
}

/* A word that stands for itself: no pattern of files, no {1..4}. */
static bool is_one(const char *word)
{
    return shell_word_known(word) && strpbrk(word, "*?[{") == NULL;
}

/* for NAME in WORDS: one word is a round, read as it is; of several none is known. */
plait_status shell_begin_for(shell_reader *in, const char *from, bool asks, plait_error *err)
{
    shell_list words = {0};

    if (in->mode != SHELL_SKIP)
        shell_end_as(in, SHELL_RAN);
    PLAIT_TRY(shell_push(in, SHELL_LOOP, err));
    shell_skip_blanks(in);
    if (in->end - in->at >= 2 && memcmp(in->at, "((", 2) == 0)
        return read_counting(in, from, err);
    PLAIT_TRY(read_line_words(in, &words, err));
    if (words.count == 0 || in->mode == SHELL_SKIP)
        return PLAIT_OK;
    if (words.count == 2)
        in->mode = shell_skipped(in);
    if (asks || words.count != 3 || !is_one(words.word[2])) {
        PLAIT_TRY(shell_set_unknown(in, words.word[0], from, (size_t)(in->at - from), err));
        return begin_survey(in, from, err);
    }
    PLAIT_TRY(shell_note_change(in, words.word[0], SHELL_CHANGED, err));
    return in->surveying
               ? PLAIT_OK
               : shell_set(in, words.word[0], false, &(shell_list){words.word + 2, 1, 1}, err);
}

void shell_break(shell_reader *in)
{
    int f = in->frames;

    while (f > in->text_frames && in->frame[f - 1].block != SHELL_LOOP)
        f--;
    if (f == in->text_frames || in->loop_frame >= 0 || in->mode == SHELL_SKIP)
        return; // any round of several is read as it may be
    in->broken = f;
    in->mode = SHELL_DOUBT;
    for (; f < in->frames; f++)
        if (in->frame[f].outer <= SHELL_LIKELY) {
            in->frame[f].outer = SHELL_DOUBT;
            in->frame[f].outer_doubt = in->doubt;
        }
}

plait_status shell_begin_while(shell_reader *in, bool until, plait_error *err)
{
    PLAIT_TRY(shell_push(in, SHELL_LOOP, err));
    shell_top(in, SHELL_LOOP)->until = until;
    shell_skip_blanks(in);
    return begin_survey(in, in->at, err);
}

/* A loop whose condition does not hold before it has no round: its condition is read again, and runs. */
void shell_begin_body(shell_reader *in)
{
    const shell_frame *const frame = shell_top(in, SHELL_LOOP);

    if (frame == NULL || in->status != (frame->until ? SHELL_YES : SHELL_NO))
        return;
    if (in->surveying && in->loop_frame == in->frames - 1) {
        end_survey(in);
        in->loop_frame = -1;
        in->argument_open = in->loop.argument_open;
    } else {
        in->mode = shell_skipped(in);
    }
}
