/* test_model.c - plait's own model files: what they say, what they leave out, what is refused where */
#include "support/assert_near.h"

#include <stdio.h>
#include <string.h>

#include "plait/model.h"

typedef struct model_fixture {
    plait_arena *arena;
    plait_model model;
    plait_error err;
} model_fixture;

static int set_up(void **state)
{
    static model_fixture fixture;

    fixture = (model_fixture){.arena = plait_arena_new()};
    *state = &fixture;
    return fixture.arena == NULL;
}

static int tear_down(void **state)
{
    model_fixture *test = *state;

    plait_arena_fail_after(-1);
    plait_arena_free(test->arena);
    return 0;
}

static plait_status parse(model_fixture *test, const char *text)
{
    return plait_model_parse(text, strlen(text), "x.json", test->arena, &test->model, NULL,
                             &test->err);
}

static void assert_read(model_fixture *test, const char *text)
{
    if (parse(test, text) != PLAIT_OK)
        fail_msg("%s: %s", test->err.where, test->err.message);
}

/* A model of one kind of layer, and one of any kinds and runs. */
#define WHOLE(hidden, more)                                                                        \
    "{\"name\": \"m\", \"source\": \"s\", \"norm\": \"rms\", \"vocab\": 100, \"hidden\": " #hidden \
    ", " more "}"
#define KIND(parts)                                                                                \
    WHOLE(64, "\"kinds\": {\"only\": {" parts "}}, \"layers\": [{\"kind\": \"only\"}]")
#define LAYERS(runs)                                                                               \
    WHOLE(64, "\"kinds\": {\"a\": {\"mlp\": {\"width\": 8}}, \"b\": {\"mlp\": {\"width\": 9}}}, "  \
              "\"layers\": " runs)
#define MORE(keys)                                                                                 \
    WHOLE(                                                                                         \
        64, keys                                                                                   \
        ", \"kinds\": {\"only\": {\"mlp\": {\"width\": 8}}}, \"layers\": [{\"kind\": \"only\"}]")
#define MOE(keys) KIND("\"moe\": {\"experts\": 8, \"topk\": 2, \"width\": 32" keys "}")
#define MLA(keys)                                                                                  \
    KIND("\"mla\": {\"heads\": 4, \"kv_rank\": 32, \"nope_dim\": 16, \"rope_dim\": 8, \"v_dim\": " \
         "16" keys "}")

/* ---- what is read ---- */

static void test_attention__without_keys_has_one_key_head_a_head_and_rotary_positions(void **state)
{
    model_fixture *test = *state;

    assert_read(test, KIND("\"attention\": {\"heads\": 4}"));
    const plait_attention *attention = &test->model.kind[0].attention;
    assert_int_equal(attention->kv_heads, 4);
    assert_int_equal(attention->head_dim, 16);
    assert_true(attention->rotary);
    assert_false(attention->qkv_bias || attention->qk_norm || attention->full_mask);
    assert_int_equal(attention->window, 0);
}

static void test_mlp__is_gated_unless_said_otherwise(void **state)
{
    model_fixture *test = *state;

    assert_read(test, KIND("\"mlp\": {\"width\": 8}"));
    assert_true(test->model.kind[0].mlp.gated);
    assert_read(test, KIND("\"mlp\": {\"width\": 8, \"gated\": false, \"bias\": true}"));
    assert_false(test->model.kind[0].mlp.gated);
    assert_true(test->model.kind[0].mlp.bias);
}

static void test_mla__without_q_rank_projects_q_directly(void **state)
{
    model_fixture *test = *state;

    assert_read(test, MLA(""));
    assert_int_equal(test->model.kind[0].mla.q_rank, 0);
    assert_int_equal(test->model.kind[0].mla.index_heads, 0);
    assert_read(test, MLA(", \"index_heads\": 2, \"index_dim\": 16, \"index_topk\": 32"));
    assert_int_equal(test->model.kind[0].mla.index_topk, 32);
    assert_read(test, MLA(", \"index_topk\": 32")); // keys that an earlier indexer selected
    assert_int_equal(test->model.kind[0].mla.index_topk, 32);
}

static void test_attention__may_reuse_keys_and_have_narrow_values(void **state)
{
    model_fixture *test = *state;

    assert_read(test, KIND("\"attention\": {\"heads\": 4, \"v_dim\": 8, \"reused_kv\": true}"));
    assert_int_equal(test->model.kind[0].attention.v_dim, 8);
    assert_true(test->model.kind[0].attention.reused_kv);
}

