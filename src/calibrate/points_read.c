/* points_read.c - read measured times from a table or the output of nccl-tests */
#include "calibrate/points.h"

#include "io/file.h"
#include "calibrate/nccl_log.h"
#include "calibrate/tables.h"

plait_status points_parse(const char *text, size_t length, const char *name, plait_arena *arena,
                          point_list *list, plait_error *err)
{
    csv_table table;

    if (nccl_log_recognises(text, length))
        return nccl_log_points(text, length, name, list, err);
    PLAIT_TRY(csv_table_parse(text, length, name, arena, &table, err));
    return tables_points(&table, list, err);
}

plait_status points_read(const char *path, plait_arena *arena, point_list *list, plait_error *err)
{
    const char *text;
    size_t length;

    PLAIT_TRY(file_read_all(path, CSV_MAX_BYTES, arena, &text, &length, err));
    return points_parse(text, length, path, arena, list, err);
}
