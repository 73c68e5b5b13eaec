/* model_hf_numerics.h - what the readers of a Hugging Face config's numerics share
 *
 * As with shapes, half of it stands in the file and half in the class: model_hf_class_numerics.c is
 * the table of classes, model_hf_rope.c and model_hf_router.c read positions and routing,
 * model_hf_numerics.c the rest.
 */
#pragma once

#include "io/model/model_hf.h"

/* What a class does in code, or what it means when the file does not say. */
enum hf_numerics_trait {
    HF_OWN_ACTIVATION = 1 << 0, /* whatever hidden_act says */
    HF_ALIBI = 1 << 1,          /* in every layer, without a key */
    HF_INTERLEAVED = 1 << 2,    /* when rope_interleave is absent */
    HF_QK_NORM_WHOLE = 1 << 3,  /* the norm on q and k spans all heads */
    HF_QK_L2_NORM = 1 << 4,     /* it has no weights */
    HF_EMBEDDING_ROOT = 1 << 5, /* the embedding is times the root of its width */
    HF_NORMALISED = 1 << 6,     /* when norm_topk_prob is absent, or always */
    HF_CORRECTION_BIAS = 1 << 7 /* when topk_method is absent */
};

typedef struct hf_class_numerics {
    const char *type;
    unsigned traits; /* hf_numerics_trait */
    plait_activation activation;
    double norm_eps;
    double rope_base;
    double rope_local_base; /* of windowed layers; 0: as elsewhere */
    double rope_fraction;
    int rotary_dim;      /* elements of a head that are rotated, instead of the fraction; 0: none */
    double query_scalar; /* attention scores are times its ^-1/2; 0: head_dim */
    double attention_softcap;
    double logit_softcap;
    double logit_scale;
    plait_router_score score;
    double router_scale;
} hf_class_numerics;

/** By which a config may name its activation, the first that it has; ended by NULL. */
extern const char *const hf_activation_keys[];

/**
 * What is known of a class that is in the table of classes, each number filled in: where the row
 * says nothing, what most classes mean.
 */
hf_class_numerics hf_class_numerics_of(const hf_class *class);

bool hf_has_numerics_trait(const hf_class_numerics *known, enum hf_numerics_trait trait);

plait_status hf_read_rope(const hf_config *hf, const hf_class_numerics *known, plait_rope *out,
                          plait_error *err) PLAIT_MUST_CHECK;
plait_status hf_read_router(const hf_config *hf, const hf_class_numerics *known, plait_router *out,
                            plait_error *err) PLAIT_MUST_CHECK;

/** Reads all of model->numerics; the kinds of layers have been read before. */
plait_status hf_read_numerics(const hf_config *hf, plait_numerics *out,
                              plait_error *err) PLAIT_MUST_CHECK;
