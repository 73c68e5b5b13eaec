/*
 * deepspeed_file.c - reads the keys of DeepSpeed's JSON that determine a plan
 *
 * A value "auto", which Hugging Face's Trainer fills in, counts as not given. A feature whose
 * section is missing is off: without tensor_parallel tp is 1. If there is a `pipeline` section, the
 * training script decides the stages, so pp stays open unless the section gives it.
 */
#include "launch/read/deepspeed_file.h"

#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "io/file.h"
#include "io/json/json.h"
#include "launch/write/deepspeed_config.h"

enum { NAMED_MAX_BYTES = 1 << 20 };

plait_status named_json(const launch_flags *flags, const char *name, const char **out,
                        plait_error *err)
{
    const shell_words *const script = &flags->script;

    for (int f = script->files - 1; f >= 0; f--)
        if (strcmp(file_base_name(script->file[f].name), file_base_name(name)) == 0) {
            // JSON cannot express unknown values: write null outside quotes and ? inside
            const char *text = script->file[f].text;
            bool quoted = false;
            text_builder lines;
            text_builder_init(&lines, flags->arena);
            for (; *text != '\0'; text++) {
                quoted = *text == '"' ? !quoted : quoted;
                if (!shell_word_known((char[]){*text, '\0'})) {
                    text_append(&lines, quoted ? "?" : "null");
                    text += strspn(text + 1, "0123456789");
                    text += text[1] == '\x02';
                } else {
                    text_append_char(&lines, *text);
                }
            }
            *out = text_builder_finish(&lines, NULL);
            return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
        }
    const char *const path = file_beside(flags->file, name, flags->arena);
    plait_error inner;

    *out = NULL;
    PLAIT_TRY(plait_check_allocated(path, err));
    if (file_base_name(name)[0] == '\0' || !shell_word_known(file_base_name(name)))
        return PLAIT_OK;
    return faults_only(file_read_all(path, NAMED_MAX_BYTES, flags->arena, out, NULL, &inner),
                       &inner, err);
}

/* Find a member; a missing one, null and "auto" count as not given. */
static plait_status find_member(const json_cursor *at, const char *key, json_cursor *child,
                                bool *there, plait_error *err)
{
    static const char *const filled_in[] = {"auto", NULL};
    int word;

    PLAIT_TRY(json_value_optional(at, key, child, err));
    *there = !json_is_null(child);
    if (!json_is_string(child))
        return PLAIT_OK;
    *there = false;
    return json_as_word(child, filled_in, &word, err);
}

static plait_status read_int(const json_cursor *at, const char *key, int min, int *out,
                             plait_error *err)
{
    json_cursor child;
    bool there;

    PLAIT_TRY(find_member(at, key, &child, &there, err));
    return there ? json_as_int(&child, min, 1 << 30, out, err) : PLAIT_OK;
}

static plait_status read_bool(const json_cursor *at, const char *key, int *out, plait_error *err)
{
    json_cursor child;
    bool there, value;

    PLAIT_TRY(find_member(at, key, &child, &there, err));
    if (!there)
        return PLAIT_OK;
    PLAIT_TRY(json_as_bool(&child, &value, err));
    *out = value;
    return PLAIT_OK;
}

/* Read the switch of a section; it is off without the section. */
static plait_status read_enabled(const json_cursor *root, const char *section, int *out,
                                 plait_error *err)
{
    json_cursor at;

    PLAIT_TRY(json_object_optional(root, section, &at, err));
    *out = false;
    return json_is_null(&at) ? PLAIT_OK : read_bool(&at, "enabled", out, err);
}

enum { DEVICE_NONE, DEVICE_CPU, DEVICE_NVME };

static plait_status read_device(const json_cursor *at, int *device, plait_error *err)
{
    static const char *const devices[] = {"none", "cpu", "nvme", NULL};

    *device = DEVICE_NONE;
    return json_is_null(at) ? PLAIT_OK : json_word_optional(at, "device", devices, device, err);
}

/*
 * DeepSpeed 0.19.6 rejects an older switch together with the section that replaces it, regardless
 * of the switch's value (config_utils.py).
 */
static plait_status refuse_older_switch(const json_cursor *zero, const char *older,
                                        const char *section, plait_error *err)
{
    if (json_has(zero, older) && json_has(zero, section))
        return json_fail_key(zero, older, PLAIT_ERROR_RANGE, err,
                             "expected %s or %s, found both: DeepSpeed rejects the deprecated key "
                             "next to the section that replaces it",
                             older, section);
    return PLAIT_OK;
}

/* Read the elements of a bucket of gradients, which depend on the model if they are "auto". */
static plait_status read_bucket(const json_cursor *zero, double *elements, plait_error *err)
{
    json_cursor child;
    bool there;

    PLAIT_TRY(find_member(zero, "reduce_bucket_size", &child, &there, err));
    if (there)
        return json_as_number(&child, JSON_POSITIVE, elements, err);
    *elements = json_is_string(&child) ? DEEPSPEED_OPEN : 0.0;
    return PLAIT_OK;
}

