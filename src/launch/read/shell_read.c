/*
 * shell_read.c - commands of a shell script, as far as they can be known without running it
 *
 * One pass over the text cuts commands and follows assignments. What is open at the cursor (`if`,
 * `case`, `{`) stands on a stack of frames, and says whether what is read runs, is skipped, or hangs
 * on something that is not known. Nothing is executed.
 */
#include "shell_read.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "grow.h"
#include "shell_parts.h"

static plait_status read_commands(shell_reader *in, plait_error *err);

/* ---- functions ---- */

static plait_status begin_function(shell_reader *in, const char *name, plait_error *err)
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

static plait_status end_function(shell_reader *in, plait_error *err)
{
    const shell_frame *const frame = shell_top(in, SHELL_FUNCTION);
    shell_function *more;

    more =
        grow_by_one(in->arena, in->function, in->functions, &in->function_capacity, sizeof *more);
    if (more == NULL)
        return plait_fail_nomem(err);
    in->function = more;
    more[in->functions++] =
        (shell_function){frame->subject, frame->body, (size_t)(in->at - frame->body) - 1};
    shell_pop(in, SHELL_FUNCTION);
    return PLAIT_OK;
}

/* Read a text as commands, here and now. */
static plait_status read_nested(shell_reader *in, const char *text, size_t length, plait_error *err)
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
    PLAIT_TRY(read_commands(in, err));
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

static plait_status call_function(shell_reader *in, const shell_function *function,
                                  const shell_list *words, plait_error *err)
{
    const shell_list outer = in->argument;

    in->argument = (shell_list){words->word + 1, words->count - 1, words->count - 1};
    PLAIT_TRY(read_nested(in, function->body, function->length, err));
    in->argument = outer;
    return PLAIT_OK;
}

static const shell_function *function_named(const shell_reader *in, const char *name)
{
    for (int f = in->functions - 1; f >= 0; f--)
        if (strcmp(in->function[f].name, name) == 0)
            return &in->function[f];
    return NULL;
}

/* ---- simple commands ---- */

/* Where the TEXT of `bash -c TEXT` stands among the words; 0: nowhere. */
static int script_of(const shell_list *words)
{
    static const char *const shells[] = {"bash", "sh", "/bin/bash", "/bin/sh", "zsh", NULL};

    for (int i = 0; i + 2 < words->count; i++) {
        const char *const option = words->word[i + 1];

        if (text_index(words->word[i], shells) >= 0 && option[0] == '-' && option[1] != '-' &&
            text_ends_with(option, "c"))
            return i + 2;
    }
    return 0;
}

static plait_status unset(shell_reader *in, const shell_list *words)
{
    for (int i = 1; i < words->count; i++) {
        shell_variable *const found = shell_find(in, words->word[i], strlen(words->word[i]));

        if (found != NULL)
            found->name = "";
    }
    return PLAIT_OK;
}

/* `read NAME ..`, `mapfile NAME`: what comes from outside is not known. */
static plait_status take_input(shell_reader *in, const shell_list *words, plait_error *err)
{
    const char *const word = shell_unknown(in, in->ran, false);

    if (word == NULL)
        return plait_fail_nomem(err);
    for (int i = 1; i < words->count; i++)
        if (words->word[i][0] != '-')
            PLAIT_TRY(shell_set(in, words->word[i], false,
                                &(shell_list){(const char *[]){word}, 1, 1}, err));
    return PLAIT_OK;
}

static plait_status run(shell_reader *in, const shell_list *words, plait_error *err)
{
    static const char *const readers[] = {"read", "mapfile", "readarray", NULL};
    const char *const name = words->count > 0 ? words->word[0] : ":";
    const shell_function *const function = function_named(in, name);
    const int script = script_of(words);
    const char *text;

    in->status = SHELL_RAN;
    if (strcmp(name, "[") == 0 || strcmp(name, "test") == 0) {
        const bool closed = name[0] == 't' || strcmp(words->word[words->count - 1], "]") == 0;
        const shell_list inner = {words->word + 1, words->count - 1 - (name[0] == '[' && closed),
                                  0};

        in->status = closed ? shell_test(in, &inner, false) : SHELL_OPEN;
        return PLAIT_OK;
    }
    if (strcmp(name, "true") == 0 || strcmp(name, ":") == 0 || strcmp(name, "false") == 0) {
        in->status = name[0] == 'f' ? SHELL_NO : SHELL_YES;
        return PLAIT_OK;
    }
    if (function != NULL)
        return call_function(in, function, words, err);
    if (strcmp(name, "unset") == 0)
        return unset(in, words);
    if (text_index(name, readers) >= 0)
        return take_input(in, words, err);
    if (strcmp(name, "eval") == 0 || script > 0) {
        text = script > 0 ? words->word[script] : shell_joined(in, words, 1);
        if (text == NULL)
            return plait_fail_nomem(err);
        PLAIT_TRY(
            shell_add_command(in, &(shell_list){words->word, script > 0 ? script : 1, 0}, err));
        return read_nested(in, text, strlen(text), err);
    }
    if (strcmp(name, "echo") == 0 && in->target != NULL && in->heres == 0) {
        text = shell_joined(in, words, 1);
        PLAIT_TRY(text != NULL ? shell_add_file(in, text, err) : plait_fail_nomem(err));
    }
    return shell_add_command(in, words, err);
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
static plait_status read_sum_command(shell_reader *in)
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
    return PLAIT_OK;
}

