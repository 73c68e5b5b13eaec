/* runtime_capabilities.c - reads the plan space that a piece of software supports */
#include <string.h>

#include "base/text.h"
#include "io/runtime/runtime_file.h"

/* ---- lists of words as sets of bits ---- */

/*
 * Reads a list of words as bits. It must have at least one word, because every plan has a value for
 * each key.
 */
static plait_status read_mask(const json_cursor *at, const char *key, const char *const *words,
                              int most, unsigned *mask, plait_error *err)
{
    PLAIT_TRY(json_mask(at, key, words, most, mask, err));
    return *mask != 0 ? PLAIT_OK
                      : json_fail_key(at, key, PLAIT_ERROR_RANGE, err,
                                      "expected at least one entry, found none");
}

/* ---- sets of recomputed modules: "mla_up_proj+layernorm" ---- */

static plait_status read_module_set(const json_cursor *at, unsigned char *set, plait_error *err)
{
    plait_arena *scratch = plait_arena_new();
    const char *text = "";
    char **modules = NULL;
    size_t count = 0;
    plait_status status;

    PLAIT_TRY(plait_check_allocated(scratch, err));
    *set = 0;
    status = json_as_string(at, scratch, &text, err);
    if (status == PLAIT_OK && (modules = text_split(scratch, text, '+', &count)) == NULL)
        status = plait_fail_nomem(err);
    if (status == PLAIT_OK && count == 0)
        status = json_fail(at, PLAIT_ERROR_RANGE, err, "expected at least one module, found none");
    for (size_t i = 0; status == PLAIT_OK && i < count; i++) {
        const int module = text_index(modules[i], plait_recompute_module_name);

        if (module < 0)
            status = json_fail(at, PLAIT_ERROR_RANGE, err,
                               "expected modules such as core_attn, joined by +, found \"%s\"",
                               modules[i]);
        else
            *set = (unsigned char)(*set | 1u << module);
    }
    plait_arena_free(scratch);
    return status;
}

/* ---- all keys ---- */

/*
 * Reads the supported values of a key. A key with numbers supports only 1 if its limit is missing.
 * A list that is missing supports only the neutral value, and is required if the key has none.
 */
static plait_status read_key(const json_cursor *at, plait_key_id key, plait_capabilities *out,
                             plait_error *err)
{
    const plait_key *const row = &plait_keys[key];
    json_cursor list;

    if (row->kind == PLAIT_KEY_NUMBER) {
        out->most[key] = row->limit_name != NULL ? 1 : row->high;
        return row->limit_name == NULL
                   ? PLAIT_OK
                   : json_int_optional(at, row->limit_name, 1, row->high, &out->most[key], err);
    }
    out->takes[key] = plait_key_all(key);
    if (row->limit_name == NULL)
        return PLAIT_OK;
    PLAIT_TRY(json_array_optional(at, row->limit_name, &list, err));
    if (json_is_null(&list) && row->absent_value >= 0) {
        out->takes[key] = 1u << row->absent_value;
        return PLAIT_OK;
    }
    return read_mask(at, row->limit_name, row->words, row->high, &out->takes[key], err);
}

/* Reads whether tp, or zero, is chosen for the whole plan or for each layer. */
static plait_status read_plan_or_layer(const json_cursor *at, const char *key, unsigned char *out,
                                       plait_error *err)
{
    int by = PLAIT_BY_PLAN;

    PLAIT_TRY(json_word_optional(at, key, plait_chooser_name, &by, err));
    if (by == PLAIT_BY_STAGE)
        return json_fail_key(at, key, PLAIT_ERROR_RANGE, err,
                             "expected plan or layer, found stage");
    *out = (unsigned char)by;
    return PLAIT_OK;
}

/*
 * Reads whether choices are made for the whole plan (the default), for each stage, or for each
 * layer.
 */
