/* manual.h - the reference of the command line, as a Markdown page and as a man page
 *
 * Both pages are made of the same table of options that parsing, --help and completion read. The hidden
 * commands `plait --manual markdown` and `plait --manual man` print them; `./dev docs` writes them to
 * docs/reference/cli.md and docs/plait.1, and a test compares the files with the table.
 */
#pragma once

#include "cli/command.h"

/** Print the manual of these commands. @param form  "markdown" or "man"; NULL is an error */
PLAIT_MUST_CHECK plait_status manual_print(const command *const *commands, int count,
                                           const char *form, plait_arena *arena, FILE *out,
                                           plait_error *err);
