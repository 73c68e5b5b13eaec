/*
 * shell_commands.c - one command behind another: conditions, words up to a sign, && and ||
 */
#include "shell_parts.h"

#include <ctype.h>
#include <string.h>

/* ---- conditions as commands ---- */

/* [[ ... ]]: operators are words in it. */
static plait_status read_condition(shell_reader *in, plait_error *err)
{
    shell_list words = {0};

    for (;;) {
        PLAIT_TRY(shell_skip_space(in, err));
        if (in->at == in->end)
            return shell_fail(in, "a [[ that is not closed", err);
        if (strchr(";&|()<>", *in->at) != NULL) {
            const bool twice =
                in->end - in->at >= 2 && in->at[1] == *in->at && strchr("&|", *in->at) != NULL;

            PLAIT_TRY(shell_list_add(
                in, &words, plait_arena_printf(in->arena, "%.*s", twice ? 2 : 1, in->at), err));
            in->at += twice ? 2 : 1;
            continue;
        }
        const int before = words.count;
        const char *const from = in->at;
        PLAIT_TRY(shell_read_word(in, &words, err));
        if (words.count == before) // what vanishes is an empty word in here
            PLAIT_TRY(shell_list_add(in, &words, "", err));
        if (in->at == from + 2 && from[0] == ']' && strcmp(words.word[words.count - 1], "]]") == 0)
            break;
    }
    words.count--;
    if (in->mode != SHELL_SKIP)
        in->status = shell_test(in, &words, true);
    return PLAIT_OK;
}

/* ((...)) */
static plait_status read_sum_command(shell_reader *in, plait_error *err)
{
    const char *const first = in->at += 2;
    int64_t number;

    shell_skip_to_close(in, '(', ')');
    const size_t length = in->at > first ? (size_t)(in->at - first) - 1 : 0;
    in->at += in->at < in->end && *in->at == ')';
    in->cause = -1;
    if (in->mode != SHELL_SKIP)
        in->status = !shell_arithmetic(in, first, length, &number) ? SHELL_OPEN
                     : number != 0                                 ? SHELL_YES
                                                                   : SHELL_NO;
    return shell_run_sum(in, first, length, err);
}

/* An open answer hangs on something: at worst on the condition itself. */
plait_status shell_find_cause(shell_reader *in, plait_error *err)
{
    const char *word;

    if (in->mode == SHELL_SKIP || in->ran == NULL || in->status < SHELL_RAN ||
        (in->status == SHELL_OPEN && in->cause >= 0))
        return PLAIT_OK;
    word = shell_unknown(in, in->ran, false);
    if (word == NULL)
        return plait_fail_nomem(err);
    in->cause = shell_origin_index(in->out, word);
    return PLAIT_OK;
}

/* ---- commands ---- */

static bool takes_assignments(const char *word)
{
    static const char *const words[] = {"export", "declare", "local", "readonly", "typeset", NULL};

    return text_index(word, words) >= 0;
}

/* 2>&1: the 2 is no word. */
static bool at_descriptor(const shell_reader *in)
{
    return in->end - in->at >= 2 && isdigit((unsigned char)in->at[0]) &&
           (in->at[1] == '<' || in->at[1] == '>');
}

/* What a function declares ends with it: `local NAME=`, `declare NAME=`. */
static plait_status declare(shell_reader *in, const shell_list *words, size_t length,
                            plait_error *err)
{
    static const char *const own[] = {"local", "declare", "typeset", NULL};
    const char *name;

    if (words->count == 0 || text_index(words->word[0], own) < 0)
        return PLAIT_OK;
    for (int i = 1; i < words->count; i++)
        if (words->word[i][0] == '-' && strchr(words->word[i], 'g') != NULL)
            return PLAIT_OK;
    name = plait_arena_printf(in->arena, "%.*s", (int)length, in->at);
    return name == NULL ? plait_fail_nomem(err) : shell_make_local(in, name, err);
}

