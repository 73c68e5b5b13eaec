/*
 * tables.h - tables of measured kernels, told apart by the columns that they have
 *
 * clusters/measurements/README.md describes each of them. Columns that no reader names are passed
 * over; rows that no constant is about (another kernel, skewed experts) as well.
 */
#pragma once

#include "io/csv/csv_table.h"
#include "calibrate/points.h"

/** Appends the points of a table. A table of a known kind that no constant needs has none. */
PLAIT_MUST_CHECK plait_status tables_points(const csv_table *table, point_list *list,
                                            plait_error *err);
