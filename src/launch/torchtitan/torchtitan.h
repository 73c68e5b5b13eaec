/* torchtitan.h - one plan as torchtitan's settings, in three spellings
 *
 * titan_settings_of makes the list `section.key = value` that recipe.py, args.sh and config.toml
 * all read; titan_flavour_of finds the client's own model that a plan's model is.
 */
#pragma once

#include "launch/call.h"
#include "launch/target.h"
#include "launch/write/training.h"
#include "base/text.h"
#include "rules/torchtitan_family.h"

/* ---- models ---- */

/** A model that the client has under a name of its own. */
typedef struct titan_flavour {
    titan_family family;
    const char *name;      /* "8B" */
    const char *config;    /* its configuration function, "llama3_8b"; NULL: it has none */
    const char *quantized; /* the one in fp8; NULL: none */
    bool toml;             /* versions that read TOML had it */
    const char *model;     /* plait's name of it */
    int layers, hidden, vocab, heads, kv_heads, head_dim;
    int width; /* of dense layers; 0: none */
    int dense; /* layers before the first one with experts */
    int experts, topk, expert_width, shared_width, groups, group_topk;
    bool sigmoid; /* scores of the router, else softmax */
    bool raw;     /* weights of the chosen experts are not normalised */
    double scale; /* on them; 0: none */
    int q_rank, kv_rank, nope_dim, rope_dim, v_dim;
    bool tied;
    int positions; /* longest sequence */
    double theta;
    plait_rope_kind rope;
    double factor; /* of the positions' scaling */
} titan_flavour;

extern const titan_flavour titan_flavours[]; /* ended by one without a name */

/** Name of a family's module: "llama3". */
extern const char *const titan_module[TITAN_FAMILIES + 1];

/** The flavour with this model's sizes and positions; NULL: none. */
const titan_flavour *titan_flavour_of(const plait_model *model);

/** Whether layer i has experts. */
bool titan_layer_has_experts(const plait_model *model, int i);

/* ---- settings ---- */

/** The client's words for schedules; NULL: it has none. */
extern const char *const titan_schedule_name[PLAIT_SCHEDULES];

typedef enum titan_kind { TITAN_NUMBER, TITAN_SWITCH, TITAN_TEXT, TITAN_TEXTS } titan_kind;

typedef struct titan_setting {
    const char *section; /* "parallelism" */
    const char *key;
    titan_kind kind;
    int64_t number;   /* a switch: 0 or 1 */
    const char *text; /* TEXTS: words with commas between them */
} titan_setting;

enum { TITAN_MAX_SETTINGS = 40 };

typedef struct titan_settings {
    int count;
    titan_setting setting[TITAN_MAX_SETTINGS];
} titan_settings;

/** What the current version is told, without the split of the layers. */
void titan_settings_of(const plait_launch *launch, titan_settings *out);

/** The same for the versions that read TOML. */
void titan_toml_settings_of(const plait_launch *launch, titan_settings *out);

/** "none", "selective", "full": what activations the plan recomputes. */
const char *titan_checkpoint(const plait_launch *launch);

/** How many layers' worth embedding and head count as in the client's own split. */
typedef struct titan_weights {
    int first;
    int last;
    int layers_per_stage; /* 0: the client finds the number of stages by itself */
} titan_weights;

/**
 * The client's own split: `stages` share the layers, the embedding and the head as evenly as whole
 * ones allow, earlier ones take the remainder.
 *
 * @param counts  [stages]
 * @return        false when the client refuses it
 */
bool titan_deal(int layers, int stages, titan_weights weights, int *counts);

/** Weights with which the client's own split is the plan's; false: there are none. */
bool titan_weights_of(const plait_launch *launch, titan_weights *out);

/**
 * "varlen" (FlashAttention, the newest that the GPU has) or "flex" (FlexAttention), the only one
 * that takes context parallelism and the usual one of all families but gpt-oss.
 */
const char *titan_attention(const plait_launch *launch);

/** Does torch.compile run? The two profiles differ in what it fuses. */
bool titan_is_compiled(const plait_launch *launch);

/** Of a schedule as the client has it: the share of all steps that decay takes, the last rate's. */
double titan_decay_ratio(const launch_training *training);
double titan_end(const launch_training *training);

/* ---- the parts of the folder; NULL when out of memory ---- */

const char *titan_recipe(const plait_launch *launch, plait_arena *arena);

/** Also NULL when those versions cannot say the plan: ask titan_has_toml. */
const char *titan_toml(const plait_launch *launch, plait_arena *arena);
bool titan_has_toml(const plait_launch *launch);

/** Append the function `model` of recipe.py and what it needs: imports, then the rest. */
void titan_append_model_imports(const plait_launch *launch, text_builder *out);
void titan_append_model(const plait_launch *launch, text_builder *out);

/** scripts_append_head, and the notes. */
void titan_append_head(const plait_launch *launch, const char *first, const training_places *places,
                       text_builder *out);

/** Append a string of Python or TOML, in double quotes. */
void titan_append_quoted(const char *text, text_builder *out);

/** The value of a setting; `on` and `off` are how the language spells a switch. */
void titan_append_value(const titan_setting *setting, const char *on, const char *off,
                        text_builder *out);

/* ---- the way back ---- */

/** What a config says, whatever it is spelled in: "parallelism.tensor_parallel_degree", "8". */
typedef struct titan_pair {
    const char *key;
    const char *value;
    bool read; /* a reader has looked the key up */
} titan_pair;

typedef struct titan_pairs {
    plait_arena *arena;
    titan_pair *pair;
    int count;
    int capacity;
    const launch_call *call; /* of a script */
} titan_pairs;

/** The last value of a key; NULL: it is not there. Pairs of the key count as read. */
const char *titan_pairs_find(const titan_pairs *pairs, const char *key);

PLAIT_MUST_CHECK plait_status titan_read_shell(const char *text, size_t length, const char *name,
                                               titan_pairs *out, plait_error *err);
PLAIT_MUST_CHECK plait_status titan_read_toml(const char *text, size_t length, const char *name,
                                              titan_pairs *out, plait_error *err);
PLAIT_MUST_CHECK plait_status titan_read_python(const char *text, size_t length, const char *name,
                                                titan_pairs *out, plait_error *err);
