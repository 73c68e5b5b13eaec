/* band.h - groups of evidence: rows of one source and software stand together in the file */
#ifndef BAND_H
#define BAND_H

#include "plait/evidence.h"

/** Where the group that begins at a row ends. */
size_t band_group_end(const plait_evidence *evidence, size_t begin);

#endif
