/* test_data.c - what names stand for, and every file that ships */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/assert_near.h"
#include "plait/data.h"
#include "io/json/json.h"
#include "base/text.h"

static int begin(void **state)
{
    *state = plait_arena_new();
    return *state == NULL;
}

static int end(void **state)
{
    plait_arena_free(*state);
    return 0;
}

static const char *const *list(plait_arena *arena, plait_data_kind kind, size_t *count)
{
    const char *const *names = NULL;
    plait_error err = {PLAIT_OK, "", ""};

    assert_int_equal(plait_data_list(kind, arena, &names, count, &err), PLAIT_OK);
    assert_null(names[*count]);
    return names;
}

static bool contains(const char *const *names, const char *name)
{
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void test_data_list__is_sorted_and_names_each_once(void **state)
{
    for (int kind = 0; kind < PLAIT_DATA_KINDS; kind++) {
        size_t count;
        const char *const *names = list(*state, (plait_data_kind)kind, &count);

        assert_true(count > 1);
        for (size_t i = 1; i < count; i++)
            assert_true(strcmp(names[i - 1], names[i]) < 0);
    }
}

static void test_data_list__has_what_scripts_rely_on(void **state)
{
    size_t count;
    const char *const *clusters = list(*state, PLAIT_DATA_CLUSTERS, &count);
    const char *const *accelerators = list(*state, PLAIT_DATA_ACCELERATORS, &count);
    const char *const *runtimes = list(*state, PLAIT_DATA_RUNTIMES, &count);
    const char *const *families = list(*state, PLAIT_DATA_FAMILIES, &count);

    assert_true(contains(clusters, "dgx-h100") && contains(clusters, "gb200-nvl72"));
    assert_true(contains(accelerators, "h100-80gb-sxm") && contains(accelerators, "tpu-v5p"));
    assert_true(contains(runtimes, "megatron") && contains(runtimes, "torchtitan-eager"));
    assert_true(contains(families, "common") && contains(families, "hopper"));
    assert_false(contains(clusters, "megatron"));
}

static void touch(const char *path)
{
    FILE *stream = fopen(path, "w");

    assert_non_null(stream);
    fclose(stream);
}

/* Else one stray file would be the end of every list. */
static void test_data_list__has_only_what_can_be_found(void **state)
{
    char folder[] = "/tmp/plait-data-XXXXXX";
    const char *path[6];
    size_t count;

    assert_non_null(mkdtemp(folder));
    path[0] = plait_arena_printf(*state, "%s/models", folder);
    path[1] = plait_arena_printf(*state, "%s/mine.json", path[0]);
    path[2] = plait_arena_printf(*state, "%s/folder.json", path[0]);
    path[3] = plait_arena_printf(*state, "%s/link.json", path[0]);
    path[4] = plait_arena_printf(*state, "%s/twice.json.json", path[0]);
    path[5] = plait_arena_printf(*state, "%s/mine:1x8.json", path[0]);
    assert_int_equal(mkdir(path[0], 0700), 0);
    assert_int_equal(mkdir(path[2], 0700), 0);
    assert_int_equal(symlink("nothing", path[3]), 0);
    touch(path[1]);
    touch(path[4]);
    touch(path[5]);
    assert_int_equal(setenv("PLAIT_DATA", folder, 1), 0);
    const char *const *names = list(*state, PLAIT_DATA_MODELS, &count);
    assert_int_equal(unsetenv("PLAIT_DATA"), 0);
    assert_true(contains(names, "mine"));
    assert_false(contains(names, "folder") || contains(names, "link"));
    assert_false(contains(names, "twice.json") || contains(names, "mine:1x8"));
    for (int i = 5; i >= 0; i--)
        assert_int_equal(remove(path[i]), 0);
    assert_int_equal(remove(folder), 0);
}

static void test_data_find__takes_a_path_as_it_is(void **state)
{
    const char *path;
    plait_error err;

    assert_int_equal(plait_data_find(PLAIT_DATA_CLUSTERS, "no/such", *state, &path, &err), 0);
    assert_string_equal(path, "no/such");
    assert_int_equal(plait_data_find(PLAIT_DATA_CLUSTERS, "mine.json", *state, &path, &err), 0);
    assert_string_equal(path, "mine.json");
}

static void test_data_find__suggests_the_nearest_name(void **state)
{
    const char *path;
    plait_error err;

    assert_int_equal(plait_data_find(PLAIT_DATA_CLUSTERS, "dgx-h10", *state, &path, &err),
                     PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "dgx-h10");
    assert_string_equal(err.message,
                        "expected the name of a cluster, a path or ACCELERATOR:NODESxGPUS; did "
                        "you mean dgx-h100? (plait clusters lists all)");
    assert_int_equal(plait_data_find(PLAIT_DATA_RUNTIMES, "megatorn", *state, &path, &err),
                     PLAIT_ERROR_RANGE);
    assert_non_null(strstr(err.message, "did you mean megatron?"));
    assert_int_equal(plait_data_find(PLAIT_DATA_RUNTIMES, "zzzzzzzzzzzz", *state, &path, &err),
                     PLAIT_ERROR_RANGE);
    assert_non_null(strstr(err.message, "expected the name of a runtime: aa-scaling, "));
    assert_true(text_ends_with(err.message, ", xla"));
    assert_int_equal(plait_data_find(PLAIT_DATA_MODELS, "", *state, &path, &err),
                     PLAIT_ERROR_RANGE);
    assert_int_equal(plait_data_find(PLAIT_DATA_MODELS, "zzzzzzzzzzzz", *state, &path, &err),
                     PLAIT_ERROR_RANGE);
    assert_null(strstr(err.message, "did you mean"));
}

/* A folder of one's own comes first: it may add names and replace those that ship. */
static void test_data_find__looks_into_plait_data_first(void **state)
{
    char folder[] = "/tmp/plait-data-XXXXXX";
    char clusters[64], runtimes[80], file[96];
    const char *path;
    plait_error err;
    FILE *stream;

    assert_non_null(mkdtemp(folder));
    snprintf(clusters, sizeof clusters, "%s/clusters", folder);
    snprintf(runtimes, sizeof runtimes, "%s/runtimes", clusters);
    snprintf(file, sizeof file, "%s/megatron.json", runtimes);
    assert_int_equal(mkdir(clusters, 0700) | mkdir(runtimes, 0700), 0);
    stream = fopen(file, "w");
    assert_non_null(stream);
    fclose(stream);

    setenv("PLAIT_DATA", folder, 1);
    assert_int_equal(plait_data_find(PLAIT_DATA_RUNTIMES, "megatron", *state, &path, &err), 0);
    assert_string_equal(path, file);
    assert_int_equal(plait_data_find(PLAIT_DATA_RUNTIMES, "nanotron", *state, &path, &err), 0);
    unsetenv("PLAIT_DATA");

    assert_int_equal(unlink(file) | rmdir(runtimes) | rmdir(clusters) | rmdir(folder), 0);
}

static void test_cluster_find__prefers_a_cluster_to_an_accelerator_of_its_name(void **state)
{
    plait_cluster cluster;
    plait_error err = {PLAIT_OK, "", ""};

    assert_int_equal(plait_cluster_find("gb200-nvl72", *state, &cluster, &err), PLAIT_OK);
    assert_int_equal(cluster.levels, 3); // the file's; synthetic clusters have two
    assert_int_equal(plait_cluster_find("h100-80gb-sxm", *state, &cluster, &err), PLAIT_OK);
    assert_int_equal(cluster.gpus, 0);
    assert_int_equal(cluster.group[0].gpus_per_node, 8);
    assert_int_equal(plait_cluster_find("clusters/p5.json", *state, &cluster, &err), PLAIT_OK);
    assert_string_equal(cluster.name, "p5");
    assert_int_equal(plait_cluster_find("clusters/none.json", *state, &cluster, &err),
                     PLAIT_ERROR_IO);
    assert_int_equal(plait_cluster_find("none", *state, &cluster, &err), PLAIT_ERROR_RANGE);
}

/* ---- every file that ships; of families and models in tests of their own ---- */

static void load(plait_data_kind kind, const char *name, plait_arena *arena)
{
    plait_error err = {PLAIT_OK, "", ""};
    plait_status status = PLAIT_OK;
    const char *loaded = "";

    if (kind == PLAIT_DATA_CLUSTERS) {
        plait_cluster cluster;

        status = plait_cluster_find(name, arena, &cluster, &err);
        loaded = status == PLAIT_OK ? cluster.name : "";
    } else if (kind == PLAIT_DATA_ACCELERATORS) {
        plait_accelerator accelerator;

        status = plait_accelerator_find(name, arena, &accelerator, &err);
        loaded = status == PLAIT_OK ? accelerator.name : "";
    } else {
        plait_runtime runtime;

        status = plait_runtime_find(name, arena, &runtime, &err);
        loaded = status == PLAIT_OK ? runtime.name : "";
    }
    if (status != PLAIT_OK)
        print_error("%s: %s\n", err.where, err.message);
    assert_int_equal(status, PLAIT_OK);
    assert_string_equal(loaded, name);
}

static void test_data__every_file_loads_and_has_its_name_inside(void **state)
{
    for (int kind = PLAIT_DATA_CLUSTERS; kind < PLAIT_DATA_FAMILIES; kind++) {
        size_t count;
        const char *const *names = list(*state, (plait_data_kind)kind, &count);

        for (size_t i = 0; i < count; i++)
            load((plait_data_kind)kind, names[i], *state);
    }
}

/* Blocks that hold blocks, words spelled elsewhere, and the table that "residents" explains. */
static bool needs_no_source(const char *key)
{
    static const char *const blocks[] = {
        "gemm",        "grouped_gemm", "attention", "attention_decode",
        "collectives", "levels",       "defaults",  "keeps"};

    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (strcmp(key, blocks[i]) == 0)
            return true;
    return false;
}

static void check_blocks(const json_cursor *root, const char *name)
{
    json_cursor block, inner;

    assert_true(json_has(root, "source"));
    for (bool more = json_first(root, &block); more; more = json_next(&block)) {
        if (json_is_object(&block) && !needs_no_source(block.key) && !json_has(&block, "source"))
            fail_msg("%s: %s has no source", name, block.key);
        if (!needs_no_source(block.key) || strcmp(block.key, "keeps") == 0 ||
            strcmp(block.key, "defaults") == 0)
            continue;
        for (bool also = json_first(&block, &inner); also; also = json_next(&inner))
            if (!json_has(&inner, "source"))
                fail_msg("%s: an entry of %s has no source", name, block.key);
    }
}

/* Calls check(root, name) with each file of a kind. */
static void for_each_file(plait_arena *arena, plait_data_kind kind,
                          void (*check)(const json_cursor *root, const char *name))
{
    size_t count;
    const char *const *names = list(arena, kind, &count);

    for (size_t i = 0; i < count; i++) {
        const char *path;
        json_document doc;
        json_cursor root;
        plait_error err;

        assert_int_equal(plait_data_find(kind, names[i], arena, &path, &err), PLAIT_OK);
        assert_int_equal(json_document_read(path, arena, &doc, &err), PLAIT_OK);
        root = json_document_root(&doc);
        check(&root, names[i]);
        json_document_free(&doc);
    }
}

static void test_data__every_block_says_where_it_comes_from(void **state)
{
    for (int kind = PLAIT_DATA_CLUSTERS; kind < PLAIT_DATA_FAMILIES; kind++)
        for_each_file(*state, (plait_data_kind)kind, check_blocks);
}

/* ---- names that others use ---- */

static const char *found_as(plait_arena *arena, plait_data_kind kind, const char *name)
{
    const char *path;
    plait_error err;

    if (plait_data_find(kind, name, arena, &path, &err) != PLAIT_OK)
        return NULL;
    return strrchr(path, '/') + 1;
}

static void test_data_find__takes_the_id_of_the_hub(void **state)
{
    static const char *const named[][2] = {
        {"Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b.json"},
        {"https://huggingface.co/Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b.json"},
        {"hf.co/Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b.json"},
        {"qwen/qwen3-30b-a3b-base", "qwen3-30b-a3b.json"},
        {"Llama-3.1-70B-Instruct", "llama-3.1-70b.json"},
        {"meta-llama/Meta-Llama-3.1-70B", "llama-3.1-70b.json"},
        {"deepseek-ai/DeepSeek-V3.2", "deepseek-v3.2.json"},
        {"OpenAI/GPT-OSS-120B", "gpt-oss-120b.json"},
        {"QWEN3-8B", "qwen3-8b.json"},
    };
    const char *path;
    plait_error err;

    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        assert_string_equal(found_as(*state, PLAIT_DATA_MODELS, named[i][0]), named[i][1]);
    assert_null(found_as(*state, PLAIT_DATA_MODELS, "other/Qwen3-30B-A3B"));
    assert_null(found_as(*state, PLAIT_DATA_MODELS, "Qwen3-30B"));
    assert_int_equal(plait_data_find(PLAIT_DATA_MODELS, "Qwen/Qwen3-30B", *state, &path, &err),
                     PLAIT_ERROR_RANGE);
    assert_string_equal(err.message,
                        "expected a file or a model that `plait models` lists; nearest: "
                        "qwen3-30b-a3b, qwen3-32b, qwen3-0.6b; or download "
                        "https://huggingface.co/Qwen/Qwen3-30B/resolve/main/config.json");
    assert_int_equal(
        plait_data_find(PLAIT_DATA_MODELS, "x/Meta-Llama-3.1-8B-GGUF", *state, &path, &err),
        PLAIT_ERROR_RANGE);
    assert_non_null(strstr(err.message, "; nearest: llama-3.1-8b, "));
}

/* A clone of a checkpoint goes before the id that it has. */
static void test_data_find__takes_the_folder_of_a_checkpoint(void **state)
{
    char folder[] = "/tmp/plait-data-XXXXXX";
    char *const here = getcwd(NULL, 0);
    const char *path;
    plait_error err;

    assert_non_null(here);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("Qwen", 0700) | mkdir("Qwen/Qwen3-8B", 0700), 0);
    assert_int_equal(plait_data_find(PLAIT_DATA_MODELS, "Qwen/Qwen3-8B", *state, &path, &err), 0);
    assert_string_equal(path, "Qwen/Qwen3-8B/config.json");
    assert_int_equal(rmdir("Qwen/Qwen3-8B") | rmdir("Qwen"), 0);
    assert_string_equal(found_as(*state, PLAIT_DATA_MODELS, "Qwen/Qwen3-8B"), "qwen3-8b.json");
    assert_int_equal(chdir(here) | rmdir(folder), 0);
    free(here);
}

