/* plans_sharding.c - "tp": [[4, 10], [2, 6]]: layers with degrees of their own, out of a file and into one */
#include "io/plans/plans_sharding.h"

static const plait_key_id cut_key[] = {PLAIT_KEY_TP, PLAIT_KEY_ZERO};

static int value_of(plait_cut cut, plait_key_id key)
{
    return key == PLAIT_KEY_TP ? cut.tp : cut.zero;
}

static void set_value(plait_cut *cut, plait_key_id key, int value)
{
    if (key == PLAIT_KEY_TP)
        cut->tp = (short)value;
    else
        cut->zero = (unsigned char)value;
}

// ---- out of a file -------------------------------------------------------------------------

static plait_status read_value(const json_cursor *at, plait_key_id key, int *out, plait_error *err)
{
    return json_as_int(at, plait_keys[key].low, plait_keys[key].high, out, err);
}

/* A layer's number, or [number, layers] of several in a row. */
static plait_status read_run(const json_cursor *at, plait_key_id key, int *value, int *layers,
                             plait_error *err)
{
    json_cursor part;

    *layers = 1;
    if (!json_is_array(at))
        return read_value(at, key, value, err);
    if (json_count(at) != 2)
        return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                         "expected a number and layers, found %zu parts", json_count(at));
    (void)json_first(at, &part);
    PLAIT_TRY(read_value(&part, key, value, err));
    (void)json_next(&part);
    return json_as_int(&part, 1, PLAIT_MAX_LAYERS, layers, err);
}

static plait_status read_runs(const json_cursor *list, plait_key_id key, int all, plait_cut *cut,
                              plait_error *err)
{
    json_cursor at;
    int value, layers, count = 0;

    for (bool more = json_first(list, &at); more; more = json_next(&at)) {
        PLAIT_TRY(read_run(&at, key, &value, &layers, err));
        if (layers > all - count)
            return json_fail(&at, PLAIT_ERROR_RANGE, err,
                             "expected numbers for %d layers, found more", all);
        while (layers-- > 0)
            set_value(&cut[count++], key, value);
    }
    return count == all ? PLAIT_OK
                        : json_fail(list, PLAIT_ERROR_SCHEMA, err,
                                    "expected numbers for %d layers, found %d", all, count);
}

static plait_status read_list(const json_cursor *stage, plait_key_id key, int layers,
                              plait_cut *cut, bool *any, plait_error *err)
{
    json_cursor list;
    int value;

    PLAIT_TRY(json_value_optional(stage, plait_keys[key].name, &list, err));
    if (json_is_null(&list))
        return PLAIT_OK;
    *any = true;
    if (json_is_array(&list))
        return read_runs(&list, key, layers, cut, err);
    PLAIT_TRY(read_value(&list, key, &value, err));
    for (int i = 0; i < layers; i++)
        set_value(&cut[i], key, value);
    return PLAIT_OK;
}

plait_status plans_read_cuts(const json_cursor *stage, plait_arena *arena, plans_stage *out,
                             plait_error *err)
{
    plait_cut *const cut = plait_arena_alloc(arena, (size_t)out->layers + 1, sizeof *cut);
    bool any = false;

    if (cut == NULL)
        return plait_fail_nomem(err);
    for (int i = 0; i < out->layers; i++)
        cut[i] = PLANS_NO_CUT;
    for (size_t k = 0; k < sizeof cut_key / sizeof *cut_key; k++)
        PLAIT_TRY(read_list(stage, cut_key[k], out->layers, cut, &any, err));
    out->cut = any ? cut : NULL;
    return PLAIT_OK;
}

// ---- into a file ---------------------------------------------------------------------------

/* What a file left open is the plan's. */
static int value_in(const plait_degrees *d, plait_cut cut, plait_key_id key)
{
    const int value = value_of(cut, key);

    return value != value_of(PLANS_NO_CUT, key) ? value : (int)plait_key_value(d, key);
}

static int run_length(const plait_cut *cut, int layers, int first, plait_key_id key)
{
    int next = first + 1;

    while (next < layers && value_of(cut[next], key) == value_of(cut[first], key))
        next++;
    return next - first;
}

static void write_runs(json_writer *json, const plait_degrees *d, plait_key_id key,
                       const plait_cut *cut, int layers)
{
    json_write_key(json, plait_keys[key].name);
    if (run_length(cut, layers, 0, key) == layers) {
        json_write_int64(json, value_in(d, cut[0], key));
        return;
    }
    json_begin_row(json);
    for (int at = 0, run; at < layers; at += run) {
        run = run_length(cut, layers, at, key);
        json_begin_row(json);
        json_write_int64(json, value_in(d, cut[at], key));
        json_write_int64(json, run);
        json_end_array(json);
    }
    json_end_array(json);
}

static bool any_differs(const plait_degrees *d, plait_key_id key, const plait_cut *cut, int layers)
{
    for (int i = 0; i < layers; i++)
        if (value_in(d, cut[i], key) != plait_key_value(d, key))
            return true;
    return false;
}

void plans_write_cuts(json_writer *json, const plait_degrees *d, const plait_cut *cut, int layers)
{
    for (size_t k = 0; cut != NULL && k < sizeof cut_key / sizeof *cut_key; k++)
        if (any_differs(d, cut_key[k], cut, layers))
            write_runs(json, d, cut_key[k], cut, layers);
}
