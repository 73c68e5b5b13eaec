/* hub_model.c - a model by the name that it has on a hub, or in a recipe */
#include "launch/read/hub_model.h"

#include <ctype.h>
#include <string.h>

#include "base/status.h"
#include "plait/data.h"
#include "base/text.h"

/* Small letters and hyphens, without what the hub adds for the stage of training. */
static const char *plain_name(const char *path, plait_arena *arena)
{
    static const char *const endings[] = {".yaml", "-2507", "-hf",   "-instruct", "-chat",
                                          "-base", "-it",   "-v0.1", NULL};
    const char *const slash = strrchr(path, '/');
    char *const name = plait_arena_text(arena, slash != NULL ? slash + 1 : path);

    for (char *c = name; c != NULL && *c != '\0'; c++)
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    for (const char *const *ending = endings; name != NULL && *ending != NULL; ending++)
        if (text_ends_with(name, *ending))
            name[strlen(name) - strlen(*ending)] = '\0';
    return name != NULL && text_starts_with(name, "meta-") ? name + strlen("meta-") : name;
}

static plait_status find(const char *name, plait_arena *arena, const plait_model **out,
                         plait_error *err)
{
    plait_model *const model = plait_arena_alloc(arena, 1, sizeof *model);
    plait_error inner;

    if (model == NULL || name == NULL)
        return plait_fail_nomem(err);
    if (name[0] == '\0' || text_equal(name, "-") || text_ends_with(name, ".json"))
        return PLAIT_OK;
    const plait_status status = plait_model_find(name, arena, model, NULL, &inner);
    if (status == PLAIT_OK)
        *out = model;
    return faults_only(status, &inner, err);
}

plait_status hub_model_find(const char *path, plait_arena *arena, const plait_model **out,
                            plait_error *err)
{
    const char *const name = plain_name(path, arena);

    *out = NULL;
    PLAIT_TRY(find(name, arena, out, err));
    if (*out != NULL || !text_starts_with(name, "llama") || !isdigit((unsigned char)name[5]))
        return PLAIT_OK;
    return find(plait_arena_printf(arena, "llama-%s", name + 5), arena, out, err);
}