/* dt_rank is hidden / 16 rounded up: 65 / 16 -> 5. */
static void test_mamba__has_the_published_defaults(void **state)
{
    model_fixture *test = *state;

    assert_read(test, WHOLE(65, "\"kinds\": {\"only\": {\"mamba\": {\"inner\": 130}}}, "
                                "\"layers\": [{\"kind\": \"only\", \"count\": 2}]"));
    assert_int_equal(test->model.kind[0].mamba.state, 16);
    assert_int_equal(test->model.kind[0].mamba.conv, 4);
    assert_int_equal(test->model.kind[0].mamba.dt_rank, 5);
    assert_int_equal(test->model.kind[0].norms, 1);
}

/* Only Mamba-2 has groups, one by default, and no rank of the step width. */
static void test_two_mixers__are_attention_and_mamba(void **state)
{
    model_fixture *test = *state;

    assert_read(test,
                KIND("\"attention\": {\"heads\": 4}, \"mamba\": {\"inner\": 128, \"heads\": 8}"));
    const plait_layer *const layer = &test->model.kind[0];
    assert_int_equal(layer->mixer, PLAIT_MIXER_ATTENTION);
    assert_int_equal(layer->second_mixer, PLAIT_MIXER_MAMBA);
    assert_int_equal(layer->mamba.heads, 8);
    assert_int_equal(layer->mamba.groups, 1);
    assert_int_equal(layer->mamba.dt_rank, 0);
}

static void test_delta_net__is_read(void **state)
{
    model_fixture *test = *state;

    assert_read(test, KIND("\"delta_net\": {\"key_heads\": 2, \"value_heads\": 4, \"key_dim\": 16, "
                           "\"value_dim\": 8}"));
    assert_int_equal(test->model.kind[0].mixer, PLAIT_MIXER_DELTA_NET);
    assert_int_equal(test->model.kind[0].delta_net.conv, 4);
}

static void test_moe__without_groups_limits_nothing(void **state)
{
    model_fixture *test = *state;

    assert_read(test, MOE(""));
    assert_int_equal(test->model.kind[0].moe.groups, 0);
    assert_int_equal(test->model.kind[0].moe.shared_width, 0);
    assert_read(test, MOE(", \"groups\": 4, \"group_topk\": 2"));
    assert_int_equal(test->model.kind[0].moe.group_topk, 2);
}

static void test_opaque__states_its_costs(void **state)
{
    model_fixture *test = *state;

    assert_read(test, KIND("\"opaque\": {\"params\": 1e6, \"forward_flops\": 2e6, "
                           "\"forward_bytes\": 3e6, \"activation_bytes\": 4e6}"));
    assert_true(test->model.kind[0].opaque);
    assert_near(test->model.kind[0].given.forward_bytes, 3e6, 0.0);
    assert_int_equal(test->model.kind[0].norms, 0);
}

static void test_kind__has_a_norm_for_each_part_unless_said_otherwise(void **state)
{
    model_fixture *test = *state;

    assert_read(test, KIND("\"attention\": {\"heads\": 4}, \"mlp\": {\"width\": 8}"));
    assert_int_equal(test->model.kind[0].norms, 2);
    assert_read(test, KIND("\"norms\": 1, \"parallel_residual\": true, "
                           "\"attention\": {\"heads\": 4}, \"mlp\": {\"width\": 8}"));
    assert_int_equal(test->model.kind[0].norms, 1);
    assert_true(test->model.kind[0].parallel_residual);
}

static void test_kind__like_another_replaces_whole_parts(void **state)
{
    model_fixture *test = *state;

    assert_read(test,
                WHOLE(64, "\"kinds\": {\"dense\": {\"norms\": 4, \"attention\": {\"heads\": 4, "
                          "\"window\": 8}, \"mlp\": {\"width\": 8}}, "
                          "\"moe\": {\"like\": \"dense\", \"moe\": {\"experts\": 4, \"topk\": 1, "
                          "\"width\": 8}}, "
                          "\"full\": {\"like\": \"dense\", \"attention\": {\"heads\": 4}}}, "
                          "\"layers\": [{\"kind\": \"dense\"}, {\"kind\": \"moe\"}, "
                          "{\"kind\": \"full\"}]"));
    const plait_layer *moe = &test->model.kind[1], *full = &test->model.kind[2];

    assert_string_equal(moe->name, "moe");
    assert_int_equal(moe->norms, 4);
    assert_int_equal(moe->attention.window, 8);
    assert_int_equal(moe->ffn, PLAIT_FFN_MOE);
    assert_int_equal(moe->mlp.width, 0);
    assert_int_equal(full->attention.window, 0);
    assert_int_equal(full->mlp.width, 8);
}

