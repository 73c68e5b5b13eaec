/*
 * model_hf_encoder.c - reads the encoders of images and audio of a Hugging Face config
 *
 * A config has an encoder in `vision_config` or `audio_config`. Its class is a row of the table
 * below: what its layers have, and the projector that turns its outputs into tokens of the decoder.
 * The facts are those of the modules in transformers (modeling_<class>.py) and, for Kimi and
 * MiniMax-M3, in NVIDIA's Automodel and Megatron-Bridge. An encoder that has no row, or a size that
 * its row does not explain, is left out with a warning.
 *
 * An encoder is a model of patches (plait_model.patch_dim), so a bias of the patch projection, a
 * class token and a last norm are always counted, as in ViT, though some classes do not have all.
 */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "io/model/model_hf.h"

/* ---- classes ---- */

enum encoder_trait {
    LAYER_NORM = 1 << 0, /* LayerNorm; otherwise RMSNorm */
    GATED = 1 << 1,      /* gated MLP */
    BIASES = 1 << 2,     /* in attention and MLP */
    QK_NORM = 1 << 3,
    FOUR_NORMS = 1 << 4,
    FIRST_NORM = 1 << 5, /* a norm after the patch projection */
    ROTARY = 1 << 6,
    ONE_SIZE = 1 << 7, /* images are scaled to image_size, whose patches have learned positions */
    TABLE = 1 << 8,    /* audio: the file has a table of positions */
    MLP_BIAS = 1 << 9, /* in the MLP alone */
    POOL = 1 << 11,    /* an unused head of attention pooling */
    LEARNED = 1 << 10  /* learned positions of the patches of image_size, for any size of image */
};

/* Projectors, and for audio the convolutions as well. h is the encoder's width, m the merged
 * patches, d the decoder's width. */
typedef enum projector {
    MERGER,       /* m h to m h to d, with biases; once more for each deepstack index */
    NORM_MERGER,  /* a norm, then the merger */
    PLAIN_MERGER, /* the merger without biases, then a norm of d */
    SHUFFLE,      /* m h to d to d after a norm of m h (InternVL) */
    SHUFFLE_ONE,  /* m h to d without a bias (Idefics 3) */
    GATED_MERGER, /* m h to p, p to p, and a gated MLP of p; p is out_hidden_size (GLM-4V) */
    SWIGLU,       /* a norm, m h to alignment_intermediate_size, half of which to d (Aya) */
    SHUFFLE_TWO,  /* m h to d to d (DeepSeek-VL2) */
    TILED,        /* outputs of several layers, side by side, to d with a bias (Llama 3.2) */
    LINEAR,       /* h to d with a bias */
    POOLED,       /* h to d without a bias, after pooling */
    POOLED_NORM,  /* the same after a norm (Gemma 3) */
    TWO_LINEAR,   /* h to d to d */
    MISTRAL,      /* m h to h, then h to d to d */
    MINIMAX,      /* h to p to d for each patch, then m d to p to d */
    LLAMA,        /* m h to projector_input_dim, projector_output_dim squared, then to d */
    CONFORMER,    /* layers of Gemma 4's audio encoder */
    WHISPER,      /* two 1-D convolutions; LINEAR after pooling pairs */
    WHISPER_FOUR, /* two 1-D convolutions; 4 h to d to d (Voxtral) */
    WHISPER_2D    /* three 2-D convolutions; h to h to d */
} projector;

/*
 * A class of encoders. The numbers of patches apply if their key is absent; an encoder of audio has
 * no patches.
 */
typedef struct encoder_class {
    const char *type; /* start of the encoder's model_type, or of the file's if it has none */
    const char *root; /* start of the file's model_type; NULL: any */
    unsigned traits;
    projector projector;
    int patch;    /* pixels of a side; 0: audio */
    int temporal; /* frames of a patch */
    int merge;    /* side of the square of patches that one token represents */
    int grid;     /* side of the table of positions; 0: none */
} encoder_class;

