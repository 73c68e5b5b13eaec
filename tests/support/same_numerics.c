/* same_numerics.c - two numerics member by member, since padding between members has no value */
#include "support/same_numerics.h"

#include <stddef.h>

/* Every member of plait_numerics. */
#define NUMERICS_MEMBERS(X)                                                                        \
    X(activation)                                                                                  \
    X(norm_eps)                                                                                    \
    X(init_std)                                                                                    \
    X(alibi)                                                                                       \
    X(qk_l2_norm)                                                                                  \
    X(qk_norm_whole)                                                                               \
    X(attention_softcap)                                                                           \
    X(logit_softcap)                                                                               \
    X(attention_scale)                                                                             \
    X(embedding_scale)                                                                             \
    X(residual_scale)                                                                              \
    X(logit_scale)                                                                                 \
    X(rope.kind)                                                                                   \
    X(rope.base)                                                                                   \
    X(rope.local_base)                                                                             \
    X(rope.fraction)                                                                               \
    X(rope.interleaved)                                                                            \
    X(rope.factor)                                                                                 \
    X(rope.original_seq)                                                                           \
    X(rope.low_freq)                                                                               \
    X(rope.high_freq)                                                                              \
    X(rope.beta_fast)                                                                              \
    X(rope.beta_slow)                                                                              \
    X(rope.mscale)                                                                                 \
    X(rope.mscale_all_dim)                                                                         \
    X(router.score)                                                                                \
    X(router.normalised)                                                                           \
    X(router.correction_bias)                                                                      \
    X(router.scale)                                                                                \
    X(router.aux_loss)

const char *numerics_difference(const plait_numerics *a, const plait_numerics *b)
{
#define X(member)                                                                                  \
    if (a->member != b->member)                                                                    \
        return #member;
    NUMERICS_MEMBERS(X)
#undef X
    return NULL;
}