/* ORG/NAME, and of no other model. */
static void check_hub(const json_cursor *root, const char *name)
{
    plait_arena *arena = plait_arena_new();
    json_cursor ids, id;
    plait_error err;

    assert_int_equal(json_array_optional(root, "hub", &ids, &err), PLAIT_OK);
    for (bool more = json_first(&ids, &id); more; more = json_next(&id)) {
        const char *text;

        assert_int_equal(json_as_string(&id, arena, &text, &err), PLAIT_OK);
        const char *const file = found_as(arena, PLAIT_DATA_MODELS, text);
        if (strchr(text, '/') == NULL || file == NULL ||
            strncmp(file, name, strlen(file) - strlen(".json")) != 0)
            fail_msg("%s has the id %s, which is %s", name, text, file);
    }
    plait_arena_free(arena);
}

static void test_data__an_id_of_the_hub_is_of_one_model(void **state)
{
    for_each_file(*state, PLAIT_DATA_MODELS, check_hub);
}

static void assert_cluster(plait_arena *arena, const char *text, const char *name,
                           const char *accelerator, int gpus)
{
    plait_cluster cluster;
    plait_error err;

    if (plait_cluster_find(text, arena, &cluster, &err) != PLAIT_OK)
        fail_msg("%s: %s", text, err.message);
    assert_string_equal(cluster.name, name);
    assert_string_equal(cluster.group[0].accelerator->name, accelerator);
    assert_int_equal(cluster.gpus, gpus);
}