// clang-format off
static const encoder_class classes[] = {
    {"qwen2_vl", NULL, LAYER_NORM | BIASES | ROTARY, MERGER, 14, 2, 2, 0},
    {"qwen2_5_vl", NULL, GATED | BIASES | ROTARY, MERGER, 14, 2, 2, 0},
    {"qwen2_5_omni_vision", NULL, GATED | BIASES | ROTARY, MERGER, 14, 2, 2, 0},
    {"exaone4_5", NULL, GATED | BIASES | ROTARY, MERGER, 14, 2, 2, 0},
    {"qwen3_vl", NULL, LAYER_NORM | BIASES | ROTARY, MERGER, 16, 2, 2, 48},
    {"qwen3_5", NULL, LAYER_NORM | BIASES | ROTARY, MERGER, 16, 2, 2, 48},
    {"qwen3_omni_moe_vision", NULL, LAYER_NORM | BIASES | ROTARY, MERGER, 16, 2, 2, 48},
    {"moonvit", "kimi_vl", LAYER_NORM | BIASES | ROTARY, NORM_MERGER, 14, 1, 2, 64},
    {"kimi_k25", NULL, LAYER_NORM | BIASES | ROTARY, NORM_MERGER, 14, 1, 2, 64},
    {"kimi_k3", NULL, ROTARY, PLAIN_MERGER, 14, 1, 2, 64},
    {"intern_vit", NULL, LAYER_NORM | BIASES | ONE_SIZE, SHUFFLE, 14, 1, 2, 0},
    {"siglip_vision_model", "gemma3", LAYER_NORM | BIASES | ONE_SIZE, POOLED_NORM, 14, 1, 4, 0},
    {"siglip_vision_model", "paligemma", LAYER_NORM | BIASES | ONE_SIZE, LINEAR, 14, 1, 1, 0},
    {"siglip_vision_model", "llava", LAYER_NORM | BIASES | ONE_SIZE, TWO_LINEAR, 14, 1, 1, 0},
    {"siglip_vision_model", "aya_vision", LAYER_NORM | BIASES | ONE_SIZE, SWIGLU, 14, 1, 2, 0},
    {"siglip_vision_model", "cohere2_vision", LAYER_NORM | BIASES | ONE_SIZE, SWIGLU, 14, 1, 2, 0},
    {"vision", "deepseek_vl_v2", LAYER_NORM | BIASES | ONE_SIZE | POOL, SHUFFLE_TWO, 14, 1, 2, 0},
    {"internvl_vision", NULL, LAYER_NORM | BIASES | ONE_SIZE, SHUFFLE, 14, 1, 2, 0},
    {"idefics3", NULL, LAYER_NORM | BIASES | ONE_SIZE, SHUFFLE_ONE, 32, 1, 2, 0},
    {"smolvlm", NULL, LAYER_NORM | BIASES | ONE_SIZE, SHUFFLE_ONE, 32, 1, 2, 0},
    {"glm4v", NULL, GATED | ROTARY | FIRST_NORM | LEARNED, GATED_MERGER, 14, 2, 2, 0},
    {"mllama_vision_model", NULL, LAYER_NORM | MLP_BIAS | FIRST_NORM | ONE_SIZE, TILED, 14, 1, 1, 0},
    {"clip_vision_model", "minimax_m3_vl", LAYER_NORM | BIASES | ROTARY | FIRST_NORM, MINIMAX, 14, 2, 2, 0},
    {"clip_vision_model", "llava", LAYER_NORM | BIASES | FIRST_NORM | ONE_SIZE, TWO_LINEAR, 14, 1, 1, 0},
    {"pixtral", "mistral3", GATED | ROTARY | FIRST_NORM, MISTRAL, 16, 1, 2, 0},
    {"pixtral", "llava", GATED | ROTARY | FIRST_NORM, TWO_LINEAR, 16, 1, 1, 0},
    {"llama4_vision_model", NULL, LAYER_NORM | BIASES | ROTARY | FIRST_NORM | ONE_SIZE, LLAMA, 14, 1, 2, 0},
    {"gemma4_vision", NULL, GATED | QK_NORM | FOUR_NORMS | ROTARY, POOLED, 16, 1, 3, 0},
    {"gemma4_audio", NULL, 0, CONFORMER, 0, 1, 1, 0},
    {"qwen2_audio_encoder", NULL, LAYER_NORM | BIASES | TABLE, WHISPER, 0, 1, 1, 0},
    {"qwen2_5_omni_audio", NULL, LAYER_NORM | BIASES, WHISPER, 0, 1, 1, 0},
    {"voxtral_encoder", NULL, LAYER_NORM | BIASES | TABLE, WHISPER_FOUR, 0, 1, 1, 0},
    {"qwen3_omni_moe_audio", NULL, LAYER_NORM | BIASES, WHISPER_2D, 0, 1, 1, 0},
};

/* Sizes that a file of the class may omit; 0: it needs the key. */
typedef struct encoder_sizes {
    const char *type;
    int image; /* pixels of a side */
    int hidden, layers, heads, width;
} encoder_sizes;

static const encoder_sizes usual_sizes[] = {
    {"siglip_vision_model", 224, 768, 12, 12, 3072},
    {"clip_vision_model", 224, 768, 12, 12, 3072},
    {"internvl_vision", 448, 1024, 24, 16, 4096},
    {"vision", 384, 1152, 27, 16, 0},
    {"idefics3", 224, 1152, 12, 16, 3072},
    {"smolvlm", 224, 1152, 12, 16, 3072},
    {"pixtral", 1024, 1024, 24, 16, 4096},
    {"glm4v", 336, 1536, 24, 12, 0},
    {"mllama_vision_model", 448, 1280, 32, 16, 5120},
};

