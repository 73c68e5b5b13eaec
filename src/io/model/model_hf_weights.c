/*
 * model_hf_weights.c - reads the number format of the weights: quantization_config of a config.json
 *
 * Each library that quantizes has its own keys. The reader finds the keyword of the format, such as
 * "NVFP4", "int4" or "fp8_e4m3", and maps it to the nearest format of plait.
 *
 * Sources: transformers' utils/quantization_config.py, compressed-tensors' quant_args.py, and
 * vLLM's model_executor/layers/quantization.
 */
#include "io/model/model_hf.h"

#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "plait/serve.h"

/* How weights are stored. */
typedef struct hf_storage {
    char word[64]; /* format in the words of the file, in small letters without '_' and '-' */
    int bits;      /* 0: unknown */
    int group;     /* elements that share a scale; 0: unknown */
    bool zeros;    /* a group also has a zero of as many bits as an element */
    bool blocks;   /* one scale per block of 128 by 128 */
    bool twice;    /* the scales are quantized as well (bitsandbytes) */
} hf_storage;

/* ---- formats ---- */

/*
 * The keyword of a format contains one of these texts; the first one that it contains decides, so that
 * "int8_dynamic_activation_int4_weight" has weights of 4 bits. `exact` is false if plait has no
 * such format and the nearest one of as many bits replaces it.
 */
static const struct {
    const char *text;
    plait_weight_format format;
    int bits;
    bool exact;
} formats[] = {
    {"nvfp4", PLAIT_WEIGHT_NVFP4, 4, true},     {"mxfp4", PLAIT_WEIGHT_MXFP4, 4, true},
    {"w4a8", PLAIT_WEIGHT_INT4, 4, false},      {"float4", PLAIT_WEIGHT_MXFP4, 4, true},
    {"fp4", PLAIT_WEIGHT_MXFP4, 4, true},       {"int4", PLAIT_WEIGHT_INT4, 4, true},
    {"w4a", PLAIT_WEIGHT_INT4, 4, true},        {"nf4", PLAIT_WEIGHT_INT4, 4, false},
    {"fp6", PLAIT_WEIGHT_FP8, 6, false},        {"mxfp8", PLAIT_WEIGHT_FP8_BLOCK, 8, false},
    {"fp8pb", PLAIT_WEIGHT_FP8_BLOCK, 8, true}, {"fp8block", PLAIT_WEIGHT_FP8_BLOCK, 8, true},
    {"float8", PLAIT_WEIGHT_FP8, 8, true},      {"fp8", PLAIT_WEIGHT_FP8, 8, true},
    {"int8", PLAIT_WEIGHT_FP8, 8, false},       {"w8a", PLAIT_WEIGHT_FP8, 8, false},
};

/*
 * Supported methods, by the start of their name. Others are named in the warning, since
 * their keys may have another meaning.
 */
static const char *const methods[] = {
    "auto-round", "autoround", "awq",   "bitsandbytes",     "compressed-tensors",
    "fbgemm_fp8", "fp8",       "gptq",  "intel/auto-round", "modelopt",
    "mxfp4",      "quanto",    "quark", "torchao",          NULL};

static bool is_known(const char *method)
{
    for (const char *const *name = methods; *name != NULL; name++)
        if (text_starts_with(method, *name))
            return true;
    return false;
}

/*
 * Returns the format of stored weights. Without a known keyword, the bits determine the narrowest
 * format that is as wide; without bits, it is 16 bits. The word is empty if only the cache is
 * quantized.
 */
static plait_weight_format format_of(const hf_storage *stored, bool *exact)
{
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        if (strstr(stored->word, formats[f].text) == NULL)
            continue;
        *exact = formats[f].exact;
        if (formats[f].format == PLAIT_WEIGHT_MXFP4 && stored->group == 16)
            return PLAIT_WEIGHT_NVFP4;
        return formats[f].format == PLAIT_WEIGHT_FP8 && formats[f].exact && stored->blocks
                   ? PLAIT_WEIGHT_FP8_BLOCK
                   : formats[f].format;
    }
    *exact = stored->bits >= 16 || stored->word[0] == '\0';
    return stored->bits < 1 || stored->bits > 8 ? PLAIT_WEIGHT_BF16
           : stored->bits <= 4                  ? PLAIT_WEIGHT_INT4
                                                : PLAIT_WEIGHT_FP8;
}

/*
 * Returns the bits of a weight with its scales, if the file states what the format leaves open; 0
 * otherwise. A group has a scale of 8 bits (mx and nvfp4), of 32 (nf4, 64 elements), or of 8 and 32
 * more per 256 groups (nf4 that is quantized twice); of integers, a scale of 16 bits and a zero.
 */
