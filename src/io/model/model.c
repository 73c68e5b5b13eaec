/* model.c - loads a model in either format, and has the checks that both formats share */
#include "plait/model.h"

#include <string.h>

#include "plait/data.h"

#include "base/status.h"
#include "io/file.h"
#include "io/model/model_file.h"

typedef struct model_result {
    plait_model *model;
    const char **warning; /* receives a warning about unread keys; may be NULL */
    bool assume_llama;    /* ignore keys of a config.json that plait cannot price */
    bool from_hf;         /* the file is a config.json */
} model_result;

/* Returns whether an object is a config.json of Hugging Face; plait's files have none of the keys. */
static bool is_hf(const json_cursor *root)
{
    static const char *const keys[] = {"model_type",  "architectures",  "hidden_size", "llm_config",
                                       "text_config", "thinker_config", NULL};

    for (const char *const *key = keys; *key != NULL; key++)
        if (json_has(root, *key))
            return true;
    return false;
}

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *out,
                              plait_error *err)
{
    model_result *const result = out;
    const char *ignored = "";

    *result->model = (plait_model){0};
    PLAIT_TRY(json_as_object(root, err));
    result->from_hf = is_hf(root);
    if (result->from_hf)
        PLAIT_TRY(model_read_hf(root, result->assume_llama, arena, result->model, &ignored, err));
    else
        PLAIT_TRY(model_read_plait(root, arena, result->model, err));
    if (result->warning != NULL)
        *result->warning = ignored;
    return PLAIT_OK;
}

/*
 * Writes null in place of each Infinity outside of strings. JSON has no Infinity, but Python writes
 * it: the published configs of Nemotron-H contain "time_step_limit": [0.0, Infinity].
 */
