/*
 * torchtitan.h - writes a plan as torchtitan's settings, in three notations
 *
 * titan_settings_of makes the list of `section.key = value` from which recipe.py, args.sh and
 * config.toml are written; titan_flavour_of finds torchtitan's own model that equals a plan's
 * model.
 */
#pragma once

#include "launch/read/plan_reader.h"
#include "launch/target.h"
#include "launch/write/training.h"
#include "base/text.h"
#include "rules/torchtitan_family.h"

/* ---- models ---- */

/** A model that torchtitan has by name. */
typedef struct titan_flavour {
    titan_family family;
    const char *name;      /* name of the flavour: "8B" */
    const char *config;    /* configuration function, "llama3_8b"; NULL: none */
    const char *quantized; /* configuration function in fp8; NULL: none */
    bool toml;             /* true if versions of torchtitan that read TOML have the flavour */
    const char *model;     /* plait's name of the model */
    int layers, hidden, vocab, heads, kv_heads, head_dim;
    int width; /* width of dense layers; 0: none */
    int dense; /* dense layers before the first one with experts */
    int experts, topk, expert_width, shared_width, groups, group_topk;
    bool sigmoid; /* true if the router's scores are a sigmoid, false if a softmax */
    bool raw;     /* true if the weights of the chosen experts are not normalised */
    double scale; /* factor on the weights of the chosen experts; 0: none */
    int q_rank, kv_rank, nope_dim, rope_dim, v_dim;
    bool tied;
    int positions; /* longest sequence */
    double theta;
    plait_rope_kind rope;
    double factor; /* scaling factor of the positions */
} titan_flavour;

extern const titan_flavour titan_flavours[]; /* the last one has no name */

/** Names of the families' modules, such as "llama3". */
extern const char *const titan_module[TITAN_FAMILIES + 1];

/** Returns the flavour with the sizes and positions of a model; NULL: none. */
const titan_flavour *titan_flavour_of(const plait_model *model);

bool titan_layer_has_experts(const plait_model *model, int i);

/** torchtitan's names of schedules; NULL: torchtitan does not have the schedule. */
extern const char *const titan_schedule_name[PLAIT_SCHEDULES];

typedef enum titan_kind { TITAN_NUMBER, TITAN_SWITCH, TITAN_TEXT, TITAN_TEXTS } titan_kind;

typedef struct titan_setting {
    const char *section; /* section of the key: "parallelism" */
    const char *key;
    titan_kind kind;
    int64_t number;   /* value of a number, or 0 or 1 for a switch */
    const char *text; /* value of a text; for TITAN_TEXTS, words with commas between them */
} titan_setting;

enum { TITAN_MAX_SETTINGS = 40 };

typedef struct titan_settings {
    int count;
    titan_setting setting[TITAN_MAX_SETTINGS];
} titan_settings;

/** Makes the settings for the newest version, without the split of the layers. */
void titan_settings_of(const plait_launch *launch, titan_settings *out);

/** Makes the settings for versions that read TOML. */
void titan_toml_settings_of(const plait_launch *launch, titan_settings *out);

/**
 * Returns "none", "selective" or "full", torchtitan's word for the activations that the plan
 * recomputes.
 */
const char *titan_checkpoint(const plait_launch *launch);

/**
 * Numbers of layers that the embedding (first) and the head (last) count as in torchtitan's own
 * split.
 */
typedef struct titan_weights {
    int first;
    int last;
    int layers_per_stage; /* layers per stage; 0: torchtitan's default number of stages */
} titan_weights;

/**
 * Computes torchtitan's own split: `stages` stages share the layers, the embedding and the head as
 * evenly as whole layers allow, and earlier stages have the remainder.
 *
 * @param counts  [stages]
 * @return        false for a split that torchtitan rejects
 */
bool titan_divide_layers(int layers, int stages, titan_weights weights, int *counts);

