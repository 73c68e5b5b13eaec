/* calibrate_file.h - fitted blocks in an accelerator's own file */
#pragma once

#include "calibrate/calibrate.h"
#include "io/json/json_tree.h"

/** Reads the file of an accelerator, given by name or path; the caller frees the document. */
PLAIT_MUST_CHECK plait_status calibrate_file_read(const char *name, plait_arena *arena,
                                                  json_document *out, plait_error *err);

/** The accelerator that the file describes. */
PLAIT_MUST_CHECK plait_status calibrate_file_parse(const json_tree *tree, plait_arena *arena,
                                                   plait_accelerator *out, plait_error *err);

/** The accelerator without the numbers of a block, which are then the family's defaults. */
PLAIT_MUST_CHECK plait_status calibrate_file_without(const json_tree *tree,
                                                     const calibrate_block *block,
                                                     plait_arena *arena, plait_accelerator *out,
                                                     plait_error *err);

/** Writes a block's numbers and their source over those of the file. */
PLAIT_MUST_CHECK plait_status calibrate_file_apply(json_tree *tree, const calibrate_block *block,
                                                   plait_arena *arena, plait_error *err);
