/* step_log.c - step times out of the lines that training software prints */
#include "step_log.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "numbers.h"
#include "text.h"

/* What stands before the number, and what one of it is in seconds, or in tokens a second. */
typedef struct step_format {
    const char *software;
    const char *mark;
    double unit;
    bool is_rate;
} step_format;

static const step_format formats[] = {
    {"Megatron-LM", "elapsed time per iteration (ms):", 1e-3, false},
    {"nanotron", "elapsed_time_per_iteration_ms:", 1e-3, false},
    {"DeepSpeed", "iter time (s):", 1.0, false},
    {"torchtitan", "tps:", 1.0, true},
};

/* The same of a peak of memory, in bytes: in lines of the same software. */
static const struct {
    step_format format;
    bool reserved;
} peaks[] = {
    {{"Megatron-LM", "max allocated:", 1 << 20, false}, false},
    {{"nanotron", "Peak allocated", 1 << 20, false}, false},
    {{"DeepSpeed", "Max_MA", 1 << 30, false}, false},
    {{"torchtitan", "memory:", 1 << 30, false}, true},
};

enum { PEAKS = sizeof peaks / sizeof *peaks };

enum { FORMATS = sizeof formats / sizeof *formats, DIGITS = 40 };

/* "1,234.5", "1.23K": commas between digits, and a letter that scales; NaN: no number. */
static double number_of(const char *text, const char *end)
{
    char digits[DIGITS];
    size_t used = 0;
    double value;

    while (text < end && *text == ' ')
        text++;
    while (text < end && used + 1 < sizeof digits &&
           ((*text >= '0' && *text <= '9') || *text == '.' || *text == ',')) {
        if (*text != ',')
            digits[used++] = *text;
        text++;
    }
    digits[used] = '\0';
    if (!text_parse_number(digits, &value) || !(value > 0.0))
        return (double)NAN;
    if (text + 1 < end && text[1] == 'i') // "41234.5MiB": its format knows the unit
        return value;
    return value * (text < end && *text == 'K' ? 1e3 : text < end && *text == 'M' ? 1e6 : 1.0);
}

/* The number behind the mark in a line; NaN: not there. Colours between them are passed over. */
static double number_behind(const char *line, const char *end, const char *mark)
{
    const size_t length = strlen(mark);

    for (const char *at = line; at + length <= end; at++)
        if (memcmp(at, mark, length) == 0)
            return number_of(at + length, end);
    return (double)NAN;
}

/* The first steps compile, allocate and warm up. */
static double median_of_later(double *value, int count, int *kept)
{
    const int skipped = count > 4 ? 2 : 0;

    *kept = count - skipped;
    qsort(value + skipped, (size_t)*kept, sizeof *value, compare_doubles);
    return value[skipped + *kept / 2];
}

static int collect(const char *text, size_t length, const step_format *format, double *out)
{
    const char *const end = text + length;
    int count = 0;

    for (const char *line = text; line < end;) {
        const char *const newline = memchr(line, '\n', (size_t)(end - line));
        const char *const stop = newline != NULL ? newline : end;
        const double value = number_behind(line, stop, format->mark);

        if (!isnan(value))
            out[count++] = format->unit * value;
        line = stop + 1;
    }
    return count;
}

/* Of ranks that print in turn, and of steps, the largest. */
static void find_peak(const char *text, size_t length, double *value, step_log *out)
{
    for (int p = 0; p < PEAKS; p++) {
        if (strcmp(peaks[p].format.software, out->software) != 0)
            continue;
        const int count = collect(text, length, &peaks[p].format, value);

        out->reserved = peaks[p].reserved;
        for (int i = 0; i < count; i++)
            out->peak_bytes = fmax(out->peak_bytes, value[i]);
    }
}

static size_t lines_of(const char *text, size_t length)
{
    size_t lines = 1;

    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

plait_status step_log_parse(const char *text, size_t length, const char *name, plait_arena *arena,
                            step_log *out, plait_error *err)
{
    double *value = plait_arena_alloc(arena, lines_of(text, length), sizeof *value);

    if (value == NULL)
        return plait_fail_nomem(err);
    for (int f = 0; f < FORMATS; f++) {
        const int count = collect(text, length, &formats[f], value);

        if (count == 0)
            continue;
        *out = (step_log){.software = formats[f].software};
        const double middle = median_of_later(value, count, &out->steps);
        out->step_s = formats[f].is_rate ? 0.0 : middle;
        out->tokens_per_s = formats[f].is_rate ? middle : 0.0;
        find_peak(text, length, value, out);
        return PLAIT_OK;
    }
    return plait_fail(err, PLAIT_ERROR_SCHEMA, name,
                      "expected a log of Megatron-LM, nanotron, DeepSpeed or torchtitan, or a CSV "
                      "with a column step_s, found no step time");
}

plait_status step_log_load(const char *path, plait_arena *arena, step_log *out, plait_error *err)
{
    static const size_t most_bytes = (size_t)256 << 20;
    const char *text;
    size_t length;

    PLAIT_TRY(file_read_all(path, most_bytes, arena, &text, &length, err));
    return step_log_parse(text, length, path, arena, out, err);
}
