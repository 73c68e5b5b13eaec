/* shell_keywords.c - if, for, case and their like: what each opens and closes */
#include "launch/read/shell_parts.h"

#include <ctype.h>
#include <string.h>

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
int shell_keyword_at(shell_reader *in)
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
    return words.count == 1 ? shell_begin_function(in, words.word[0], err) : PLAIT_OK;
}

plait_status shell_take_keyword(shell_reader *in, int keyword, plait_error *err)
{
    shell_frame *const branch = shell_top(in, SHELL_IF);
    const char *const from = in->at - strlen(keywords[keyword]);

    switch ((shell_keyword)keyword) {
    case WORD_IF:
        return shell_push(in, SHELL_IF, err);
    case WORD_THEN:
        if (branch == NULL)
            return PLAIT_OK;
        PLAIT_TRY(shell_find_cause(in, err));
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
        return shell_begin_for(in, from, keyword == WORD_SELECT, err);
    case WORD_WHILE:
    case WORD_UNTIL:
        return shell_begin_while(in, keyword == WORD_UNTIL, err);
    case WORD_DO:
        shell_begin_body(in);
        return PLAIT_OK;
    case WORD_DONE:
        return shell_end_loop(in, err);
    case WORD_CASE:
        return shell_begin_case(in, err);
    case WORD_ESAC:
        shell_pop(in, SHELL_CASE);
        return PLAIT_OK;
    case WORD_OPEN:
        return shell_push(in, SHELL_BRACE, err);
    case WORD_CLOSE:
        if (shell_top(in, SHELL_FUNCTION) != NULL)
            return shell_end_function(in, err);
        shell_pop(in, SHELL_BRACE);
        return PLAIT_OK;
    case WORD_FUNCTION:
        return read_function_head(in, err);
    default:
        return PLAIT_OK;
    }
}
