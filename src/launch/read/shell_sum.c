/* shell_sum.c - the inside of $((...)), by recursive descent */
#include "launch/read/shell_sum.h"

#include <ctype.h>
#include <string.h>

typedef struct sum_reader {
    const char *at;
    const char *end;
    shell_lookup *lookup;
    const void *context;
    bool known;
    int depth;
} sum_reader;

static int64_t choice_of(sum_reader *in);

static void skip_blanks(sum_reader *in)
{
    while (in->at < in->end && isspace((unsigned char)*in->at))
        in->at++;
}

/* 010 is octal, and 08 no number. */
static int64_t number_at(sum_reader *in)
{
    const int base = *in->at == '0' ? 8 : 10;
    int64_t number = 0;

    while (in->at < in->end && isdigit((unsigned char)*in->at)) {
        const int digit = *in->at++ - '0';

        if (digit >= base || number > (INT64_MAX - digit) / base)
            in->known = false;
        else
            number = base * number + digit;
    }
    return number;
}

static int64_t name_at(sum_reader *in)
{
    const char *const first = in->at;
    int64_t number = 0;

    while (in->at < in->end && (isalnum((unsigned char)*in->at) || *in->at == '_'))
        in->at++;
    if (!in->lookup(in->context, first, (size_t)(in->at - first), &number))
        in->known = false;
    return number;
}

static int64_t in_parentheses(sum_reader *in)
{
    in->at++;
    const int64_t number = choice_of(in);
    in->known = in->known && in->at < in->end && *in->at == ')';
    in->at += in->at < in->end;
    return number;
}

/* 8, NAME, (sum), -8, !NAME */
static int64_t atom_of(sum_reader *in)
{
    int64_t number = 0;

    skip_blanks(in);
    if (in->at == in->end || in->depth == 64) {
        in->known = false;
        return 0;
    }
    in->depth++;
    const char c = *in->at;
    if ((c == '-' || c == '+') && in->end - in->at >= 2 && in->at[1] == c) {
        in->known = false; // it sets what stands behind it
    } else if (c == '-' || c == '+' || c == '!') {
        in->at++;
        number = atom_of(in);
        number = c == '!' ? !number : c == '-' && number > INT64_MIN ? -number : number;
    } else if (c == '(') {
        number = in_parentheses(in);
    } else if (isdigit((unsigned char)c)) {
        number = number_at(in);
    } else if (isalpha((unsigned char)c) || c == '_') {
        number = name_at(in);
    } else {
        in->known = false;
    }
    in->depth--;
    skip_blanks(in);
    return in->known ? number : 0;
}

/* Takes a sign of a list, the longer ones first. NULL: none stands here. */
static const char *take_sign(sum_reader *in, const char *const *signs)
{
    for (; in->known && *signs != NULL; signs++) {
        const size_t length = strlen(*signs);

        if ((size_t)(in->end - in->at) >= length && memcmp(in->at, *signs, length) == 0) {
            in->at += length;
            return *signs;
        }
    }
    return NULL;
}

static int64_t power_of(sum_reader *in)
{
    static const char *const signs[] = {"**", NULL};
    int64_t base = atom_of(in), result = 1;

    if (take_sign(in, signs) == NULL)
        return base;
    for (int64_t times = atom_of(in); times != 0 && in->known; times--)
        if (times < 0 || times > 64 || __builtin_mul_overflow(result, base, &result))
            in->known = false;
    return result;
}

static int64_t divided(sum_reader *in, char sign, int64_t left, int64_t right)
{
    if (right == 0 || (left == INT64_MIN && right == -1)) {
        in->known = false;
        return 0;
    }
    return sign == '/' ? left / right : left % right;
}

static int64_t product_of(sum_reader *in)
{
    static const char *const signs[] = {"*", "/", "%", NULL};
    int64_t left = power_of(in);

    for (const char *sign; (sign = take_sign(in, signs)) != NULL;) {
        const int64_t right = power_of(in);

        if (*sign != '*')
            left = divided(in, *sign, left, right);
        else if (__builtin_mul_overflow(left, right, &left))
            in->known = false;
    }
    return left;
}

static int64_t sum_of(sum_reader *in)
{
    static const char *const signs[] = {"+", "-", NULL};
    int64_t left = product_of(in);

    for (const char *sign; (sign = take_sign(in, signs)) != NULL;) {
        const int64_t right = product_of(in);
        const bool over = *sign == '+' ? __builtin_add_overflow(left, right, &left)
                                       : __builtin_sub_overflow(left, right, &left);

        in->known = in->known && !over;
    }
    return left;
}

static bool compares(const char *sign, int64_t left, int64_t right)
{
    switch (sign[0]) {
    case '<':
        return sign[1] == '=' ? left <= right : left < right;
    case '>':
        return sign[1] == '=' ? left >= right : left > right;
    case '!':
        return left != right;
    default:
        return left == right;
    }
}

static int64_t order_of(sum_reader *in)
{
    static const char *const signs[] = {"<=", ">=", "<", ">", NULL};
    int64_t left = sum_of(in);

    for (const char *sign; (sign = take_sign(in, signs)) != NULL;)
        left = compares(sign, left, sum_of(in));
    return left;
}

static int64_t equality_of(sum_reader *in)
{
    static const char *const signs[] = {"==", "!=", NULL};
    int64_t left = order_of(in);

    for (const char *sign; (sign = take_sign(in, signs)) != NULL;)
        left = compares(sign, left, order_of(in));
    return left;
}

static int64_t both_of(sum_reader *in)
{
    static const char *const signs[] = {"&&", NULL};
    int64_t left = equality_of(in);

    while (take_sign(in, signs) != NULL) {
        const int64_t right = equality_of(in);

        left = left && right;
    }
    return left;
}

static int64_t logic_of(sum_reader *in)
{
    static const char *const signs[] = {"||", NULL};
    int64_t left = both_of(in);

    while (take_sign(in, signs) != NULL) {
        const int64_t right = both_of(in);

        left = left || right;
    }
    return left;
}

/* A ? B : C */
static int64_t choice_of(sum_reader *in)
{
    static const char *const asks[] = {"?", NULL}, *const otherwise[] = {":", NULL};
    const int64_t condition = logic_of(in);

    if (take_sign(in, asks) == NULL)
        return condition;
    const int64_t yes = logic_of(in);
    if (take_sign(in, otherwise) == NULL)
        in->known = false;
    const int64_t no = logic_of(in);
    return condition ? yes : no;
}

bool shell_sum(const char *first, const char *end, shell_lookup *lookup, const void *context,
               int64_t *out)
{
    sum_reader in = {first, end, lookup, context, true, 0};

    *out = choice_of(&in);
    return in.known && in.at == in.end;
}