static void test_layers__come_in_runs_and_patterns(void **state)
{
    static const unsigned char expected[] = {0, 0, 1, 0, 1, 0, 1};
    model_fixture *test = *state;

    assert_read(test, LAYERS("[{\"kind\": \"a\", \"count\": 2}, {\"kind\": \"b\"}, "
                             "{\"pattern\": [\"a\", \"b\"], \"count\": 2}]"));
    assert_int_equal(test->model.layers, 7);
    assert_memory_equal(test->model.layer_kind, expected, 7);
}

/* Kind a has no layer, b only a prediction module: c and b stay, with their layers. */
static void test_kinds__that_no_layer_has_are_left_out(void **state)
{
    model_fixture *test = *state;

    assert_read(test, WHOLE(64, "\"kinds\": {\"a\": {\"attention\": {\"heads\": 4}}, "
                                "\"b\": {\"mlp\": {\"width\": 8}}, "
                                "\"c\": {\"mlp\": {\"width\": 16}}}, "
                                "\"layers\": [{\"kind\": \"c\", \"count\": 2}], "
                                "\"mtp\": {\"kind\": \"b\"}"));
    assert_int_equal(test->model.kinds, 2);
    assert_string_equal(test->model.kind[0].name, "b");
    assert_string_equal(test->model.kind[test->model.layer_kind[1]].name, "c");
    assert_int_equal(test->model.mtp_kind, 0);
}

static void test_whole__has_sparing_defaults(void **state)
{
    model_fixture *test = *state;

    assert_read(test, MORE("\"published_params\": 7e9"));
    assert_string_equal(test->model.name, "m");
    assert_string_equal(test->model.family, "");
    assert_false(test->model.tied || test->model.head_bias || test->model.dropout);
    assert_false(test->model.layer_norm || test->model.embedding_norm);
    assert_int_equal(test->model.mtp_layers, 0);
    assert_int_equal(test->model.max_seq, 0);
    assert_int_equal(test->model.learned_positions, 0);
}

static void test_embedding__may_have_positions_a_norm_and_patches(void **state)
{
    model_fixture *test = *state;

    assert_read(test, MORE("\"embedding\": {\"learned_positions\": 197, \"norm\": true, "
                           "\"patch_dim\": 768}"));
    assert_int_equal(test->model.learned_positions, 197);
    assert_int_equal(test->model.patch_dim, 768);
    assert_true(test->model.embedding_norm);
}

static void test_mtp__is_one_module_of_a_kind(void **state)
{
    model_fixture *test = *state;

    assert_read(test, LAYERS("[{\"kind\": \"a\"}], \"mtp\": {\"kind\": \"b\"}"));
    assert_int_equal(test->model.mtp_layers, 1);
    assert_int_equal(test->model.mtp_kind, 1);
}

static void test_load__reads_a_shipped_file(void **state)
{
    model_fixture *test = *state;
    const char *warning = NULL;

    assert_int_equal(plait_model_load("models/deepseek-v3.json", test->arena, &test->model,
                                      &warning, &test->err),
                     PLAIT_OK);
    assert_string_equal(test->model.name, "deepseek-v3");
    assert_int_equal(test->model.layers, 61);
    assert_int_equal(test->model.layer_kind[2], 0);
    assert_int_equal(test->model.layer_kind[3], 1);
    assert_string_equal(warning, "");
}

static void test_load__of_no_file_is_an_error_of_the_world(void **state)
{
    model_fixture *test = *state;

    assert_int_equal(
        plait_model_load("models/no-such.json", test->arena, &test->model, NULL, &test->err),
        PLAIT_ERROR_IO);
}

/* ---- what is refused, and where ---- */

typedef struct refusal {
    const char *text;
    plait_status status;
    const char *where;
    const char *message; /* a part of it */
} refusal;

static void assert_refused(void **state, const refusal *cases, size_t count)
{
    model_fixture *test = *state;

    for (size_t c = 0; c < count; c++) {
        if (parse(test, cases[c].text) == PLAIT_OK)
            fail_msg("not refused: %s", cases[c].text);
        assert_string_equal(test->err.where, cases[c].where);
        if (strstr(test->err.message, cases[c].message) == NULL)
            assert_string_equal(test->err.message, cases[c].message);
        assert_int_equal(test->err.status, cases[c].status);
    }
}