/* An open answer hangs on something: at worst on the condition itself. */
static plait_status find_cause(shell_reader *in, plait_error *err)
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

/* ---- keywords ---- */

typedef enum shell_keyword {
    WORD_IF,
    WORD_THEN,
    WORD_ELIF,
    WORD_ELSE,
    WORD_FI,
    WORD_FOR,
    WORD_WHILE,
    WORD_UNTIL,
    WORD_SELECT,
    WORD_DO,
    WORD_DONE,
    WORD_CASE,
    WORD_ESAC,
    WORD_OPEN,
    WORD_CLOSE,
    WORD_FUNCTION,
    WORD_TIME,
    SHELL_KEYWORDS
} shell_keyword;

static const char *const keywords[] = {"if",    "then",  "elif",   "else",     "fi",   "for",
                                       "while", "until", "select", "do",       "done", "case",
                                       "esac",  "{",     "}",      "function", "time", NULL};

/* The keyword at the cursor, which is passed; -1: none stands here. */
static int keyword_at(shell_reader *in)
{
    size_t width = 0;

    while (in->at + width < in->end && !isspace((unsigned char)in->at[width]) &&
           strchr(";&|()<>", in->at[width]) == NULL)
        width++;
    for (int k = 0; k < SHELL_KEYWORDS; k++)
        if (strlen(keywords[k]) == width && memcmp(keywords[k], in->at, width) == 0) {
            in->at += width;
            return k;
        }
    return -1;
}

static plait_status read_function_head(shell_reader *in, plait_error *err)
{
    shell_list words = {0};

    shell_skip_blanks(in);
    PLAIT_TRY(shell_read_word(in, &words, err));
    if (in->end - in->at >= 2 && memcmp(in->at, "()", 2) == 0)
        in->at += 2;
    return words.count == 1 ? begin_function(in, words.word[0], err) : PLAIT_OK;
}

static plait_status take_keyword(shell_reader *in, shell_keyword keyword, plait_error *err)
{
    shell_frame *const branch = shell_top(in, SHELL_IF);

    switch (keyword) {
    case WORD_IF:
        return shell_push(in, SHELL_IF, err);
    case WORD_THEN:
        if (branch == NULL)
            return PLAIT_OK;
        PLAIT_TRY(find_cause(in, err));
        shell_enter_branch(in, branch, in->status);
        return PLAIT_OK;
    case WORD_ELIF:
        if (branch != NULL)
            shell_leave_branch(in, branch);
        return PLAIT_OK;
    case WORD_ELSE:
        if (branch != NULL)
            shell_enter_branch(in, branch, SHELL_YES);
        return PLAIT_OK;
    case WORD_FI:
        shell_pop(in, SHELL_IF);
        return PLAIT_OK;
    case WORD_FOR:
    case WORD_SELECT:
        in->status = SHELL_YES;
        return shell_begin_for(in, err);
    case WORD_WHILE:
    case WORD_UNTIL:
        return shell_push(in, SHELL_LOOP, err);
    case WORD_DO:
        shell_begin_body(in);
        return PLAIT_OK;
    case WORD_DONE:
        shell_pop(in, SHELL_LOOP);
        return PLAIT_OK;
    case WORD_CASE:
        return shell_begin_case(in, err);
    case WORD_ESAC:
        shell_pop(in, SHELL_CASE);
        return PLAIT_OK;
    case WORD_OPEN:
        return shell_push(in, SHELL_BRACE, err);
    case WORD_CLOSE:
        shell_pop(in, SHELL_BRACE);
        return shell_top(in, SHELL_FUNCTION) != NULL ? end_function(in, err) : PLAIT_OK;
    case WORD_FUNCTION:
        return read_function_head(in, err);
    default:
        return PLAIT_OK;
    }
}

