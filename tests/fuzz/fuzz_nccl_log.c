/* fuzz_nccl_log.c - any bytes as measurements; what is accepted can be asked of the cost model */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "calibrate/points.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_point(const point *p)
{
    assert(p->kind == POINT_COLLECTIVE || p->kind == POINT_P2P);
    assert(p->block >= 0 && p->block < PLAIT_COLLECTIVES);
    assert(p->ranks >= 2 && p->nodes >= 1);
    assert(p->bytes >= 1.0 && isfinite(p->bytes));
    assert(p->s > 0.0 && isfinite(p->s));
    assert(p->measured != NULL && p->source != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"log.txt", "alltoall_perf.log"};
    const char *const text = (const char *)data;

    for (int n = 0; n < 2; n++) {
        plait_arena *arena = plait_arena_new();
        plait_error err = {PLAIT_OK, "", ""};
        point_list list;

        assert(arena != NULL);
        points_init(&list, arena);
        if (nccl_log_points(text, size, names[n], &list, &err) == PLAIT_OK)
            for (size_t i = 0; i < list.count; i++)
                check_point(&list.point[i]);
        else
            assert(err.status != PLAIT_OK && err.message[0] != '\0');
        points_init(&list, arena);
        if (points_parse(text, size, names[n], arena, &list, &err) == PLAIT_OK)
            for (size_t i = 0; i < list.count; i++)
                assert(list.point[i].s > 0.0);
        plait_arena_free(arena);
    }
    return 0;
}