/* Keys that change neither parameters nor the FLOPs of an image. */
static const char *const harmless[] = {
    "_attn_implementation", "attention_invalid_logits_value", "attention_logit_cap",
    "conv_chunksize", "default_output_length", "fullatt_block_indexes", "global_head_dim", "layer_scale_init_value", "mlp_ratio",
    "hidden_size", "image_seq_length", "image_size", "init_pos_emb_time",
    "intermediate_layers_indices", "max_image_size", "max_num_tiles", "max_source_positions",
    "mm_hidden_size", "n_window", "n_window_infer", "num_attention_heads", "num_global_layers",
    "num_hidden_layers", "num_image_tokens", "num_positions", "out_hidden_size", "output_dim", "projection_dim", "projector_input_dim",
    "projector_output_dim", "size", "spatial_patch_size", "supported_aspect_ratios", "text_hidden_size", "tokens_per_second",
    "video_seq_length", "vision_feature_layer", "vision_output_dim", "vision_segment_max_frames", "vocab_size",
    "window_size", NULL};
// clang-format on

const char *const hf_encoder_key[PLAIT_MODALITIES] = {"vision_config", "audio_config"};

static bool is_class(const char *type, const char *class)
{
    const size_t length = strlen(class);

    return text_starts_with(type, class) && (type[length] == '\0' || type[length] == '_');
}

static const encoder_class *class_of(const char *type, const char *root)
{
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
        if (is_class(type, classes[c].type) &&
            (classes[c].root == NULL || is_class(root, classes[c].root)))
            return &classes[c];
    return NULL;
}

static encoder_sizes sizes_of(const char *class)
{
    for (size_t c = 0; c < sizeof usual_sizes / sizeof *usual_sizes; c++)
        if (strcmp(class, usual_sizes[c].type) == 0)
            return usual_sizes[c];
    return (encoder_sizes){0};
}

/* An encoder that is being read; the text of `hf` is the encoder's object. */
typedef struct encoder_file {
    hf_config hf;
    const encoder_class *class;
    encoder_sizes sizes;
    plait_model *model; /* the encoder; hf.model is the decoder */
    plait_layer *kind;  /* [2]; with windows the second kind has full attention */
    int merge;
} encoder_file;

static bool has_trait(const encoder_file *file, enum encoder_trait trait)
{
    return (file->class->traits & (unsigned)trait) != 0;
}

static plait_status read_int(const encoder_file *file, const char *key, int absent, int *out,
                             plait_error *err)
{
    *out = absent;
    return json_int_optional(file->hf.text, key, 0, MODEL_MAX_WIDTH, out, err);
}

/* ---- layers ---- */

static plait_status read_width(const encoder_file *file, int *out, plait_error *err)
{
    static const char *const names[] = {"intermediate_size", "vt_intermediate_size",
                                        "encoder_ffn_dim", NULL};
    double ratio = 4.0;

    if (file->class->projector == GATED_MERGER) // the width of its name is that of the merger
        return json_int(file->hf.text, "out_hidden_size", 1, MODEL_MAX_WIDTH, out, err);
    if (json_has(file->hf.text, hf_name(&file->hf, names)) || file->sizes.width > 0)
        return hf_int_or(&file->hf, names, 1, MODEL_MAX_WIDTH, file->sizes.width, out, err);
    PLAIT_TRY(json_number_optional(file->hf.text, "mlp_ratio", JSON_POSITIVE, &ratio, err));
    *out = (int)fmin(fmax(ratio * file->model->hidden, 1.0), MODEL_MAX_WIDTH);
    return PLAIT_OK;
}

/* Qwen2.5-VL: all layers but those of a list attend within windows of window_size pixels. */
static plait_status read_windows(encoder_file *file, int patch, unsigned char *layer_kind,
                                 plait_error *err)
{
    json_cursor full, at;
    int window, layer;

    PLAIT_TRY(json_array_optional(file->hf.text, "fullatt_block_indexes", &full, err));
    PLAIT_TRY(read_int(file, "window_size", 0, &window, err));
    if (json_count(&full) == 0 || window < patch || window / patch > 1 << 10)
        return PLAIT_OK;
    file->model->kinds = 2;
    file->kind[1] = file->kind[0];
    file->kind[1].name = "full";
    file->kind[0].name = "window";
    file->kind[0].attention.chunk = window / patch * (window / patch);
    for (bool more = json_first(&full, &at); more; more = json_next(&at)) {
        PLAIT_TRY(json_as_int(&at, 0, file->model->layers - 1, &layer, err));
        layer_kind[layer] = 1;
    }
    return PLAIT_OK;
}

