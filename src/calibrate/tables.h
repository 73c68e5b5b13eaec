/*
 * tables.h - read tables of measured kernels, recognised by their columns
 *
 * clusters/measurements/README.md describes each table. The readers ignore other columns, and skip
 * rows that no constant is fitted to (another kernel, skewed experts).
 */
#pragma once

#include "io/csv/csv_table.h"
#include "calibrate/points.h"

/**
 * Appends the points of a table; none for a recognised table that no constant is fitted to. Fails
 * (SCHEMA) on a table with unknown columns.
 */
PLAIT_MUST_CHECK plait_status tables_points(const csv_table *table, point_list *list,
                                            plait_error *err);
