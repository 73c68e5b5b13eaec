/* calls.h - public functions that can fail, valid arguments for them, and bad inputs */
#pragma once

#include <limits.h>
#include <math.h>

#include "plait/plait.h"
#include "plait/lowlevel/schedule.h"
#include "plait/lowlevel/simulate.h"

/** Arguments of all calls; its pointers point into itself. */
typedef struct call_world {
    plait_arena *arena; /* owns the arguments; calls receive `scratch` */
    plait_arena *scratch;
    const char *text; /* path, name or document that a call parses */
    plait_layer kind[2];
    unsigned char layer_kind[PLAIT_MAX_LAYERS];
    plait_model model;
    plait_accelerator gpu;
    plait_engine engine;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_degrees degrees;
    plait_chunk chunk[2];
    plait_stage stage[2];
    plait_plan plan;
    plait_cost cost;
    plait_search_options options;
    plait_capacity_options ask;
    plait_reliability fleet;
    plait_operators_options operators;
    plait_launch launch;
    plait_launch_target target;
    plait_pipeline_shape shape;
    plait_action sim_action;
    plait_rank_actions sim_actions;
    plait_sim_stage sim_stage;
    plait_sim sim;
    plait_error_parts parts;
    plait_regime regime;
    plait_evidence evidence;
    plait_run run;
    const plait_model *request_model;
    plait_serve_request request;
    plait_serve_options question;
    plait_serve_plan deployment;
    plait_fleet_options fleet_ask;
    plait_serve_launch serve_launch;
    plait_serve_target serve_target;
    int number; /* count argument of a call */
    plait_data_kind data_kind;
} call_world;

extern call_world call_world_now;

/** Make the world once; fails the test when it cannot. */
void call_world_make(void);

/** As it was made, with an empty scratch. */
void call_world_reset(void);

/** Parts of a call's arguments; a bad input changes one part. */
enum {
    OF_ARENA = 1 << 0,
    OF_TEXT = 1 << 1,
    OF_PROBLEM = 1 << 2,
    OF_MODEL = 1 << 3, /* of a problem too */
    OF_CLUSTER = 1 << 4,
    OF_DEGREES = 1 << 5,
    OF_PLAN = 1 << 6,
    OF_OPTIONS = 1 << 7,
    OF_SEARCH = 1 << 8, /* options that a search itself asks for */
    OF_ASK = 1 << 9,
    OF_FLEET = 1 << 10,
    OF_OPERATORS = 1 << 11,
    OF_LAUNCH = 1 << 12,
    OF_SHAPE = 1 << 13,
    OF_REGIME = 1 << 14,
    OF_QUESTION = 1 << 15,
    OF_DEPLOYMENT = 1 << 16,
    OF_FLEET_ASK = 1 << 17,
    OF_SERVE_LAUNCH = 1 << 18,
    OF_NUMBER = 1 << 19,
    OF_DATA_KIND = 1 << 20,
    OF_GPUS = 1 << 21,
    OF_SIM = 1 << 22,
    OF_PARTS = 1 << 23,
    OF_REQUEST = 1 << 24
};

typedef struct api_call {
    const char *name;
    plait_status (*call)(call_world *w, plait_error *err);
    unsigned takes;
} api_call;

extern const api_call api_calls[];
extern const size_t api_calls_count;

typedef struct bad_input {
    const char *name;
    unsigned of;
    void (*apply)(call_world *w);
    plait_status status; /* expected result of the call */
} bad_input;

extern const bad_input bad_inputs[];
extern const size_t bad_inputs_count;
