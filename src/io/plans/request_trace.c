/* request_trace.c - reads traces of requests: CSV files by their header, and lines of JSON */
#include "io/plans/request_trace.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "base/numbers.h"
#include "base/text.h"
#include "io/csv/csv_table.h"
#include "io/file.h"
#include "io/json/json.h"
#include "plait/degrees.h"

typedef struct trace_reader {
    plait_arena *arena;
    request_trace *out;
    int capacity;
    int timed; /* requests with a timestamp */
    double first_s, last_s;
    uint8_t *seen;  /* [MAX_BLOCKS] whether an earlier request has the block */
    bool documents; /* entries are documents, whose tokens become `input` */
} trace_reader;

static plait_status add_request(trace_reader *r, plait_request_lengths one, double time_s,
                                plait_error *err)
{
    request_trace *const out = r->out;

    if (!isnan(time_s)) {
        r->first_s = r->timed > 0 ? smaller(r->first_s, time_s) : time_s;
        r->last_s = r->timed++ > 0 ? larger(r->last_s, time_s) : time_s;
    }
    if (r->documents)
        one = (plait_request_lengths){.input = one.input + one.output};
    if (one.input < 1.0 || (one.output < 1.0 && !r->documents))
        return PLAIT_OK;
    out->request = grow_by_one(r->arena, out->request, out->count, &r->capacity, sizeof one);
    PLAIT_TRY(plait_check_allocated(out->request, err));
    out->request[out->count++] = one;
    return PLAIT_OK;
}

// ---- CSV -----------------------------------------------------------------------------------

/* Titles of a column: those of Azure's traces, of BurstGPT, and of benchmarks. */
static const char *const input_titles[] = {
    "ContextTokens", "Request tokens", "input", "input_tokens",
    "input_length",  "prompt_tokens",  NULL};
static const char *const output_titles[] = {
    "GeneratedTokens", "Response tokens",   "output", "output_tokens",
    "output_length",   "completion_tokens", NULL};
static const char *const document_titles[] = {"length", "tokens", "num_tokens", "token_count",
                                              NULL};
static const char *const time_titles[] = {"TIMESTAMP", "Timestamp", "timestamp", NULL};

static int find_column(const csv_table *table, const char *const *titles)
{
    int column = -1;

    for (; *titles != NULL && column < 0; titles++)
        column = csv_table_column(table, *titles);
    return column;
}

/*
 * Returns a timestamp in seconds: a number of seconds, or a date and a time of day, "2023-11-16
 * 18:17:03.97"; NaN if it is neither.
 */
static double seconds_of(const char *text)
{
    int year, month, day, hour, minute;
    double second;

    if (sscanf(text, "%d-%d-%d%*1[ T]%d:%d:%lf", &year, &month, &day, &hour, &minute, &second) != 6)
        return text_parse_number(text, &second) ? second : (double)NAN;
    if (year < 0 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31)
        return (double)NAN;
    // Days since 1 March of year 0, as a year that begins in March ends with the leap day.
    const int y = month <= 2 ? year - 1 : year;
    const int days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * ((month + 9) % 12) + 2) / 5 + day;
    return ((days * 24.0 + hour) * 60.0 + minute) * 60.0 + second;
}

static plait_status read_table(trace_reader *r, const char *text, size_t length, const char *path,
                               plait_error *err)
{
    csv_table table;

    PLAIT_TRY(csv_table_parse(text, length, path, r->arena, &table, err));
    const int document = r->documents ? find_column(&table, document_titles) : -1;
    const int input = document >= 0 ? document : find_column(&table, input_titles);
    const int output = find_column(&table, output_titles);
    const int time = find_column(&table, time_titles);
    if (r->documents && input < 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, path,
                          "expected a column of tokens, such as length, found none");
    if (input < 0 || (output < 0 && !r->documents))
        return plait_fail(err, PLAIT_ERROR_SCHEMA, path,
                          "expected a column of %s tokens, such as %s, found none",
                          input < 0 ? "input" : "output", input < 0 ? "input" : "output");
    for (size_t row = 0; row < table.rows; row++) {
        plait_request_lengths one = {0};
        const double time_s = seconds_of(csv_table_text(&table, row, time));
        PLAIT_TRY(csv_table_number(&table, row, input, 0.0, PLAIT_MAX_SEQ, &one.input, err));
        PLAIT_TRY(csv_table_number(&table, row, output, 0.0, PLAIT_MAX_SEQ, &one.output, err));
        PLAIT_TRY(add_request(r, one, time_s, err));
    }
    return PLAIT_OK;
}

// ---- lines of JSON -------------------------------------------------------------------------

enum { BLOCK_TOKENS = 512, MAX_BLOCKS = 1 << 24 }; // tokens of one hash of Mooncake's traces

/*
 * Returns the leading tokens of a prompt that earlier requests have too. Equal numbers in
 * `hash_ids` are equal blocks with equal blocks before them.
 */
