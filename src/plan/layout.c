/*
 * layout.c - reads and writes layer-to-chunk layouts
 *
 *     Et|(tt|)*2mL    [E t] [t t] [t t] [m L]: five layers on four chunks
 */
#include "plan/layout.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

// ---- reading -------------------------------------------------------------------------------

static const char letters[] = "EtmL"; // in pipeline order

enum { LAST_LETTER = 3 };

/*
 * State of the parser. It parses a repeated part once for each repetition, since the part can
 * contain bars; `budget` limits the work for nested repetitions.
 */
typedef struct layout_reader {
    plait_chunk *chunk;
    int chunks; /* number of chunks so far, with the current one */
    int most;
    int layers;       /* number of layers read so far */
    int reached;      /* index of the last letter in `letters`; -1: none yet */
    int budget;       /* remaining letters and bars */
    const char *lack; /* error message; NULL: none */
} layout_reader;

static bool fail_layout(layout_reader *in, const char *lack)
{
    in->lack = in->lack ? in->lack : lack;
    return false;
}

static bool add_letter(layout_reader *in, char letter)
{
    const int place = (int)(strchr(letters, letter) - letters);
    plait_chunk *const chunk = &in->chunk[in->chunks - 1];

    const bool once = letter == 'E' || letter == 'L';

    if (place < in->reached || (place == in->reached && once) || (in->reached < 0 && place > 0))
        return fail_layout(in, "one E, then t for each layer, then m for each module, then one L");
    in->reached = place;
    chunk->embedding = chunk->embedding || letter == 'E';
    chunk->loss = chunk->loss || letter == 'L';
    chunk->mtp += letter == 'm';
    chunk->last += letter == 't';
    in->layers += letter == 't';
    return in->layers <= PLAIT_MAX_LAYERS || fail_layout(in, "fewer layers");
}

static bool add_item(layout_reader *in, char item)
{
    if (--in->budget < 0)
        return fail_layout(in, "fewer repetitions");
    if (item == ',')
        return true;
    if (item != '|')
        return add_letter(in, item);
    if (in->chunks == in->most)
        return fail_layout(in, "fewer chunks");
    in->chunk[in->chunks++] = (plait_chunk){.first = in->layers, .last = in->layers};
    return true;
}

static bool read_times(layout_reader *in, const char **at, int *times)
{
    enum { MOST = 1 << 16 };

    *times = 1;
    if (**at != '*')
        return true;
    *times = 0;
    for ((*at)++; isdigit((unsigned char)**at) && *times <= MOST; (*at)++)
        *times = 10 * *times + (**at - '0');
    return (*times >= 1 && *times <= MOST) || fail_layout(in, "a number of 1 or more after each *");
}

static bool read_items(layout_reader *in, const char **at, const char *end);

static bool read_group(layout_reader *in, const char **at)
{
    const char *const inside = *at + 1;
    const char *const close = inside + strcspn(inside, "()");
    int times;

    if (*close != ')')
        return fail_layout(in, "pairs of ( and ) that are not nested");
    *at = close + 1;
    if (!read_times(in, at, &times))
        return false;
    for (int t = 0; t < times; t++) {
        const char *again = inside;
        if (--in->budget < 0 || !read_items(in, &again, close))
            return fail_layout(in, "fewer repetitions");
    }
    return true;
}

static bool read_items(layout_reader *in, const char **at, const char *end)
{
    while (*at < end) {
        const char item = **at;
        int times;

        if (item == '(') {
            if (!read_group(in, at))
                return false;
            continue;
        }
        if (strchr("EtmL|,", item) == NULL)
            return fail_layout(in, "the letters E t m L, | between chunks, *n and ()");
        (*at)++;
        if (!read_times(in, at, &times))
            return false;
        for (int t = 0; t < times; t++)
            if (!add_item(in, item))
                return false;
    }
    return true;
}

plait_status layout_read(const char *text, int most, plait_chunk *chunks, int *count,
                         plait_error *err)
{
    layout_reader in = {
        .chunk = chunks, .chunks = 1, .most = most, .reached = -1, .budget = 1 << 17};
    const char *at = text;

    assert(most >= 1);
    chunks[0] = (plait_chunk){0};
    if (strlen(text) >= PLAIT_VALUE_SIZE)
        fail_layout(&in, "a shorter text");
    else if (read_items(&in, &at, text + strlen(text)) && in.reached != LAST_LETTER)
        fail_layout(&in, "an L at the end");
    *count = in.chunks;
    return in.lack ? plait_fail(err, PLAIT_ERROR_RANGE, "split",
                                "expected %s in the pipeline layout, found '%.80s'", in.lack, text)
                   : PLAIT_OK;
}

// ---- writing -------------------------------------------------------------------------------

typedef struct layout_writer {
    char *text;
    size_t used;
} layout_writer;

static void put_piece(layout_writer *out, const char *piece)
{
    const size_t length = strlen(piece);

    if (out->used + length < PLAIT_VALUE_SIZE)
        memcpy(out->text + out->used, piece, length + 1);
    out->used += length;
}

/* Writes a letter that repeats `count` times: t, tt, t*3, t*4 ... */
static void put_letters(layout_writer *out, const char *letter, int count)
{
    enum { SPELLED = 2 };
    char times[16];

    for (int i = 0; i < count && (i == 0 || count <= SPELLED); i++)
        put_piece(out, letter);
    snprintf(times, sizeof times, "*%d", count);
    if (count > SPELLED)
        put_piece(out, times);
}

static bool same_letters(const plait_chunk *a, const plait_chunk *b)
{
    return a->last - a->first == b->last - b->first && a->mtp == b->mtp &&
           a->embedding == b->embedding && a->loss == b->loss;
}

bool layout_write(const plait_chunk *chunks, int count, char *text)
{
    layout_writer out = {text, 0};
    char times[16];

    text[0] = '\0';
    for (int c = 0, alike = 1; c < count; c += alike) {
        for (alike = 1; c + alike < count - 1 && same_letters(&chunks[c], &chunks[c + alike]);)
            alike++;
        put_piece(&out, alike > 1 ? "(" : "");
        put_piece(&out, chunks[c].embedding ? "E" : "");
        put_letters(&out, "t", chunks[c].last - chunks[c].first);
        put_letters(&out, "m", chunks[c].mtp);
        put_piece(&out, chunks[c].loss ? "L" : "");
        put_piece(&out, c == count - 1 ? "" : "|");
        snprintf(times, sizeof times, ")*%d", alike);
        put_piece(&out, alike > 1 ? times : "");
    }
    return out.used < PLAIT_VALUE_SIZE;
}

// ---- against a model -----------------------------------------------------------------------

bool layout_covers_model(const plait_model *model, const plait_chunk *chunks, int count, char *why,
                         size_t size)
{
    int mtp = 0;

    for (int c = 0; c < count; c++)
        mtp += chunks[c].mtp;
    if (chunks[count - 1].last != model->layers)
        snprintf(why, size, "the layout has %d layers, but %.60s has %d", chunks[count - 1].last,
                 model->name, model->layers);
    else if (mtp != model->mtp_layers)
        snprintf(why, size, "the layout has %d multi-token prediction modules, but %.60s has %d",
                 mtp, model->name, model->mtp_layers);
    else
        return true;
    return false;
}
