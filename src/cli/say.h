/* say.h - what commands say beside their reports, as plain text whatever it quotes
 *
 * Paths, names out of a script and words of a config are quoted here: no terminal is steered by them.
 */
#pragma once

#include "plait/error.h"

/** To standard output; of what is not plain only the ends of lines stay. */
void say(const char *fmt, ...) PLAIT_PRINTF(1, 2);

/** "plait: warning: ..." to standard error, on one line. */
void say_warning(const char *fmt, ...) PLAIT_PRINTF(1, 2);