static void replace_infinity(char *text, size_t length)
{
    static const char word[] = "Infinity", null[] = "null    ";
    bool inside = false;

    for (size_t i = 0; i < length; i++) {
        if (inside && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            inside = !inside;
        else if (!inside && text[i] == 'I' && strncmp(text + i, word, sizeof word - 1) == 0) {
            memcpy(text + i, null, sizeof null - 1);
            if (i > 0 && text[i - 1] == '-')
                text[i - 1] = ' ';
        }
    }
}

static plait_status parse(const char *text, size_t length, const char *name, plait_arena *arena,
                          model_result *result, plait_error *err)
{
    char *copy;

    if (text == NULL) // refused there
        return json_parse(text, length, name, read_root, arena, result, err);
    copy = plait_arena_alloc(arena, length + 1, 1);
    PLAIT_TRY(plait_check_allocated(copy, err));
    memcpy(copy, text, length);
    copy[length] = '\0';
    replace_infinity(copy, length);
    return json_parse(copy, length, name, read_root, arena, result, err);
}

/* Reads the root of hf_quant_config.json, which NVIDIA's Model Optimizer writes. */
static plait_status read_quantization(const json_cursor *root, plait_arena *arena, void *out,
                                      plait_error *err)
{
    const model_result *const result = out;
    const char *note = NULL;
    json_cursor at;

    if (json_value_optional(root, "quantization", &at, NULL) != PLAIT_OK || !json_is_object(&at))
        return PLAIT_OK;
    PLAIT_TRY(hf_read_weights(&at, arena, result->model, &note, err));
    if (note == NULL || result->warning == NULL)
        return PLAIT_OK;
    *result->warning = plait_arena_printf(arena, "%s%shf_quant_config.json: %s", *result->warning,
                                          (*result->warning)[0] != '\0' ? "; " : "", note);
    return plait_check_allocated(*result->warning, err);
}

/*
 * Reads the format of the weights from hf_quant_config.json beside a config.json that does not give
 * it. A missing file is no error.
 */
static plait_status load_quantization(const char *path, plait_arena *arena, model_result *result,
                                      plait_error *err)
{
    const char *const beside = file_beside(path, "hf_quant_config.json", arena);
    plait_error inner;

    PLAIT_TRY(plait_check_allocated(beside, err));
    const plait_status status = json_load(beside, read_quantization, arena, result, &inner);
    return status == PLAIT_OK || status == PLAIT_ERROR_IO
               ? PLAIT_OK
               : plait_fail(err, status, inner.where, "%s", inner.message);
}

static plait_status load(const char *path, plait_arena *arena, model_result *result,
                         plait_error *err)
{
    plait_arena *const scratch = plait_arena_new();
    const char *text = NULL;
    size_t length = 0;

    PLAIT_TRY(plait_check_allocated(scratch, err));
    plait_status status = file_read_all(path, JSON_MAX_BYTES, scratch, &text, &length, err);
    if (status == PLAIT_OK)
        status = parse(text, length, path, arena, result, err);
    plait_arena_free(scratch);
    if (status == PLAIT_OK && result->from_hf && result->model->weights == NULL &&
        strcmp(file_base_name(path), "config.json") == 0)
        status = load_quantization(path, arena, result, err);
    return status;
}

plait_status plait_model_load(const char *path, plait_arena *arena, plait_model *out,
                              const char **warning, plait_error *err)
{
    return load(path, arena, &(model_result){.model = out, .warning = warning}, err);
}

plait_status plait_model_load_as_llama(const char *path, plait_arena *arena, plait_model *out,
                                       const char **warning, plait_error *err)
{
    model_result result = {.model = out, .warning = warning, .assume_llama = true};

    return load(path, arena, &result, err);
}

plait_status plait_model_parse(const char *text, size_t length, const char *name,
                               plait_arena *arena, plait_model *out, const char **warning,
                               plait_error *err)
{
    return parse(text, length, name, arena, &(model_result){.model = out, .warning = warning}, err);
}

plait_status plait_model_find(const char *name, plait_arena *arena, plait_model *out,
                              const char **warning, plait_error *err)
{
    const char *path;

    PLAIT_TRY(plait_data_find(PLAIT_DATA_MODELS, name, arena, &path, err));
    return plait_model_load(path, arena, out, warning, err);
}

/* ---- checks that compare two numbers ---- */

plait_status model_check_kv_heads(const json_cursor *at, const char *key, int heads, int kv_heads,
                                  plait_error *err)
{
    if (kv_heads > heads || heads % kv_heads != 0)
        return json_fail_key(at, key, PLAIT_ERROR_RANGE, err,
                             "expected a divisor of the %d heads, found %d", heads, kv_heads);
    return PLAIT_OK;
}

plait_status model_check_head_dim(const json_cursor *at, const char *key, int hidden, int heads,
                                  int *head_dim, plait_error *err)
{
    if (*head_dim > 0)
        return PLAIT_OK;
    if (hidden % heads != 0 || hidden / heads > MODEL_MAX_HEAD_DIM)
        return json_fail_key(
            at, key, PLAIT_ERROR_RANGE, err,
            "expected a number of heads that divides the width of %d into heads of at most %d, or "
            "the key \"head_dim\", found %d heads",
            hidden, MODEL_MAX_HEAD_DIM, heads);
    *head_dim = hidden / heads;
    return PLAIT_OK;
}

plait_status model_check_topk(const json_cursor *at, const char *key, int experts, int topk,
                              plait_error *err)
{
    if (topk > experts)
        return json_fail_key(at, key, PLAIT_ERROR_RANGE, err,
                             "expected at most the %d experts, found %d", experts, topk);
    return PLAIT_OK;
}

plait_status model_check_groups(const json_cursor *at, const char *groups_key, const char *topk_key,
                                const plait_moe *moe, plait_error *err)
{
    if ((moe->groups == 0) != (moe->group_topk == 0))
        return json_fail_key(at, topk_key, PLAIT_ERROR_RANGE, err,
                             "expected %s and %s together, found %d and %d", groups_key, topk_key,
                             moe->groups, moe->group_topk);
    if (moe->groups > 0 && moe->experts % moe->groups != 0)
        return json_fail_key(at, groups_key, PLAIT_ERROR_RANGE, err,
                             "expected a divisor of the %d experts, found %d", moe->experts,
                             moe->groups);
    if (moe->group_topk > moe->groups)
        return json_fail_key(at, topk_key, PLAIT_ERROR_RANGE, err,
                             "expected at most the %d groups, found %d", moe->groups,
                             moe->group_topk);
    return PLAIT_OK;
}