static plait_status repeated_tokens(trace_reader *r, const json_cursor *at, double *tokens,
                                    plait_error *err)
{
    json_cursor hashes, hash;
    bool repeats = true;

    PLAIT_TRY(json_array_optional(at, "hash_ids", &hashes, err));
    if (json_is_null(&hashes))
        return PLAIT_OK;
    if (r->seen == NULL) {
        r->seen = plait_arena_alloc(r->arena, MAX_BLOCKS, sizeof *r->seen);
        PLAIT_TRY(plait_check_allocated(r->seen, err));
        memset(r->seen, 0, MAX_BLOCKS);
    }
    for (bool more = json_first(&hashes, &hash); more; more = json_next(&hash)) {
        int block;
        PLAIT_TRY(json_as_int(&hash, 0, MAX_BLOCKS - 1, &block, err));
        repeats = repeats && r->seen[block];
        *tokens += repeats ? BLOCK_TOKENS : 0.0;
        r->seen[block] = true;
    }
    return PLAIT_OK;
}

static plait_status read_tokens(const json_cursor *root, const char *key, double *tokens,
                                plait_error *err)
{
    PLAIT_TRY(json_number(root, key, JSON_NON_NEGATIVE, tokens, err));
    return *tokens <= PLAIT_MAX_SEQ
               ? PLAIT_OK
               : json_fail_key(root, key, PLAIT_ERROR_RANGE, err,
                               "expected tokens from 0 to %d, found %g", PLAIT_MAX_SEQ, *tokens);
}

static plait_status read_object(const json_cursor *root, plait_arena *arena, void *out,
                                plait_error *err)
{
    trace_reader *const r = out;
    plait_request_lengths one = {0};
    double time_ms = (double)NAN;

    (void)arena;
    PLAIT_TRY(json_as_object(root, err));
    for (int t = 0; r->documents && document_titles[t] != NULL; t++)
        if (json_has(root, document_titles[t])) {
            PLAIT_TRY(read_tokens(root, document_titles[t], &one.input, err));
            return add_request(r, one, time_ms, err);
        }
    PLAIT_TRY(read_tokens(root, "input_length", &one.input, err));
    PLAIT_TRY(read_tokens(root, "output_length", &one.output, err));
    PLAIT_TRY(json_number_optional(root, "timestamp", JSON_NON_NEGATIVE, &time_ms, err));
    PLAIT_TRY(repeated_tokens(r, root, &one.cached, err));
    one.cached = smaller(one.cached, larger(one.input - 1.0, 0.0));
    one.repeated = one.cached;
    return add_request(r, one, time_ms / 1e3, err);
}

/* Reads a line that is one number of tokens. */
static plait_status read_number(trace_reader *r, const char *at, size_t length, const char *name,
                                plait_error *err)
{
    plait_request_lengths one = {0};
    char text[32];

    while (length > 0 && strchr(" \t\r", at[length - 1]) != NULL)
        length--;
    snprintf(text, sizeof text, "%.*s", (int)smaller((double)length, 31.0), at);
    if (!text_parse_number(text, &one.input) || one.input < 0.0 || one.input > PLAIT_MAX_SEQ)
        return plait_fail(err, PLAIT_ERROR_RANGE, name, "expected tokens from 0 to %d, found '%s'",
                          PLAIT_MAX_SEQ, text);
    return add_request(r, one, (double)NAN, err);
}

static plait_status read_lines(trace_reader *r, const char *text, size_t length, const char *path,
                               plait_error *err)
{
    char name[256];
    int line = 1;

    for (const char *at = text, *end; at < text + length; at = end + 1, line++) {
        end = memchr(at, '\n', (size_t)(text + length - at));
        if (end == NULL)
            end = text + length;
        if (at[strspn(at, " \t\r")] == '\n' || at[strspn(at, " \t\r")] == '\0')
            continue;
        snprintf(name, sizeof name, "%.200s:%d", path, line);
        at += strspn(at, " \t");
        PLAIT_TRY(*at == '{' || !r->documents
                      ? json_parse(at, (size_t)(end - at), name, read_object, r->arena, r, err)
                      : read_number(r, at, (size_t)(end - at), name, err));
    }
    return PLAIT_OK;
}

plait_status document_lengths_read(const char *path, plait_arena *arena, request_trace *out,
                                   plait_error *err)
{
    trace_reader r = {.arena = arena, .out = out, .documents = true};
    const char *text;
    size_t length;

    *out = (request_trace){0};
    PLAIT_TRY(file_read_all(path, CSV_MAX_BYTES, arena, &text, &length, err));
    PLAIT_TRY(strchr("{0123456789", text[strspn(text, " \t\r\n")]) != NULL
                  ? read_lines(&r, text, length, path, err)
                  : read_table(&r, text, length, path, err));
    if (out->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, path,
                          "expected at least one document with tokens, found none");
    return PLAIT_OK;
}

plait_status request_trace_read(const char *path, plait_arena *arena, request_trace *out,
                                plait_error *err)
{
    trace_reader r = {.arena = arena, .out = out};
    const char *text;
    size_t length;

    *out = (request_trace){0};
    PLAIT_TRY(file_read_all(path, CSV_MAX_BYTES, arena, &text, &length, err));
    PLAIT_TRY(text[strspn(text, " \t\r\n")] == '{' ? read_lines(&r, text, length, path, err)
                                                   : read_table(&r, text, length, path, err));
    if (out->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, path,
                          "expected at least one request with input and output tokens, found none");
    if (r.timed > 1 && r.last_s > r.first_s)
        out->rate = (r.timed - 1) / (r.last_s - r.first_s);
    return PLAIT_OK;
}
