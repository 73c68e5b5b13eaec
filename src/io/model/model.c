/* model.c - loading a model: which of the two formats it is */
#include "plait/model.h"

#include "plait/data.h"

#include "io/json/json.h"
#include "io/model/model_private.h"

static bool is_hugging_face(const json_cursor *root)
{
    return json_has(root, "model_type") || json_has(root, "architectures");
}

/* What a document is read into. */
typedef struct model_answer {
    plait_model *model;
    const char **warning; /* may be NULL */
} model_answer;

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *out,
                              plait_error *err)
{
    const model_answer *const answer = out;
    const char *ignored = "";

    *answer->model = (plait_model){0};
    PLAIT_TRY(json_as_object(root, err));
    if (is_hugging_face(root))
        PLAIT_TRY(model_read_hf(root, arena, answer->model, &ignored, err));
    else
        PLAIT_TRY(model_read_plait(root, arena, answer->model, err));
    if (answer->warning != NULL)
        *answer->warning = ignored;
    return PLAIT_OK;
}

plait_status plait_model_load(const char *path, plait_arena *arena, plait_model *out,
                              const char **warning, plait_error *err)
{
    return json_load(path, read_root, arena, &(model_answer){out, warning}, err);
}

plait_status plait_model_parse(const char *text, size_t length, const char *name,
                               plait_arena *arena, plait_model *out, const char **warning,
                               plait_error *err)
{
    return json_parse(text, length, name, read_root, arena, &(model_answer){out, warning}, err);
}

plait_status plait_model_find(const char *name, plait_arena *arena, plait_model *out,
                              const char **warning, plait_error *err)
{
    const char *path;

    PLAIT_TRY(plait_data_find(PLAIT_DATA_MODELS, name, arena, &path, err));
    return plait_model_load(path, arena, out, warning, err);
}