/** Finds the weights with which torchtitan's own split is the plan's; false: there are none. */
bool titan_weights_of(const plait_launch *launch, titan_weights *out);

/**
 * Returns "varlen" (FlashAttention, the newest version that the GPU supports) or "flex"
 * (FlexAttention). Only "flex" supports context parallelism; it is the default of all families but
 * gpt-oss.
 */
const char *titan_attention(const plait_launch *launch);

/** True if torch.compile runs; the two profiles differ in what it fuses. */
bool titan_is_compiled(const plait_launch *launch);

/**
 * Return torchtitan's parameters of a learning rate schedule: the fraction of all steps in which
 * the rate decays, and the final rate as a fraction of the initial one.
 */
double titan_decay_ratio(const launch_training *training);
double titan_end(const launch_training *training);

const char *titan_recipe(const plait_launch *launch, plait_arena *arena);

/** Append the function `model` of recipe.py, and the imports that it needs. */
void titan_append_model_imports(const plait_launch *launch, text_builder *out);
void titan_append_model(const plait_launch *launch, text_builder *out);

/** Append the head of a file and plait's notes. */
void titan_append_head(const plait_launch *launch, const char *first, const training_places *places,
                       text_builder *out);

/** Append a string of Python or TOML, in double quotes. */
void titan_append_quoted(const char *text, text_builder *out);

/** Append the value of a setting; `on` and `off` are the language's words for a switch. */
void titan_append_value(const titan_setting *setting, const char *on, const char *off,
                        text_builder *out);

/** A key and its value in any notation: "parallelism.tensor_parallel_degree", "8". */
typedef struct titan_pair {
    const char *key;
    const char *value;
    bool read; /* true after a reader has looked the key up */
} titan_pair;

typedef struct titan_pairs {
    plait_arena *arena;
    titan_pair *pair;
    int count;
    int capacity;
    const launch_call *call; /* facts about the launch that the script does not contain */
} titan_pairs;

/** Returns the last value of a key and marks all pairs of the key as read; NULL: there is none. */
const char *titan_pairs_find(const titan_pairs *pairs, const char *key);

PLAIT_MUST_CHECK plait_status titan_read_shell(const char *text, size_t length, const char *name,
                                               titan_pairs *out, plait_error *err);
PLAIT_MUST_CHECK plait_status titan_read_toml(const char *text, size_t length, const char *name,
                                              titan_pairs *out, plait_error *err);
PLAIT_MUST_CHECK plait_status titan_read_python(const char *text, size_t length, const char *name,
                                                titan_pairs *out, plait_error *err);

/** The state of an import of torchtitan's config. */
typedef struct titan_reading {
    const titan_pairs *pairs;
    const char *name;
    plans_entry *out;
    plans_entry notes; /* plan that the notes alone give */
    text_builder *warnings;
    plait_status status; /* status of the first failure, which fills *err; later calls do nothing */
    plait_error *err;
    bool toml;
    bool python;
    bool complete; /* true if torchtitan's defaults apply to keys that are not given */
} titan_reading;

/** Return the text of a key, and the text without quotes; NULL: not given. */
const char *titan_find(const titan_reading *in, const char *key);
const char *titan_word_of(const titan_reading *in, const char *key);

/**
 * Returns an integer of at least -1, or a product of such integers; 0: the key is not given, or
 * in->status is a failure.
 */
int64_t titan_number_of(titan_reading *in, const char *key, int64_t max);

/** Set a key of the plan and mark it as known; an invalid value sets in->status. */
void titan_set(titan_reading *in, const char *key, const char *value);
void titan_set_number(titan_reading *in, const char *key, int64_t value);
bool titan_is_known(const titan_reading *in, const char *key);

/**
 * Set schedule, chunks and split; the number of layers is that of in->out->model, if the model is
 * known.
 */
PLAIT_MUST_CHECK plait_status titan_take_pipeline(titan_reading *in, plait_error *err);
