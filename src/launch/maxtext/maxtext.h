/*
 * maxtext.h - MaxText as a target: the YAML of a run, whose keys are those of its base.yml
 *
 * As in AI-Hypercomputer/maxtext e591f30 (2026-08-22): src/maxtext/configs/pyconfig.py merges a
 * file into the one that its base_config names, and configs/types.py rejects keys that it does not
 * define. Each axis of the mesh is a product: ici_* inside a slice, dcn_* between slices.
 */
#pragma once

#include "launch/target.h"
#include "base/text.h"
#include "launch/read/yaml_read.h"

/** The axes of the mesh that a plan sets; the others are 1. */
#define MAXTEXT_AXES(X)                                                                            \
    X(data) /* replicas of a shard group */                                                        \
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

/** The part of each axis inside a slice (ici) and the part between slices (dcn). */
typedef struct maxtext_mesh {
    maxtext_axes ici, dcn;
} maxtext_mesh;

/** Returns the mesh of a plan that follows the rules in src/rules/rules_maxtext.c. */
maxtext_mesh maxtext_mesh_of(const plait_problem *problem, const plait_degrees *degrees);

int maxtext_axes_product(const maxtext_axes *axes);

/** Append the architecture, key by key. */
void maxtext_append_model(const plait_model *model, text_builder *out);

/**
 * Read an integer, or take `otherwise`, the value of base.yml, if the file lacks the key. Fails
 * (RANGE) on a value that is not an integer from `least` to `most`.
 */
PLAIT_MUST_CHECK plait_status maxtext_int(const yaml_file *yaml, const char *key, int least,
                                          int most, int otherwise, int *out, plait_error *err);
PLAIT_MUST_CHECK plait_status maxtext_number(const yaml_file *yaml, const char *key,
                                             double otherwise, double *out, plait_error *err);
const char *maxtext_word(const yaml_file *yaml, const char *key, const char *otherwise);
bool maxtext_is_on(const yaml_file *yaml, const char *key);

/**
 * Write a number for YAML 1.1, in which a number with an exponent needs a point: 1.0e-05. Returns
 * `out`.
 */
const char *maxtext_real(double number, char out[TEXT_NUMBER_SIZE]);

/**
 * Read the model that a file builds.
 *
 * @param name  name of the model, which keeps the pointer
 * @param out   lives in `arena`; NULL if plait cannot express the layers of the file's decoder
 *              block
 */
PLAIT_MUST_CHECK plait_status maxtext_read_model(const yaml_file *yaml, const char *name,
                                                 plait_arena *arena, const plait_model **out,
                                                 plait_error *err);
