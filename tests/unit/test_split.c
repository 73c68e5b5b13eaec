/* test_split.c - layers to stages and chunks */
#include <string.h>

#include "support/assert_near.h"
#include "plait/plan.h"
#include "plan/split.h"

/* Attention of 4 h^2 = 4 M weights and an MLP of 8 M; a vocabulary of 12 M is as large as a layer. */
static const plait_layer dense = {.norms = 2,
                                  .mixer = PLAIT_MIXER_ATTENTION,
                                  .attention = {.heads = 10, .kv_heads = 10, .head_dim = 100},
                                  .ffn = PLAIT_FFN_MLP,
                                  .mlp = {.width = 4000}};
static const unsigned char all_dense[PLAIT_MAX_LAYERS] = {0};

static plait_model model_of(int layers, int vocab)
{
    return (plait_model){.name = "dense",
                         .hidden = 1000,
                         .vocab = vocab,
                         .layers = layers,
                         .kinds = 1,
                         .kind = &dense,
                         .layer_kind = all_dense};
}

static plait_degrees chunks_of(int pp, int vpp, plait_split split)
{
    plait_degrees d = plait_degrees_init();

    d.pp = pp;
    d.vpp = vpp;
    d.split = split;
    return d;
}

static plait_split kind(plait_split_kind k)
{
    return (plait_split){.kind = (unsigned char)k};
}

static void assert_dealt(int layers, plait_degrees d, const int *expected)
{
    const plait_model model = model_of(layers, 12000);
    int counts[PLAIT_MAX_LAYERS];

    assert_true(plait_split_layers(&model, &d, counts));
    for (int c = 0; c < d.pp * d.vpp; c++)
        assert_int_equal(counts[c], expected[c]);
}

#define ASSERT_DEALT(layers, degrees, ...) assert_dealt(layers, degrees, (int[]){__VA_ARGS__})

static void assert_not_dealt(int layers, plait_degrees d)
{
    const plait_model model = model_of(layers, 12000);
    int counts[PLAIT_MAX_LAYERS];

    assert_false(plait_split_layers(&model, &d, counts));
}

static void test_even__gives_each_chunk_the_same(void **state)
{
    (void)state;
    ASSERT_DEALT(12, chunks_of(1, 1, kind(PLAIT_SPLIT_EVEN)), 12);
    ASSERT_DEALT(12, chunks_of(4, 1, kind(PLAIT_SPLIT_EVEN)), 3, 3, 3, 3);
    ASSERT_DEALT(12, chunks_of(2, 3, kind(PLAIT_SPLIT_EVEN)), 2, 2, 2, 2, 2, 2);
    assert_not_dealt(12, chunks_of(5, 1, kind(PLAIT_SPLIT_EVEN)));
    assert_not_dealt(12, chunks_of(24, 1, kind(PLAIT_SPLIT_EVEN)));
}

/* The ends hold one layer less, which may leave them none. */
static void test_ends__count_as_layers(void **state)
{
    (void)state;
    ASSERT_DEALT(11, chunks_of(4, 1, kind(PLAIT_SPLIT_EMBEDDING)), 2, 3, 3, 3);
    ASSERT_DEALT(11, chunks_of(4, 1, kind(PLAIT_SPLIT_LOSS)), 3, 3, 3, 2);
    ASSERT_DEALT(10, chunks_of(4, 1, kind(PLAIT_SPLIT_BOTH)), 2, 3, 3, 2);
    ASSERT_DEALT(10, chunks_of(2, 2, kind(PLAIT_SPLIT_BOTH)), 2, 3, 3, 2);
    ASSERT_DEALT(2, chunks_of(4, 1, kind(PLAIT_SPLIT_BOTH)), 0, 1, 1, 0);
    assert_not_dealt(12, chunks_of(4, 1, kind(PLAIT_SPLIT_BOTH)));
    assert_not_dealt(12, chunks_of(4, 1, kind(PLAIT_SPLIT_LOSS)));
}

static void test_first_and_last__are_given_and_the_rest_is_even(void **state)
{
    (void)state;
    ASSERT_DEALT(
        12, chunks_of(4, 1, (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST, .first = 2, .last = 4}),
        2, 3, 3, 4);
    ASSERT_DEALT(
        12, chunks_of(2, 1, (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST, .first = 5, .last = 7}),
        5, 7);
    // chunk c sits on stage c % pp: the first stage holds chunks 0 and 3 of 6
    ASSERT_DEALT(
        16, chunks_of(3, 2, (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST, .first = 4, .last = 4}),
        2, 4, 2, 2, 4, 2);
    assert_not_dealt(
        12, chunks_of(
                4, 1,
                (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST, .first = 2, .last = 3})); // 7 in two
    assert_not_dealt(
        12, chunks_of(2, 1, (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST, .first = 5, .last = 6}));
    assert_not_dealt(
        12, chunks_of(1, 1, (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST, .first = 6, .last = 6}));
    assert_not_dealt(
        12, chunks_of(4, 2,
                      (plait_split){.kind = PLAIT_SPLIT_FIRST_LAST, .first = 3, .last = 3})); // odd
}

