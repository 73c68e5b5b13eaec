/* model_facts.h - what Megatron-LM asks of a model: a shape of each part, and where it is */
#pragma once

#include "plait/model.h"

/** One shape of each part, of the first kind of layer that has it; NULL: none has. */
typedef struct model_facts {
    const plait_attention *attention;
    const plait_mla *mla;
    const plait_delta_net *delta_net;
    const plait_mlp *mlp;
    const plait_moe *moe;
    int window; /* tokens; 0: none */
    bool bias;  /* in all linear layers */
} model_facts;

model_facts model_facts_of(const plait_model *model);

/** A number of plait_numerics, where 0 is "not known"; that is NaN here, and left to Megatron. */
double model_number(double number);

/** Has a layer the part that it is about? */
typedef bool layer_test(const plait_layer *layer);

bool layer_has_experts(const plait_layer *layer);
bool layer_has_window(const plait_layer *layer);
bool layer_has_no_rotary(const plait_layer *layer); /* attention without positions */
bool layer_is_linear(const plait_layer *layer);

int model_count_layers(const plait_model *model, layer_test *test);

/** "([0]*3+[1]*58)", "([1]+[0])*18": 1 for each layer that passes. NULL when out of memory. */
const char *model_layer_list(const plait_model *model, layer_test *test, plait_arena *arena);

/** The same into *out, which stays as it is where all layers pass or none does. */
PLAIT_MUST_CHECK plait_status model_mixed_list(const plait_model *model, layer_test *test,
                                               plait_arena *arena, const char **out,
                                               plait_error *err);
