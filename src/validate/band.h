/*
 * band.h - helpers for evidence; rows of one source and software are adjacent in the file: a group
 */
#pragma once

#include "plait/validate.h"

/** Returns the end of the group that begins at a row. */
size_t band_group_end(const plait_evidence *evidence, size_t begin);

/**
 * Returns whether a row is used for the errors of plans of one job in a regime: it must belong to a
 * sweep, and for an uncalibrated regime it must be uncalibrated as well.
 */
bool band_judges(const plait_evidence_row *row, const plait_regime *regime);

/** Fails (RANGE) on a regime that names no runtime. */
PLAIT_MUST_CHECK plait_status band_check_regime(const plait_regime *regime, plait_error *err);

/**
 * Returns log(measured / predicted) of such a row: with the shipped profile for a calibrated
 * regime, else with the profile fitted without the row's source.
 */
double band_error_of(const plait_evidence_row *row, const plait_regime *regime);
