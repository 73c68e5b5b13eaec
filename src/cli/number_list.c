/* number_list.c - lists, ranges and steps of whole numbers */
#include "cli/number_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/magnitude.h"

enum { TEXT_SIZE = 4096 };

typedef struct number_reader {
    const char *where, *text, *what;
    int most;
    plait_error *err;
} number_reader;

static plait_status refuse(const number_reader *r)
{
    return plait_fail(r->err, PLAIT_ERROR_RANGE, r->where,
                      "expected %s: N, N,N,..., A..B or A..B:STEP with A up to B, found '%.60s'",
                      r->what, r->text);
}

static plait_status read_one(const number_reader *r, const char *text, int *out)
{
    return magnitude_parse_count(text, 1000, 1, r->most, out) ? PLAIT_OK : refuse(r);
}

static plait_status add(const number_reader *r, int value, number_list *out)
{
    if (out->count == NUMBER_LIST_MOST)
        return plait_fail(r->err, PLAIT_ERROR_RANGE, r->where, "expected at most %d %s",
                          NUMBER_LIST_MOST, r->what);
    out->value[out->count++] = value;
    return PLAIT_OK;
}

/* "A..B" or "A..B:STEP"; `dots` stands between A and B of a copy. */
static plait_status read_range(const number_reader *r, char *low, char *dots, number_list *out)
{
    char *const high = dots + 2, *const colon = strchr(high, ':');

    *dots = '\0';
    if (colon != NULL)
        *colon = '\0';
    PLAIT_TRY(read_one(r, low, &out->from));
    PLAIT_TRY(read_one(r, high, &out->to));
    if (out->from > out->to)
        return refuse(r);
    out->range = colon == NULL && out->from < out->to;
    if (colon != NULL)
        PLAIT_TRY(read_one(r, colon + 1, &out->step));
    if (out->range)
        return PLAIT_OK;
    for (long value = out->from; value <= out->to; value += out->step > 0 ? out->step : 1)
        PLAIT_TRY(add(r, (int)value, out));
    return PLAIT_OK;
}

static int rising(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

/* A number that is listed twice counts once. */
static void sort(number_list *list)
{
    int kept = 0;

    qsort(list->value, (size_t)list->count, sizeof *list->value, rising);
    for (int i = 0; i < list->count; i++)
        if (kept == 0 || list->value[kept - 1] != list->value[i])
            list->value[kept++] = list->value[i];
    list->count = kept;
    list->from = list->value[0];
    list->to = list->value[kept - 1];
}

plait_status number_list_read(const char *where, const char *text, const char *what, int most,
                              number_list *out, plait_error *err)
{
    const number_reader reader = {where, text, what, most, err};
    char copy[TEXT_SIZE], *dots;

    *out = (number_list){0};
    if (text == NULL)
        return PLAIT_OK;
    if (strlen(text) >= sizeof copy)
        return refuse(&reader);
    memcpy(copy, text, strlen(text) + 1);
    dots = strstr(copy, "..");
    if (dots != NULL)
        return read_range(&reader, copy, dots, out);
    for (char *at = copy, *next; at != NULL; at = next) {
        int value;

        next = strchr(at, ',');
        if (next != NULL)
            *next++ = '\0';
        PLAIT_TRY(read_one(&reader, at, &value));
        PLAIT_TRY(add(&reader, value, out));
    }
    sort(out);
    return PLAIT_OK;
}
