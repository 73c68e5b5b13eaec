/* theory.h - what the formulas of published vectors share: inputs, plain models, software of papers */
#pragma once

#include "io/json/json.h"
#include "support/must.h"
#include "plait/cost.h"
#include "plait/lowlevel/block.h"

/** One formula: the number that plait has for a vector's inputs. */
typedef struct theory_formula {
    const char *name; /* NULL ends a list */
    double (*value)(const json_cursor *inputs);
} theory_formula;

#define THEORY(function) .name = #function, .value = function

// each file's own
extern const theory_formula theory_memory[], theory_communication[], theory_collectives[],
    theory_schedules[], theory_models[], theory_limits[], theory_topology[], theory_reliability[],
    theory_serving[];

/** Of the vectors that are looked at. */
extern plait_arena *theory_arena;

typedef struct plain_model {
    plait_model model;
    plait_layer layer;
    unsigned char kinds[PLAIT_MAX_LAYERS];
} plain_model;

/* A question about one model; the cluster of H100 nodes only has to be large enough. */
typedef struct world {
    plain_model plain;
    plait_runtime runtime;
    plait_accelerator accelerator;
    plait_cluster cluster;
    plait_problem problem;
} world;

// theory.c: inputs of a vector, by key
double number(const json_cursor *inputs, const char *key);
double number_or(const json_cursor *inputs, const char *key, double otherwise);
int integer(const json_cursor *inputs, const char *key);
int integer_or(const json_cursor *inputs, const char *key, int otherwise);
bool flag_or(const json_cursor *inputs, const char *key, bool otherwise);
int word(const json_cursor *inputs, const char *key, const char *const *words);

// models of one kind of layer: GPT-2's, Llama's, and one of so many parameters; no embedding
void make_gpt(plain_model *out, int layers, int hidden, int heads);
void make_llama(plain_model *out, int layers, int hidden, int width, plait_attention a);
void make_opaque(plain_model *out, double params);

/** Everything can be expressed; nothing is kept but what Korthikanti et al. count. */
plait_runtime paper(void);

/** Of w->plain, on so many GPUs. */
void ask(world *w, int gpus, int seq, int gbs);
plait_cost price(const world *w, plait_degrees degrees);

/** So many replicas, all of them one shard. */
plait_degrees replicas(int dp, int zero);

/** One rank's layer with unfused attention, and a pass of whole sequences. */
plait_shard shard_alone(const plait_runtime *runtime);
plait_pass pass_over(plait_pass_kind kind, double sequences, double tokens);

// schedules.c: seconds of a pipeline, which other formulas add to
double pipe_time(const json_cursor *in);
