/* runtime_since.c - reads the release that introduced each feature, and removes later features */
#include <string.h>

#include "base/text.h"
#include "io/runtime/runtime_file.h"

// ---- reading -------------------------------------------------------------------------------

/* A member of "since". */
typedef struct since_member {
    const char *name;
    int key;
    const char *const *words; /* words for its values; NULL: the member itself names a release */
} since_member;

static const since_member features[] = {
    {"precision", PLAIT_FEATURE_PRECISION, plait_precision_name},
    {"recompute_modules", PLAIT_FEATURE_MODULE, plait_recompute_module_name},
    {"model", PLAIT_FEATURE_MODEL, plait_model_part_name},
    {"mtp_cp", PLAIT_FEATURE_MTP_CP, NULL},
    {"fp8_recompute", PLAIT_FEATURE_FP8_RECOMPUTE, NULL},
    {"uneven_chunks", PLAIT_FEATURE_UNEVEN_CHUNKS, NULL},
    {"hsdp", PLAIT_FEATURE_HSDP, NULL},
    {"etp", PLAIT_FEATURE_ETP, NULL},
    {"current_scaling", PLAIT_FEATURE_CURRENT_SCALING, NULL},
};

/* Words for the values of a key that has numbers. */
static const char *const digits[] = {"0", "1", "2", "3", NULL};

static bool find_member(const char *name, since_member *out)
{
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (text_equal(name, features[i].name)) {
            *out = features[i];
            return true;
        }
    for (int key = 0; key < PLAIT_KEYS; key++)
        if (plait_keys[key].limit_name != NULL && plait_keys[key].kind != PLAIT_KEY_NUMBER &&
            text_equal(name, plait_keys[key].limit_name)) {
            const char *const *const words = plait_keys[key].words;

            *out = (since_member){name, key, words != NULL ? words : digits};
            return true;
        }
    return false;
}

static plait_status read_feature(const json_cursor *at, const since_member *of,
                                 const plait_runtime *runtime, plait_feature *out, plait_error *err)
{
    plait_arena *scratch;
    const char *name = "";
    plait_status status;

    *out = (plait_feature){.key = of->key};
    out->value = of->words != NULL ? text_index(at->key, of->words) : 0;
    if (out->value < 0)
        return json_fail(at, PLAIT_ERROR_RANGE, err, "expected a value of %s, found \"%.40s\"",
                         of->name, at->key);
    scratch = plait_arena_new();
    PLAIT_TRY(plait_check_allocated(scratch, err));
    status = json_as_string(at, scratch, &name, err);
    while (out->since < runtime->releases && !text_equal(name, runtime->release[out->since].name))
        out->since++;
    if (status == PLAIT_OK && out->since == runtime->releases)
        status = json_fail(at, PLAIT_ERROR_RANGE, err,
                           "expected a release from /releases, found \"%.40s\"", name);
    plait_arena_free(scratch);
    return status;
}

plait_status runtime_read_since(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                plait_error *err)
{
    json_cursor since, each;
    plait_feature *list;
    size_t most = 0;

    PLAIT_TRY(json_object_optional(at, "since", &since, err));
    if (json_count(&since) == 0)
        return PLAIT_OK;
    for (bool more = json_first(&since, &each); more; more = json_next(&each))
        most += 1 + json_count(&each);
    list = plait_arena_alloc(arena, most, sizeof *list);
    PLAIT_TRY(plait_check_allocated(list, err));
    out->feature = list;
    for (bool more = json_first(&since, &each); more; more = json_next(&each))
        if (!text_equal(each.key, "source")) {
            json_cursor value;
            since_member of;

            if (!find_member(each.key, &of))
                return json_fail(&each, PLAIT_ERROR_SCHEMA, err,
                                 "expected a key that \"since\" supports, found another");
            if (of.words == NULL) {
                PLAIT_TRY(read_feature(&each, &of, out, &list[out->features++], err));
            } else {
                PLAIT_TRY(json_as_object(&each, err));
                for (bool some = json_first(&each, &value); some; some = json_next(&value))
                    PLAIT_TRY(read_feature(&value, &of, out, &list[out->features++], err));
            }
        }
    return PLAIT_OK;
}

// ---- the software as of a release ----------------------------------------------------------

static void drop_module(plait_capabilities *can, int module)
{
    int kept = 0;

    for (int s = 0; s < can->module_sets; s++)
        if (!(can->module_set[s] >> module & 1u))
            can->module_set[kept++] = can->module_set[s];
    can->module_sets = kept;
}

static void drop_feature(plait_runtime *runtime, const plait_feature *feature)
{
    plait_capabilities *const can = &runtime->can;

    switch (feature->key) {
    case PLAIT_FEATURE_PRECISION:
        can->precision &= ~(1u << feature->value);
        break;
    case PLAIT_FEATURE_MODULE:
        drop_module(can, feature->value);
        break;
    case PLAIT_FEATURE_MODEL:
    case PLAIT_FEATURE_MTP_CP:
    case PLAIT_FEATURE_FP8_RECOMPUTE:
    case PLAIT_FEATURE_UNEVEN_CHUNKS: // not a capability; checked by runtime_brought
        break;
    case PLAIT_FEATURE_HSDP:
        can->hsdp = false;
        break;
    case PLAIT_FEATURE_ETP:
        can->etp = false;
        can->etp_is_tp = true;
        break;
    case PLAIT_FEATURE_CURRENT_SCALING:
        runtime->kernels.delayed_scaling = true;
        break;
    default: // a value of a plan's key
        can->takes[feature->key] &= ~(1u << feature->value);
        if (runtime->defaults.key[feature->key] == feature->value)
            runtime->defaults.key[feature->key] =
                runtime_default(&plait_keys[feature->key], can->takes[feature->key]);
    }
}

void runtime_bound(plait_runtime *runtime, const plait_release *at)
{
    runtime->at = at;
    for (size_t i = 0; i < runtime->features; i++)
        if (&runtime->release[runtime->feature[i].since] > at)
            drop_feature(runtime, &runtime->feature[i]);
}
