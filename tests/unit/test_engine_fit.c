/* test_engine_fit.c - a profile of a serving engine that was written is read back the same */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/assert_near.h"
#include "calibrate/engine_fit.h"

static void test_engine_write__keeps_the_defaults_of_every_profile(void **state)
{
    plait_arena *const arena = plait_arena_new();
    plait_error err;
    plait_engine *profile, back;
    size_t profiles;

    (void)state;
    assert_non_null(arena);
    assert_int_equal(plait_engine_list(arena, &profile, &profiles, &err), PLAIT_OK);
    assert_true(profiles > 0);
    for (size_t p = 0; p < profiles; p++) {
        const plait_engine *const e = &profile[p];
        char path[] = "/tmp/test_engine_fit.XXXXXX";
        const char *text;
        size_t length;
        const int descriptor = mkstemp(path);

        assert_true(descriptor >= 0);
        assert_int_equal(engine_write(e, arena, &text, &length, &err), PLAIT_OK);
        assert_int_equal(write(descriptor, text, length), length);
        close(descriptor);
        if (plait_engine_load(path, arena, &back, &err) != PLAIT_OK)
            fail_msg("%s: %s: %s", e->name, err.where, err.message);
        unlink(path);
        assert_near(back.chunk_tokens, e->chunk_tokens, 1e-12);
        assert_near(back.max_sequences, e->max_sequences, 1e-12);
        assert_near(back.memory_fraction, e->memory_fraction, 1e-12);
        assert_near(back.graph_bytes, e->graph_bytes, 1.0);
        assert_near(back.block_tokens, e->block_tokens, 1e-12);
        assert_near(back.logit_bytes, e->logit_bytes, 1e-12);
        assert_near(back.outside_bytes, e->outside_bytes, 1.0);
        assert_near(back.group_bytes, e->group_bytes, 1.0);
        assert_int_equal(back.prefill_first, e->prefill_first);
        assert_int_equal(back.host_overlap, e->host_overlap);
    }
    plait_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engine_write__keeps_the_defaults_of_every_profile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