static plait_status read_zero(const json_cursor *root, deepspeed_file *file, plait_error *err)
{
    json_cursor at;

    PLAIT_TRY(json_object_optional(root, "zero_optimization", &at, err));
    file->zero = 0;
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(read_int(&at, "stage", 0, &file->zero, err));
    if (file->zero > 3)
        return json_fail_key(&at, "stage", PLAIT_ERROR_RANGE, err, "expected 0 to 3, found %d",
                             file->zero);
    PLAIT_TRY(read_int(&at, "mics_shard_size", -1, &file->mics, err));
    PLAIT_TRY(read_int(&at, "zero_hpz_partition_size", 0, &file->hpz, err));
    PLAIT_TRY(read_bool(&at, "overlap_comm", &file->overlap, err));
    PLAIT_TRY(read_bucket(&at, &file->bucket, err));
    PLAIT_TRY(read_bool(&at, "zero_quantized_weights", &file->weights, err));
    PLAIT_TRY(read_bool(&at, "zero_quantized_gradients", &file->gradients, err));
    // cpu_offload and cpu_offload_param are the older switches of the sections offload_optimizer
    // and offload_param (zero/config.py)
    json_cursor params, optimizer;
    int of_params, of_optimizer, older_params = false, older_optimizer = false;
    PLAIT_TRY(refuse_older_switch(&at, "cpu_offload", "offload_optimizer", err));
    PLAIT_TRY(refuse_older_switch(&at, "cpu_offload_param", "offload_param", err));
    PLAIT_TRY(json_object_optional(&at, "offload_param", &params, err));
    PLAIT_TRY(json_object_optional(&at, "offload_optimizer", &optimizer, err));
    PLAIT_TRY(read_device(&params, &of_params, err));
    PLAIT_TRY(read_device(&optimizer, &of_optimizer, err));
    PLAIT_TRY(read_bool(&at, "cpu_offload_param", &older_params, err));
    PLAIT_TRY(read_bool(&at, "cpu_offload", &older_optimizer, err));
    file->nvme = of_params == DEVICE_NVME      ? "offload_param"
                 : of_optimizer == DEVICE_NVME ? "offload_optimizer"
                                               : NULL;
    file->offload_params = of_params == DEVICE_CPU || older_params == true;
    file->offload_optimizer = of_optimizer == DEVICE_CPU || older_optimizer == true;
    if (!json_is_null(&optimizer)) {
        PLAIT_TRY(read_bool(&optimizer, "super_offload", &file->super_offload, err));
        PLAIT_TRY(
            json_number_optional(&optimizer, "ratio", JSON_FRACTION, &file->offload_ratio, err));
    }
    file->zenflow = json_has(&at, "zenflow");
    // gathered parameters stay until backward if the bounds are larger than any model
    const json_cursor *const zero = &at;
    double alive = 0.0, distance = 0.0;

    PLAIT_TRY(
        json_number_optional(zero, "stage3_max_live_parameters", JSON_NON_NEGATIVE, &alive, err));
    PLAIT_TRY(
        json_number_optional(zero, "stage3_max_reuse_distance", JSON_NON_NEGATIVE, &distance, err));
    file->lives_on = alive >= DEEPSPEED_NO_BOUND && distance >= DEEPSPEED_NO_BOUND;
    if (file->overlap == DEEPSPEED_OPEN) // set the engine's default
        file->overlap = file->zero == 3;
    return PLAIT_OK;
}

/* Read a size from its own section, in which 0 and 1 mean that there is no split. */
static plait_status read_size(const json_cursor *root, const char *section, const char *key,
                              int *out, plait_error *err)
{
    json_cursor at;

    PLAIT_TRY(json_object_optional(root, section, &at, err));
    *out = 1;
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(read_int(&at, key, 0, out, err));
    *out = *out > 1 ? *out : 1;
    return PLAIT_OK;
}

/* Keys that the functions above read. */
static const char *const keys_read[] = {
    // batch
    "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",

    // sections
    "zero_optimization", "fp16", "bf16", "activation_checkpointing", "pipeline", "tensor_parallel",
    "expert_parallel", "sequence_parallel_size", NULL};

static const char *const zero_keys_read[] = {
    // shards and traffic
    "stage", "zero_hpz_partition_size", "zero_quantized_weights", "zero_quantized_gradients",
    "mics_shard_size", "stage3_max_live_parameters", "stage3_max_reuse_distance", "overlap_comm",
    "reduce_bucket_size",
    // states on the host
    "offload_param", "offload_optimizer", "zenflow", "cpu_offload", "cpu_offload_param", NULL};

static const char *const offload_keys_read[] = {"device", "ratio", "super_offload", NULL};

static void add_not_read(const json_cursor *at, const char *const *read, text_builder *out)
{
    json_cursor child;

    for (bool more = json_first(at, &child); more; more = json_next(&child))
        if (text_index(child.key, read) < 0)
            text_append_printf(out, "%s%s", out->length > 0 ? ", " : "", child.key);
}