static plait_status read_kind(encoder_file *file, plait_error *err)
{
    static const char *const layers[] = {
        "depth", "layers", "num_hidden_layers", "vt_num_hidden_layers", "encoder_layers", NULL};
    static const char *const heads[] = {"num_heads",
                                        "num_attention_heads",
                                        "vt_num_attention_heads",
                                        "encoder_attention_heads",
                                        "attention_heads",
                                        NULL};
    static const char *const hidden[] = {"embed_dim", "vt_hidden_size", "d_model",
                                         "width",     "hidden_size",    NULL};
    const json_cursor *const at = file->hf.text;
    plait_model *const model = file->model;
    plait_layer *const kind = file->kind;
    plait_attention *const attention = &kind->attention;
    bool bias = has_trait(file, BIASES), mlp_bias = bias || has_trait(file, MLP_BIAS);
    const char *norm = ""; // InternViT-6B has RMSNorm
    int width = 0, global = 0;

    PLAIT_TRY(
        hf_int_or(&file->hf, layers, 1, PLAIT_MAX_LAYERS, file->sizes.layers, &model->layers, err));
    PLAIT_TRY(json_int_optional(at, "num_global_layers", 0, PLAIT_MAX_LAYERS - model->layers,
                                &global, err));
    model->layers += global;
    PLAIT_TRY(
        hf_int_or(&file->hf, hidden, 1, MODEL_MAX_HIDDEN, file->sizes.hidden, &model->hidden, err));
    PLAIT_TRY(
        hf_int_or(&file->hf, heads, 1, MODEL_MAX_HEADS, file->sizes.heads, &attention->heads, err));
    PLAIT_TRY(read_int(file, "qkv_hidden_size", 0, &width, err)); // Kimi K3
    attention->head_dim = width / attention->heads;
    if (attention->head_dim > MODEL_MAX_HEAD_DIM)
        return json_fail_key(at, "qkv_hidden_size", PLAIT_ERROR_RANGE, err,
                             "expected heads of at most %d, found %d", MODEL_MAX_HEAD_DIM,
                             attention->head_dim);
    PLAIT_TRY(json_int_optional(at, "head_dim", 1, MODEL_MAX_HEAD_DIM, &attention->head_dim, err));
    PLAIT_TRY(model_check_head_dim(at, hf_name(&file->hf, heads), model->hidden, attention->heads,
                                   &attention->head_dim, err));
    attention->kv_heads = attention->heads;
    PLAIT_TRY(json_int_optional(at, "num_key_value_heads", 1, attention->heads,
                                &attention->kv_heads, err));
    PLAIT_TRY(model_check_kv_heads(at, "num_key_value_heads", attention->heads, attention->kv_heads,
                                   err));
    PLAIT_TRY(json_bool_optional(at, "attention_bias", &bias, err));
    PLAIT_TRY(json_bool_optional(at, "attn_bias", &bias, err));
    PLAIT_TRY(json_bool_optional(at, "linear_bias", &mlp_bias, err));
    attention->qkv_bias = attention->out_bias = bias;
    PLAIT_TRY(json_bool_optional(at, "qkv_bias", &attention->qkv_bias, err));
    attention->qk_norm = has_trait(file, QK_NORM);
    PLAIT_TRY(json_bool_optional(at, "qk_normalization", &attention->qk_norm, err));
    PLAIT_TRY(json_bool_optional(at, "use_qk_norm", &attention->qk_norm, err));
    attention->rotary = has_trait(file, ROTARY);
    attention->full_mask = true;
    PLAIT_TRY(read_width(file, &kind->mlp.width, err));
    kind->mlp.gated = has_trait(file, GATED);
    kind->mlp.bias = mlp_bias;
    kind->mixer = PLAIT_MIXER_ATTENTION;
    kind->ffn = PLAIT_FFN_MLP;
    kind->norms = has_trait(file, FOUR_NORMS) ? 4 : 2;
    kind->name = "dense";
    PLAIT_TRY(json_string_optional(at, "norm_type", file->hf.arena, &norm, err));
    model->layer_norm = has_trait(file, LAYER_NORM) && strcmp(norm, "rms_norm") != 0;
    model->embedding_norm = has_trait(file, FIRST_NORM);
    return PLAIT_OK;
}

/* ---- images ---- */

/* Reads the side of the square of patches that a token represents. */
static plait_status read_merge(encoder_file *file, const json_cursor *nested, plait_error *err)
{
    static const char *const names[] = {"spatial_merge_size", "pooling_kernel_size", NULL};
    double ratio = 1.0 / file->class->merge; // side after the merge over the side before
    int scale = 0;
    json_cursor pair, side;

    PLAIT_TRY(
        json_number_optional(file->hf.text, "pixel_shuffle_ratio", JSON_FRACTION, &ratio, err));
    if (file->class->projector == SHUFFLE_ONE)
        PLAIT_TRY(json_int_optional(file->hf.root, "scale_factor", 1, 64, &scale, err));
    if (file->class->projector == SWIGLU)
        PLAIT_TRY(json_int_optional(file->hf.root, "downsample_factor", 1, 64, &scale, err));
    if (scale > 0)
        ratio = 1.0 / scale;
    if (file->class->projector == SHUFFLE)
        PLAIT_TRY(
            json_number_optional(file->hf.root, "downsample_ratio", JSON_FRACTION, &ratio, err));
    file->merge = (int)round(1.0 / fmax(ratio, 1.0 / 64.0));
    if (file->class->projector == MISTRAL)
        PLAIT_TRY(json_int_optional(file->hf.root, names[0], 1, 64, &file->merge, err));
    PLAIT_TRY(hf_int_optional(&file->hf, names, 1, 64, &file->merge, err));
    if (!json_is_null(nested))
        PLAIT_TRY(json_int_optional(nested, names[0], 1, 64, &file->merge, err));
    PLAIT_TRY(json_array_optional(file->hf.text, "merge_kernel_size", &pair, err));
    for (bool more = json_first(&pair, &side); more; more = json_next(&side))
        PLAIT_TRY(json_as_int(&side, 1, 64, &file->merge, err));
    return PLAIT_OK;
}