static double bits_of(const hf_storage *stored)
{
    const char *const word = stored->word;
    const double group = stored->group;
    int bits = stored->bits;

    for (size_t f = 0; bits == 0 && f < sizeof formats / sizeof *formats; f++)
        if (strstr(word, formats[f].text) != NULL)
            bits = formats[f].bits;
    if (strstr(word, "nf4") != NULL)
        return 4.0 + (stored->twice ? 8.0 / 64.0 + 32.0 / (64.0 * 256.0) : 32.0 / 64.0);
    if (strstr(word, "mxfp8") != NULL)
        return 8.0 + 8.0 / 32.0;
    if (bits < 1 || bits > 8 || (group < 1.0 && (bits == 4 || bits == 8)))
        return 0.0;
    if (strstr(word, "fp") != NULL || strstr(word, "float") != NULL)
        return bits == 4 ? 4.0 + 8.0 / group : bits == 8 ? 0.0 : (double)bits;
    return group < 1.0 ? bits : bits + (16.0 + (stored->zeros ? bits : 0)) / group;
}

/* ---- keys ---- */

/* Reads a text or a number; a value of another type counts as absent, and the text is then "". */
static plait_status find_text(const json_cursor *at, const char *key, plait_arena *arena,
                              const char **out, plait_error *err)
{
    plait_error inner;

    *out = "";
    return faults_only(json_string_optional(at, key, arena, out, &inner), &inner, err);
}

static plait_status find_int(const json_cursor *at, const char *key, int *out, plait_error *err)
{
    plait_error inner;

    return faults_only(json_int_optional(at, key, 1, 1 << 20, out, &inner), &inner, err);
}

static plait_status find_flag(const json_cursor *at, const char *key, bool *out, plait_error *err)
{
    plait_error inner;

    *out = false;
    return faults_only(json_bool_optional(at, key, out, &inner), &inner, err);
}

static bool find_object(const json_cursor *at, const char *key, json_cursor *out)
{
    return json_value_optional(at, key, out, NULL) == PLAIT_OK && json_is_object(out);
}

/* Copies a keyword in small letters without '_' and '-', and appends the bits if they are given. */
static void set_word(hf_storage *out, const char *word, int bits)
{
    size_t length = 0;

    for (; *word != '\0' && length + 4 < sizeof out->word; word++)
        if (*word != '_' && *word != '-')
            out->word[length++] = text_lower(*word);
    out->word[length] = '\0';
    if (bits > 0)
        text_format(out->word + length, sizeof out->word - length, "%d", bits);
}

/*
 * Reads one description of stored weights: an object of config_groups (num_bits, type, strategy),
 * of quark (dtype) or of a layer (quant_algo), or all of quantization_config.
 */
static plait_status read_storage(const json_cursor *at, plait_arena *arena, hf_storage *out,
                                 plait_error *err)
{
    static const char *const bits_keys[] = {"num_bits", "bits", "w_bit", NULL};
    static const char *const data_keys[] = {"_data", "quant_type_kwargs", NULL}; // torchao
    static const char *const types[] = {"type", "data_type", NULL};
    static const char *const words[] = {"quant_algo", "dtype",  "quant_type",   "_type",
                                        "weights",    "format", "quant_method", NULL};
    const char *word = "", *strategy;
    bool four, eight, symmetric, sym;
    json_cursor data;

    *out = (hf_storage){0};
    for (const char *const *key = bits_keys; *key != NULL; key++)
        PLAIT_TRY(find_int(at, *key, &out->bits, err));
    PLAIT_TRY(find_int(at, "group_size", &out->group, err));
    PLAIT_TRY(find_text(at, "strategy", arena, &strategy, err));
    PLAIT_TRY(find_flag(at, "load_in_4bit", &four, err));
    PLAIT_TRY(find_flag(at, "load_in_8bit", &eight, err));
    for (const char *const *key = data_keys; out->group == 0 && *key != NULL; key++)
        if (find_object(at, *key, &data))
            PLAIT_TRY(find_int(&data, "group_size", &out->group, err));
    PLAIT_TRY(find_flag(at, "symmetric", &symmetric, err));
    PLAIT_TRY(find_flag(at, "sym", &sym, err));
    PLAIT_TRY(find_flag(at, "bnb_4bit_use_double_quant", &out->twice, err));
    out->zeros = !symmetric && !sym;
    out->blocks = json_has(at, "weight_block_size") || strcmp(strategy, "block") == 0;
    if (four || eight) {
        set_word(out, four ? "nf4" : "int8", 0);
        return PLAIT_OK;
    }
    for (const char *const *key = types; out->bits > 0 && word[0] == '\0' && *key != NULL; key++)
        PLAIT_TRY(find_text(at, *key, arena, &word, err));
    if (out->bits > 0) {
        set_word(out, word[0] != '\0' ? word : "int", out->bits);
        return PLAIT_OK;
    }
    for (const char *const *key = words; word[0] == '\0' && *key != NULL; key++)
        PLAIT_TRY(find_text(at, *key, arena, &word, err));
    // AWQ and GPTQ without bits have 4, as in transformers.
    set_word(out, text_starts_with(word, "awq") || text_starts_with(word, "gptq") ? "int4" : word,
             0);
    return PLAIT_OK;
}

