/* points.c - a list of measured times that grows, and what kind of file they come from */
#include "points.h"

#include <string.h>

#include "file.h"
#include "nccl_log.h"
#include "tables.h"

void points_init(point_list *list, plait_arena *arena)
{
    *list = (point_list){.arena = arena};
}

plait_status points_add(point_list *list, const point *added, plait_error *err)
{
    if (list->count == list->room) {
        const size_t room = list->room > 0 ? 2 * list->room : 256;
        point *grown = plait_arena_alloc(list->arena, room, sizeof *grown);

        if (grown == NULL)
            return plait_fail_nomem(err);
        if (list->count > 0)
            memcpy(grown, list->point, list->count * sizeof *grown);
        list->point = grown;
        list->room = room;
    }
    list->point[list->count++] = *added;
    return PLAIT_OK;
}

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
