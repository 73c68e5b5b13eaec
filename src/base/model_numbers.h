/*
 * model_numbers.h - numbers of a model that do not change its price (training and numerics), with
 * their ranges, as rows of number_range.h
 *
 * The lists have switches at the same positions as model files.
 */
#pragma once

#define TRAINING_NUMBERS(X)                                                                        \
    X("lr", lr, NON_NEGATIVE, 0.0, 1.0, 1.0)                                                       \
    X("min_lr", min_lr, NON_NEGATIVE, 0.0, 1.0, 1.0)                                               \
    X("tokens", tokens, NON_NEGATIVE, 0.0, 1e15, 1.0)                                              \
    X("decay_tokens", decay_tokens, NON_NEGATIVE, 0.0, 1e15, 1.0)                                  \
    X("warmup_tokens", warmup_tokens, NON_NEGATIVE, 0.0, 1e15, 1.0)                                \
    X("warmup_steps", warmup_steps, NON_NEGATIVE, 0.0, 1e7, 1.0)                                   \
    X("beta1", beta1, FRACTION, 0.0, 1.0, 1.0)                                                     \
    X("beta2", beta2, FRACTION, 0.0, 1.0, 1.0)                                                     \
    X("eps", eps, FRACTION, 0.0, 1.0, 1.0)                                                         \
    X("clip", clip, NON_NEGATIVE, 0.0, 1e3, 1.0)                                                   \
    X("bias_rate", bias_rate, FRACTION, 0.0, 1.0, 1.0)                                             \
    X("mtp_loss", mtp_loss, NON_NEGATIVE, 0.0, 1e3, 1.0)

#define NUMERICS_NUMBERS(X, SWITCH)                                                                \
    X("norm_eps", norm_eps, FRACTION, 0.0, 1.0, 1.0)                                               \
    X("init_std", init_std, FRACTION, 0.0, 1.0, 1.0)                                               \
    SWITCH(alibi)                                                                                  \
    SWITCH(qk_l2_norm)                                                                             \
    SWITCH(qk_norm_whole)                                                                          \
    X("attention_softcap", attention_softcap, NON_NEGATIVE, 0.0, 1e30, 1.0)                        \
    X("logit_softcap", logit_softcap, NON_NEGATIVE, 0.0, 1e30, 1.0)                                \
    X("attention_scale", attention_scale, NON_NEGATIVE, 0.0, 1e30, 1.0)                            \
    X("embedding_scale", embedding_scale, NON_NEGATIVE, 0.0, 1e30, 1.0)                            \
    X("residual_scale", residual_scale, NON_NEGATIVE, 0.0, 1e30, 1.0)                              \
    X("logit_scale", logit_scale, NON_NEGATIVE, 0.0, 1e30, 1.0)

#define ROPE_NUMBERS(X, SWITCH)                                                                    \
    X("base", base, NON_NEGATIVE, 0.0, 1e30, 1.0)                                                  \
    X("local_base", local_base, NON_NEGATIVE, 0.0, 1e30, 1.0)                                      \
    X("fraction", fraction, FRACTION, 0.0, 1.0, 1.0)                                               \
    SWITCH(interleaved)                                                                            \
    X("factor", factor, NON_NEGATIVE, 0.0, 1e30, 1.0)                                              \
    X("low_freq", low_freq, NON_NEGATIVE, 0.0, 1e30, 1.0)                                          \
    X("high_freq", high_freq, NON_NEGATIVE, 0.0, 1e30, 1.0)                                        \
    X("beta_fast", beta_fast, NON_NEGATIVE, 0.0, 1e30, 1.0)                                        \
    X("beta_slow", beta_slow, NON_NEGATIVE, 0.0, 1e30, 1.0)                                        \
    X("mscale", mscale, NON_NEGATIVE, 0.0, 1e30, 1.0)                                              \
    X("mscale_all_dim", mscale_all_dim, NON_NEGATIVE, 0.0, 1e30, 1.0)

#define ROUTER_NUMBERS(X, SWITCH)                                                                  \
    SWITCH(normalised)                                                                             \
    SWITCH(correction_bias)                                                                        \
    X("scale", scale, NON_NEGATIVE, 0.0, 1e30, 1.0)                                                \
    X("aux_loss", aux_loss, NON_NEGATIVE, 0.0, 1e30, 1.0)