/* Reads pixels of a side, which are a number or one for each side. */
static plait_status read_side(const encoder_file *file, const char *key, int max, int *out,
                              plait_error *err)
{
    json_cursor list, side;

    PLAIT_TRY(json_value_optional(file->hf.text, key, &list, err));
    if (json_is_array(&list) && json_first(&list, &side))
        return json_as_int(&side, 1, max, out, err);
    return json_int_optional(file->hf.text, key, 1, max, out, err);
}

/* Reads the vector of a patch, and how many patches a token represents. */
static plait_status read_patch(encoder_file *file, plait_encoder *out, plait_error *err)
{
    static const char *const channel_names[] = {"num_channels", "in_channels", "in_chans", NULL};
    const json_cursor *const at = file->hf.text;
    int channels = 3, temporal = file->class->temporal;
    json_cursor nested; // MiniMax-M3 has the numbers of merged patches inside an object

    out->patch = file->class->patch;
    PLAIT_TRY(json_object_optional(at, "img_token_compression_config", &nested, err));
    PLAIT_TRY(read_side(file, "patch_size", 1 << 8, &out->patch, err));
    PLAIT_TRY(hf_int_optional(&file->hf, channel_names, 1, 16, &channels, err));
    PLAIT_TRY(json_int_optional(json_is_null(&nested) ? at : &nested, "temporal_patch_size", 1, 16,
                                &temporal, err));
    PLAIT_TRY(read_merge(file, &nested, err));
    file->model->patch_dim = out->patch * out->patch * temporal * channels;
    out->patches_per_token = file->merge * file->merge;
    return PLAIT_OK;
}

/* Reads the rows of the table of learned positions; Gemma 4 has one table for each axis. */
static plait_status read_positions(encoder_file *file, plait_error *err)
{
    const json_cursor *const at = file->hf.text;
    int *const out = &file->model->learned_positions;
    int height = file->class->grid, width = height, rows = 10240;

    if (file->class->projector == POOLED) {
        PLAIT_TRY(json_int_optional(at, "position_embedding_size", 1, 1 << 20, &rows, err));
        *out = 2 * rows;
        return PLAIT_OK;
    }
    PLAIT_TRY(json_int_optional(at, "init_pos_emb_height", 0, 1 << 13, &height, err));
    PLAIT_TRY(json_int_optional(at, "init_pos_emb_width", 0, 1 << 13, &width, err));
    *out = height * width;
    return json_int_optional(at, "num_position_embeddings", 0, MODEL_MAX_POSITIONS, out, err);
}

/*
 * Reads the tables of positions of Llama 3.2's encoder: one of a tile's patches and the class token,
 * one for each of nine arrangements of tiles, and two of the tiles' places.
 */
static plait_status read_tiles(encoder_file *file, plait_error *err)
{
    const int rows = file->model->max_seq + 1, arrangements = 9;
    int tiles;

    PLAIT_TRY(read_int(file, "max_num_tiles", 4, &tiles, err));
    if (tiles > 64)
        return json_fail_key(file->hf.text, "max_num_tiles", PLAIT_ERROR_RANGE, err,
                             "expected at most 64 tiles, found %d", tiles);
    file->model->learned_positions = rows - 1 + arrangements * tiles * (rows + 2);
    return PLAIT_OK;
}

/*
 * Reads the number of patches of an image, if the class limits it: images are scaled to one size,
 * or to at most 280 tokens (Gemma4ImageProcessor's max_soft_tokens).
 */
static plait_status read_image(encoder_file *file, plait_encoder *out, plait_error *err)
{
    plait_model *const model = file->model;
    int image = 0, tokens = 280;

    if (has_trait(file, ONE_SIZE) || has_trait(file, LEARNED)) {
        image = file->sizes.image;
        PLAIT_TRY(read_side(file, "image_size", 1 << 13, &image, err));
        if (image < out->patch)
            return json_fail_key(file->hf.text, "image_size", PLAIT_ERROR_RANGE, err,
                                 "expected at least a patch of %d pixels, found %d", out->patch,
                                 image);
        model->learned_positions = image / out->patch * (image / out->patch);
    }
    if (has_trait(file, ONE_SIZE))
        model->max_seq = model->learned_positions;
    if (file->class->projector == TILED)
        PLAIT_TRY(read_tiles(file, err));
    if (file->class->projector == POOLED) {
        PLAIT_TRY(json_int_optional(file->hf.root, "vision_soft_tokens_per_image", 1, 1 << 12,
                                    &tokens, err));
        model->max_seq = tokens * out->patches_per_token;
    }
    if (file->class->projector == POOLED_NORM) {
        tokens = model->max_seq / out->patches_per_token;
        PLAIT_TRY(json_int_optional(file->hf.root, "mm_tokens_per_image", 1, model->max_seq,
                                    &tokens, err));
        out->patches_per_token = tokens > 0 ? model->max_seq / tokens : 1;
    }
    return PLAIT_OK;
}

