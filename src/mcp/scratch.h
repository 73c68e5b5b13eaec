/*
 * scratch.h - the folder of the server with the files of its calls
 *
 *     ROOT/3/answer.json    answer of call 3
 *     ROOT/3/model.json     model that was given inline
 *
 * ROOT is a new folder in $TMPDIR, which is made when it is first needed.
 */
#pragma once

#include "base/text.h"
#include "plait/arena.h"
#include "plait/error.h"

enum { SCRATCH_PATH_SIZE = 512 };

typedef struct scratch {
    char root[SCRATCH_PATH_SIZE]; /* "": not made yet */
} scratch;

/** Make the folder of a call. */
PLAIT_MUST_CHECK plait_status scratch_make(scratch *of, int call, char path[SCRATCH_PATH_SIZE],
                                           plait_error *err);

/** Remove a folder and everything in it. */
void scratch_remove(const char *path);

/**
 * Append a text in which the paths of the folders are replaced: ROOT/3/answer.json by
 * plait://answers/3, and ROOT/3/model.json by model.json.
 */
void scratch_append_hidden(const scratch *of, text_builder *out, const char *text, size_t length);