static void test_spread__gives_the_remainder_to_earlier_chunks(void **state)
{
    (void)state;
    ASSERT_DEALT(14, chunks_of(4, 1, kind(PLAIT_SPLIT_SPREAD)), 4, 4, 3, 3);
    ASSERT_DEALT(12, chunks_of(4, 1, kind(PLAIT_SPLIT_SPREAD)), 3, 3, 3, 3);
    ASSERT_DEALT(4, chunks_of(4, 1, kind(PLAIT_SPLIT_SPREAD)), 1, 1, 1, 1);
    assert_not_dealt(3, chunks_of(4, 1, kind(PLAIT_SPLIT_SPREAD)));
}

/*
 * 11 layers and a head of one layer's cost are 12. A stage closes behind the layer that takes it
 * past 3, 6 and 9: 4, 3 and 3 layers, one for the last with the head.
 */
static void test_cost__closes_a_stage_behind_its_share(void **state)
{
    (void)state;
    ASSERT_DEALT(11, chunks_of(4, 1, kind(PLAIT_SPLIT_COST)), 4, 3, 3, 1);
    ASSERT_DEALT(11, chunks_of(1, 1, kind(PLAIT_SPLIT_COST)), 11);
}

/* A head that outweighs 4 layers many times: they all end up in front, the head alone behind. */
static void test_cost__may_leave_the_last_stages_empty(void **state)
{
    const plait_model model = model_of(4, 480000);
    const plait_degrees d = chunks_of(4, 1, kind(PLAIT_SPLIT_COST));
    int counts[PLAIT_MAX_LAYERS];

    (void)state;
    assert_true(plait_split_layers(&model, &d, counts));
    assert_int_equal(counts[0] + counts[1] + counts[2] + counts[3], 4);
    assert_int_equal(counts[3], 0);
}

static void test_dealt_layers__are_all_of_them(void **state)
{
    (void)state;
    for (int layers = 1; layers <= 40; layers++)
        for (int pp = 1; pp <= 8; pp++)
            for (int vpp = 1; vpp <= 4; vpp++)
                for (int k = 0; k < PLAIT_SPLITS; k++) {
                    const plait_model model = model_of(layers, 12000);
                    plait_degrees d = chunks_of(pp, vpp, kind((plait_split_kind)k));
                    int counts[PLAIT_MAX_LAYERS];
                    int sum = 0;
                    if (k == PLAIT_SPLIT_FIRST_LAST && !split_first_last(&model, pp, vpp, &d.split))
                        continue;
                    const bool dealt = plait_split_layers(&model, &d, counts);
                    assert_true(dealt || k != PLAIT_SPLIT_FIRST_LAST); // what it offers is dealt
                    for (int c = 0; dealt && c < pp * vpp; c++) {
                        assert_true(counts[c] >= 0);
                        sum += counts[c];
                    }
                    if (dealt)
                        assert_int_equal(sum, layers);
                }
}

/* The head is as heavy as a layer, so 15 layers on 4 stages are 4 4 4 3. */
static void test_first_last__leaves_room_for_the_head(void **state)
{
    const plait_model model = model_of(15, 12000);
    plait_split split;

    (void)state;
    assert_true(split_first_last(&model, 4, 1, &split));
    assert_int_equal(split.first, 4);
    assert_int_equal(split.last, 3);
    assert_false(split_first_last(&model, 1, 1, &split));
}

/*
 * A module for a further token is a layer and a head, so that the last stage has 3 layers' worth
 * besides its own: 5 4 4 2 + 3 is the lightest of 15 layers on 4 stages, and 4 4 4 3 + 3 is not.
 */
static void test_first_last__leaves_room_for_further_tokens(void **state)
{
    plait_model model = model_of(15, 12000);
    plait_split split;

    (void)state;
    model.mtp_layers = 1;
    assert_true(split_first_last(&model, 4, 1, &split));
    assert_int_equal(split.first, 5);
    assert_int_equal(split.last, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_even__gives_each_chunk_the_same),
        cmocka_unit_test(test_ends__count_as_layers),
        cmocka_unit_test(test_first_and_last__are_given_and_the_rest_is_even),
        cmocka_unit_test(test_spread__gives_the_remainder_to_earlier_chunks),
        cmocka_unit_test(test_cost__closes_a_stage_behind_its_share),
        cmocka_unit_test(test_cost__may_leave_the_last_stages_empty),
        cmocka_unit_test(test_dealt_layers__are_all_of_them),
        cmocka_unit_test(test_first_last__leaves_room_for_the_head),
        cmocka_unit_test(test_first_last__leaves_room_for_further_tokens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