/* Assignments and words up to the end of the command, which the ones before its words are for. */
static plait_status read_simple(shell_reader *in, shell_list *words, shell_aside *aside,
                                plait_error *err)
{
    const int undos = in->undos;
    bool assigns = true;

    for (shell_skip_blanks(in); in->at < in->end && strchr(";&|()\n", *in->at) == NULL;
         shell_skip_blanks(in)) {
        const char *const from = in->at;
        const size_t assigned = assigns ? shell_assignment_at(in) : 0;

        if (*from == '#')
            return PLAIT_OK;
        if (assigned > 0) {
            PLAIT_TRY(declare(in, words, assigned, err));
            PLAIT_TRY(shell_read_assignment(in, assigned, err));
        } else if (at_descriptor(in)) {
            in->at++;
        } else if (*from == '<' || *from == '>') {
            PLAIT_TRY(shell_read_redirection(in, err));
        } else {
            if (words->count == 0 && in->undos > undos)
                PLAIT_TRY(shell_set_aside(in, undos, aside, err));
            PLAIT_TRY(shell_read_word(in, words, err));
            assigns = words->count > 0 && takes_assignments(words->word[0]);
        }
    }
    return PLAIT_OK;
}

static plait_status read_plain_command(shell_reader *in, plait_error *err)
{
    shell_list words = {0};
    shell_aside aside = {0};

    PLAIT_TRY(read_simple(in, &words, &aside, err));
    if (words.count == 1 && in->end - in->at >= 2 && in->at[0] == '(' && in->at[1] == ')') {
        in->at += 2;
        return shell_begin_function(in, words.word[0], err);
    }
    if (in->mode == SHELL_SKIP)
        return PLAIT_OK;
    in->status = SHELL_YES;
    if (words.count == 0)
        return PLAIT_OK;
    PLAIT_TRY(shell_begin_aside(in, &aside, err));
    PLAIT_TRY(shell_run(in, &words, err));
    return shell_end_aside(in, &aside, err);
}

/* One command at the cursor; `!` before it turns its answer round. */
static plait_status read_command(shell_reader *in, plait_error *err)
{
    const char *const from = in->at;
    const bool negates = in->end - in->at >= 2 && in->at[0] == '!' && in->at[1] == ' ';
    const bool piped = in->piped;

    if (in->frames == 0 && in->nesting == 0)
        in->undos = 0; // nothing is open that would take them back
    const int undos = in->undos;
    in->piped = false;
    in->command_line = in->line;
    in->ran = from;
    if (negates) {
        in->at++;
        shell_skip_blanks(in);
    }
    if (in->end - in->at >= 3 && memcmp(in->at, "[[", 2) == 0 &&
        isspace((unsigned char)in->at[2])) {
        in->at += 2;
        PLAIT_TRY(read_condition(in, err));
    } else if (in->end - in->at >= 2 && memcmp(in->at, "((", 2) == 0) {
        PLAIT_TRY(read_sum_command(in, err));
    } else {
        PLAIT_TRY(read_plain_command(in, err));
    }
    if (piped)
        shell_take_back(in, undos);
    in->element = undos;
    in->ran = from; // not what a function or eval ran last
    if (in->status == SHELL_OPEN)
        PLAIT_TRY(shell_find_cause(in, err));
    if (negates && (in->status == SHELL_YES || in->status == SHELL_NO))
        in->status = in->status == SHELL_YES ? SHELL_NO : SHELL_YES;
    return PLAIT_OK;
}

