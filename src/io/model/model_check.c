/* model_check.c - checks that involve two numbers of a model, which both formats need */
#include "io/model/model_private.h"

plait_status model_check_kv_heads(const json_cursor *at, const char *key, int heads, int kv_heads,
                                  plait_error *err)
{
    if (kv_heads > heads || heads % kv_heads != 0)
        return json_fail_key(at, key, PLAIT_ERROR_RANGE, err,
                             "expected a divisor of the %d heads, found %d", heads, kv_heads);
    return PLAIT_OK;
}

/* A head_dim of 0 stands for hidden / heads. */
plait_status model_check_head_dim(const json_cursor *at, const char *key, int hidden, int heads,
                                  int *head_dim, plait_error *err)
{
    if (*head_dim > 0)
        return PLAIT_OK;
    if (hidden % heads != 0 || hidden / heads > MODEL_MAX_HEAD_DIM)
        return json_fail_key(at, key, PLAIT_ERROR_RANGE, err,
                             "expected a head size, since %d heads do not share a width of %d "
                             "evenly, found nothing",
                             heads, hidden);
    *head_dim = hidden / heads;
    return PLAIT_OK;
}

plait_status model_check_topk(const json_cursor *at, const char *key, int experts, int topk,
                              plait_error *err)
{
    if (topk > experts)
        return json_fail_key(at, key, PLAIT_ERROR_RANGE, err,
                             "expected at most the %d experts, found %d", experts, topk);
    return PLAIT_OK;
}

plait_status model_check_groups(const json_cursor *at, const char *groups_key, const char *topk_key,
                                const plait_moe *moe, plait_error *err)
{
    if ((moe->groups == 0) != (moe->group_topk == 0))
        return json_fail_key(at, topk_key, PLAIT_ERROR_RANGE, err,
                             "expected %s and %s together, found %d and %d", groups_key, topk_key,
                             moe->groups, moe->group_topk);
    if (moe->groups > 0 && moe->experts % moe->groups != 0)
        return json_fail_key(at, groups_key, PLAIT_ERROR_RANGE, err,
                             "expected a divisor of the %d experts, found %d", moe->experts,
                             moe->groups);
    if (moe->group_topk > moe->groups)
        return json_fail_key(at, topk_key, PLAIT_ERROR_RANGE, err,
                             "expected at most the %d groups, found %d", moe->groups,
                             moe->group_topk);
    return PLAIT_OK;
}
