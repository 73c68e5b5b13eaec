/* yaml_read.h - the leaves of a YAML file, as far as configs of training have them
 *
 * Block mappings, block lists of scalars and lists in brackets on one line. What else YAML has
 * (anchors, tags, mappings in braces or in lists) is refused, since no config that plait reads needs
 * it. Text of several lines (`|`, `>`) is skipped: its key has no value. A list in a list stays the
 * text that it is: `[1, 30, 0]`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

/** A key and its value. */
typedef struct yaml_leaf {
    const char *path; /* "train.system.hetero.enable_hetero" */
    const char *key;  /* the end of it */
    int line;
    bool is_list;
    int values; /* 0: null, or an empty list */
    const char *const *value;
    bool read; /* a reader has looked the path up */
} yaml_leaf;

typedef struct yaml_file {
    const char *name; /* for messages */
    int count;
    yaml_leaf *leaf;      /* in the order of the file */
    const char *repeated; /* a path of arguments that the file has twice; NULL: it has none */
} yaml_file;

/**
 * Read a file. *out lives in `arena`.
 *
 * Fails (SYNTAX) on what is no YAML or none of the part above, on a key that stands twice, and on more
 * than 4096 keys; `where` is NAME:LINE. A key may stand twice among arguments (ARGS and MODEL_ARGS), as in the
 * functional tests of Megatron-LM: PyYAML takes the last.
 */
PLAIT_MUST_CHECK plait_status yaml_read(const char *text, size_t length, const char *name,
                                        plait_arena *arena, yaml_file *out, plait_error *err);

/** The leaf of a path; NULL: there is none. The leaf counts as read. */
const yaml_leaf *yaml_find(const yaml_file *file, const char *path);

/** Fails (RANGE) at a leaf: "expected EXPECTED, found ITS VALUE". */
PLAIT_MUST_CHECK plait_status yaml_expected(const yaml_file *file, const yaml_leaf *leaf,
                                            const char *expected, plait_error *err);
