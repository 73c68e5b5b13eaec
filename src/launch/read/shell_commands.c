/*
 * shell_commands.c - one command behind another: conditions, words up to a sign, && and ||
 */
#include "launch/read/shell_parts.h"

#include <ctype.h>
#include <string.h>

/* ---- conditions as commands ---- */

/* Behind = and its like stands a pattern. */
static bool compares(const char *word)
{
    static const char *const signs[] = {"=", "==", "!=", NULL};

    return text_index(word, signs) >= 0;
}

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
        in->pattern = before > 0 && compares(words.word[before - 1]);
        const plait_status status = shell_read_word(in, &words, err);
        in->pattern = false;
        PLAIT_TRY(status);
        if (words.count == before) // what vanishes is an empty word in here
            PLAIT_TRY(shell_list_add(in, &words, "", err));
        if (in->at == from + 2 && from[0] == ']' && strcmp(words.word[words.count - 1], "]]") == 0)
            break;
    }
    words.count--;
    if (in->mode != SHELL_SKIP)
        shell_end_as(in, shell_test(in, &words, true));
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
        shell_end_as(in, !shell_arithmetic(in, first, length, &number) ? SHELL_OPEN
                         : number != 0                                 ? SHELL_YES
                                                                       : SHELL_NO);
    return shell_run_sum(in, first, length, err);
}

/* An open answer hangs on something: at worst on the condition itself. */
plait_status shell_find_cause(shell_reader *in, plait_error *err)
{
    const char *word;

    if (in->mode == SHELL_SKIP || in->ran == NULL || in->status < SHELL_DONE ||
        (in->status == SHELL_OPEN && in->cause >= 0))
        return PLAIT_OK;
    word = shell_unknown(in, in->ran, false);
    if (word == NULL)
        return plait_fail_nomem(err);
    in->cause = shell_origin_index(in->out, word);
    return PLAIT_OK;
}

/* ---- commands ---- */

/* 2>&1: the 2 is no word. */
static bool at_descriptor(const shell_reader *in)
{
    return in->end - in->at >= 2 && isdigit((unsigned char)in->at[0]) &&
           (in->at[1] == '<' || in->at[1] == '>');
}

/* Words behind `command` and `builtin`. */
static shell_list behind_prefix(const shell_list *words)
{
    const int prefix = shell_prefix(words);

    return (shell_list){words->word + prefix, words->count - prefix, 0};
}

/* NAME=VALUE among the words of `declare` and its like: what that makes of the variable. */
static plait_status declare(shell_reader *in, const shell_list *words, size_t length,
                            plait_error *err)
{
    if (words->count == 0)
        return PLAIT_OK;
    const shell_list behind = behind_prefix(words);
    const char *const name = plait_arena_printf(in->arena, "%.*s", (int)length, in->at);
    return name == NULL ? plait_fail_nomem(err) : shell_declare_name(in, &behind, name, err);
}

/* A word of [ ... ] that is not in quotes is none, if its variable is not set. */
static void note_vanishing(shell_reader *in, const shell_list *words, const char *from)
{
    const char *const word = words->count > 0 ? words->word[words->count - 1] : "";
    const int origin = shell_origin_index(in->out, word);
    const size_t width = (size_t)(in->at - from);

    in->vanishing =
        in->vanishing || (origin >= 0 && in->out->origin[origin].unset && shell_word_open(word) &&
                          memchr(from, '"', width) == NULL && memchr(from, '\'', width) == NULL);
}

/* Assignments and words up to the end of the command, which the ones before its words are for. */
static plait_status read_simple(shell_reader *in, shell_list *words, shell_aside *aside,
                                plait_error *err)
{
    const int undos = in->undos;
    bool assigns = true;

    in->vanishing = false;
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
            note_vanishing(in, words, from);
            assigns = words->count > 0 && shell_declares(behind_prefix(words).word[0]);
        }
    }
    return PLAIT_OK;
}