/* ---- several descriptions ---- */

/* The narrowest of several descriptions, and whether their formats differ. */
typedef struct hf_narrowest {
    hf_storage stored;
    bool mixed;
} hf_narrowest;

static plait_status add_storage(const json_cursor *at, plait_arena *arena, hf_narrowest *out,
                                plait_error *err)
{
    hf_storage next;
    bool exact;

    PLAIT_TRY(read_storage(at, arena, &next, err));
    if (next.word[0] == '\0')
        return PLAIT_OK;
    const plait_weight_format one = format_of(&out->stored, &exact);
    const plait_weight_format other = format_of(&next, &exact);
    out->mixed = out->mixed || (out->stored.word[0] != '\0' && one != other);
    if (out->stored.word[0] == '\0' || other > one)
        out->stored = next;
    return PLAIT_OK;
}

/*
 * Adds the weights of one group of modules. Those of quark may be a list of steps, of which the
 * last is what is stored.
 */
static plait_status add_group(const json_cursor *at, plait_arena *arena, hf_narrowest *out,
                              plait_error *err)
{
    json_cursor weights, step, last;

    if (json_value_optional(at, json_has(at, "weight") ? "weight" : "weights", &weights, NULL) !=
            PLAIT_OK ||
        json_is_null(&weights))
        return add_storage(at, arena, out, err);
    last = weights;
    for (bool more = json_is_array(&weights) && json_first(&weights, &step); more;
         more = json_next(&step))
        last = step;
    return json_is_object(&last) ? add_storage(&last, arena, out, err) : PLAIT_OK;
}

/*
 * Finds the narrowest format of the groups of modules, if the file has groups, otherwise the format
 * of the whole file.
 */
static plait_status find_narrowest(const json_cursor *at, plait_arena *arena, hf_narrowest *out,
                                   plait_error *err)
{
    static const char *const lists[] = {"config_groups", "quantized_layers", "layer_quant_config",
                                        "quant_type", NULL};
    const char *algorithm;
    json_cursor group, list;

    *out = (hf_narrowest){0};
    PLAIT_TRY(find_text(at, "quant_algo", arena, &algorithm, err));
    if (algorithm[0] != '\0' && strcmp(algorithm, "MIXED_PRECISION") != 0)
        return add_storage(at, arena, out, err);
    if (find_object(at, "global_quant_config", &group))
        PLAIT_TRY(add_group(&group, arena, out, err));
    for (const char *const *name = lists; *name != NULL; name++)
        if (find_object(at, *name, &list))
            for (bool more = json_first(&list, &group); more; more = json_next(&group))
                if (json_is_object(&group))
                    PLAIT_TRY(add_group(&group, arena, out, err));
    return out->stored.word[0] != '\0' ? PLAIT_OK : add_storage(at, arena, out, err);
}

/* ---- modules in 16 bits ---- */

/* Parts of each layer that the file keeps in 16 bits. */
typedef struct hf_wide {
    bool attention[PLAIT_MAX_LAYERS];
    bool ffn[PLAIT_MAX_LAYERS];
    bool any; /* the file has a list of modules in 16 bits */
} hf_wide;

/* Returns whether a pattern ends here: only wildcards of globs and regular expressions follow. */
static bool is_end(const char *text)
{
    return text[strspn(text, ".*$\\")] == '\0';
}

/*
 * Adds one entry of a list: the name of a module (model.layers.0.self_attn.o_proj), a part of one
 * (self_attn), a glob or a regular expression. A module counts as in 16 bits if the entry covers it
 * or names its last matrix. An entry without a number of a layer applies to all layers; one for the
 * MLP is skipped then, since it may be about the dense layers of a model with experts.
 */
