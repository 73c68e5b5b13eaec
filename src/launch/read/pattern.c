/* pattern.c - reads lists with one number per layer in Megatron-LM's notation */
#include "launch/read/pattern.h"

#include <ctype.h>
#include <string.h>

/*
 * The reader copies a repetition at once and checks the length, so no expression makes more entries
 * than `most`.
 */
typedef struct pattern_reader {
    const char *at;
    unsigned char *out;
    int count;
    int most;
    int depth;
} pattern_reader;

static bool read_sum(pattern_reader *in);

static bool read_number(const char **at, int most, int *out)
{
    int number = 0;

    if (!isdigit((unsigned char)**at))
        return false;
    for (; isdigit((unsigned char)**at); (*at)++) {
        number = 10 * number + (**at - '0');
        if (number > most)
            return false;
    }
    *out = number;
    return true;
}

/* Read a list in brackets such as [1] or [0,1,0]. */
static bool read_list(pattern_reader *in)
{
    in->at++;
    for (;;) {
        int number;

        if (!read_number(&in->at, 1, &number) || in->count == in->most)
            return false;
        in->out[in->count++] = (unsigned char)number;
        if (*in->at == ']') {
            in->at++;
            return true;
        }
        if (*in->at++ != ',')
            return false;
    }
}

static bool read_term(pattern_reader *in)
{
    const int first = in->count;
    int times;

    if (*in->at == '(') {
        in->at++;
        if (++in->depth > 32 || !read_sum(in) || *in->at++ != ')')
            return false;
        in->depth--;
    } else if (*in->at != '[' || !read_list(in)) {
        return false;
    }
    while (*in->at == '*') {
        const int length = in->count - first;

        in->at++;
        if (!read_number(&in->at, in->most, &times) || length * (long)times > in->most - first)
            return false;
        for (int t = 1; t < times; t++)
            memcpy(in->out + first + t * length, in->out + first, (size_t)length);
        in->count = first + length * times;
    }
    return true;
}

static bool read_sum(pattern_reader *in)
{
    while (read_term(in)) {
        if (*in->at != '+')
            return true;
        in->at++;
    }
    return false;
}

bool pattern_read(const char *text, int count, unsigned char *out)
{
    pattern_reader in = {text, out, 0, count, 0};

    return read_sum(&in) && *in.at == '\0' && in.count == count;
}