/* Parameters of two linear layers, from `in` over `mid` to `out`. */
static double two_linear(double in, double mid, double out, bool bias)
{
    return in * mid + mid * out + (bias ? mid + out : 0.0);
}

static plait_status read_projector(const encoder_file *file, double *out, plait_error *err)
{
    const json_cursor *const root = file->hf.root;
    const double h = file->model->hidden, d = file->hf.model->hidden;
    const double merged = file->merge * file->merge * h;
    const double merger = two_linear(merged, merged, d, true);
    int p = file->hf.model->hidden, in = 0, mid = 0, width = 0;
    bool bias = file->class->projector != MISTRAL;
    json_cursor deep;

    PLAIT_TRY(json_bool_optional(root, "multimodal_projector_bias", &bias, err));
    switch (file->class->projector) {
    case MERGER:
        PLAIT_TRY(json_array_optional(file->hf.text, "deepstack_visual_indexes", &deep, err));
        *out = merger + (double)json_count(&deep) * (merger + 2.0 * merged);
        break;
    case NORM_MERGER:
        *out = merger + 2.0 * h;
        break;
    case PLAIN_MERGER:
        *out = two_linear(merged, merged, d, false) + d;
        break;
    case SHUFFLE: // with the two scales of each layer's residual branches
        *out = two_linear(merged, d, d, true) + 2.0 * merged + 2.0 * h * file->model->layers;
        break;
    case SHUFFLE_ONE:
        *out = merged * d;
        break;
    case GATED_MERGER:
        PLAIT_TRY(json_int(file->hf.text, "out_hidden_size", 1, MODEL_MAX_HIDDEN, &mid, err));
        PLAIT_TRY(json_int(file->hf.text, "intermediate_size", 1, MODEL_MAX_WIDTH, &width, err));
        *out = merged * mid + (double)mid * mid + 3.0 * mid * width + 3.0 * mid;
        break;
    case SWIGLU:
        PLAIT_TRY(json_int(root, "alignment_intermediate_size", 2, MODEL_MAX_WIDTH, &mid, err));
        *out = 2.0 * merged + merged * mid + mid + mid / 2 * d + d;
        break;
    case SHUFFLE_TWO: // with a token after each row of tiles and one between views
        json_mark_read(root, "projector_config");
        *out = two_linear(merged, d, d, true) + 2.0 * d;
        break;
    case TILED:
        PLAIT_TRY(json_int(file->hf.text, "vision_output_dim", 1, MODEL_MAX_HIDDEN, &in, err));
        *out = in * d + d;
        break;
    case LINEAR:
        *out = h * d + d;
        break;
    case POOLED:
        *out = h * d;
        break;
    case POOLED_NORM:
        *out = h * d + h;
        break;
    case TWO_LINEAR: // outputs of several layers side by side, if they are listed
        PLAIT_TRY(json_value_optional(root, "vision_feature_layer", &deep, err));
        *out = two_linear(json_is_array(&deep) ? (double)json_count(&deep) * h : h, d, d, bias);
        break;
    case MISTRAL:
        *out = merged * h + two_linear(h, d, d, bias);
        break;
    case MINIMAX:
        PLAIT_TRY(json_int_optional(root, "projector_hidden_size", 1, MODEL_MAX_HIDDEN, &p, err));
        *out = two_linear(h, p, d, bias) + two_linear(file->merge * file->merge * d, p, d, bias);
        break;
    case LLAMA:
        PLAIT_TRY(json_int(file->hf.text, "projector_input_dim", 1, MODEL_MAX_HIDDEN, &in, err));
        PLAIT_TRY(json_int(file->hf.text, "projector_output_dim", 1, MODEL_MAX_HIDDEN, &mid, err));
        *out = merged * in + (double)mid * mid + mid * d;
        break;
    case CONFORMER:
    case WHISPER:
    case WHISPER_FOUR:
    case WHISPER_2D:
        break;
    }
    return PLAIT_OK;
}

/*
 * Adds the head of attention pooling: a query, attention, a norm and an MLP. transformers makes the
 * one of SigLIP unless the file forbids it; no multimodal model uses its output.
 */
static plait_status read_pool(const encoder_file *file, double *params, plait_error *err)
{
    const double h = file->model->hidden, width = file->kind->mlp.width;
    bool pool = has_trait(file, POOL) || strcmp(file->class->type, "siglip_vision_model") == 0;

    PLAIT_TRY(json_bool_optional(file->hf.text, "vision_use_head", &pool, err));
    *params += pool ? h + 4.0 * (h * h + h) + 2.0 * h + two_linear(h, width, h, true) : 0.0;
    return PLAIT_OK;
}

/* ---- audio ---- */

/* All classes have a frame of the spectrogram each 10 ms, and inputs of at most 30 s. */
enum { MAX_FRAMES = 3000 };

/* Length after a convolution over 3 frames with stride 2 and a padding of 1. */
static int halved(int length)
{
    return (length + 1) / 2;
}

/* Parameters of a convolution over 3 x 3. */
static double convolution(double in, double out, bool bias)
{
    return 9.0 * in * out + (bias ? out : 0.0);
}