static void add_entry(const char *entry, int layers, hf_wide *out)
{
    static const char *const other_parts[] = {"vision", "visual", "audio", "mtp", "shared", NULL};
    const char *const layer = strstr(entry, "layers"), *part = entry;
    size_t digits = 0;
    int first = 0, last = layers - 1;

    for (const char *const *other = other_parts; *other != NULL; other++)
        if (strstr(entry, *other) != NULL)
            return;
    if (layer != NULL) {
        part = layer + strlen("layers");
        part += strspn(part, ".\\");
        digits = strspn(part, "0123456789");
    }
    if (digits > 0) {
        first = last = 0;
        for (size_t d = 0; d < digits && last < layers; d++)
            first = last = 10 * last + part[d] - '0';
        part += digits;
    }
    const char *const attention = strstr(part, "self_attn"), *const mlp = strstr(part, "mlp");
    const bool whole = digits > 0 && is_end(part);
    const bool has_attention =
        whole || (attention != NULL &&
                  (is_end(attention + strlen("self_attn")) || strstr(attention, "o_proj") != NULL));
    const bool has_ffn =
        whole || (digits > 0 && mlp != NULL &&
                  (is_end(mlp + strlen("mlp")) || strstr(mlp, "down_proj") != NULL));

    for (int l = first; l <= last && l < layers; l++) {
        out->attention[l] = out->attention[l] || has_attention;
        out->ffn[l] = out->ffn[l] || has_ffn;
    }
}

/* Reads the lists of modules in 16 bits, for which libraries have different names. */
static plait_status read_wide(const json_cursor *at, int layers, plait_arena *arena, hf_wide *out,
                              plait_error *err)
{
    static const char *const keys[] = {"ignore",  "modules_to_not_convert", "exclude_modules",
                                       "exclude", "ignored_layers",         "llm_int8_skip_modules",
                                       NULL};
    json_cursor list, entry;

    for (const char *const *key = keys; *key != NULL; key++) {
        if (json_value_optional(at, *key, &list, NULL) != PLAIT_OK || !json_is_array(&list))
            continue;
        for (bool more = json_first(&list, &entry); more; more = json_next(&entry)) {
            const char *name = "";

            if (!json_is_string(&entry))
                continue;
            PLAIT_TRY(json_as_string(&entry, arena, &name, err));
            add_entry(name, layers, out);
            out->any = true;
        }
    }
    return PLAIT_OK;
}

/*
 * Sets which weights of the model are in 16 bits: attention, if most layers have it so, and whole
 * layers. The kernels of the method mxfp4 are those of experts, so that attention is never narrow.
 */
static plait_status set_wide(const json_cursor *at, bool experts_only, plait_model *out,
                             plait_error *err)
{
    plait_arena *const scratch = plait_arena_new();
    int attention = 0;
    hf_wide *wide;

    PLAIT_TRY(plait_check_allocated(scratch, err));
    wide = plait_arena_alloc(scratch, 1, sizeof *wide);
    plait_status status = plait_check_allocated(wide, err);
    if (status == PLAIT_OK)
        status = read_wide(at, out->layers, scratch, wide, err);
    for (int l = 0; status == PLAIT_OK && l < out->layers; l++) {
        attention += wide->attention[l];
        out->wide_layers += wide->attention[l] && wide->ffn[l];
    }
    if (status == PLAIT_OK && 2 * attention > out->layers)
        out->attention_weights = PLAIT_ATTENTION_WEIGHTS_WIDE;
    else if (status == PLAIT_OK && wide->any && !experts_only)
        out->attention_weights = PLAIT_ATTENTION_WEIGHTS_NARROW;
    plait_arena_free(scratch);
    return status;
}

/* Describes in *note what is not as the file has it; NULL if everything is. */
static plait_status write_note(const hf_narrowest *found, const char *method, bool exact,
                               const char *priced, plait_arena *arena, const char **note,
                               plait_error *err)
{
    const char *const plain = text_plain(arena, method), *word;

    PLAIT_TRY(plait_check_allocated(plain, err));
    word = text_plain(arena, found->stored.word);
    PLAIT_TRY(plait_check_allocated(word, err));
    *note = NULL;
    if (!is_known(method))
        *note = plait_arena_printf(arena, "unknown method \"%.40s\", weights priced as %s", plain,
                                   priced);
    else if (!exact)
        *note = plait_arena_printf(arena, "plait has no format %.40s (%.40s), priced as %s", word,
                                   plain, priced);
    else if (found->mixed)
        *note =
            plait_arena_printf(arena, "several formats (%.40s), all priced as %s", plain, priced);
    else
        return PLAIT_OK;
    return plait_check_allocated(*note, err);
}

plait_status hf_read_weights(const json_cursor *at, plait_arena *arena, plait_model *out,
                             const char **note, plait_error *err)
{
    const char *method;
    hf_narrowest found;
    bool exact;

    PLAIT_TRY(find_text(at, "quant_method", arena, &method, err));
    PLAIT_TRY(find_narrowest(at, arena, &found, err));
    const plait_weight_format format = format_of(&found.stored, &exact);
    if (format != PLAIT_WEIGHT_BF16) {
        out->weights = plait_weight_name[format];
        out->weight_bits = bits_of(&found.stored);
        PLAIT_TRY(set_wide(at, strcmp(method, "mxfp4") == 0, out, err));
    }
    return write_note(&found, method[0] != '\0' ? method : "modelopt", exact,
                      plait_weight_name[format], arena, note, err);
}