static plait_status read_granularities(const json_cursor *at, plait_capabilities *out,
                                       plait_error *err)
{
    const plait_key *const row = &plait_keys[PLAIT_KEY_RECOMPUTE];
    json_cursor list;
    int recompute = PLAIT_BY_PLAN, offload = PLAIT_BY_PLAN;

    PLAIT_TRY(json_word_optional(at, "recompute_by", plait_chooser_name, &recompute, err));
    PLAIT_TRY(json_word_optional(at, "offload_by", plait_chooser_name, &offload, err));
    if (offload == PLAIT_BY_LAYER)
        return json_fail_key(at, "offload_by", PLAIT_ERROR_RANGE, err,
                             "expected plan or stage, found layer");
    if (out->stages_differ && recompute == PLAIT_BY_PLAN)
        return json_fail_key(at, "recompute_by", PLAIT_ERROR_RANGE, err,
                             "expected stage or layer, since stages_differ is true, found plan");
    out->recompute_by = (unsigned char)recompute;
    out->offload_by = (unsigned char)offload;
    PLAIT_TRY(read_plan_or_layer(at, "tp_by", &out->tp_by, err));
    PLAIT_TRY(read_plan_or_layer(at, "zero_by", &out->zero_by, err));
    out->recompute_alike = 0; // set of recompute kinds that all layers must share
    PLAIT_TRY(json_array_optional(at, "recompute_alike", &list, err));
    return json_is_null(&list) ? PLAIT_OK
                               : read_mask(at, "recompute_alike", row->words, row->high,
                                           &out->recompute_alike, err);
}

plait_status runtime_read_capabilities(const json_cursor *at, plait_capabilities *out,
                                       plait_error *err)
{
    static const char *const also[] = {
        "sp",          "sp_optional",    "etp",        "hsdp",   "full_layers",   "precision",
        "module_sets", "recompute_by",   "offload_by", "source", "stages_differ", "tp_by",
        "zero_by",     "recompute_alike"};
    enum { ALSO = sizeof also / sizeof *also };
    json_cursor list, element;

    int count = 0;
    const char *names[PLAIT_KEYS + ALSO + 1];

    for (int key = 0; key < PLAIT_KEYS; key++)
        if (plait_keys[key].limit_name != NULL)
            names[count++] = plait_keys[key].limit_name;
    for (int i = 0; i < ALSO; i++)
        names[count++] = also[i];
    names[count] = NULL;
    PLAIT_TRY(json_keys_among(at, names, err));
    for (int key = 0; key < PLAIT_KEYS; key++)
        PLAIT_TRY(read_key(at, (plait_key_id)key, out, err));

    bool sp = false, sp_optional = false;
    PLAIT_TRY(json_bool_optional(at, "sp", &sp, err));
    PLAIT_TRY(json_bool_optional(at, "sp_optional", &sp_optional, err));
    out->takes[PLAIT_KEY_SP] = (sp ? 2u : 1u) | (sp && sp_optional ? 1u : 0u);
    PLAIT_TRY(json_bool_optional(at, "etp", &out->etp, err));
    PLAIT_TRY(json_bool_optional(at, "hsdp", &out->hsdp, err));
    PLAIT_TRY(json_bool_optional(at, "stages_differ", &out->stages_differ, err));
    PLAIT_TRY(json_bool_optional(at, "full_layers", &out->full_layers, err));
    PLAIT_TRY(read_granularities(at, out, err));
    PLAIT_TRY(read_mask(at, "precision", plait_precision_name, 0, &out->precision, err));
    PLAIT_TRY(json_array_optional(at, "module_sets", &list, err));
    if (json_count(&list) > PLAIT_MAX_MODULE_SETS)
        return json_fail(&list, PLAIT_ERROR_RANGE, err,
                         "expected at most %d sets of modules, found %zu", PLAIT_MAX_MODULE_SETS,
                         json_count(&list));
    for (bool more = json_first(&list, &element); more; more = json_next(&element))
        PLAIT_TRY(read_module_set(&element, &out->module_set[element.index], err));
    out->module_sets = (int)json_count(&list);
    if ((out->takes[PLAIT_KEY_RECOMPUTE] & 1u << PLAIT_RECOMPUTE_MODULES) != 0 &&
        out->module_sets == 0)
        return json_fail_key(
            at, "module_sets", PLAIT_ERROR_RANGE, err,
            "expected at least one set of modules, since recompute has modules, found none");
    return PLAIT_OK;
}