static bool has_keys(const json_cursor *root)
{
    json_cursor at;

    for (bool more = json_first(root, &at); more; more = json_next(&at))
        if (text_index(at.key, keys_read) >= 0)
            return true;
    return false;
}

static plait_status read_file(const json_cursor *root, plait_arena *arena, void *out,
                              plait_error *err)
{
    deepspeed_file *const file = out;

    PLAIT_TRY(json_as_object(root, err));
    if (!has_keys(root))
        return json_fail(root, PLAIT_ERROR_SCHEMA, err,
                         "expected a config of DeepSpeed with keys such as zero_optimization, "
                         "found no such key");
    static const char *const offloads[] = {"offload_param", "offload_optimizer"};
    json_cursor zero, offload;
    text_builder list;
    text_builder_init(&list, arena);
    add_not_read(root, keys_read, &list);
    PLAIT_TRY(json_object_optional(root, "zero_optimization", &zero, err));
    if (!json_is_null(&zero))
        add_not_read(&zero, zero_keys_read, &list);
    for (size_t o = 0; !json_is_null(&zero) && o < 2; o++) {
        PLAIT_TRY(json_object_optional(&zero, offloads[o], &offload, err));
        if (!json_is_null(&offload))
            add_not_read(&offload, offload_keys_read, &list);
    }
    file->not_read = text_builder_finish(&list, NULL);
    PLAIT_TRY(plait_check_allocated(file->not_read, err));
    PLAIT_TRY(read_int(root, "train_batch_size", 1, &file->train, err));
    PLAIT_TRY(read_int(root, "train_micro_batch_size_per_gpu", 1, &file->micro, err));
    PLAIT_TRY(read_int(root, "gradient_accumulation_steps", 1, &file->steps, err));
    PLAIT_TRY(read_zero(root, file, err));
    PLAIT_TRY(read_enabled(root, "fp16", &file->fp16, err));
    PLAIT_TRY(read_enabled(root, "bf16", &file->bf16, err));
    if (file->fp16 == true && file->bf16 == true)
        return json_fail(root, PLAIT_ERROR_RANGE, err, "expected fp16 or bf16, found both");
    int divided = false, moved = false;
    json_cursor at;
    PLAIT_TRY(json_object_optional(root, "activation_checkpointing", &at, err));
    if (!json_is_null(&at)) {
        PLAIT_TRY(read_int(&at, "number_checkpoints", 0, &file->checkpoints, err));
        PLAIT_TRY(read_bool(&at, "partition_activations", &divided, err));
        PLAIT_TRY(read_bool(&at, "cpu_checkpointing", &moved, err));
        file->spread_checkpoints = divided == true || moved == true;
    }
    PLAIT_TRY(read_size(root, "tensor_parallel", "autotp_size", &file->tp, err));
    PLAIT_TRY(read_size(root, "expert_parallel", "autoep_size", &file->ep, err));
    PLAIT_TRY(json_object_optional(root, "pipeline", &at, err));
    if (!json_is_null(&at))
        PLAIT_TRY(read_int(&at, "stages", 1, &file->pp, err));
    else
        file->pp = 1;
    file->cp = 1;
    return read_int(root, "sequence_parallel_size", 1, &file->cp, err);
}

plait_status deepspeed_file_parse(const char *text, size_t length, const char *name,
                                  plait_arena *arena, deepspeed_file *out, plait_error *err)
{
    *out = (deepspeed_file){
        .train = DEEPSPEED_OPEN,
        .micro = DEEPSPEED_OPEN,
        .steps = DEEPSPEED_OPEN,
        .zero = DEEPSPEED_OPEN,
        .mics = DEEPSPEED_OPEN,
        .hpz = DEEPSPEED_OPEN,
        .overlap = DEEPSPEED_OPEN,
        .weights = DEEPSPEED_OPEN,
        .gradients = DEEPSPEED_OPEN,
        .fp16 = DEEPSPEED_OPEN,
        .bf16 = DEEPSPEED_OPEN,
        .checkpoints = DEEPSPEED_OPEN,
        .super_offload = DEEPSPEED_OPEN,
        .offload_ratio = 1.0,
        .spread_checkpoints = DEEPSPEED_OPEN,
        .tp = DEEPSPEED_OPEN,
        .pp = DEEPSPEED_OPEN,
        .cp = DEEPSPEED_OPEN,
        .ep = DEEPSPEED_OPEN,
    };
    return json_parse(text, length, name, read_file, arena, out, err);
}

bool deepspeed_file_named(const char *path, deepspeed_file *out)
{
    static const char *const marks[] = {"zero", "ds_z", "deepspeed_zero", NULL};
    const char *const slash = strrchr(path, '/');
    const char *const name = slash != NULL ? slash + 1 : path;

    for (const char *const *mark = marks; *mark != NULL; mark++) {
        const char *const digit = text_starts_with(name, *mark) ? name + strlen(*mark) : "";

        if (*digit < '0' || *digit > '3')
            continue;
        out->zero = *digit - '0';
        out->offload_optimizer = strstr(digit, "offload") != NULL;
        out->offload_params = out->offload_optimizer && out->zero == 3;
        return true;
    }
    return false;
}
