/* calibrate_file.h - fitted blocks in an accelerator's own file */
#pragma once

#include "calibrate/calibrate.h"
#include "calibrate/json_tree.h"

/** The file of an accelerator, by name or path. */
PLAIT_MUST_CHECK plait_status calibrate_file_read(const char *name, plait_arena *arena,
                                                  json_tree **out, plait_error *err);

/** What the file says. */
PLAIT_MUST_CHECK plait_status calibrate_file_parse(const json_tree *tree, plait_arena *arena,
                                                   plait_accelerator *out, plait_error *err);

/** What it would say without the numbers of a block: the family's defaults in their place. */
PLAIT_MUST_CHECK plait_status calibrate_file_without(const json_tree *tree,
                                                     const calibrate_block *block,
                                                     plait_arena *arena, plait_accelerator *out,
                                                     plait_error *err);

/** Puts a block's numbers and where they are from in place of those that the file has. */
PLAIT_MUST_CHECK plait_status calibrate_file_apply(json_tree *tree, const calibrate_block *block,
                                                   plait_arena *arena, plait_error *err);
