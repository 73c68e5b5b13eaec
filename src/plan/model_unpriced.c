/*
 * model_unpriced.c - checks fields of a model that prices do not depend on: training and numerics
 *
 * Writers of launch files and model files print these fields, and use enumerators as indices into
 * lists of words.
 */
#include "plan/problem_parts.h"

#include "base/model_numbers.h"
#include "base/number_range.h"

#define LENGTH(list) (sizeof(list) / sizeof *(list))
#define NO_NUMBER(member) // any value of a switch is valid

static plait_status fail_expected(const char *what, plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, "model", "expected %s, found another value", what);
}

static plait_status check_training(const plait_training *training, plait_error *err)
{
#define RANGED_TYPE plait_training
    static const number_range numbers[] = {TRAINING_NUMBERS(NUMBER_RANGE)};
#undef RANGED_TYPE
    const double decay = training->weight_decay; // NaN: unknown

    if ((unsigned)training->decay >= PLAIT_LR_DECAYS ||
        (unsigned)training->balance >= PLAIT_BALANCES)
        return fail_expected("a decay and a balance of model.h", err);
    if (decay < 0.0 || decay > 1.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "model",
                          "expected a weight_decay from 0 to 1, or NaN, found %g", decay);
    return numbers_check("model", training, numbers, LENGTH(numbers), err);
}

static plait_status check_rope(const plait_rope *rope, plait_error *err)
{
#define RANGED_TYPE plait_rope
    static const number_range numbers[] = {ROPE_NUMBERS(NUMBER_RANGE, NO_NUMBER)};
#undef RANGED_TYPE

    if ((unsigned)rope->kind >= PLAIT_ROPE_KINDS)
        return fail_expected("rotary positions of plait_rope_kind", err);
    return numbers_check("model", rope, numbers, LENGTH(numbers), err);
}

static plait_status check_router(const plait_router *router, plait_error *err)
{
#define RANGED_TYPE plait_router
    static const number_range numbers[] = {ROUTER_NUMBERS(NUMBER_RANGE, NO_NUMBER)};
#undef RANGED_TYPE

    if ((unsigned)router->score >= PLAIT_ROUTER_SCORES)
        return fail_expected("a router of plait_router_score", err);
    return numbers_check("model", router, numbers, LENGTH(numbers), err);
}

static plait_status check_numerics(const plait_numerics *numerics, plait_error *err)
{
#define RANGED_TYPE plait_numerics
    static const number_range numbers[] = {NUMERICS_NUMBERS(NUMBER_RANGE, NO_NUMBER)};
#undef RANGED_TYPE

    if ((unsigned)numerics->activation >= PLAIT_ACTIVATIONS)
        return fail_expected("an activation of plait_activation", err);
    PLAIT_TRY(numbers_check("model", numerics, numbers, LENGTH(numbers), err));
    PLAIT_TRY(check_rope(&numerics->rope, err));
    return check_router(&numerics->router, err);
}

plait_status model_check_unpriced(const plait_model *model, plait_error *err)
{
    PLAIT_TRY(check_training(&model->training, err));
    return check_numerics(&model->numerics, err);
}
