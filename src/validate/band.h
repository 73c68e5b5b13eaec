/* band.h - groups of evidence: rows of one source and software stand together in the file */
#pragma once

#include "plait/validate.h"

/** Where the group that begins at a row ends. */
size_t band_group_end(const plait_evidence *evidence, size_t begin);

/**
 * Does a row of a sweep say how plans of one job err here? A profile that is fitted is judged as it is
 * shipped; else, as any software is predicted.
 */
bool band_judges(const plait_evidence_row *row, const plait_regime *regime);

/** Fails (RANGE) on a regime that names no runtime. */
PLAIT_MUST_CHECK plait_status band_check_regime(const plait_regime *regime, plait_error *err);

/** log(measured / predicted) of such a row. */
double band_error_of(const plait_evidence_row *row, const plait_regime *regime);