/*
 * Qwen3-Omni convolves chunks of 2 n_window frames three times with stride 2, and attends within
 * n_window_infer frames (Qwen3OmniMoeAudioEncoder in transformers).
 */
static plait_status read_chunked(encoder_file *file, int mel, plait_encoder *out, plait_error *err)
{
    const json_cursor *const at = file->hf.text;
    const double h = file->model->hidden, d = file->hf.model->hidden;
    int channels = 480, half = 100, window = 400;

    PLAIT_TRY(json_int_optional(at, "downsample_hidden_size", 1, 1 << 12, &channels, err));
    PLAIT_TRY(json_int_optional(at, "n_window", 1, MAX_FRAMES / 2, &half, err));
    PLAIT_TRY(json_int_optional(at, "n_window_infer", 2 * half, MODEL_MAX_WIDTH, &window, err));
    const int positions = halved(halved(halved(2 * half)));
    file->kind->attention.chunk = window / (2 * half) * positions;
    file->model->patch_dim = channels * halved(halved(halved(mel)));
    file->model->max_seq = MAX_FRAMES / (2 * half) * positions;
    out->patches_per_token = 1;
    out->projector_params = convolution(1.0, channels, true) +
                            2.0 * convolution(channels, channels, true) + two_linear(h, h, d, true);
    return PLAIT_OK;
}

/*
 * Whisper's encoder has two convolutions over 3 frames, the second with stride 2. Qwen2.5-Omni
 * attends within 2 n_window frames.
 */
static plait_status read_whisper(encoder_file *file, plait_encoder *out, plait_error *err)
{
    plait_model *const model = file->model;
    const double h = model->hidden, d = file->hf.model->hidden;
    int mel = 128, window = 100;

    PLAIT_TRY(json_int_optional(file->hf.text, "num_mel_bins", 1, 1 << 10, &mel, err));
    if (file->class->projector == WHISPER_2D)
        return read_chunked(file, mel, out, err);
    model->patch_dim = 3 * (model->hidden + mel);
    model->max_seq = halved(MAX_FRAMES);
    model->learned_positions = has_trait(file, TABLE) ? model->max_seq : 0;
    if (!has_trait(file, TABLE)) {
        PLAIT_TRY(json_int_optional(file->hf.text, "n_window", 1, MAX_FRAMES / 2, &window, err));
        file->kind->attention.chunk = halved(2 * window);
    }
    out->patches_per_token = file->class->projector == WHISPER ? 2 : 4;
    out->projector_params =
        file->class->projector == WHISPER ? h * d + d : two_linear(4.0 * h, d, d, false);
    return PLAIT_OK;
}

/*
 * Matrices of h x h in a layer of Gemma 4's audio encoder (Gemma4AudioLayer in transformers), and
 * its norms: two MLPs of width 4 h; q, k, v and output; a projection of the relative positions,
 * which are the same for all tokens; and h to 2 h and h to h around a convolution.
 */
enum {
    CONFORMER_MLPS = 2 * (4 + 4),
    CONFORMER_ATTENTION = 4,
    CONFORMER_POSITIONS = 1,
    CONFORMER_CONV = 2 + 1,
    CONFORMER_NORMS = 9,
    CONFORMER_TOKEN_FRAMES = 4
};

/* Reads Gemma 4's audio encoder, whose layers plait describes by their costs. */
static plait_status read_conformer(encoder_file *file, plait_encoder *out, plait_error *err)
{
    const json_cursor *const at = file->hf.text;
    const double h = file->model->hidden, d = file->hf.model->hidden;
    const double per_token = CONFORMER_MLPS + CONFORMER_ATTENTION + CONFORMER_CONV;
    int conv, chunk, left, right, width, channels[2] = {128, 32};
    json_cursor list, element;

    PLAIT_TRY(read_int(file, "conv_kernel_size", 5, &conv, err));
    PLAIT_TRY(read_int(file, "attention_chunk_size", 12, &chunk, err));
    PLAIT_TRY(read_int(file, "attention_context_left", 13, &left, err));
    PLAIT_TRY(read_int(file, "attention_context_right", 0, &right, err));
    PLAIT_TRY(read_int(file, "output_proj_dims", 1536, &width, err));
    PLAIT_TRY(json_array_optional(at, "subsampling_conv_channels", &list, err));
    for (bool more = json_first(&list, &element); more && element.index < 2;
         more = json_next(&element))
        PLAIT_TRY(json_as_int(&element, element.index == 0 ? 4 : 1, 1 << 12,
                              &channels[element.index], err));
    *file->kind = (plait_layer){
        .name = "conformer",
        .opaque = true,
        .given = {.params = (per_token + CONFORMER_POSITIONS) * h * h +
                            (CONFORMER_NORMS + conv) * h + file->kind->attention.head_dim,
                  .forward_flops = 2.0 * per_token * h * h + 2.0 * conv * h +
                                   4.0 * h * fmax((double)chunk + left - 1.0 + right, 1.0)}};
    file->model->patch_dim = channels[0] / 4 * channels[1];
    file->model->max_seq = MAX_FRAMES / CONFORMER_TOKEN_FRAMES;
    out->patches_per_token = 1;
    out->projector_params = convolution(1.0, channels[0], false) + channels[0] +
                            convolution(channels[0], channels[1], false) + channels[1] + h * width +
                            width + width * d;
    return PLAIT_OK;
}

