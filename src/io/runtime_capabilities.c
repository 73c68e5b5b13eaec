/* runtime_capabilities.c - the plan space that a piece of software can express */
#include <string.h>

#include "runtime_private.h"
#include "text.h"

enum { MOST_DEGREE = 1 << 20 };

/* In the order of plait_recompute_kind. */
static const char *const recompute_name[] = {"none", "selective", "modules", "sac", "full", NULL};
static const char *const zero_name[] = {"0", "1", "2", "3", NULL};

/* ---- lists of words, as bits ---- */

static plait_status read_zero(const json_cursor *at, int *bit, plait_error *err)
{
    return json_as_int(at, 0, 3, bit, err);
}

/* ["p2p", "a2a"] -> bits 1 << enumerator. A plan has one value of each, so the list has one too. */
static plait_status read_mask(const json_cursor *at, const char *key, const char *const *words,
                              unsigned *mask, plait_error *err)
{
    json_cursor list, element;

    *mask = 0;
    PLAIT_TRY(json_array(at, key, &list, err));
    if (json_count(&list) == 0)
        return json_fail(&list, PLAIT_ERROR_RANGE, err, "expected at least one, found none");
    for (bool more = json_first(&list, &element); more; more = json_next(&element)) {
        int bit = 0;

        PLAIT_TRY(words == zero_name ? read_zero(&element, &bit, err)
                                     : json_as_word(&element, words, &bit, err));
        *mask |= 1u << bit;
    }
    return PLAIT_OK;
}

/* ---- sets of recomputed modules: "mla_up_proj+layernorm" ---- */

static plait_status read_module_set(const json_cursor *at, unsigned char *set, plait_error *err)
{
    plait_arena *scratch = plait_arena_new();
    const char *text = "";
    char **modules = NULL;
    size_t count = 0;
    plait_status status;

    if (scratch == NULL)
        return plait_fail_nomem(err);
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

static plait_status read_module_sets(const json_cursor *at, plait_capabilities *out,
                                     plait_error *err)
{
    json_cursor list, element;

    PLAIT_TRY(json_array_optional(at, "module_sets", &list, err));
    if (json_count(&list) > PLAIT_MAX_MODULE_SETS)
        return json_fail(&list, PLAIT_ERROR_RANGE, err, "expected at most %d sets, found %zu",
                         PLAIT_MAX_MODULE_SETS, json_count(&list));
    for (bool more = json_first(&list, &element); more; more = json_next(&element))
        PLAIT_TRY(read_module_set(&element, &out->module_set[element.index], err));
    out->module_sets = (int)json_count(&list);
    if ((out->recompute & 1u << PLAIT_RECOMPUTE_MODULES) != 0 && out->module_sets == 0)
        return json_fail_key(at, "module_sets", PLAIT_ERROR_RANGE, err,
                             "expected at least one set, since recompute has modules, found none");
    return PLAIT_OK;
}

/* ---- the whole ---- */

static plait_status read_degrees(const json_cursor *at, plait_capabilities *out, plait_error *err)
{
    out->max_tp = out->max_pp = out->max_cp = out->max_ep = out->max_vpp = 1;
    PLAIT_TRY(json_int_optional(at, "max_tp", 1, MOST_DEGREE, &out->max_tp, err));
    PLAIT_TRY(json_int_optional(at, "max_pp", 1, MOST_DEGREE, &out->max_pp, err));
    PLAIT_TRY(json_int_optional(at, "max_cp", 1, MOST_DEGREE, &out->max_cp, err));
    PLAIT_TRY(json_int_optional(at, "max_ep", 1, MOST_DEGREE, &out->max_ep, err));
    return json_int_optional(at, "max_vpp", 1, MOST_DEGREE, &out->max_vpp, err);
}

static plait_status read_switches(const json_cursor *at, plait_capabilities *out, plait_error *err)
{
    PLAIT_TRY(json_bool_optional(at, "sp", &out->sp, err));
    PLAIT_TRY(json_bool_optional(at, "sp_optional", &out->sp_optional, err));
    PLAIT_TRY(json_bool_optional(at, "etp", &out->etp, err));
    PLAIT_TRY(json_bool_optional(at, "hsdp", &out->hsdp, err));
    return json_bool_optional(at, "full_layers", &out->full_layers, err);
}

static plait_status read_masks(const json_cursor *at, plait_capabilities *out, plait_error *err)
{
    const struct {
        const char *key;
        const char *const *words;
        unsigned *mask;
    } masks[] = {
        {"zero", zero_name, &out->zero},
        {"cp_comm", plait_cp_comm_name, &out->cp_comm},
        {"schedules", plait_schedule_name, &out->schedules},
        {"grad_sync", plait_grad_sync_name, &out->grad_sync},
        {"recompute", recompute_name, &out->recompute},
        {"splits", plait_split_name, &out->splits},
        {"orders", plait_order_name, &out->orders},
        {"attention", plait_attention_kernel_name, &out->attention},
        {"precision", plait_precision_name, &out->precision},
    };

    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        PLAIT_TRY(read_mask(at, masks[i].key, masks[i].words, masks[i].mask, err));
    return PLAIT_OK;
}

plait_status runtime_read_capabilities(const json_cursor *at, plait_capabilities *out,
                                       plait_error *err)
{
    static const char *const keys[] = {
        "max_tp",      "max_pp",      "max_cp",    "max_ep",      "max_vpp", "sp",
        "sp_optional", "etp",         "hsdp",      "full_layers", "zero",    "cp_comm",
        "schedules",   "grad_sync",   "recompute", "splits",      "orders",  "attention",
        "precision",   "module_sets", "source",    NULL,
    };

    PLAIT_TRY(json_keys_among(at, keys, err));
    PLAIT_TRY(read_degrees(at, out, err));
    PLAIT_TRY(read_switches(at, out, err));
    PLAIT_TRY(read_masks(at, out, err));
    return read_module_sets(at, out, err);
}
