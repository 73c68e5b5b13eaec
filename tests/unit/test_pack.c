/* test_pack.c - layers into a stage's memory: by hand, against every choice, and against the MILP */
#include <string.h>

#include "support/milp.h"
#include "support/must.h"
#include "search/pipeline/pack.h"
#include "support/random_below.h"

static plait_arena *arena;

static pack_result packed(const pack_problem *problem)
{
    pack_result result;
    plait_error err;

    must(pack_solve(problem, arena, &result, &err), &err);
    return result;
}

// ---- by hand -------------------------------------------------------------------------------

/* Keep 10 in 1 s, or 2 in 1.5 s while 3 live: of four layers with room for 27, two keep (3 + 2 10 + 2 2). */
static const pack_option keep_or_not[] = {{1.0, 10.0, 0.0}, {1.5, 2.0, 3.0}};
static const int four[] = {4};

static void test_pack__as_many_keep_as_fit(void **state)
{
    (void)state;
    const pack_problem problem = {1, four, 2, keep_or_not, 27.0, 0.0, HUGE_VAL, 0};
    const pack_result result = packed(&problem);

    assert_true(result.fits && result.proven);
    assert_int_equal(result.count[0], 2);
    assert_int_equal(result.count[1], 2);
    assert_near(result.time_s, 5.0, 1e-12);
    assert_true(result.bound_s == result.time_s);
}

/* What lives already hides what is rebuilt: with 3 there in any case, room for 40 keeps all but one. */
static void test_pack__what_lives_counts_once(void **state)
{
    (void)state;
    pack_problem problem = {1, four, 2, keep_or_not, 40.0, 0.0, HUGE_VAL, 0};

    assert_int_equal(packed(&problem).count[0], 4);
    problem.live_bytes = 3.0;
    assert_int_equal(packed(&problem).count[0], 3);
}

/* Four at 2, and 3 live: 11. */
static void test_pack__says_what_the_leanest_needs(void **state)
{
    (void)state;
    pack_problem problem = {1, four, 2, keep_or_not, 10.9, 0.0, HUGE_VAL, 0};
    const pack_result none = packed(&problem);

    assert_false(none.fits);
    assert_near(none.need_bytes, 11.0, 1e-12);
    problem.room_bytes = none.need_bytes;
    assert_true(packed(&problem).fits);
}

static void test_pack__without_layers_only_ends_need_room(void **state)
{
    (void)state;
    pack_problem problem = {.room_bytes = 1.0, .live_bytes = 2.0, .below_s = HUGE_VAL};

    assert_false(packed(&problem).fits);
    problem.room_bytes = 2.0;
    assert_true(packed(&problem).fits);
    assert_true(packed(&problem).time_s == 0.0);
}

// ---- small problems ------------------------------------------------------------------------

enum { GROUPS = 3, OPTIONS = 4, LAYERS = 5 };

typedef struct small_pack {
    int layers[GROUPS];
    pack_option option[GROUPS * OPTIONS];
    pack_problem problem;
} small_pack;

static uint64_t random_seed = 21;

static void small_init(small_pack *s)
{
    const int groups = 1 + random_below(GROUPS), options = 1 + random_below(OPTIONS);
    double most = 0.0;

    for (int g = 0; g < groups; g++) {
        double largest = 0.0;
        s->layers[g] = 1 + random_below(LAYERS);
        for (int c = 0; c < options; c++) {
            pack_option *const o = &s->option[g * options + c];
            *o = (pack_option){1.0 + random_below(40) / 10.0, random_below(50),
                               random_below(3) == 0 ? 0.0 : random_below(30)};
            largest = fmax(largest, o->saved_bytes);
        }
        most += s->layers[g] * largest;
    }
    s->problem = (pack_problem){groups,
                                s->layers,
                                options,
                                s->option,
                                floor(most * random_below(12) / 10.0) + 0.5,
                                random_below(10),
                                HUGE_VAL,
                                0};
}

/* Every way to deal the layers of group g from option c on; the least time that fits. */
static double every_way(const pack_problem *p, int g, int c, int left, double bytes, double live,
                        double time_s)
{
    double best = HUGE_VAL;

    if (g == p->groups)
        return bytes + live <= p->room_bytes ? time_s : HUGE_VAL;
    const pack_option *const o = &p->option[g * p->options + c];
    const bool last = c == p->options - 1;
    for (int n = last ? left : 0; n <= left; n++) {
        const double here = n > 0 ? fmax(live, o->live_bytes) : live;
        const double rest =
            last ? every_way(p, g + 1, 0, g + 1 < p->groups ? p->layers[g + 1] : 0,
                             bytes + n * o->saved_bytes, here, time_s + n * o->time_s)
                 : every_way(p, g, c + 1, left - n, bytes + n * o->saved_bytes, here,
                             time_s + n * o->time_s);
        best = fmin(best, rest);
    }
    return best;
}