/* ---- encoders ---- */

static plait_status read_parts(encoder_file *file, plait_encoder *out, plait_error *err)
{
    unsigned char *layer_kind;

    PLAIT_TRY(read_kind(file, err));
    layer_kind = plait_arena_alloc(file->hf.arena, (size_t)file->model->layers, 1);
    PLAIT_TRY(plait_check_allocated(layer_kind, err));
    memset(layer_kind, 0, (size_t)file->model->layers);
    file->model->layer_kind = layer_kind;
    if (file->class->projector == CONFORMER)
        PLAIT_TRY(read_conformer(file, out, err));
    else if (file->class->patch == 0)
        PLAIT_TRY(read_whisper(file, out, err));
    else {
        PLAIT_TRY(read_patch(file, out, err));
        PLAIT_TRY(read_positions(file, err));
        PLAIT_TRY(read_image(file, out, err));
        PLAIT_TRY(read_projector(file, &out->projector_params, err));
        PLAIT_TRY(read_pool(file, &out->projector_params, err));
        PLAIT_TRY(read_windows(file, out->patch, layer_kind, err));
    }
    for (const char *const *key = harmless; *key != NULL; key++)
        json_mark_read(file->hf.text, *key);
    const char *const unread = hf_unread_size(file->hf.text);
    if (unread != NULL)
        return json_fail(file->hf.text, PLAIT_ERROR_SCHEMA, err,
                         "expected only sizes of %s, found also \"%.60s\"", file->class->type,
                         unread);
    return PLAIT_OK;
}

/* Reads an encoder; out->model stays NULL if neither it nor the file names a known class. */
static plait_status read_encoder(const hf_config *hf, plait_modality modality,
                                 const json_cursor *at, plait_encoder *out, plait_error *err)
{
    const char *type = "", *root = "";
    plait_model *const model = plait_arena_alloc(hf->arena, 1, sizeof *model);
    plait_layer *const kind = plait_arena_alloc(hf->arena, 2, sizeof *kind);
    encoder_file file = {.hf = *hf, .model = model, .kind = kind};

    PLAIT_TRY(plait_check_allocated(model && kind, err));
    PLAIT_TRY(json_string_optional(at, "model_type", hf->arena, &type, err));
    PLAIT_TRY(json_string_optional(hf->root, "model_type", hf->arena, &root, err));
    if (type[0] == '\0')
        type = root;
    file.class = class_of(type, root);
    if (file.class == NULL && type == root)
        return PLAIT_OK;
    if (file.class == NULL || (modality == PLAIT_VISION) != (file.class->patch > 0))
        return json_fail(at, PLAIT_ERROR_SCHEMA, err,
                         "expected a class of encoder that plait describes, found \"%.40s\"", type);
    file.sizes = sizes_of(file.class->type);
    file.hf.text = at;
    kind[0] = kind[1] = (plait_layer){0};
    *model = (plait_model){.name = plait_modality_name[modality],
                           .family = type,
                           .source = hf->model->source,
                           .vocab = 1,
                           .tied = true,
                           .kinds = 1,
                           .kind = kind};
    PLAIT_TRY(read_parts(&file, out, err));
    out->model = model;
    return PLAIT_OK;
}

/* Reads one encoder, a member of `around`; what cannot be read is left out with a reason. */
static plait_status read_modality(hf_config *hf, const json_cursor *around, plait_modality m,
                                  const json_cursor *at, plait_error *err)
{
    plait_encoder encoder = {0};
    plait_error inner;
    const plait_status status = read_encoder(hf, m, at, &encoder, &inner);

    PLAIT_TRY(faults_only(status, &inner, err));
    if (status != PLAIT_OK) {
        hf->model->unread = hf_encoder_key[m];
        hf->left_out[m] = plait_arena_text(hf->arena, inner.message);
        return plait_check_allocated(hf->left_out[m], err);
    }
    if (encoder.model != NULL)
        json_mark_read(around, hf_encoder_key[m]);
    else
        hf->model->unread = hf_encoder_key[m];
    hf->model->encoder[m] = encoder;
    return PLAIT_OK;
}

plait_status hf_read_encoders(hf_config *hf, plait_error *err)
{
    json_cursor at;

    // Omni models have their encoders next to the decoder, inside thinker_config.
    for (const json_cursor *around = hf->text; around != NULL; around = around->parent)
        for (bool more = json_first(around, &at); more; more = json_next(&at))
            for (int m = 0; m < PLAIT_MODALITIES; m++)
                if (strcmp(at.key, hf_encoder_key[m]) == 0 && json_is_object(&at) &&
                    json_count(&at) > 0)
                    PLAIT_TRY(read_modality(hf, around, (plait_modality)m, &at, err));
    return PLAIT_OK;
}
