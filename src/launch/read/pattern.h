/* pattern.h - reads lists with one number per layer in Megatron-LM's notation
 *
 *     ([0]*3+[1]*58)     three 0, then 58 times 1
 *     ([1]*3+[0])*12     48 entries
 *     [0,1,0,1]          as it stands
 */
#pragma once

#include <stdbool.h>

/**
 * Evaluate a pattern into `count` numbers of 0 or 1.
 *
 * @return false if the text is not a pattern, or does not have `count` entries
 */
bool pattern_read(const char *text, int count, unsigned char *out);