static void assert_no_cluster(plait_arena *arena, const char *text, const char *message)
{
    plait_cluster cluster;
    plait_error err;

    assert_int_equal(plait_cluster_find(text, arena, &cluster, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.message, message);
}

static void test_cluster_find__takes_short_names_and_counts(void **state)
{
    assert_cluster(*state, "h100", "dgx-h100", "h100-80gb-sxm", 0);
    assert_cluster(*state, "A100", "dgx-a100", "a100-80gb-sxm", 0);
    assert_cluster(*state, "a100-40gb", "dgx-a100-40gb", "a100-40gb-sxm", 0);
    assert_cluster(*state, "GB200", "gb200-nvl72", "gb200-nvl72", 0);
    assert_cluster(*state, "B300", "B300", "b300-288gb-sxm", 0);
    assert_cluster(*state, "8xH100", "dgx-h100", "h100-80gb-sxm", 8);
    assert_cluster(*state, "8XH100", "dgx-h100", "h100-80gb-sxm", 8);
    assert_cluster(*state, "64xh200", "dgx-h200", "h200-141gb-sxm", 64);
    assert_cluster(*state, "2x8xH100", "dgx-h100", "h100-80gb-sxm", 16);
    assert_cluster(*state, "H100:2x8", "H100:2x8", "h100-80gb-sxm", 16);
    assert_no_cluster(*state, "2x4xH100",
                      "expected nodes of 8 GPUs, as in dgx-h100, found 4; use h100-80gb-sxm:2x4");
    assert_no_cluster(*state, "12xH100",
                      "expected whole nodes of 8 GPUs or part of one node, found 12");
    assert_no_cluster(*state, "4000000x8xH100", "expected 1 to 4194304 GPUs, found 4000000x8");
    assert_no_cluster(*state, "99999999999xh100", "expected 1 to 4194304 GPUs, found 99999999999");
    assert_no_cluster(*state, "2x0xh100", "expected 1 to 4194304 GPUs, found 2x0");
}

static void check_numbers(const json_cursor *root, const char *name)
{
    enum { MOST = 12 };
    json_cursor numbers;
    plait_error err;

    assert_int_equal(json_object(root, "numbers", &numbers, &err), PLAIT_OK);
    if (json_count(&numbers) > MOST)
        fail_msg("%s has %zu numbers", name, json_count(&numbers));
}

static void test_data__an_engine_is_twelve_numbers_at_most(void **state)
{
    for_each_file(*state, PLAIT_DATA_ENGINES, check_numbers);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_data_list__is_sorted_and_names_each_once),
        TEST(test_data_list__has_what_scripts_rely_on),
        TEST(test_data_list__has_only_what_can_be_found),
        TEST(test_data_find__takes_a_path_as_it_is),
        TEST(test_data_find__suggests_the_nearest_name),
        TEST(test_data_find__looks_into_plait_data_first),
        TEST(test_cluster_find__prefers_a_cluster_to_an_accelerator_of_its_name),
        TEST(test_data__every_file_loads_and_has_its_name_inside),
        TEST(test_data__every_block_says_where_it_comes_from),
        TEST(test_data_find__takes_the_id_of_the_hub),
        TEST(test_data_find__takes_the_folder_of_a_checkpoint),
        TEST(test_data__an_id_of_the_hub_is_of_one_model),
        TEST(test_cluster_find__takes_short_names_and_counts),
        TEST(test_data__an_engine_is_twelve_numbers_at_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
