/* test_model_params.c - every shipped model and every sample config has as many parameters as its source says
 *
 * Each line of the output names the count, the published number, the difference, and the source.
 */
#include "support/assert_near.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/json/json.h"
#include "plait/model.h"
#include "support/same_numerics.h"
#include "base/text.h"

static const char *const models_folder = "models";
static const char *const samples_folder = "tests/data/hf_configs";

/* What a source counts, as docs/reference/files/model.md describes it. */
typedef struct published_count {
    double params; /* 0: unknown */
    double active; /* 0: unknown */
    bool with_mtp;
    bool with_vision;
    bool without_embedding;
    bool without_head;
    const char *source;
} published_count;

/* ---- reading ---- */

static const char *path_of(plait_arena *arena, const char *folder, const char *name)
{
    return plait_arena_printf(arena, "%s/%s.json", folder, name);
}

static plait_model load(plait_arena *arena, const char *folder, const char *name)
{
    plait_model model;
    plait_error err;

    if (plait_model_load(path_of(arena, folder, name), arena, &model, NULL, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return model;
}

static published_count read_published(plait_arena *arena, const char *name)
{
    published_count out = {.source = ""};
    json_document doc;
    json_cursor root, list, at;
    const char *word;

    assert_int_equal(json_document_read(path_of(arena, models_folder, name), arena, &doc, NULL),
                     PLAIT_OK);
    root = json_document_root(&doc);
    assert_int_equal(
        json_number_optional(&root, "published_params", JSON_POSITIVE, &out.params, NULL),
        PLAIT_OK);
    assert_int_equal(
        json_number_optional(&root, "published_active_params", JSON_POSITIVE, &out.active, NULL),
        PLAIT_OK);
    assert_int_equal(json_string(&root, "source", arena, &out.source, NULL), PLAIT_OK);
    assert_int_equal(json_array_optional(&root, "published_as", &list, NULL), PLAIT_OK);
    for (bool more = json_first(&list, &at); more; more = json_next(&at)) {
        assert_int_equal(json_as_string(&at, arena, &word, NULL), PLAIT_OK);
        out.with_mtp |= text_equal(word, "with-mtp");
        out.with_vision |= text_equal(word, "with-vision");
        out.without_embedding |= text_equal(word, "without-embedding");
        out.without_head |= text_equal(word, "without-head");
    }
    json_document_free(&doc);
    return out;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the JSON files in a folder, in order; NULL ends them. */
static const char **names_in(plait_arena *arena, const char *folder)
{
    const char **names = plait_arena_alloc(arena, 1024, sizeof *names);
    DIR *open_folder = opendir(folder);
    size_t count = 0;

    assert_non_null(open_folder);
    for (struct dirent *entry; (entry = readdir(open_folder)) != NULL && count < 1023;) {
        char *name = plait_arena_text(arena, entry->d_name);

        if (!text_ends_with(name, ".json"))
            continue;
        name[strlen(name) - strlen(".json")] = '\0';
        names[count++] = name;
    }
    closedir(open_folder);
    qsort(names, count, sizeof *names, compare_names);
    return names;
}

/* ---- comparing ---- */

/* A published 1.7e9 may be anything from 1.65e9: half a unit of its last digit, of two at least. */
static double rounding_of(double published)
{
    double unit = pow(10.0, floor(log10(published)) - 1.0);

    while (unit > 1.0 && fmod(published, unit) != 0.0)
        unit /= 10.0;
    return unit > 1.0 ? unit / 2.0 : 0.0;
}

static double counted_as(const published_count *published, const plait_params *params)
{
    double count = params->total;

    count += published->with_mtp ? params->mtp : 0.0;
    count -= published->without_embedding ? params->embedding : 0.0;
    count -= published->without_head ? params->head : 0.0;
    return count;
}

/* A vision tower is at most 2 % of the models here that have one. */
static bool check_total(const char *name, const published_count *published,
                        const plait_params *params)
{
    const double count = counted_as(published, params);
    const double error = count / published->params - 1.0;
    const double slack = fmax(0.005 * published->params, rounding_of(published->params));
    const double below = published->with_vision ? 0.02 * published->params : slack;
    const bool good = count >= published->params - below && count <= published->params + slack;

    print_message("%-18s %16.0f  published %16.0f  %+7.3f %%  %s%s\n", name, count,
                  published->params, 100.0 * error, good ? "" : "WRONG  ", published->source);
    return good;
}

/* Sources count the embedding and the head among the active parameters, or one of them, or neither. */
static bool check_active(const char *name, const published_count *published,
                         const plait_params *params)
{
    const double slack = fmax(0.005 * published->active, rounding_of(published->active));
    const double least = params->active - params->embedding - params->head;
    const bool good = published->active == 0.0 || (published->active >= least - slack &&
                                                   published->active <= params->active + slack);

    if (!good)
        print_message("%-18s active: %.0f to %.0f, published %.0f\n", name, least, params->active,
                      published->active);
    return good;
}

/* ---- the shipped models ---- */

static void test_models__have_as_many_parameters_as_published(void **state)
{
    plait_arena *arena = plait_arena_new();
    int wrong = 0, unknown = 0, models = 0;

    (void)state;
    for (const char **name = names_in(arena, models_folder); *name != NULL; name++) {
        const plait_model model = load(arena, models_folder, *name);
        const plait_params params = plait_model_params(&model);
        const published_count published = read_published(arena, *name);

        models++;
        wrong += !check_active(*name, &published, &params);
        if (published.params > 0.0)
            wrong += !check_total(*name, &published, &params);
        else
            print_message("%-18s %16.0f  published nowhere\n", *name, params.total);
        unknown += published.params == 0.0;
    }
    print_message("%d models, %d without a published number\n", models, unknown);
    assert_int_equal(wrong, 0);
    assert_true(models >= 89 && unknown == 0);
    plait_arena_free(arena);
}

/* The reader leaves this source to people. */
static void assert_numerics_have_a_source(plait_arena *arena, const char *name)
{
    const char *source = "";
    json_document doc;
    json_cursor root, numerics;

    assert_int_equal(json_document_read(path_of(arena, models_folder, name), arena, &doc, NULL),
                     PLAIT_OK);
    root = json_document_root(&doc);
    assert_int_equal(json_object(&root, "numerics", &numerics, NULL), PLAIT_OK);
    assert_int_equal(json_string(&numerics, "source", arena, &source, NULL), PLAIT_OK);
    assert_true(source[0] != '\0');
    json_document_free(&doc);
}

static void test_models__are_named_as_their_files_and_say_their_source(void **state)
{
    plait_arena *arena = plait_arena_new();

    (void)state;
    for (const char **name = names_in(arena, models_folder); *name != NULL; name++) {
        const plait_model model = load(arena, models_folder, *name);

        assert_string_equal(model.name, *name);
        assert_true(model.source[0] != '\0');
        assert_true(model.max_seq > 0);
        assert_numerics_have_a_source(arena, *name);
    }
    plait_arena_free(arena);
}

/* GPT-2, L(12h^2 + 13h) + (V + s)h + 2h: 12 (12*768^2 + 13*768) + (50257 + 1024) 768 + 2*768 = 124439808.
 * GPT-J, L(12h^2 + 7h) + 2h + 2Vh + V: 28 (12*4096^2 + 7*4096) + 8192 + 2*50400*4096 + 50400 = 6050882784. */
static void test_counts__are_exact(void **state)
{
    static const struct {
        const char *name;
        int64_t params;
    } exact[] = {{"gpt2", 124439808},          {"gpt2-medium", 354823168},
                 {"gpt2-large", 774030080},    {"gpt2-xl", 1557611200},
                 {"gpt-j-6b", 6050882784},     {"mamba-1.4b", 1372178432},
                 {"vit-b-16", 86567656},       {"gemma-2-2b", 2614341888},
                 {"llama-3.1-8b", 8030261248}, {"llama-3.1-70b", 70553706496},
                 {"mpt-7b", 6658859008},       {"mixtral-8x7b", 46702792704},
                 {"bloom-176b", 176247271424}, {"deepseek-v2-lite", 15706484224}};
    plait_arena *arena = plait_arena_new();

    (void)state;
    for (size_t e = 0; e < sizeof exact / sizeof *exact; e++) {
        const plait_model model = load(arena, models_folder, exact[e].name);
        const plait_params params = plait_model_params(&model);

        if (params.total != (double)exact[e].params)
            fail_msg("%s: expected %.0f, found %.0f", exact[e].name, (double)exact[e].params,
                     params.total);
    }
    plait_arena_free(arena);
}

/* ---- the samples ---- */

/* Samples without a model of their name in models/. */
static published_count published_of_sample(plait_arena *arena, const char *name)
{
    static const struct {
        const char *name;
        published_count published;
    } others[] = {
        {"gpt-neox-20b", {.params = 20554567680, .source = "EleutherAI/gpt-neox-20b model card"}},
        {"glm-5",
         {.params = 744e9, .active = 40e9, .source = "GLM-5 report, table of the architecture"}},
        {"gemma-4-26b-a4b", {.params = 25.2e9, .active = 3.8e9, .source = "Gemma 4 model card"}},
        {"qwen3.5-35b-a3b",
         {.params = 35e9, .active = 3e9, .source = "Qwen/Qwen3.5-35B-A3B model card"}},
        {"bamba-9b", {.params = 9.78e9, .source = "ibm-ai-platform/Bamba-9B weights"}},
        {"deepseek-v4-flash",
         {.params = 284e9, .active = 13e9, .source = "deepseek-ai/DeepSeek-V4-Flash model card"}},
        {"dots1",
         {.params = 143e9, .active = 14e9, .source = "rednote-hilab/dots.llm1 weights and card"}},
        {"falcon-h1-7b", {.params = 7.59e9, .source = "tiiuae/Falcon-H1-7B weights"}},
        {"granite-4.0-h-small",
         {.params = 32e9, .source = "ibm-granite/granite-4.0-h-small model card"}},
        {"hunyuan-a13b",
         {.params = 80e9, .active = 13e9, .source = "tencent/Hunyuan-A13B model card"}},
        {"jamba-v0.1",
         {.params = 52e9, .active = 12e9, .source = "ai21labs/Jamba-v0.1 model card"}},
        {"kimi-k3", {.params = 2.8e12, .source = "moonshotai/Kimi-K3 model card"}},
        {"kimi-linear-48b-a3b",
         {.params = 49.1e9,
          .active = 3e9,
          .source = "moonshotai/Kimi-Linear-48B-A3B weights and card"}},
        {"lfm2-1.2b", {.params = 1.17e9, .source = "LiquidAI/LFM2-1.2B model card"}},
        {"lfm2-8b-a1b",
         {.params = 8.3e9, .active = 1.5e9, .source = "LiquidAI/LFM2-8B-A1B model card"}},
        {"ling-mini-2.0",
         {.params = 16.26e9, .active = 1.43e9, .source = "inclusionAI/Ling-mini-2.0 model card"}},
        {"longcat-flash",
         {.params = 560e9, .active = 27e9, .source = "LongCat-Flash, arXiv 2509.01322"}},
        {"mamba-codestral-7b",
         {.params = 7285403648, .source = "mistralai/Mamba-Codestral-7B-v0.1 model card"}},
        {"minimax-text-01",
         {.params = 456e9, .active = 45.9e9, .source = "MiniMaxAI/MiniMax-Text-01 model card"}},
        {"nemotron-3-nano-30b-a3b",
         {.params = 31.6e9, .active = 3.2e9, .source = "NVIDIA Nemotron 3 Nano report"}},
        {"nemotron-3-super-120b-a12b",
         {.params = 120.6e9, .active = 12.7e9, .source = "NVIDIA Nemotron 3 Super report"}},
        {"nemotron-nano-9b-v2",
         {.params = 8.89e9, .source = "nvidia/NVIDIA-Nemotron-Nano-9B-v2 weights"}},
        {"recurrentgemma-2b", {.params = 2.7e9, .source = "RecurrentGemma, arXiv 2404.07839"}},
        {"ring-mini-linear-2.0",
         {.params = 16.4e9,
          .active = 1.6e9,
          .source = "inclusionAI/Ring-mini-linear-2.0 model card"}},
        {"step3",
         {.params = 316e9, .active = 38e9, .source = "stepfun-ai/step3 model card, text model"}},
        {"smollm3-3b", {.params = 3075098624, .source = "HuggingFaceTB/SmolLM3-3B weights"}},
        {"hunyuan-7b", {.params = 7.5e9, .source = "tencent/Hunyuan-7B-Pretrain model card"}},
        {"command-a", {.params = 111e9, .source = "CohereLabs/c4ai-command-a-03-2025 model card"}},
        {"exaone-4.5-33b",
         {.params = 33e9, .source = "LGAI-EXAONE/EXAONE-4.5-33B, name of the model"}},
        {"hy3", {.params = 295e9, .active = 21e9, .source = "tencent/Hy3-preview model card"}},
        {"qwen-72b", {.params = 72287920128, .source = "Qwen/Qwen-72B weights"}},
        {"chatglm2-6b", {.params = 6243584000, .source = "THUDM/chatglm2-6b weights"}},
        {"phi-2", {.params = 2779683840, .source = "microsoft/phi-2 weights"}},
        {"fuyu-8b",
         {.params = 9.408e9, .source = "adept/fuyu-8b weights, which include 11 M for patches"}},
        {"minimax-m3", {.params = 428e9, .source = "MiniMaxAI/MiniMax-M3 model card"}},
        {"gemma-4-e2b",
         {.params = 4.65e9,
          .source = "google/gemma-4-E2B model card, 5.1 B, less 0.45 B of encoders"}},
        {"gemma-4-e4b",
         {.params = 7.5e9,
          .source = "google/gemma-4-E4B model card, 8 B, less 0.45 B of encoders"}},
        {"hunyuan-large", {.params = 389e9, .source = "tencent/Tencent-Hunyuan-Large model card"}},
        {"mimo-v2-flash",
         {.params = 309e9, .active = 15e9, .source = "XiaomiMiMo/MiMo-V2-Flash model card"}},
        {"glm-5.2", {.params = 744e9, .active = 40e9, .source = "as zai-org/GLM-5"}},
        {"laguna-s-2.1",
         {.params = 118e9,
          .active = 8e9,
          .source = "poolside/Laguna-S-2.1, NeMo Automodel's guide"}},
        {"step-3.7-flash",
         {.params = 196e9,
          .active = 11e9,
          .source = "stepfun-ai/Step-3.7-Flash model card, text model"}},
    };

    for (size_t o = 0; o < sizeof others / sizeof *others; o++)
        if (strcmp(others[o].name, name) == 0)
            return others[o].published;
    return read_published(arena, name);
}

static void test_samples__have_as_many_parameters_as_published(void **state)
{
    plait_arena *arena = plait_arena_new();
    int wrong = 0, samples = 0;

    (void)state;
    for (const char **name = names_in(arena, samples_folder); *name != NULL; name++) {
        const plait_model model = load(arena, samples_folder, *name);
        const plait_params params = plait_model_params(&model);
        const published_count published = published_of_sample(arena, *name);

        wrong += !check_total(*name, &published, &params);
        wrong += !check_active(*name, &published, &params);
        samples++;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(samples, 72);
    plait_arena_free(arena);
}

/* ---- a model and the config of the same name ---- */

static void assert_same_attention(const plait_attention *a, const plait_attention *b)
{
    assert_int_equal(a->heads, b->heads);
    assert_int_equal(a->kv_heads, b->kv_heads);
    assert_int_equal(a->head_dim, b->head_dim);
    assert_int_equal(a->v_dim, b->v_dim);
    assert_int_equal(a->window, b->window);
    assert_int_equal(a->chunk, b->chunk);
    assert_int_equal(a->qkv_bias, b->qkv_bias);
    assert_int_equal(a->out_bias, b->out_bias);
    assert_int_equal(a->qk_norm, b->qk_norm);
    assert_int_equal(a->rotary, b->rotary);
    assert_int_equal(a->gate, b->gate);
    assert_int_equal(a->sinks, b->sinks);
    assert_int_equal(a->shared_kv, b->shared_kv);
    assert_int_equal(a->reused_kv, b->reused_kv);
    assert_int_equal(a->full_mask, b->full_mask);
}

static void assert_same_moe(const plait_moe *a, const plait_moe *b)
{
    assert_int_equal(a->experts, b->experts);
    assert_int_equal(a->topk, b->topk);
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->shared_width, b->shared_width);
    assert_int_equal(a->groups, b->groups);
    assert_int_equal(a->group_topk, b->group_topk);
    assert_int_equal(a->gated, b->gated);
    assert_int_equal(a->bias, b->bias);
    assert_int_equal(a->router_bias, b->router_bias);
    assert_int_equal(a->shared_gate, b->shared_gate);
}

/* No sample of a shipped model has Mamba layers. */
static void assert_same_layer(const plait_layer *a, const plait_layer *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->norms, b->norms);
    assert_int_equal(a->parallel_residual, b->parallel_residual);
    assert_int_equal(a->mixer, b->mixer);
    assert_same_attention(&a->attention, &b->attention);
    assert_memory_equal(&a->mla, &b->mla, sizeof a->mla);
    assert_memory_equal(&a->delta_net, &b->delta_net, sizeof a->delta_net);
    assert_int_equal(a->ffn, b->ffn);
    assert_int_equal(a->mlp.width, b->mlp.width);
    assert_int_equal(a->mlp.gated, b->mlp.gated);
    assert_int_equal(a->mlp.bias, b->mlp.bias);
    assert_same_moe(&a->moe, &b->moe);
}

/* Papers say how weights begin and what balances loads; a config may leave that to its class. */
static void assert_same_numerics(const plait_model *model, const plait_model *sample)
{
    plait_numerics expected = model->numerics;
    const char *difference;

    if (sample->numerics.init_std == 0.0)
        expected.init_std = 0.0;
    if (sample->numerics.router.aux_loss == 0.0)
        expected.router.aux_loss = 0.0;
    difference = numerics_difference(&expected, &sample->numerics);
    if (difference != NULL)
        fail_msg("%s: %s is not that of the config", model->name, difference);
}

static void assert_same_model(const plait_model *a, const plait_model *b)
{
    assert_int_equal(a->hidden, b->hidden);
    assert_int_equal(a->vocab, b->vocab);
    assert_int_equal(a->layers, b->layers);
    assert_int_equal(a->layer_norm, b->layer_norm);
    assert_int_equal(a->tied, b->tied);
    assert_int_equal(a->head_bias, b->head_bias);
    assert_int_equal(a->embedding_norm, b->embedding_norm);
    assert_int_equal(a->dropout, b->dropout);
    assert_int_equal(a->learned_positions, b->learned_positions);
    assert_int_equal(a->patch_dim, b->patch_dim);
    assert_int_equal(a->mtp_layers, b->mtp_layers);
    assert_int_equal(a->max_seq, b->max_seq);
    for (int i = 0; i < a->layers; i++)
        assert_same_layer(&a->kind[a->layer_kind[i]], &b->kind[b->layer_kind[i]]);
}

static void test_models__are_what_their_hugging_face_configs_say(void **state)
{
    plait_arena *arena = plait_arena_new();
    const char **names = names_in(arena, models_folder);
    int pairs = 0;

    (void)state;
    for (const char **name = names_in(arena, samples_folder); *name != NULL; name++) {
        if (text_index(*name, names) < 0)
            continue;
        const plait_model model = load(arena, models_folder, *name);
        const plait_model sample = load(arena, samples_folder, *name);

        print_message("%s\n", *name);
        assert_string_equal(model.family, sample.family);
        assert_same_model(&model, &sample);
        assert_same_numerics(&model, &sample);
        pairs++;
    }
    assert_true(pairs >= 20);
    plait_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models__have_as_many_parameters_as_published),
        cmocka_unit_test(test_models__are_named_as_their_files_and_say_their_source),
        cmocka_unit_test(test_counts__are_exact),
        cmocka_unit_test(test_samples__have_as_many_parameters_as_published),
        cmocka_unit_test(test_models__are_what_their_hugging_face_configs_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
