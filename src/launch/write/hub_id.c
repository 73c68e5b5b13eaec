/* hub_id.c - the id of a model on the Hugging Face Hub */
#include "launch/write/hub_id.h"

#include "base/status.h"
#include "base/text.h"
#include "io/data/data.h"
#include "io/json/json.h"

static plait_status read_first(const json_cursor *root, plait_arena *arena, void *out,
                               plait_error *err)
{
    json_cursor ids, id;

    PLAIT_TRY(json_as_object(root, err));
    PLAIT_TRY(json_array_optional(root, "hub", &ids, err));
    return json_first(&ids, &id) ? json_as_string(&id, arena, out, err) : PLAIT_OK;
}

plait_status hub_id_of(const plait_model *model, plait_arena *arena, const char **out,
                       plait_error *err)
{
    plait_model shipped;
    const char *path = NULL;
    plait_error inner;

    *out = text_plain(arena, model->name);
    PLAIT_TRY(plait_check_allocated(*out, err));
    if (data_is_path(model->name) || data_is_hub_id(model->name))
        return PLAIT_OK;
    PLAIT_TRY(data_look_up(PLAIT_DATA_MODELS, model->name, arena, &path, err));
    if (path == NULL)
        return PLAIT_OK;
    // a model of a user's own file may have the name of a shipped one
    const plait_status status = plait_model_load(path, arena, &shipped, NULL, &inner);
    PLAIT_TRY(faults_only(status, &inner, err));
    if (status != PLAIT_OK || shipped.layers != model->layers || shipped.hidden != model->hidden)
        return PLAIT_OK;
    return faults_only(json_load(path, read_first, arena, out, &inner), &inner, err);
}
