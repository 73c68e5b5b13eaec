/* calibrate_file.h - read an accelerator's file and write fitted blocks into it */
#pragma once

#include "calibrate/calibrate.h"
#include "io/json/json_tree.h"

/** Reads the file of an accelerator, given by name or path; the caller frees the document. */
PLAIT_MUST_CHECK plait_status calibrate_file_read(const char *name, plait_arena *arena,
                                                  json_document *out, plait_error *err);

/** Parses the file into an accelerator. */
PLAIT_MUST_CHECK plait_status calibrate_file_parse(const json_tree *tree, plait_arena *arena,
                                                   plait_accelerator *out, plait_error *err);

/** Parses the file without the numbers of one block: *out has the family's defaults for them. */
PLAIT_MUST_CHECK plait_status calibrate_file_without(const json_tree *tree,
                                                     const calibrate_block *block,
                                                     plait_arena *arena, plait_accelerator *out,
                                                     plait_error *err);

/** Replaces a block's numbers and their source in the file. */
PLAIT_MUST_CHECK plait_status calibrate_file_apply(json_tree *tree, const calibrate_block *block,
                                                   plait_arena *arena, plait_error *err);