#define ASSERT_REFUSED(...)                                                                        \
    do {                                                                                           \
        static const refusal cases[] = {__VA_ARGS__};                                              \
        assert_refused(state, cases, sizeof cases / sizeof *cases);                                \
    } while (0)

static void test_whole__refuses_what_is_no_model(void **state)
{
    ASSERT_REFUSED(
        {"[]", PLAIT_ERROR_SCHEMA, "x.json", "expected an object"},
        {"{", PLAIT_ERROR_SYNTAX, "x.json:1:2", "the rest of a JSON value"},
        {"{}", PLAIT_ERROR_SCHEMA, "x.json", "\"name\""},
        {"{\"name\": \"\"}", PLAIT_ERROR_SCHEMA, "x.json:/name", "found an empty text"},
        {MORE("\"hiden\": 1"), PLAIT_ERROR_SCHEMA, "x.json:/hiden", "\"hidden\""},
        {WHOLE(0, "\"kinds\": {}"), PLAIT_ERROR_RANGE, "x.json:/hidden", "from 1 to 1048576"},
        {WHOLE(2097152, "\"kinds\": {}"), PLAIT_ERROR_RANGE, "x.json:/hidden", "found 2097152"},
        {WHOLE(64, "\"layers\": []"), PLAIT_ERROR_SCHEMA, "x.json", "\"kinds\""},
        {WHOLE(64, "\"kinds\": {}"), PLAIT_ERROR_SCHEMA, "x.json:/kinds", "at least one kind"},
        {MORE("\"max_seq\": -1"), PLAIT_ERROR_RANGE, "x.json:/max_seq", "found -1"},
        {MORE("\"tied\": 1"), PLAIT_ERROR_SCHEMA, "x.json:/tied", "true or false"},
        {MORE("\"published_params\": 0"), PLAIT_ERROR_RANGE, "x.json:/published_params",
         "a positive number"},
        {MORE("\"published_as\": [\"with-love\"]"), PLAIT_ERROR_SCHEMA, "x.json:/published_as/0",
         "with-love"},
        {MORE("\"embedding\": {\"patch\": 1}"), PLAIT_ERROR_SCHEMA, "x.json:/embedding/patch",
         "patch_dim"});
}

static void test_whole__refuses_an_unknown_norm(void **state)
{
    ASSERT_REFUSED({"{\"name\": \"m\", \"source\": \"s\", \"hidden\": 1, \"vocab\": 1, "
                    "\"norm\": \"batch\"}",
                    PLAIT_ERROR_SCHEMA, "x.json:/norm", "batch"});
}

static void test_attention__refuses_heads_that_do_not_divide(void **state)
{
    ASSERT_REFUSED({KIND("\"attention\": {}"), PLAIT_ERROR_SCHEMA, "x.json:/kinds/only/attention",
                    "\"heads\""},
                   {KIND("\"attention\": {\"heads\": 4, \"kv_heads\": 3}"), PLAIT_ERROR_RANGE,
                    "x.json:/kinds/only/attention/kv_heads",
                    "expected a divisor of the 4 heads, found 3"},
                   {KIND("\"attention\": {\"heads\": 4, \"kv_heads\": 8}"), PLAIT_ERROR_RANGE,
                    "x.json:/kinds/only/attention/kv_heads", "found 8"},
                   {KIND("\"attention\": {\"heads\": 4, \"v_dim\": 8, \"shared_kv\": true}"),
                    PLAIT_ERROR_SCHEMA, "x.json:/kinds/only/attention/v_dim", "as wide as keys"},
                   {KIND("\"attention\": {\"heads\": 4, \"compress\": 4, \"reused_kv\": true}"),
                    PLAIT_ERROR_SCHEMA, "x.json:/kinds/only/attention/reused_kv", "found 4"},
                   {KIND("\"attention\": {\"heads\": 5}"), PLAIT_ERROR_RANGE,
                    "x.json:/kinds/only/attention/head_dim", "divides the width of 64"},
                   {KIND("\"attention\": {\"heads\": 32769}"), PLAIT_ERROR_RANGE,
                    "x.json:/kinds/only/attention/heads", "found 32769"});
}

