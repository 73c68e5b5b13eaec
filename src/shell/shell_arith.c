/* shell_arith.c - shell arithmetic by precedence climbing: + - * / %, comparisons, && || ! */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shell/shell_state.h"

enum { MAX_DEPTH = 64 };

typedef struct arith_reader {
    const shell_state *in; /* source of variables; NULL: all names are unknown */
    const char *at;
    bool known;
    int depth;
} arith_reader;

/* Binary operators. "<=" comes before "<", since the first operator that matches is used. */
static const struct {
    char sign[3];
    int precedence;
} operators[] = {{"!=", 3}, {"==", 3}, {"<=", 4}, {">=", 4}, {"&&", 2}, {"||", 1}, {"<", 4},
                 {">", 4},  {"*", 6},  {"/", 6},  {"%", 6},  {"+", 5},  {"-", 5}};

static int64_t expression_of(arith_reader *r, int precedence);

static void skip_blanks(arith_reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

/* Reads an integer. As in bash, 010 is octal and 08 is an error. */
static int64_t number_at(arith_reader *r)
{
    char *end;

    errno = 0;
    const int64_t number = strtoll(r->at, &end, 0);
    r->known = r->known && errno == 0 && !isalnum((unsigned char)*end);
    r->at = end;
    return number;
}

/* Reads a variable. Its value can be an expression; names in that expression count as unknown. */
static int64_t name_at(arith_reader *r)
{
    const shell_text name = {r->at, strspn(r->at, "abcdefghijklmnopqrstuvwxyz_0123456789"
                                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ")};
    const shell_variable *const found = r->in != NULL ? shell_find(r->in, name) : NULL;
    arith_reader value = {.known = true};

    r->at += name.length;
    if (found == NULL || found->value.count != 1) {
        r->known = false;
        return 0;
    }
    value.at = found->value.word[0];
    const int64_t number = expression_of(&value, 1);
    r->known = r->known && value.known && *value.at == '\0';
    return number;
}

/* Reads an operand: 8, NAME, (...), -8, !NAME. Since ++ and -- assign, their result is unknown. */
static int64_t operand_of(arith_reader *r)
{
    const char c = (skip_blanks(r), *r->at);
    int64_t number = 0;

    if (r->depth++ == MAX_DEPTH || ((c == '+' || c == '-') && r->at[1] == c)) {
        r->known = false;
    } else if (c != '\0' && strchr("-+!", c) != NULL) {
        r->at++;
        number = operand_of(r);
        number = c == '!' ? !number : c == '-' && number > INT64_MIN ? -number : number;
    } else if (c == '(') {
        r->at++;
        number = expression_of(r, 1);
        r->known = r->known && *r->at == ')';
        r->at += r->known;
    } else if (isdigit((unsigned char)c)) {
        number = number_at(r);
    } else if (shell_is_name(c)) {
        number = name_at(r);
    } else {
        r->known = false;
    }
    r->depth--;
    skip_blanks(r);
    return r->known ? number : 0;
}

static int64_t apply_operator(arith_reader *r, const char *sign, int64_t left, int64_t right)
{
    const bool equal = sign[1] == '=';
    bool overflows = false;
    int64_t result = 0;

    switch (sign[0]) {
    case '*':
        overflows = __builtin_mul_overflow(left, right, &result);
        break;
    case '+':
        overflows = __builtin_add_overflow(left, right, &result);
        break;
    case '-':
        overflows = __builtin_sub_overflow(left, right, &result);
        break;
    case '/':
    case '%':
        overflows = right == 0 || (left == INT64_MIN && right == -1);
        result = overflows ? 0 : sign[0] == '/' ? left / right : left % right;
        break;
    case '<':
        return equal ? left <= right : left < right;
    case '>':
        return equal ? left >= right : left > right;
    case '=':
        return left == right;
    case '!':
        return left != right;
    case '&':
        return left && right;
    default:
        return left || right;
    }
    r->known = r->known && !overflows;
    return result;
}

/* Reads operands and the operators between them, of at least the given precedence. */
static int64_t expression_of(arith_reader *r, int precedence)
{
    const int count = sizeof operators / sizeof *operators;
    int64_t left = operand_of(r);

    while (r->known) {
        int o = 0;

        while (o < count && !text_starts_with(r->at, operators[o].sign))
            o++;
        if (o == count || operators[o].precedence < precedence)
            break;
        r->at += strlen(operators[o].sign);
        left = apply_operator(r, operators[o].sign, left,
                              expression_of(r, operators[o].precedence + 1));
    }
    return left;
}

bool shell_arith(const shell_state *in, const char *text, int64_t *out)
{
    arith_reader reader = {.in = in, .at = text, .known = true};

    *out = expression_of(&reader, 1);
    return reader.known && *reader.at == '\0';
}
