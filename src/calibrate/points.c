/* points.c - a growing list of measured times */
#include "calibrate/points.h"

#include <string.h>

void points_init(point_list *list, plait_arena *arena)
{
    *list = (point_list){.arena = arena};
}

plait_status points_add(point_list *list, const point *added, plait_error *err)
{
    if (list->count == list->room) {
        const size_t room = list->room > 0 ? 2 * list->room : 256;
        point *grown = plait_arena_alloc(list->arena, room, sizeof *grown);

        PLAIT_TRY(plait_check_allocated(grown, err));
        if (list->count > 0)
            memcpy(grown, list->point, list->count * sizeof *grown);
        list->point = grown;
        list->room = room;
    }
    list->point[list->count++] = *added;
    return PLAIT_OK;
}
