/* engine_write.c - write the profile of a serving engine as JSON */
#include <stdio.h>

#include "calibrate/engine_fit.h"
#include "io/json/json_write.h"
#include "plait/units.h"

/* Rounds to three digits; runs differ by some percent, so a fit supports no more. */
static double round_of(double number)
{
    char text[32];
    double rounded = number;

    snprintf(text, sizeof text, "%.3g", number);
    sscanf(text, "%lf", &rounded);
    return rounded;
}

/* Writes a number unless it has the assumed value, which readers take for a missing key. */
static void write_number(json_writer *json, const char *key, double number, double assumed)
{
    if (round_of(number) != assumed)
        json_member_number(json, key, round_of(number));
}

static void write_defaults(json_writer *json, const plait_engine *e)
{
    json_write_key(json, "defaults");
    json_begin_object(json);
    json_member_number(json, "chunk_tokens", e->chunk_tokens);
    json_member_number(json, "max_sequences", e->max_sequences);
    json_member_number(json, "memory_fraction", e->memory_fraction);
    json_member_number(json, "graph_gb", e->graph_bytes / PLAIT_GB);
    json_member_number(json, "block_tokens", e->block_tokens);
    json_end_object(json);
}

static void write_numbers(json_writer *json, const plait_engine *e)
{
    json_write_key(json, "numbers");
    json_begin_object(json);
#define X(field, word, unit, least, most, assumed)                                                 \
    write_number(json, word, e->field / (unit), assumed);
    PLAIT_ENGINE_NUMBERS(X)
#undef X
    json_end_object(json);
}

static void write_determined(json_writer *json, const plait_engine *e)
{
    int n = 0;

    json_write_key(json, "determined");
    json_begin_row(json);
#define X(field, word, unit, least, most, assumed)                                                 \
    if (e->determined[n++])                                                                        \
        json_write_string(json, word);
    PLAIT_ENGINE_NUMBERS(X)
#undef X
    json_end_array(json);
}

static void write_band(json_writer *json, const plait_engine *e)
{
    static const char *const keys[PLAIT_SERVE_FIGURES] = {"ttft", "tpot", "out_tok_s"};

    json_write_key(json, "band");
    json_begin_object(json);
    for (int f = 0; f < PLAIT_SERVE_FIGURES; f++) {
        json_write_key(json, keys[f]);
        json_begin_row(json);
        for (int side = 0; side < 2; side++)
            json_write_number(json, round_of(e->band[f][side]));
        json_end_array(json);
    }
    json_end_object(json);
}

plait_status engine_write(const plait_engine *e, plait_arena *arena, const char **text,
                          size_t *length, plait_error *err)
{
    json_writer json;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_string(&json, "name", e->name);
    json_member_string(&json, "source", e->source);
    json_member_string(&json, "engine", plait_engine_name[e->kind]);
    if (e->until != 0)
        json_member_int64(&json, "until", e->until);
    if (e->before != 0)
        json_member_int64(&json, "before", e->before);
    if (e->vendor[0] != '\0')
        json_member_string(&json, "vendor", e->vendor);
    write_defaults(&json, e);
    write_numbers(&json, e);
    write_determined(&json, e);
    json_member_int64(&json, "rows", e->rows);
    write_band(&json, e);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}