/* ---- commands ---- */

static bool takes_assignments(const char *word)
{
    static const char *const words[] = {"export", "declare", "local",   "readonly",
                                        "env",    "set",     "typeset", NULL};

    return text_index(word, words) >= 0;
}

/* 2>&1: the 2 is no word. */
static bool is_descriptor(const shell_reader *in, const char *from)
{
    return in->at == from + 1 && isdigit((unsigned char)*from) && in->at < in->end &&
           (*in->at == '<' || *in->at == '>');
}

/* Assignments and words up to the end of the command. */
static plait_status read_simple(shell_reader *in, shell_list *words, plait_error *err)
{
    bool assigns = true;

    for (shell_skip_blanks(in); in->at < in->end && strchr(";&|()\n", *in->at) == NULL;
         shell_skip_blanks(in)) {
        const char *const from = in->at;
        const size_t assigned = assigns ? shell_assignment_at(in) : 0;
        const int before = words->count;

        if (*from == '#')
            return PLAIT_OK;
        if (assigned > 0) {
            PLAIT_TRY(shell_read_assignment(in, assigned, err));
        } else if (*from == '<' || *from == '>') {
            PLAIT_TRY(shell_read_redirection(in, err));
        } else {
            PLAIT_TRY(shell_read_word(in, words, err));
            words->count -= is_descriptor(in, from) && words->count > before;
            assigns = words->count > 0 && takes_assignments(words->word[0]);
        }
    }
    return PLAIT_OK;
}

static plait_status read_plain_command(shell_reader *in, plait_error *err)
{
    shell_list words = {0};

    PLAIT_TRY(read_simple(in, &words, err));
    if (words.count == 1 && in->end - in->at >= 2 && in->at[0] == '(' && in->at[1] == ')') {
        in->at += 2;
        return begin_function(in, words.word[0], err);
    }
    if (in->mode == SHELL_SKIP)
        return PLAIT_OK;
    in->status = SHELL_YES;
    return words.count > 0 ? run(in, &words, err) : PLAIT_OK;
}

/* One command at the cursor; `!` before it turns its answer round. */
static plait_status read_command(shell_reader *in, plait_error *err)
{
    const char *const from = in->at;
    const bool negates = in->end - in->at >= 2 && in->at[0] == '!' && in->at[1] == ' ';

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
        PLAIT_TRY(read_sum_command(in));
    } else {
        PLAIT_TRY(read_plain_command(in, err));
    }
    in->ran = from; // not what a function or eval ran last
    if (in->status == SHELL_OPEN)
        PLAIT_TRY(find_cause(in, err));
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

    PLAIT_TRY(shell_skip_space(in, err));
    if (in->at == in->end)
        return PLAIT_OK;
    if (mode != SHELL_SKIP)
        in->mode = passes ? SHELL_SKIP : first == SHELL_OPEN ? SHELL_DOUBT : mode;
    in->doubt = first == SHELL_OPEN ? in->cause : doubt;
    const int keyword = keyword_at(in);
    PLAIT_TRY(keyword >= 0 ? take_keyword(in, (shell_keyword)keyword, err) : read_command(in, err));
    if (in->frames > frames) { // what is opened here closes with the mode of before
        in->frame[frames].outer = mode;
        in->frame[frames].outer_doubt = doubt;
        return PLAIT_OK;
    }
    in->mode = mode;
    in->doubt = doubt;
    if (passes)
        in->status = first;
    else if (first == SHELL_OPEN && in->status != (sign == '&' ? SHELL_NO : SHELL_YES))
        in->status = SHELL_OPEN;
    return PLAIT_OK;
}

/* ; & | ( ) between commands. */
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
    if (sign == ';' && twice && frame != NULL) {
        in->mode = frame->outer;
        frame->pattern = true;
    }
    if (twice && (sign == '&' || sign == '|'))
        return read_linked(in, sign, err);
    if (sign == '<' || sign == '>') {
        in->at--;
        return shell_read_redirection(in, err);
    }
    return PLAIT_OK;
}

static plait_status read_commands(shell_reader *in, plait_error *err)
{
    for (;;) {
        PLAIT_TRY(shell_skip_space(in, err));
        if (in->at == in->end)
            return PLAIT_OK;
        const shell_frame *const frame = shell_top(in, SHELL_CASE);
        const bool sums = in->end - in->at >= 2 && memcmp(in->at, "((", 2) == 0;
        if (frame != NULL && frame->pattern) {
            PLAIT_TRY(shell_read_pattern(in, err));
        } else if (strchr(";&|()<>", *in->at) != NULL && !sums) {
            PLAIT_TRY(read_sign(in, err));
        } else {
            const int keyword = keyword_at(in);

            PLAIT_TRY(keyword >= 0 ? take_keyword(in, (shell_keyword)keyword, err)
                                   : read_command(in, err));
        }
    }
}

