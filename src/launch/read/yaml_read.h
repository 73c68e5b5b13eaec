/*
 * yaml_read.h - the leaves of a YAML file, for the part of YAML that training configs use
 *
 * The reader accepts block mappings, block lists, and lists in brackets. It rejects anchors and
 * tags, which no config that plait reads needs. It skips text of several lines (`|`, `>`), whose key
 * has no value, and all but the first line of a mapping in a block list. It keeps a nested list and
 * a mapping in braces as text: `[1, 30, 0]`, `{lr: 1}`. A list in brackets and a reference `${...}` may continue
 * on the next lines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

/** A key and its value. */
typedef struct yaml_leaf {
    const char *path; /* keys from the root: "train.system.hetero.enable_hetero" */
    const char *key;  /* last key of the path */
    int line;
    bool is_list;
    int values; /* number of values; 0: null, or an empty list */
    const char *const *value;
    bool read; /* true after a reader has looked the path up */
} yaml_leaf;

typedef struct yaml_file {
    const char *name; /* name for messages */
    int count;
    yaml_leaf *leaf;      /* leaves in the order of the file */
    const char *repeated; /* path of an argument that the file gives twice; NULL: none */
} yaml_file;

/**
 * Read a file. *out lives in `arena`.
 *
 * Fails (SYNTAX) on text outside the part of YAML above, on a repeated key, and on more than 4096
 * keys; `where` is NAME:LINE. Arguments (under ARGS and MODEL_ARGS) may be repeated, as in the
 * functional tests of Megatron-LM: PyYAML takes the last value.
 */
PLAIT_MUST_CHECK plait_status yaml_read(const char *text, size_t length, const char *name,
                                        plait_arena *arena, yaml_file *out, plait_error *err);

/** Returns the leaf of a path and marks it as read; NULL: there is none. */
const yaml_leaf *yaml_find(const yaml_file *file, const char *path);

/** Fail (RANGE) with a message about a leaf: "expected EXPECTED, found ITS VALUE". */
PLAIT_MUST_CHECK plait_status yaml_expected(const yaml_file *file, const yaml_leaf *leaf,
                                            const char *expected, plait_error *err);