static void test_pack__as_every_way_of_2000_problems(void **state)
{
    (void)state;
    int misfits = 0;

    for (int turn = 0; turn < 2000; turn++) {
        const plait_arena_mark mark = plait_arena_save(arena);
        small_pack s;
        small_init(&s);
        const double best =
            every_way(&s.problem, 0, 0, s.layers[0], 0.0, s.problem.live_bytes, 0.0);
        const pack_result result = packed(&s.problem);

        misfits += isinf(best);
        assert_true(result.fits == !isinf(best) && result.proven);
        if (result.fits)
            assert_near(result.time_s, best, 1e-9);
        plait_arena_rewind(arena, mark);
    }
    assert_true(misfits > 100 && misfits < 1500);
}

/* Asked for less than the best, nothing is found; for a little more, the best. */
static void test_pack__beats_what_is_known_or_says_so(void **state)
{
    (void)state;
    pack_problem problem = {1, four, 2, keep_or_not, 27.0, 0.0, 5.0, 0};

    assert_false(packed(&problem).fits);
    problem.below_s = 5.1;
    assert_near(packed(&problem).time_s, 5.0, 1e-12);
}

static void test_pack__more_room_is_never_slower(void **state)
{
    (void)state;
    for (int turn = 0; turn < 500; turn++) {
        const plait_arena_mark mark = plait_arena_save(arena);
        small_pack s;
        small_init(&s);
        const double before = packed(&s.problem).time_s;
        s.problem.room_bytes += random_below(20);
        assert_true(packed(&s.problem).time_s <= before + 1e-9);
        plait_arena_rewind(arena, mark);
    }
}

static void test_pack__a_limit_leaves_a_bound(void **state)
{
    (void)state;
    for (int turn = 0; turn < 500; turn++) {
        const plait_arena_mark mark = plait_arena_save(arena);
        small_pack s;
        small_init(&s);
        const pack_result proven = packed(&s.problem);
        s.problem.nodes = 2;
        const pack_result stopped = packed(&s.problem);
        assert_true(stopped.bound_s <= proven.time_s + 1e-9);
        assert_true(stopped.time_s >= proven.time_s - 1e-9);
        plait_arena_rewind(arena, mark);
    }
}

// ---- the second solver ---------------------------------------------------------------------

/* S.21 with a column for what lives and one for each option: is it used? */
static double by_milp(const pack_problem *p)
{
    enum { MOST = GROUPS * OPTIONS };
    milp_column column[2 * MOST + 1];
    milp_term sum[GROUPS][OPTIONS], room[MOST + 1], used[MOST][2], lives[MOST][2];
    milp_row row[GROUPS + 1 + 2 * MOST];
    const int all = p->groups * p->options;
    int rows = 0;

    column[2 * all] = (milp_column){p->live_bytes, HUGE_VAL, 0.0, false};
    room[all] = (milp_term){2 * all, 1.0};
    for (int i = 0; i < all; i++) {
        const int g = i / p->options;
        column[i] = (milp_column){0, p->layers[g], p->option[i].time_s, true};
        column[all + i] = (milp_column){0, 1, 0.0, true};
        sum[g][i % p->options] = (milp_term){i, 1.0};
        room[i] = (milp_term){i, p->option[i].saved_bytes};
        used[i][0] = (milp_term){i, 1.0};
        used[i][1] = (milp_term){all + i, -(double)p->layers[g]};
        row[rows++] = (milp_row){-HUGE_VAL, 0.0, 2, used[i]};
        lives[i][0] = (milp_term){2 * all, 1.0};
        lives[i][1] = (milp_term){all + i, -p->option[i].live_bytes};
        row[rows++] = (milp_row){0.0, HUGE_VAL, 2, lives[i]};
    }
    for (int g = 0; g < p->groups; g++)
        row[rows++] = (milp_row){p->layers[g], p->layers[g], p->options, sum[g]};
    row[rows++] = (milp_row){-HUGE_VAL, p->room_bytes, all + 1, room};
    return milp_solve(&(milp_problem){2 * all + 1, column, rows, row}, arena).objective;
}

static void test_pack__as_the_milp_of_500_problems(void **state)
{
    (void)state;
    for (int turn = 0; turn < 500; turn++) {
        const plait_arena_mark mark = plait_arena_save(arena);
        small_pack s;
        small_init(&s);
        const double expected = by_milp(&s.problem);
        assert_near(packed(&s.problem).time_s, expected, 1e-6);
        plait_arena_rewind(arena, mark);
    }
}

static int make_arena(void **state)
{
    (void)state;
    return (arena = plait_arena_new()) == NULL;
}

static int free_arena(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack__as_many_keep_as_fit),
        cmocka_unit_test(test_pack__what_lives_counts_once),
        cmocka_unit_test(test_pack__says_what_the_leanest_needs),
        cmocka_unit_test(test_pack__without_layers_only_ends_need_room),
        cmocka_unit_test(test_pack__as_every_way_of_2000_problems),
        cmocka_unit_test(test_pack__beats_what_is_known_or_says_so),
        cmocka_unit_test(test_pack__more_room_is_never_slower),
        cmocka_unit_test(test_pack__a_limit_leaves_a_bound),
        cmocka_unit_test(test_pack__as_the_milp_of_500_problems),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
