/* plan_reader.h - a plan on its way in, out of flags */
#pragma once

#include "launch/read/flags.h"
#include "io/plans/plans.h"
#include "base/text.h"

/** A plan on its way in. */
typedef struct plan_reader {
    const launch_flags *flags;
    plans_entry *out;
    text_builder *warnings;
} plan_reader;

/** A key is now known. */
void import_give(plan_reader *in, const char *key);

/** Keys that are still open, of what no file of the software speaks: as software has them that says nothing. */
void import_give_plain(plans_entry *out);

/** A sentence for the user, on a line of its own. */
void import_warn(plan_reader *in, const char *sentence);
