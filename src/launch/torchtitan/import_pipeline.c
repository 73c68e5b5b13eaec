/* import_pipeline.c - reads schedule, chunks and split from a config of torchtitan */
#include <string.h>
#include <strings.h>

#include "plait/lowlevel/schedule.h"

#include "launch/torchtitan/torchtitan.h"

/*
 * Numbers of layers of each part of the model, from [8, 9] or [["tok_embeddings", "layers.0"],
 * ["layers.1", ...]].
 */
typedef struct titan_parts {
    int parts; /* number of parts; 0: not given */
    int layers;
    int count[PLAIT_MAX_LAYERS];
} titan_parts;

static void read_named(const char *at, titan_parts *out)
{
    int depth = 0;

    for (; *at != '\0'; at++) {
        if (*at == '[' && ++depth == 2 && out->parts < PLAIT_MAX_LAYERS)
            out->count[out->parts++] = 0;
        depth -= *at == ']';
        if (strncmp(at, "layers.", 7) == 0 && out->parts > 0) {
            out->count[out->parts - 1]++;
            out->layers++;
        }
    }
}

static void read_counts(const char *at, titan_parts *out)
{
    int count = 0;
    bool begun = false;

    for (; *at != '\0' && *at != ']'; at++) {
        begun = begun || (*at >= '0' && *at <= '9');
        if (*at >= '0' && *at <= '9' && count < PLAIT_MAX_LAYERS)
            count = 10 * count + (*at - '0');
        if ((at[1] == ',' || at[1] == ']') && begun && out->parts < PLAIT_MAX_LAYERS) {
            out->count[out->parts++] = count;
            out->layers += count;
            count = 0;
            begun = false;
        }
    }
}

/* ---- chunks ---- */

/*
 * Return the schedule with a name, -1 if plait does not have it. The case is ignored, since
 * torchtitan accepts some names in lower case.
 */
static int schedule_named(const char *word)
{
    for (int s = 0; s < PLAIT_SCHEDULES; s++)
        if (titan_schedule_name[s] != NULL && strcasecmp(titan_schedule_name[s], word) == 0)
            return s;
    return -1;
}

static bool has_chunks(const char *word)
{
    const int schedule = schedule_named(word);

    return schedule < 0 || !plait_schedule_takes((plait_schedule)schedule, 1);
}

/*
 * Return the number of layers that the embedding or the head counts as: 1 if the key is not given.
 */
static int weight_of(titan_reading *in, const char *key)
{
    const char *const value = titan_find(in, key);

    if (value == NULL)
        return 1;
    return strcmp(value, "0") != 0 ? (int)titan_number_of(in, key, PLAIT_MAX_LAYERS) : 0;
}

static int stages_of(const titan_reading *in, const titan_parts *parts,
                     const titan_weights *weights, const char *schedule)
{
    const int layers = in->out->model != NULL ? in->out->model->layers : 0;
    const int each = weights->layers_per_stage;

    if (parts->parts > 0)
        return parts->parts;
    if (each == 0)
        return in->out->degrees.pp * (has_chunks(schedule) ? 2 : 1);
    return layers > 0 ? (layers + weights->first + weights->last + each - 1) / each : 0;
}

/* ---- the split ---- */

static bool split_gives_parts(const char *word, int layers, const plait_degrees *d,
                              const titan_parts *parts)
{
    const plait_model model = {.layers = layers};
    plait_degrees degrees = *d;
    int counts[PLAIT_MAX_LAYERS];

    if (plait_degrees_set(&degrees, "split", word, NULL) != PLAIT_OK ||
        degrees.split.kind == PLAIT_SPLIT_COST || !plait_split_layers(&model, &degrees, counts))
        return false;
    return memcmp(counts, parts->count, (size_t)parts->parts * sizeof *counts) == 0;
}

/*
 * Set the split: the one of the plan's note if it gives the config's layers, else a named split
 * that does.
 */