static void test_mla__refuses_half_an_indexer(void **state)
{
    ASSERT_REFUSED({MLA(", \"index_dim\": 16"), PLAIT_ERROR_SCHEMA, "x.json:/kinds/only/mla",
                    "expected index_heads, index_dim and index_topk together"},
                   {KIND("\"mla\": {\"heads\": 4}"), PLAIT_ERROR_SCHEMA, "x.json:/kinds/only/mla",
                    "\"kv_rank\""});
}

static void test_moe__refuses_what_cannot_be_routed(void **state)
{
    ASSERT_REFUSED({KIND("\"moe\": {\"experts\": 8, \"topk\": 9, \"width\": 1}"), PLAIT_ERROR_RANGE,
                    "x.json:/kinds/only/moe/topk", "expected at most the 8 experts, found 9"},
                   {MOE(", \"groups\": 3, \"group_topk\": 1"), PLAIT_ERROR_RANGE,
                    "x.json:/kinds/only/moe/groups",
                    "expected a divisor of the 8 experts, found 3"},
                   {MOE(", \"groups\": 4, \"group_topk\": 5"), PLAIT_ERROR_RANGE,
                    "x.json:/kinds/only/moe/group_topk", "expected at most the 4 groups, found 5"},
                   {MOE(", \"groups\": 4"), PLAIT_ERROR_RANGE, "x.json:/kinds/only/moe/group_topk",
                    "expected groups and group_topk together, found 4 and 0"},
                   {MOE(", \"topk_group\": 4"), PLAIT_ERROR_SCHEMA,
                    "x.json:/kinds/only/moe/topk_group", "expected"});
}

static void test_kind__refuses_parts_that_exclude_each_other(void **state)
{
    ASSERT_REFUSED({KIND(""), PLAIT_ERROR_SCHEMA, "x.json:/kinds/only", "found neither"},
                   {KIND("\"attention\": {\"heads\": 4}, \"conv\": {\"width\": 8}"),
                    PLAIT_ERROR_SCHEMA, "x.json:/kinds/only/conv",
                    "expected one token mixer, or attention and mamba, found attention and conv"},
                   {KIND("\"mlp\": {\"width\": 4}, \"moe\": {}"), PLAIT_ERROR_SCHEMA,
                    "x.json:/kinds/only/moe", "expected one feed-forward part, found mlp and moe"},
                   {KIND("\"opaque\": {}, \"mlp\": {\"width\": 4}"), PLAIT_ERROR_SCHEMA,
                    "x.json:/kinds/only/mlp", "expected one of the keys opaque"},
                   {KIND("\"opaque\": {\"params\": 1e19, \"forward_flops\": 1}"), PLAIT_ERROR_RANGE,
                    "x.json:/kinds/only/opaque/params", "at most 1e18"},
                   {KIND("\"mlp\": {\"width\": 4}, \"norms\": 17"), PLAIT_ERROR_RANGE,
                    "x.json:/kinds/only/norms", "from 0 to 16"});
}

static void test_kind__is_like_an_earlier_one_with_parts(void **state)
{
    ASSERT_REFUSED(
        {KIND("\"like\": \"only\""), PLAIT_ERROR_SCHEMA, "x.json:/kinds/only/like", "only"},
        {WHOLE(64, "\"kinds\": {\"a\": {\"opaque\": {\"params\": 1, \"forward_flops\": 1, "
                   "\"forward_bytes\": 1, \"activation_bytes\": 1}}, \"b\": {\"like\": \"a\"}}"),
         PLAIT_ERROR_SCHEMA, "x.json:/kinds/b/like",
         "expected a kind of layer that is not opaque"});
}

static void test_kinds__have_different_names(void **state)
{
    ASSERT_REFUSED({WHOLE(64, "\"kinds\": {\"a\": {\"mlp\": {\"width\": 1}}, "
                              "\"a\": {\"mlp\": {\"width\": 1}}}"),
                    PLAIT_ERROR_SCHEMA, "x.json:/kinds/a", "twice"});
}

