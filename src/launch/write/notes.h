/* notes.h - what a config has no words for, in comments that plait reads back
 *
 *     # plait: gpus 64
 *     # plait: runtime torchtitan
 *     # plait: attention flash2
 *     # plait: model llama-3.1-70b
 *
 * Any key of a plan may stand there too, and seq, gbs and precision. What the config itself says
 * goes before: notes fill only what is still unknown.
 */
#pragma once

#include "plait/launch.h"

#include "base/text.h"

/** What a note begins with. */
#define NOTES_MARK "# plait: "

/** Append the four notes above. */
void notes_append(const plait_launch *launch, text_builder *out);

/** Append one note more; the value has no line breaks. */
void notes_append_one(const char *key, const char *value, text_builder *out);