/* ---- the whole ---- */

static bool any_option(const char *const *word, int count)
{
    for (int i = 0; i < count; i++)
        if (shell_is_option(word[i]))
            return true;
    return false;
}

static bool any_command_has_options(const shell_words *words)
{
    for (int c = 0; c < words->commands; c++) {
        const shell_command *const command = &words->command[c];
        const char *const *const word = words->word + command->first;

        if (strcmp(word[0], "#SBATCH") != 0 && any_option(word, command->count))
            return true;
    }
    return false;
}

static plait_status add_pieces(shell_reader *in, const char *text, shell_list *words,
                               plait_error *err)
{
    for (size_t width; *(text += strspn(text, " \t\r\n")) != '\0'; text += width) {
        width = strcspn(text, " \t\r\n");
        PLAIT_TRY(shell_list_add(in, words, plait_arena_printf(in->arena, "%.*s", (int)width, text),
                                 err));
    }
    return PLAIT_OK;
}

/* A file that only sets variables is for others to source: what they hold is what it says. */
static plait_status add_variables(shell_reader *in, plait_error *err)
{
    shell_list words = {0};

    for (int v = 0; v < in->variables; v++) {
        const shell_list value = in->variable[v].value;

        for (int i = 0; i < value.count; i++) {
            if (value.count > 1) {
                if (any_option(value.word, value.count))
                    PLAIT_TRY(shell_list_add(in, &words, value.word[i], err));
            } else if (strstr(value.word[0], "--") != NULL) {
                PLAIT_TRY(add_pieces(in, value.word[0], &words, err));
            }
        }
    }
    return words.count > 0 ? shell_add_command(in, &words, err) : PLAIT_OK;
}

/* NAME=VALUE among the arguments stands as if the script began with it. */
static plait_status take_call(shell_reader *in, const launch_call *call, plait_error *err)
{
    for (int i = 0; call != NULL && i < call->arguments; i++) {
        const char *const text = call->argument[i];

        in->at = text;
        in->end = text + strlen(text);
        if (shell_assignment_at(in) == 0) {
            PLAIT_TRY(shell_list_add(in, &in->argument, text, err));
            continue;
        }
        char *const name = plait_arena_text(in->arena, text);
        const char *const value = name != NULL ? text_cut(name, '=') : NULL;
        PLAIT_TRY(name == NULL ? plait_fail_nomem(err)
                               : shell_set(in, name, false,
                                           &(shell_list){(const char **)&value, 1, 1}, err));
    }
    return PLAIT_OK;
}

plait_status shell_read(const char *text, size_t length, const char *name, const launch_call *call,
                        plait_arena *arena, shell_words *out, plait_error *err)
{
    shell_reader in = {.line = 1,
                       .name = name,
                       .arena = arena,
                       .out = out,
                       .status = SHELL_YES,
                       .cause = -1,
                       .doubt = -1};

    *out = (shell_words){0};
    if (memchr(text, '\0', length) != NULL)
        return shell_fail(&in, "a zero byte", err);
    if (length > SHELL_MAX_BYTES)
        return shell_fail(&in, "more than 4 MiB of them", err);
    PLAIT_TRY(take_call(&in, call, err));
    in.at = text;
    in.end = text + length;
    PLAIT_TRY(read_commands(&in, err));
    in.mode = SHELL_RUN;
    if (!any_command_has_options(out))
        PLAIT_TRY(add_variables(&in, err));
    out->variable = in.variable;
    out->variables = in.variables;
    return PLAIT_OK;
}

bool shell_word_known(const char *word)
{
    return strchr(word, SHELL_UNKNOWN) == NULL;
}

bool shell_word_open(const char *word)
{
    const size_t length = strlen(word);

    return length > 0 && word[0] == SHELL_UNKNOWN && word[length - 1] == SHELL_UNKNOWN_END;
}

const shell_origin *shell_word_origin(const shell_words *words, const char *word)
{
    const int index = shell_origin_index(words, word);

    return index >= 0 ? &words->origin[index] : NULL;
}

const char *shell_variable_word(const shell_words *words, const char *name)
{
    for (int v = 0; v < words->variables; v++)
        if (strcmp(words->variable[v].name, name) == 0 && words->variable[v].value.count == 1 &&
            shell_word_known(words->variable[v].value.word[0]))
            return words->variable[v].value.word[0];
    return NULL;
}
