/* test_multimodal_params.c - decoder, encoders and projectors have as many parameters as published
 *
 * tests/data/multimodal_configs/README.md has the model and the source of each number.
 */
#include "support/assert_near.h"

#include "plait/model.h"

static const struct {
    const char *name;
    int64_t params;
} published[] = {
    {"qwen2.5-vl-3b", 3754622976},
    {"qwen2.5-vl-7b", 8292166656},
    {"qwen2.5-vl-32b", 33452718336},
    {"qwen2.5-vl-72b", 73410777344},
    {"qwen2-vl-2b", 2208985600},
    {"qwen2-vl-7b", 8291375616},
    {"qwen2-vl-72b", 73405560320},
    {"qwen3-vl-2b", 2127532032},
    {"qwen3-vl-4b", 4437815808},
    {"qwen3-vl-8b", 8767123696},
    {"qwen3-vl-32b", 33357390064},
    {"qwen3-vl-30b-a3b", 31070754032},
    {"qwen3-vl-235b-a22b", 235670022896},
    {"gemma-3-4b", 4300079472},
    {"gemma-3-12b", 12187325040},
    {"gemma-3-27b", 27432406640},
    {"llama-3.2-11b-vision", 10670220835},
    {"llama-3.2-90b-vision", 88593355323},
    {"mistral-small-3.1-24b", 24011361280},
    {"pixtral-12b", 12682739712},
    {"internvl3-1b", 938193024},
    {"internvl3-2b", 2088957952},
    {"internvl3-8b", 7944373760},
    {"internvl3-14b", 15117256704},
    {"internvl3-38b", 38388164992},
    {"internvl3-78b", 78408318336},
    {"internvl3.5-8b", 8528318464},
    {"llava-1.5-7b", 7063427072},
    {"llava-1.5-13b", 13351494656},
    {"llava-v1.6-mistral-7b", 7566747648},
    {"llava-onevision-0.5b", 893618208},
    {"llava-onevision-7b", 8029890080},
    {"idefics3-8b-llama3", 8462086384},
    {"smolvlm-2.2b", 2246272880},
    {"smolvlm2-256m", 256484928},
    {"paligemma-3b-224", 2923466480},
    {"paligemma2-3b-224", 3032242416},
    {"glm-4.1v-9b", 10292777472},
    {"glm-4.5v", 107710933120},
    {"kimi-vl-a3b", 16407657776},
    {"llama-4-scout", 108641793536},
    {"deepseek-vl2-tiny", 3370501440},
    {"llama-4-maverick", 401583781376},
    {"qwen2-audio-7b", 8397094912},
    {"aya-vision-8b", 8631842032},
    {"granite-vision-3.2-2b", 2975396928},
    {"voxtral-mini-3b", 4676271104},
    {"deepseek-vl2-small", 16148349504},
    {"internvl3-8b-hf", 7944373760},
    {"internvl3.5-30b-a3b", 30848730112},
};

/* plait counts the parts of a ViT in every encoder: a class token and a bias of the patches. */
static const double tolerance = 0.001;

static void test_configs__have_as_many_parameters_as_published(void **state)
{
    plait_arena *arena = plait_arena_new();
    int wrong = 0;

    (void)state;
    for (size_t p = 0; p < sizeof published / sizeof *published; p++) {
        const char *const path =
            plait_arena_printf(arena, "tests/data/multimodal_configs/%s.json", published[p].name);
        const double expected = (double)published[p].params;
        plait_model model;
        plait_error err;

        if (plait_model_load(path, arena, &model, NULL, &err) != PLAIT_OK)
            fail_msg("%s: %s", err.where, err.message);
        const plait_params params = plait_model_params(&model);
        const double found = params.total + params.encoders;
        const bool good = fabs(found / expected - 1.0) < tolerance;

        print_message("%-24s %13.0f  published %13.0f  %+8.4f %%%s\n", published[p].name, found,
                      expected, 100.0 * (found / expected - 1.0), good ? "" : "  WRONG");
        wrong += !good;
    }
    assert_int_equal(wrong, 0);
    plait_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_configs__have_as_many_parameters_as_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