static plait_status take_split(titan_reading *in, const titan_parts *parts, plait_error *err)
{
    static const char *const words[] = {"even", "both", "spread", "embedding", "loss", NULL};
    const plait_degrees *const d = &in->out->degrees;
    char word_noted[PLAIT_VALUE_SIZE];

    plait_degrees_get(&in->notes.degrees, PLAIT_KEY_SPLIT, word_noted, sizeof word_noted);
    const char *const noted =
        plait_arena_text(in->pairs->arena, word_noted); // a layout keeps a pointer to the text
    PLAIT_TRY(plait_check_allocated(noted, err));
    if (in->notes.given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT) &&
        split_gives_parts(noted, parts->layers, d, parts)) {
        titan_set(in, "split", noted);
        return in->status;
    }
    for (const char *const *word = words; *word != NULL; word++)
        if (split_gives_parts(*word, parts->layers, d, parts)) {
            titan_set(in, "split", *word);
            return in->status;
        }
    if (in->out->model != NULL && in->out->model->layers == parts->layers &&
        titan_is_known(in, "schedule"))
        return plans_assign_stages(in->out, parts->count, in->pairs->arena, err);
    import_warn(in->warnings, "plait cannot express this split of the layers; split is left unset");
    return PLAIT_OK;
}

plait_status titan_take_pipeline(titan_reading *in, plait_error *err)
{
    const char *schedule = titan_word_of(in, "parallelism.pipeline_parallel_schedule");
    titan_parts parts = {.parts = 0};

    if (!titan_is_known(in, "pp"))
        return PLAIT_OK;
    const int pp = in->out->degrees.pp;
    if (schedule == NULL && !in->complete && pp > 1)
        return PLAIT_OK;
    schedule = schedule == NULL || pp == 1 ? "1F1B" : schedule;
    if (schedule_named(schedule) >= 0)
        titan_set(in, "schedule", plait_schedule_name[schedule_named(schedule)]);
    else
        import_warn(in->warnings,
                    "plait cannot express LoopedBFS, InterleavedZeroBubble and schedules "
                    "from a file; schedule is left unset");
    if (pp == 1) {
        titan_set(in, "vpp", "1");
        if (!(in->notes.given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT)))
            titan_set(in, "split", "even");
        return in->status;
    }
    // a user's own configuration function may name the parts, which no flag does
    const char *const module = titan_word_of(in, "module");
    if (!in->complete && (module == NULL || text_index(module, titan_module) < 0)) {
        // arguments cannot express stages that no named split gives; only the recipe.py in the same
        // folder does
        if (!(in->notes.given & PLAIT_KEY_BIT(PLAIT_KEY_SPLIT)) ||
            in->notes.degrees.split.kind != PLAIT_SPLIT_LAYOUT)
            return PLAIT_OK;
        return plait_fail(
            err, PLAIT_ERROR_RANGE, in->name,
            "expected arguments that assign layers to stages, found none; recipe.py in the same "
            "folder has them: run `plait import` on it");
    }
    const char *const value = titan_find(in, "parallelism.module_fqns_per_model_part");
    const char *const counted = value != NULL ? strstr(value, "model_parts([") : NULL;

    if (counted != NULL)
        read_counts(counted + strlen("model_parts(["), &parts);
    else if (value != NULL)
        read_named(value, &parts);
    titan_weights weights;
    weights.first = weight_of(in, "parallelism.pipeline_parallel_first_stage_less_layers");
    weights.last = weight_of(in, "parallelism.pipeline_parallel_last_stage_less_layers");
    const int64_t each =
        titan_number_of(in, "parallelism.pipeline_parallel_layers_per_stage", PLAIT_MAX_LAYERS);
    PLAIT_TRY(in->status);
    weights.layers_per_stage = (int)(each > 0 ? each : 0);
    const int stages = stages_of(in, &parts, &weights, schedule);
    if (stages <= 0 || stages % pp != 0)
        return PLAIT_OK;
    titan_set_number(in, "vpp", stages / pp);
    PLAIT_TRY(in->status);
    // compute the parts of torchtitan's own split, if the number of layers is known
    const int layers = in->out->model != NULL ? in->out->model->layers : 0;
    if (parts.parts <= 0 && layers != 0 && stages <= layers + 2 && stages <= PLAIT_MAX_LAYERS &&
        titan_divide_layers(layers, stages, weights, parts.count)) {
        parts.parts = stages;
        parts.layers = layers;
    }
    return parts.parts > 0 ? take_split(in, &parts, err) : PLAIT_OK;
}