static void test_layers__refuses_runs_without_layers(void **state)
{
    ASSERT_REFUSED({LAYERS("[]"), PLAIT_ERROR_SCHEMA, "x.json:/layers", "at least one layer"},
                   {LAYERS("[{\"count\": 2}]"), PLAIT_ERROR_SCHEMA, "x.json:/layers/0",
                    "expected either \"kind\" or \"pattern\", found neither"},
                   {LAYERS("[{\"kind\": \"a\", \"pattern\": [\"a\"]}]"), PLAIT_ERROR_SCHEMA,
                    "x.json:/layers/0", "found both"},
                   {LAYERS("[{\"kind\": \"a\"}, {\"kind\": \"c\"}]"), PLAIT_ERROR_SCHEMA,
                    "x.json:/layers/1/kind", "\"c\""},
                   {LAYERS("[{\"pattern\": []}]"), PLAIT_ERROR_SCHEMA, "x.json:/layers/0/pattern",
                    "at least one kind"},
                   {LAYERS("[{\"kind\": \"a\", \"count\": 0}]"), PLAIT_ERROR_RANGE,
                    "x.json:/layers/0/count", "found 0"},
                   {LAYERS("[{\"kind\": \"a\", \"count\": 4096}, {\"kind\": \"a\"}]"),
                    PLAIT_ERROR_RANGE, "x.json:/layers/1",
                    "expected at most 4096 layers, found more"},
                   {LAYERS("[{\"kind\": \"a\"}], \"mtp\": {\"kind\": \"c\"}"), PLAIT_ERROR_SCHEMA,
                    "x.json:/mtp/kind", "\"c\""});
}

static void test_kinds__are_at_most_sixteen(void **state)
{
    model_fixture *test = *state;
    char text[2048] = "{\"name\": \"m\", \"source\": \"s\", \"norm\": \"rms\", \"vocab\": 1, "
                      "\"hidden\": 1, \"kinds\": {\"x0\": {\"mlp\": {\"width\": 1}}";

    for (int k = 1; k <= PLAIT_MAX_LAYER_KINDS; k++) {
        char kind[64];

        snprintf(kind, sizeof kind, ", \"x%d\": {\"like\": \"x0\"}", k);
        strcat(text, kind);
    }
    strcat(text, "}}");
    assert_int_equal(parse(test, text), PLAIT_ERROR_RANGE);
    assert_string_equal(test->err.where, "x.json:/kinds/x16");
}

/* Each failing request for memory is an error, and none leaks or crashes. */
static void test_parse__survives_every_failing_allocation(void **state)
{
    static const char text[] = LAYERS("[{\"kind\": \"a\"}]");
    model_fixture *test = *state;
    plait_status status = PLAIT_ERROR_NOMEM;

    for (long calls = 0; calls < 100 && status != PLAIT_OK; calls++) {
        plait_arena *arena = plait_arena_new();

        plait_arena_fail_after(calls);
        status = plait_model_parse(text, strlen(text), "x", arena, &test->model, NULL, &test->err);
        plait_arena_fail_after(-1);
        plait_arena_free(arena);
        assert_true(status == PLAIT_OK || status == PLAIT_ERROR_NOMEM);
    }
    assert_int_equal(status, PLAIT_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_attention__without_keys_has_one_key_head_a_head_and_rotary_positions),
        TEST(test_mlp__is_gated_unless_said_otherwise),
        TEST(test_mla__without_q_rank_projects_q_directly),
        TEST(test_attention__may_reuse_keys_and_have_narrow_values),
        TEST(test_mamba__has_the_published_defaults),
        TEST(test_two_mixers__are_attention_and_mamba),
        TEST(test_delta_net__is_read),
        TEST(test_moe__without_groups_limits_nothing),
        TEST(test_opaque__states_its_costs),
        TEST(test_kind__has_a_norm_for_each_part_unless_said_otherwise),
        TEST(test_kind__like_another_replaces_whole_parts),
        TEST(test_layers__come_in_runs_and_patterns),
        TEST(test_kinds__that_no_layer_has_are_left_out),
        TEST(test_whole__has_sparing_defaults),
        TEST(test_embedding__may_have_positions_a_norm_and_patches),
        TEST(test_mtp__is_one_module_of_a_kind),
        TEST(test_load__reads_a_shipped_file),
        TEST(test_load__of_no_file_is_an_error_of_the_world),
        TEST(test_whole__refuses_what_is_no_model),
        TEST(test_whole__refuses_an_unknown_norm),
        TEST(test_attention__refuses_heads_that_do_not_divide),
        TEST(test_mla__refuses_half_an_indexer),
        TEST(test_moe__refuses_what_cannot_be_routed),
        TEST(test_kind__refuses_parts_that_exclude_each_other),
        TEST(test_kind__is_like_an_earlier_one_with_parts),
        TEST(test_kinds__have_different_names),
        TEST(test_layers__refuses_runs_without_layers),
        TEST(test_kinds__are_at_most_sixteen),
        TEST(test_parse__survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