/* A && B, A || B: how B is read after A, and what both answer. */
static plait_status read_linked(shell_reader *in, char sign, plait_error *err)
{
    const shell_answer first = in->status;
    const shell_mode mode = in->mode;
    const int doubt = in->doubt;
    const bool passes = sign == '&' ? first == SHELL_NO : first == SHELL_YES || first == SHELL_RAN;
    const int frames = in->frames;
    const bool left = in->left;

    PLAIT_TRY(shell_skip_space(in, err));
    if (in->at == in->end)
        return PLAIT_OK;
    if (mode != SHELL_SKIP)
        in->mode = passes ? shell_skipped(in) : first == SHELL_OPEN ? SHELL_DOUBT : mode;
    in->doubt = first == SHELL_OPEN ? in->cause : doubt;
    const int keyword = shell_keyword_at(in);
    in->linked++;
    PLAIT_TRY(keyword >= 0 ? shell_take_keyword(in, keyword, err) : read_command(in, err));
    in->linked--;
    if (in->frames > frames) { // what is opened here closes with the mode of before
        in->frame[frames].outer = mode;
        in->frame[frames].outer_doubt = doubt;
        return PLAIT_OK;
    }
    in->mode = in->left && !left && mode == SHELL_RUN ? SHELL_DOUBT : mode;
    if (in->mode == mode)
        in->doubt = doubt;
    if (passes)
        in->status = first;
    else if (first == SHELL_OPEN && in->status != (sign == '&' ? SHELL_NO : SHELL_YES))
        in->status = SHELL_OPEN;
    return PLAIT_OK;
}

/* ;; and, where what is behind it may be run too, ;& and ;;& */
static void end_case_branch(shell_reader *in, shell_frame *frame, bool falls)
{
    if (falls && in->mode != SHELL_SKIP) {
        frame->taken = false;
        frame->open = true;
        frame->cause = -1;
        frame->falls = true;
    }
    in->mode = frame->outer;
    frame->pattern = true;
}

/* ; & | ( ) between commands; what stands before | and & is set in a subshell. */
static plait_status read_sign(shell_reader *in, plait_error *err)
{
    const char sign = *in->at++;
    const bool twice = in->at < in->end && *in->at == sign;
    shell_frame *const frame = shell_top(in, SHELL_CASE);

    if (sign == '(')
        return shell_push(in, SHELL_PAREN, err);
    if (sign == ')') {
        shell_pop(in, SHELL_PAREN);
        return PLAIT_OK;
    }
    in->at += twice && sign != '<' && sign != '>';
    const bool falls = sign == ';' && in->at < in->end && *in->at == '&';
    if (sign == ';' && (twice || falls) && frame != NULL)
        end_case_branch(in, frame, falls);
    in->at += falls;
    if (!twice && (sign == '|' || (sign == '&' && (in->at == in->end || *in->at != '>')))) {
        shell_take_back(in, in->element);
        in->piped = sign == '|';
        in->at += in->piped && in->at < in->end && *in->at == '&';
    }
    if (twice && (sign == '&' || sign == '|'))
        return read_linked(in, sign, err);
    if (sign == '<' || sign == '>') {
        in->at--;
        return shell_read_redirection(in, err);
    }
    return PLAIT_OK;
}

plait_status shell_read_commands(shell_reader *in, plait_error *err)
{
    for (;;) {
        PLAIT_TRY(shell_skip_space(in, err));
        if (in->at == in->end) {
            bool again;

            PLAIT_TRY(shell_end_text(in, &again, err));
            if (!again)
                return PLAIT_OK;
            continue;
        }
        const shell_frame *const frame = shell_top(in, SHELL_CASE);
        const bool sums = in->end - in->at >= 2 && memcmp(in->at, "((", 2) == 0;
        if (frame != NULL && frame->pattern) {
            PLAIT_TRY(shell_read_pattern(in, err));
        } else if (strchr(";&|()<>", *in->at) != NULL && !sums) {
            PLAIT_TRY(read_sign(in, err));
        } else {
            const int keyword = shell_keyword_at(in);

            PLAIT_TRY(keyword >= 0 ? shell_take_keyword(in, keyword, err) : read_command(in, err));
        }
    }
}
