/*
 * maxtext.h - MaxText as a target: the YAML of a run, whose keys are those of its base.yml
 *
 * As in AI-Hypercomputer/maxtext e591f30 (2026-08-22): src/maxtext/configs/pyconfig.py lays a file
 * over the one that its base_config names, and configs/types.py refuses keys that it does not know.
 * Each axis of the mesh is a product: ici_* inside a slice, dcn_* between slices.
 */
#pragma once

#include "launch/target.h"
#include "base/text.h"
#include "launch/read/yaml_read.h"

/** The axes of the mesh that a plan sets; the others are 1. */
#define MAXTEXT_AXES(X)                                                                            \
    X(data) /* replicas of whole shards */                                                         \
    X(fsdp)                                                                                        \
    X(pipeline)                                                                                    \
    X(context)                                                                                     \
    X(tensor)                                                                                      \
    X(expert)

typedef struct maxtext_axes {
#define X(axis) int axis;
    MAXTEXT_AXES(X)
#undef X
} maxtext_axes;

/** Both parts of each axis. */
typedef struct maxtext_mesh {
    maxtext_axes ici, dcn;
} maxtext_mesh;

/** The mesh of a plan that follows the rules (src/rules/rules_maxtext.c). */
maxtext_mesh maxtext_mesh_of(const plait_problem *problem, const plait_degrees *degrees);

int maxtext_axes_product(const maxtext_axes *axes);

/** Append the architecture, key by key. */
void maxtext_append_model(const plait_model *model, text_builder *out);

/**
 * A number of a file, or that of base.yml; fails (RANGE) on another kind of value or outside the
 * bounds.
 */
PLAIT_MUST_CHECK plait_status maxtext_int(const yaml_file *yaml, const char *key, int least,
                                          int most, int otherwise, int *out, plait_error *err);
PLAIT_MUST_CHECK plait_status maxtext_number(const yaml_file *yaml, const char *key,
                                             double otherwise, double *out, plait_error *err);
const char *maxtext_word(const yaml_file *yaml, const char *key, const char *otherwise);
bool maxtext_is_on(const yaml_file *yaml, const char *key);

/** A number in YAML 1.1, where one with an exponent needs a point: 1.0e-05. Returns `out`. */
const char *maxtext_real(double number, char out[TEXT_NUMBER_SIZE]);

/**
 * The model that a file builds.
 *
 * @param name  name of the model, which keeps the pointer
 * @param out   lives in `arena`; NULL if plait has no layers like those of its block
 */
PLAIT_MUST_CHECK plait_status maxtext_read_model(const yaml_file *yaml, const char *name,
                                                 plait_arena *arena, const plait_model **out,
                                                 plait_error *err);
