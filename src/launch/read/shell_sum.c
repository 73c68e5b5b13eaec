/* shell_sum.c - the inside of $((...)), by recursive descent */
#include "shell_sum.h"

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

static int64_t sum_of(sum_reader *in);

static void skip_blanks(sum_reader *in)
{
    while (in->at < in->end && isspace((unsigned char)*in->at))
        in->at++;
}

/* Numbers stay within 32 bits, so that no product of two overflows. */
static int64_t within(sum_reader *in, int64_t number)
{
    if (number > INT32_MAX || number < INT32_MIN)
        in->known = false;
    return in->known ? number : 0;
}

static int64_t number_at(sum_reader *in)
{
    int64_t number = 0;

    while (in->at < in->end && isdigit((unsigned char)*in->at) && number <= INT32_MAX)
        number = 10 * number + (*in->at++ - '0');
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

/* 8, NAME, $NAME, ${NAME}, (sum) */
static int64_t atom_of(sum_reader *in)
{
    int64_t number = 0;

    skip_blanks(in);
    while (in->at < in->end && (*in->at == '$' || *in->at == '{'))
        in->at++;
    if (in->at == in->end || in->depth == 64) {
        in->known = false;
    } else if (*in->at == '(') {
        in->at++;
        in->depth++;
        number = sum_of(in);
        in->depth--;
        in->known = in->known && in->at < in->end && *in->at == ')';
        in->at += in->at < in->end;
    } else if (isdigit((unsigned char)*in->at)) {
        number = number_at(in);
    } else if (isalpha((unsigned char)*in->at) || *in->at == '_') {
        number = name_at(in);
    } else {
        in->known = false;
    }
    if (in->at < in->end && *in->at == '}')
        in->at++;
    skip_blanks(in);
    return within(in, number);
}

static bool is_at(const sum_reader *in, const char *signs)
{
    return in->known && in->at < in->end && strchr(signs, *in->at) != NULL;
}

static int64_t product_of(sum_reader *in)
{
    int64_t left = atom_of(in);

    while (is_at(in, "*/%")) {
        const char sign = *in->at++;
        const int64_t right = atom_of(in);

        if (sign != '*' && right == 0)
            in->known = false;
        else
            left = sign == '*' ? left * right : sign == '/' ? left / right : left % right;
        left = within(in, left);
    }
    return left;
}

static int64_t sum_of(sum_reader *in)
{
    int64_t left = product_of(in);

    while (is_at(in, "+-")) {
        const char sign = *in->at++;
        const int64_t right = product_of(in);

        left = within(in, sign == '+' ? left + right : left - right);
    }
    return left;
}

bool shell_sum(const char *first, const char *end, shell_lookup *lookup, const void *context,
               int64_t *out)
{
    sum_reader in = {first, end, lookup, context, true, 0};

    *out = sum_of(&in);
    return in.known && in.at == in.end;
}