/* The commands from one on have what was set before their words. */
static plait_status give_settings(shell_reader *in, const shell_aside *aside, int from,
                                  plait_error *err)
{
    shell_variable *setting;

    if (aside->count == 0 || from == in->out->commands)
        return PLAIT_OK;
    setting = plait_arena_alloc(in->arena, (size_t)aside->count, sizeof *setting);
    if (setting == NULL)
        return plait_fail_nomem(err);
    for (int i = 0; i < aside->count; i++)
        setting[i] = aside->set[i].old;
    for (int c = from; c < in->out->commands; c++) {
        in->out->command[c].settings = aside->count;
        in->out->command[c].setting = setting;
    }
    return PLAIT_OK;
}

static plait_status read_plain_command(shell_reader *in, plait_error *err)
{
    const int substitutions = in->substitutions, commands = in->out->commands;
    const char *const from = in->at;
    shell_list words = {0};
    shell_aside aside = {0};

    PLAIT_TRY(read_simple(in, &words, &aside, err));
    if (words.count == 1 && in->end - in->at >= 2 && in->at[0] == '(' && in->at[1] == ')') {
        in->at += 2;
        return shell_begin_function(in, words.word[0], err);
    }
    if (in->mode == SHELL_SKIP)
        return PLAIT_OK;
    in->before = in->status;
    in->code_before = in->code;
    if (words.count == 0 && from < in->end && isdigit((unsigned char)*from))
        return PLAIT_OK;    // 2> FILE behind a block, or ]]
    if (words.count == 0) { // NAME=$(PROGRAM) ends as the program does
        shell_end_as(in, in->substitutions == substitutions ? SHELL_YES : SHELL_RAN);
        return PLAIT_OK;
    }
    PLAIT_TRY(shell_begin_aside(in, &aside, err));
    PLAIT_TRY(shell_run(in, &words, err));
    PLAIT_TRY(give_settings(in, &aside, commands, err));
    return shell_end_aside(in, &aside, err);
}

/* [[ ]], (( )), or words */
static plait_status read_one(shell_reader *in, plait_error *err)
{
    if (in->end - in->at >= 3 && memcmp(in->at, "[[", 2) == 0 &&
        isspace((unsigned char)in->at[2])) {
        in->at += 2;
        return read_condition(in, err);
    }
    return in->end - in->at >= 2 && memcmp(in->at, "((", 2) == 0 ? read_sum_command(in, err)
                                                                 : read_plain_command(in, err);
}

/* A block at the cursor; `*taken`: there is one. */
static plait_status read_block(shell_reader *in, bool *taken, plait_error *err)
{
    const bool sums = in->end - in->at >= 2 && memcmp(in->at, "((", 2) == 0;
    const bool subshell = in->at < in->end && *in->at == '(' && !sums;
    const int keyword = subshell ? -1 : shell_keyword_at(in), frames = in->frames;

    in->at += subshell;
    if (subshell)
        PLAIT_TRY(shell_push(in, SHELL_PAREN, err));
    else if (keyword >= 0)
        PLAIT_TRY(shell_take_keyword(in, keyword, err));
    *taken = in->frames != frames;
    shell_skip_blanks(in); // behind `time`, which opens nothing
    return PLAIT_OK;
}

/* What stands behind a pipe is set in a subshell, and one of the pipe may have failed. */
static void end_piped(shell_reader *in, int undos)
{
    shell_take_back(in, undos);
    if (in->pipe_fails && in->status < SHELL_RAN)
        shell_end_as(in, SHELL_RAN);
}

/* `!` at the cursor, which is passed. */
static bool takes_turn(shell_reader *in)
{
    if (in->end - in->at < 2 || in->at[0] != '!' || (in->at[1] != ' ' && in->at[1] != '\t'))
        return false;
    in->at++;
    shell_skip_blanks(in);
    return true;
}

