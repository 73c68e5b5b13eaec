/*
 * runtime_check.c - checks that a runtime is complete and consistent
 *
 * The check rejects masks with undefined bits, defaults outside the values of their key, and
 * numbers that are not finite, since other code uses these values as indices, shifts and prices.
 */
#include "plan/problem_parts.h"

#include "base/number_range.h"
#include "base/runtime_numbers.h"

#define LENGTH(list) (sizeof(list) / sizeof *(list))

/* Fails with the message that `what` was expected of the runtime. */
static plait_status fail_expected(const char *what, const char *found, plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, "runtime", "expected %s, found %s", what, found);
}

// ---- numbers -------------------------------------------------------------------------------

#define RANGED_TYPE plait_runtime
static const number_range numbers[] = {RUNTIME_NUMBERS(NUMBER_RANGE)
#define X(name, what) RUNTIME_KEPT_NUMBER(NUMBER_RANGE, name)
                                           PLAIT_TENSOR_LIST(X)
#undef X
};
#undef RANGED_TYPE

// ---- capabilities --------------------------------------------------------------------------

/* Returns a mask of the lowest `count` bits. */
static unsigned bits_below(int count)
{
    return (1u << count) - 1u;
}

/* Checks a key's limit and default. Number keys have an upper bound, word keys a set of values. */
static plait_status check_key(const plait_runtime *runtime, plait_key_id key, plait_error *err)
{
    const plait_key *const row = &plait_keys[key];
    const int most = runtime->can.most[key], usual = runtime->defaults.key[key];
    const unsigned all = plait_key_all(key);

    if (row->kind == PLAIT_KEY_NUMBER)
        return most >= row->low && most <= row->high && usual >= 0 && usual <= row->high
                   ? PLAIT_OK
                   : plait_fail(err, PLAIT_ERROR_RANGE, "runtime",
                                "expected a limit from %d to %d for %s, found %d with default %d",
                                row->low, row->high, row->name, most, usual);
    if (runtime->can.takes[key] & ~all)
        return plait_fail(err, PLAIT_ERROR_RANGE, "runtime",
                          "expected existing values of %s (bits of %#x), found %#x", row->name, all,
                          runtime->can.takes[key]);
    if (usual < 0 || usual > 31 || !(all >> usual & 1u))
        return plait_fail(err, PLAIT_ERROR_RANGE, "runtime",
                          "expected an existing value of %s as default, found %d", row->name,
                          usual);
    return PLAIT_OK;
}

// ---- the whole -----------------------------------------------------------------------------

plait_status runtime_check_parts(const plait_runtime *runtime, plait_error *err)
{
    if (!runtime)
        return plait_fail(err, PLAIT_ERROR_RANGE, "runtime", "expected a runtime, found NULL");
    PLAIT_TRY(parts_check_name("runtime", runtime->name, err));
    PLAIT_TRY(parts_check_name("runtime", plait_runtime_software(runtime), err));
    if ((unsigned)runtime->rules >= PLAIT_RULES)
        return fail_expected("rules of plait_rules", "another value", err);
    if (runtime->releases > 0 && !runtime->release)
        return fail_expected("a list of releases", "none", err);

    const plait_capabilities *const can = &runtime->can;
    for (int key = 0; key < PLAIT_KEYS; key++)
        PLAIT_TRY(check_key(runtime, (plait_key_id)key, err));
    if (can->recompute_alike & ~plait_key_all(PLAIT_KEY_RECOMPUTE))
        return fail_expected("existing kinds of recomputation in recompute_alike", "others", err);
    if (can->precision & ~bits_below(PLAIT_PRECISIONS))
        return fail_expected("formats of plait_precision", "others", err);
    if (can->recompute_by >= PLAIT_CHOOSERS)
        return fail_expected("a value of plait_granularity for recompute_by", "another value", err);
    if (can->offload_by > PLAIT_BY_STAGE)
        return fail_expected("plan or stage for offload_by", "another value", err);
    if ((can->tp_by != PLAIT_BY_PLAN && can->tp_by != PLAIT_BY_LAYER) ||
        (can->zero_by != PLAIT_BY_PLAN && can->zero_by != PLAIT_BY_LAYER))
        return fail_expected("plan or layer for tp_by and zero_by", "another value", err);
    if (can->module_sets < 0 || can->module_sets > PLAIT_MAX_MODULE_SETS)
        return fail_expected("at most 16 sets of modules", "another number", err);
    for (int s = 0; s < can->module_sets; s++)
        if (can->module_set[s] == 0 || (can->module_set[s] & ~bits_below(PLAIT_MODULES)))
            return fail_expected("sets of existing modules", "another value", err);
    return numbers_check("runtime", runtime, numbers, LENGTH(numbers), err);
}
