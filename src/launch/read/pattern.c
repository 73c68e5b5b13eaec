/* pattern.c - lists of one number a layer, as Megatron-LM writes them */
#include "pattern.h"

#include <ctype.h>
#include <string.h>

/* A repetition is copied as it is read, so no expression makes more entries than the list holds. */
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

/* [1], [0,1,0] */
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

/* ---- layouts ---- */

/*
 * Stages are cut at '|'. What is repeated may hold stages, so it is read again as often as it says;
 * `budget` ends a repetition of repetitions.
 */
typedef struct layout_reader {
    int *counts;
    int chunks; /* finished ones */
    int most;
    int layers; /* of the chunk in the making */
    int budget;
} layout_reader;

static bool read_items(layout_reader *in, const char **at, int depth);

static bool add_item(layout_reader *in, char item)
{
    if (--in->budget < 0)
        return false;
    if (item == 't')
        in->layers++;
    if (item != '|')
        return true;
    if (in->chunks == in->most - 1)
        return false;
    in->counts[in->chunks++] = in->layers;
    in->layers = 0;
    return true;
}

static bool read_times(const char **at, int *times)
{
    *times = 1;
    if (**at != '*')
        return true;
    (*at)++;
    return read_number(at, 1 << 16, times) && *times > 0;
}

static bool read_group(layout_reader *in, const char **at, int depth)
{
    const char *const inside = *at + 1;
    const char *end = inside;
    int open = 1, times;

    while (*end != '\0' && (open += (*end == '(') - (*end == ')')) > 0)
        end++;
    if (*end == '\0' || depth > 16)
        return false;
    *at = end + 1;
    if (!read_times(at, &times))
        return false;
    for (int t = 0; t < times; t++) {
        const char *again = inside;

        if (--in->budget < 0 || !read_items(in, &again, depth + 1) || again != end)
            return false;
    }
    return true;
}

static bool read_items(layout_reader *in, const char **at, int depth)
{
    while (**at != '\0' && **at != ')') {
        const char item = **at;
        int times;

        if (item == '(') {
            if (!read_group(in, at, depth))
                return false;
            continue;
        }
        if (strchr("EtmL|,", item) == NULL)
            return false;
        (*at)++;
        if (!read_times(at, &times))
            return false;
        for (int t = 0; t < times; t++)
            if (!add_item(in, item))
                return false;
    }
    return true;
}

int layout_read(const char *text, int most, int *counts)
{
    layout_reader in = {counts, 0, most, 0, 1 << 17};
    const char *at = text;

    if (!read_items(&in, &at, 0) || *at != '\0')
        return 0;
    counts[in.chunks++] = in.layers;
    return in.chunks;
}
