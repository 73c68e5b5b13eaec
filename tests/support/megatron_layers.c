/* megatron_layers.c - lists ([0]*3+[1]*58), layouts Et*3|(tt|)*4mL and hybrids MEM*E|ME/ME */
#include "support/megatron_layers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A cursor; `at` becomes NULL at the first character that does not belong. */
typedef struct text_cursor {
    const char *at;
} text_cursor;

static bool take(text_cursor *in, char c)
{
    if (in->at == NULL || *in->at != c)
        return false;
    in->at++;
    return true;
}

static void demand(text_cursor *in, char c)
{
    if (!take(in, c))
        in->at = NULL;
}

static int take_number(text_cursor *in, int most)
{
    long value = 0;
    char *end;

    if (in->at == NULL || !isdigit((unsigned char)*in->at)) {
        in->at = NULL;
        return 0;
    }
    value = strtol(in->at, &end, 10);
    in->at = value > most ? NULL : end;
    return (int)value;
}

/* ---- lists ---- */

typedef struct number_list {
    int count;
    int entry[MEGATRON_MAX_LAYERS];
} number_list;

static void repeat(number_list *list, int from, int times, text_cursor *in)
{
    const int length = list->count - from;

    if (from + length * times > MEGATRON_MAX_LAYERS) {
        in->at = NULL;
        return;
    }
    for (int i = length; i < length * times; i++)
        list->entry[from + i] = list->entry[from + i - length];
    list->count = from + length * times;
}

static void take_sum(text_cursor *in, number_list *list);

/* [1,0] or (sum), and as often as "*n" says */
static void take_product(text_cursor *in, number_list *list)
{
    const int from = list->count;

    if (take(in, '(')) {
        take_sum(in, list);
        demand(in, ')');
    } else {
        demand(in, '[');
        do {
            const int value = take_number(in, 1 << 20);
            if (list->count == MEGATRON_MAX_LAYERS)
                in->at = NULL;
            else
                list->entry[list->count++] = value;
        } while (take(in, ','));
        demand(in, ']');
    }
    while (take(in, '*'))
        repeat(list, from, take_number(in, MEGATRON_MAX_LAYERS), in);
}

static void take_sum(text_cursor *in, number_list *list)
{
    do
        take_product(in, list);
    while (take(in, '+'));
}

bool megatron_pattern_is_list(const char *text)
{
    return *text == '[' || *text == '(';
}

int megatron_pattern(const char *text, int *entry)
{
    number_list list = {0};
    text_cursor in = {text};

    if (megatron_pattern_is_list(text))
        take_sum(&in, &list);
    else
        list.entry[list.count++] = take_number(&in, 1 << 20);
    if (in.at == NULL || *in.at != '\0' || list.count == 0)
        return 0;
    if (entry != NULL)
        memcpy(entry, list.entry, (size_t)list.count * sizeof *entry);
    return list.count;
}

/* ---- layouts ---- */

typedef struct letter_list {
    int count;
    char letter[8 * MEGATRON_MAX_CHUNKS];
} letter_list;

static void repeat_letters(letter_list *list, int from, int times, text_cursor *in)
{
    const int length = list->count - from;

    if (from + length * times > (int)sizeof list->letter) {
        in->at = NULL;
        return;
    }
    for (int i = length; i < length * times; i++)
        list->letter[from + i] = list->letter[from + i - length];
    list->count = from + length * times;
}

/* x, x*n, (...) or (...)*n, one behind the other */
static void take_letters(text_cursor *in, letter_list *list)
{
    while (in->at != NULL && *in->at != '\0' && *in->at != ')') {
        const int from = list->count;
        if (take(in, '(')) {
            take_letters(in, list);
            demand(in, ')');
        } else if (strchr("EtmL|", *in->at) == NULL || list->count == sizeof list->letter) {
            in->at = NULL;
        } else {
            list->letter[list->count++] = *in->at++;
        }
        if (take(in, '*'))
            repeat_letters(list, from, take_number(in, MEGATRON_MAX_LAYERS), in);
    }
}

/* In a stage the embedding stands first, then layers, then prediction modules, then the loss. */
static bool count_letter(megatron_chunk *chunk, char letter)
{
    switch (letter) {
    case 'E':
        chunk->embeddings++;
        return chunk->layers + chunk->predictions + chunk->losses == 0;
    case 't':
        chunk->layers++;
        return chunk->predictions + chunk->losses == 0;
    case 'm':
        chunk->predictions++;
        return chunk->losses == 0;
    default:
        chunk->losses++;
        return true;
    }
}

int megatron_layout(const char *text, megatron_chunk chunk[MEGATRON_MAX_CHUNKS])
{
    letter_list list = {0};
    text_cursor in = {text};
    int chunks = 1;

    take_letters(&in, &list);
    if (in.at == NULL || *in.at != '\0' || list.count == 0)
        return 0;
    chunk[0] = (megatron_chunk){0};
    for (int i = 0; i < list.count; i++) {
        if (list.letter[i] == '|' && chunks == MEGATRON_MAX_CHUNKS)
            return 0;
        if (list.letter[i] == '|')
            chunk[chunks++] = (megatron_chunk){0};
        else if (!count_letter(&chunk[chunks - 1], list.letter[i]))
            return 0;
    }
    return chunks;
}

/* ---- hybrids ---- */

/* Counts the letters of layers or of one module; false for what no layer or two models have. */
static bool count_letters(const char *text, size_t length, megatron_hybrid *out)
{
    const bool plain = memchr(text, '*', length) != NULL;
    const bool latent = memchr(text, '+', length) != NULL || memchr(text, 'D', length) != NULL;

    if (plain && latent)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (strchr("MG*D+-E", text[i]) == NULL)
            return false;
        out->letters[(unsigned char)text[i]]++;
    }
    return true;
}

static bool read_segments(const char *text, size_t length, megatron_hybrid *out)
{
    const bool plain = memchr(text, '*', length) != NULL;

    out->segments = 1;
    for (size_t at = 0; at < length;) {
        const char *const bar = memchr(text + at, '|', length - at);
        const size_t end = bar != NULL ? (size_t)(bar - text) : length;
        if (!count_letters(text + at, end - at, out))
            return false;
        out->layers += (int)(end - at);
        out->segments += bar != NULL;
        at = end + 1;
    }
    return !plain || out->letters['+'] + out->letters['D'] == 0;
}

bool megatron_hybrid_read(const char *text, megatron_hybrid *out)
{
    const size_t length = strcspn(text, "/");
    const char *const first = text + length + 1;

    *out = (megatron_hybrid){0};
    if (!read_segments(text, length, out))
        return false;
    for (const char *module = text + length; *module == '/';) {
        const size_t letters = strcspn(++module, "/");
        if (letters != strcspn(first, "/") || strncmp(module, first, letters) != 0 ||
            !count_letters(module, letters, out))
            return false;
        out->modules++;
        module += letters;
    }
    return true;
}