/* One command at the cursor; `!` before it, or before its pipe, turns its answer round. */
static plait_status read_command(shell_reader *in, plait_error *err)
{
    const char *const from = in->at;
    const bool piped = in->piped;

    if (in->frames == 0 && in->nesting == 0)
        in->undos = 0; // nothing is open that would take them back
    const int undos = in->undos, frames = in->frames;
    in->piped = false;
    in->pipe_fails = in->pipe_fails && piped;
    in->command_line = in->line;
    in->ran = from;
    const bool turned = takes_turn(in) || (piped && in->turned);
    in->turned = turned;
    if (turned && !piped) {
        bool block;

        PLAIT_TRY(read_block(in, &block, err));
        if (block && in->frames > frames)
            in->frame[frames].negated = true;
        if (block)
            return PLAIT_OK;
    }
    PLAIT_TRY(read_one(in, err));
    if (in->mode == SHELL_SKIP)
        return PLAIT_OK;
    if (piped)
        end_piped(in, undos);
    in->element = undos;
    in->ran = from; // not what a function or eval ran last
    if (turned)
        shell_turn(in);
    return in->status == SHELL_OPEN ? shell_find_cause(in, err) : PLAIT_OK;
}

/* Behind the | : what stood before it was set in a subshell, and may have failed. */
static void begin_pipe(shell_reader *in)
{
    shell_take_back(in, in->element);
    in->piped = true;
    in->pipe_fails = in->pipe_fails || (in->pipefail && in->status != SHELL_YES);
    in->at += in->at < in->end && *in->at == '&';
}

/* A command at the cursor, with those that it is piped into; or the head of a block. */
static plait_status read_pipe(shell_reader *in, plait_error *err)
{
    for (;;) {
        bool block;

        PLAIT_TRY(read_block(in, &block, err));
        if (block)
            return PLAIT_OK;
        PLAIT_TRY(read_command(in, err));
        shell_skip_blanks(in);
        if (in->at == in->end || *in->at != '|' || (in->end - in->at >= 2 && in->at[1] == '|'))
            return PLAIT_OK;
        in->at++;
        begin_pipe(in);
        PLAIT_TRY(shell_skip_space(in, err));
        if (in->at == in->end)
            return PLAIT_OK;
    }
}

/* What B of A && B hangs on, where that is not known: A, behind which the sign has been passed. */
static plait_status find_linked_cause(shell_reader *in, plait_error *err)
{
    const char *const at = in->at;

    in->at -= 2;
    const plait_status status = shell_find_cause(in, err);
    in->at = at;
    return status;
}

/* A && B, A || B: how B is read after A, and what both answer. */
static plait_status read_linked(shell_reader *in, char sign, plait_error *err)
{
    const shell_mode mode = in->mode;
    const int doubt = in->doubt;
    const int frames = in->frames;
    const bool left = in->left, broken = in->broken > 0;

    PLAIT_TRY(find_linked_cause(in, err));
    PLAIT_TRY(shell_skip_space(in, err));
    if (in->at == in->end)
        return PLAIT_OK;
    const shell_answer first = in->status;
    in->mode = shell_linked_mode(in, sign);
    in->doubt = first >= SHELL_RAN ? in->cause : doubt;
    in->linked++;
    PLAIT_TRY(read_pipe(in, err));
    in->linked--;
    if (in->frames > frames) { // what is opened here closes with the mode of before
        shell_frame *const opened = &in->frame[frames];

        opened->outer = mode;
        opened->outer_doubt = doubt;
        opened->sign = mode == SHELL_SKIP ? '\0' : sign;
        opened->first = first;
        return PLAIT_OK;
    }
    const bool ends = (in->left && !left) || (in->broken > 0 && !broken);
    in->mode = ends && mode == SHELL_RUN ? SHELL_DOUBT : mode;
    if (in->mode == mode)
        in->doubt = doubt;
    if (mode != SHELL_SKIP)
        shell_end_linked(in, sign, first);
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
    if (!twice && sign == '|')
        begin_pipe(in);
    if (!twice && sign == '&' && (in->at == in->end || *in->at != '>')) {
        shell_take_back(in, in->element);
        in->piped = false;
        if (in->mode != SHELL_SKIP)
            shell_end_as(in, SHELL_YES);
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
        in->begun = true;
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
