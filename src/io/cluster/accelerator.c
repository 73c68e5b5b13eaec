/* accelerator.c - reads and writes an accelerator as JSON: data sheet, node and fits */
#include <limits.h>
#include <string.h>

#include "plait/data.h"
#include "plait/units.h"

#include "io/cluster/cluster_file.h"

#define ACCELERATOR(member) FIELD_AT(plait_accelerator, member)

static const field memory_fields[] = {
    {"memory_gib", JSON_POSITIVE, .least = 1e-3, .most = 1e6, .unit = PLAIT_GIB, .required = true,
     ACCELERATOR(memory_bytes)},
    {"hbm_tb_per_s", JSON_POSITIVE, .least = 1e-6, .most = 1e6, .unit = PLAIT_TB, .required = true,
     ACCELERATOR(hbm_bytes_per_s)},
    {.key = NULL},
};
static const field power_fields[] = {
    {"limit_w", JSON_POSITIVE, .least = 1e-3, .most = 1e6, ACCELERATOR(power_w)},
    {"idle_w", JSON_NON_NEGATIVE, .most = 1e6, ACCELERATOR(idle_w)},
    {.key = NULL},
};
static const field price_fields[] = {
    {"usd_per_hour", JSON_POSITIVE, .least = 1e-6, .most = 1e6, ACCELERATOR(usd_per_hour)},
    {.key = NULL},
};
static const field sustained_fields[] = {
    {"bf16", JSON_POSITIVE, .least = 1e-2, .most = 1.5, ACCELERATOR(sustained[0])},
    {"fp8", JSON_POSITIVE, .least = 1e-2, .most = 1.5, ACCELERATOR(sustained[1])},
    {.key = NULL},
};
static const field memory_op_fields[] = {
    {"fraction", JSON_POSITIVE, .least = 1e-3, .most = 1.5, ACCELERATOR(memory_op_fraction)},
    {"t0_us", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_US, ACCELERATOR(memory_op_t0_s)},
    {"measured", .is_bool = true, ACCELERATOR(memory_op_measured)},
    {.key = NULL},
};
static const field host_fields[] = {
    {"link_gb_per_s", JSON_POSITIVE, .least = 1e-6, .most = 1e9, .unit = PLAIT_GB,
     ACCELERATOR(host_bytes_per_s)},
    {"adam_ns", JSON_NON_NEGATIVE, .most = 1e9, .unit = 1e-9, ACCELERATOR(host_adam_s)},
    {.key = NULL},
};
static const field p2p_fields[] = {
    {"latency_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, ACCELERATOR(p2p.latency_s)},
    {"bandwidth_gb_per_s", JSON_POSITIVE, .least = 1e-6, .most = 1e9, .unit = PLAIT_GB,
     ACCELERATOR(p2p.bytes_per_s)},
    {.key = NULL},
};

static const char *const confidence_name[PLAIT_CONFIDENCES + 1] = {"low", "medium", "high", NULL};

/* ---- peaks ---- */

#define PEAK(precision)                                                                            \
    .least = 1e-6, .most = 1e9, .unit = PLAIT_TFLOP, ACCELERATOR(peak_flops_per_s[precision])
static const field peak_fields[] = {
    {"fp32", JSON_POSITIVE, .least = 1e-6, .most = 1e9, .unit = PLAIT_TFLOP,
     ACCELERATOR(vector_flops_per_s)},
    {"bf16", JSON_POSITIVE, PEAK(PLAIT_BF16)},
    {"fp16", JSON_POSITIVE, PEAK(PLAIT_FP16)},
    {"fp8", JSON_POSITIVE, PEAK(PLAIT_FP8)},
    {"fp8_block", JSON_POSITIVE, PEAK(PLAIT_FP8_BLOCK)},
    {"mxfp8", JSON_POSITIVE, PEAK(PLAIT_MXFP8)},
    {"nvfp4", JSON_POSITIVE, PEAK(PLAIT_NVFP4)},
    {.key = NULL},
};

static plait_status read_peaks(const json_cursor *at, const accelerator_family *family,
                               plait_accelerator *out, plait_error *err)
{
    double *peak = out->peak_flops_per_s;
    json_cursor block;

    PLAIT_TRY(json_object(at, "peak_tflops", &block, err));
    PLAIT_TRY(fields_read(&block, peak_fields, NULL, out, err));
    if (peak[PLAIT_BF16] == 0.0 && peak[PLAIT_FP16] == 0.0)
        return json_fail_key(&block, "bf16", PLAIT_ERROR_SCHEMA, err,
                             "expected the peak of bf16 or fp16, found neither");
    out->fp16_only = peak[PLAIT_BF16] == 0.0;
    if (out->fp16_only)
        peak[PLAIT_BF16] = peak[PLAIT_FP16];
    if (peak[PLAIT_FP16] == 0.0)
        peak[PLAIT_FP16] = peak[PLAIT_BF16];
    if (peak[PLAIT_FP8_BLOCK] == 0.0)
        peak[PLAIT_FP8_BLOCK] = peak[PLAIT_FP8];
    if (out->vector_flops_per_s == 0.0)
        out->vector_flops_per_s =
            fields_round(peak[PLAIT_BF16] / family->bf16_over_fp32, PLAIT_TFLOP);
    return PLAIT_OK;
}

/* ---- links and node ---- */

/* Kinds of the scale-up network; "mesh" is the older name of "full". */
enum scale_up_kind { SCALE_UP_SWITCH, SCALE_UP_FULL, SCALE_UP_TORUS, SCALE_UP_PCIE, SCALE_UP_MESH };
static const char *const scale_up_name[] = {"switch", "full", "torus", "pcie", "mesh", NULL};

static const field scale_up_fields[] = {
    {"bandwidth_gb_per_s", JSON_POSITIVE, .least = 1e-6, .most = 1e6, .unit = PLAIT_GB,
     .required = true, ACCELERATOR(scale_up_bytes_per_s)},
    {.key = NULL},
};

static plait_status read_scale_up(const json_cursor *at, plait_accelerator *out, plait_error *err)
{
    static const char *const also[] = {"kind", "domain", "torus", "wrap_block", NULL};
    int kind = SCALE_UP_SWITCH;
    json_cursor block;

    PLAIT_TRY(json_object(at, "scale_up", &block, err));
    PLAIT_TRY(fields_read(&block, scale_up_fields, also, out, err));
    PLAIT_TRY(json_word_optional(&block, "kind", scale_up_name, &kind, err));
    PLAIT_TRY(json_int(&block, "domain", 1, 1 << 20, &out->scale_up_domain, err));
    if (kind == SCALE_UP_TORUS) {
        json_cursor list, element;

        PLAIT_TRY(json_array(&block, "torus", &list, err));
        if (json_count(&list) != 3)
            return json_fail(&list, PLAIT_ERROR_SCHEMA, err, "expected 3 numbers, found %zu",
                             json_count(&list));
        for (bool more = json_first(&list, &element); more; more = json_next(&element))
            PLAIT_TRY(json_as_int(&element, 1, 1024, &out->torus[element.index], err));
    } else if (json_has(&block, "torus"))
        return json_fail_key(&block, "torus", PLAIT_ERROR_SCHEMA, err,
                             "expected this key only if kind is torus");
    if (kind != SCALE_UP_TORUS && json_has(&block, "wrap_block"))
        return json_fail_key(&block, "wrap_block", PLAIT_ERROR_SCHEMA, err,
                             "expected this key only if kind is torus");
    out->scale_up_pcie = kind == SCALE_UP_PCIE;
    out->scale_up_full = kind == SCALE_UP_FULL || kind == SCALE_UP_MESH;
    return json_int_optional(&block, "wrap_block", 1, 1024, &out->wrap_block, err);
}

static const field node_fields[] = {
    {"nic_gbit_per_s", JSON_POSITIVE, .least = 1e-5, .most = 1e6, .unit = PLAIT_GBIT,
     .required = true, ACCELERATOR(nic_bytes_per_s)},
    {.key = NULL},
};

/* ---- the accelerator ---- */

/* Reads "lacks": {"kernels": ["flash3", "fp8_block"], "source": "..."}. */
plait_status accelerator_read_missing_kernels(const json_cursor *at, unsigned *lacks,
                                              plait_error *err)
{
    static const char *const keys[] = {"kernels", "source", NULL};
    json_cursor block;

    PLAIT_TRY(json_object_optional(at, "lacks", &block, err));
    if (json_is_null(&block))
        return PLAIT_OK;
    PLAIT_TRY(json_keys_among(&block, keys, err));
    return json_mask(&block, "kernels", plait_kernel_name, 0, lacks, err);
}

static plait_status read_sheet(const json_cursor *at, const accelerator_family *family,
                               plait_arena *arena, plait_accelerator *out, plait_error *err)
{
    json_cursor memory, node, price;

    PLAIT_TRY(read_peaks(at, family, out, err));
    PLAIT_TRY(json_int(at, "compute_units", 1, 100000, &out->sms, err));
    PLAIT_TRY(json_object(at, "memory", &memory, err));
    PLAIT_TRY(fields_read(&memory, memory_fields, NULL, out, err));
    PLAIT_TRY(fields_read_optional(at, "power", power_fields, out, err));
    PLAIT_TRY(json_object_optional(at, "price", &price, err));
    if (!json_is_null(&price)) {
        PLAIT_TRY(fields_read(&price, price_fields, NULL, out, err));
        PLAIT_TRY(json_string_optional(&price, "source", arena, &out->price_source, err));
    }
    PLAIT_TRY(read_scale_up(at, out, err));
    PLAIT_TRY(json_object(at, "node", &node, err));
    PLAIT_TRY(
        fields_read(&node, node_fields, (const char *const[]){"accelerators", NULL}, out, err));
    return json_int(&node, "accelerators", 1, 4096, &out->gpus_per_node, err);
}

plait_status accelerator_read(const json_cursor *at, plait_arena *arena, plait_accelerator *out,
                              plait_error *err)
{
    static const char *const keys[] = {
        "name",          "vendor",      "family",       "source",       "confidence",
        "peak_tflops",   "memory",      "power",        "price",        "node",
        "compute_units", "scale_up",    "sustained",    "p2p",          "host",
        "memory_op",     "gemm",        "grouped_gemm", "attention",    "attention_decode",
        "collectives",   "wgrad_ratio", "lacks",        "speed_spread", NULL,
    };
    const char *name = "other";
    accelerator_family family;
    json_cursor memory_op;

    *out = (plait_accelerator){0};
    PLAIT_TRY(json_keys_among(at, keys, err));

    int confidence = PLAIT_CONFIDENCE_LOW;
    out->vendor = out->source = "";
    PLAIT_TRY(json_string(at, "name", arena, &out->name, err));
    PLAIT_TRY(json_string_optional(at, "vendor", arena, &out->vendor, err));
    PLAIT_TRY(json_string_optional(at, "source", arena, &out->source, err));
    PLAIT_TRY(json_word_optional(at, "confidence", confidence_name, &confidence, err));
    out->confidence = (plait_confidence)confidence;
    PLAIT_TRY(accelerator_family_name(at, "family", arena, &name, err));
    PLAIT_TRY(accelerator_family_find(name, arena, &family, err));
    // Without a family the accelerator is unknown, so no kernel counts as missing.
    out->missing_kernels = json_has(at, "family") ? family.missing_kernels : 0;
    PLAIT_TRY(accelerator_read_missing_kernels(at, &out->missing_kernels, err));
    PLAIT_TRY(read_sheet(at, &family, arena, out, err));
    accelerator_default_scalars(&family, out);

    double ratio = out->wgrad_ratio, spread = out->speed_spread;
    PLAIT_TRY(fields_read_optional(at, "power", power_fields, out, err));
    PLAIT_TRY(fields_read_optional(at, "sustained", sustained_fields, out, err));
    PLAIT_TRY(fields_read_optional(at, "host", host_fields, out, err));
    PLAIT_TRY(fields_read_optional(at, "p2p", p2p_fields, out, err));
    PLAIT_TRY(json_number_optional(at, "wgrad_ratio", JSON_POSITIVE, &ratio, err));
    if (ratio < 0.01 || ratio > 100.0)
        return json_fail_key(at, "wgrad_ratio", PLAIT_ERROR_RANGE, err,
                             "expected a factor from 0.01 to 100, found %g", ratio);
    out->wgrad_ratio = ratio;
    PLAIT_TRY(json_number_optional(at, "speed_spread", JSON_FRACTION, &spread, err));
    out->speed_spread = spread;
    PLAIT_TRY(json_object_optional(at, "memory_op", &memory_op, err));
    if (!json_is_null(&memory_op)) {
        out->memory_op_measured = true;
        PLAIT_TRY(fields_read(&memory_op, memory_op_fields, NULL, out, err));
    }
    return accelerator_read_fits(at, &family, out, err);
}

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *out,
                              plait_error *err)
{
    return accelerator_read(root, arena, out, err);
}

plait_status plait_accelerator_load(const char *path, plait_arena *arena, plait_accelerator *out,
                                    plait_error *err)
{
    return json_load(path, read_root, arena, out, err);
}

plait_status plait_accelerator_parse(const char *text, size_t length, const char *name,
                                     plait_arena *arena, plait_accelerator *out, plait_error *err)
{
    return json_parse(text, length, name, read_root, arena, out, err);
}

/* ---- writing ---- */

static void write_or_null(json_writer *json, const char *key, double number)
{
    if (number > 0.0)
        json_member_number(json, key, number);
    else
        json_member_null(json, key);
}

static void write_scale_up(json_writer *json, const plait_accelerator *accelerator)
{
    const bool torus = accelerator->torus[0] > 0;

    json_member_object(json, "scale_up");
    json_member_string(json, "kind",
                       scale_up_name[torus                        ? SCALE_UP_TORUS
                                     : accelerator->scale_up_full ? SCALE_UP_FULL
                                     : accelerator->scale_up_pcie ? SCALE_UP_PCIE
                                                                  : SCALE_UP_SWITCH]);
    json_member_int64(json, "domain", accelerator->scale_up_domain);
    fields_write(json, scale_up_fields, accelerator);
    if (torus) {
        json_member_row(json, "torus");
        for (int axis = 0; axis < 3; axis++)
            json_write_int64(json, accelerator->torus[axis]);
        json_end_array(json);
    }
    if (accelerator->wrap_block > 0)
        json_member_int64(json, "wrap_block", accelerator->wrap_block);
    json_end_object(json);
}

void accelerator_write(json_writer *json, const plait_accelerator *accelerator)
{
    json_begin_object(json);
    json_member_string(json, "name", accelerator->name);
    json_member_string(json, "vendor", accelerator->vendor);
    json_member_string(json, "source", accelerator->source);
    json_member_string(json, "confidence", confidence_name[accelerator->confidence]);

    // A rate of 0 means that the data sheet has none. It is left out, because rates in files are
    // positive.
    json_member_object(json, "peak_tflops");
    for (const field *f = peak_fields; f->key != NULL; f++) {
        const double rate = *(const double *)((const char *)accelerator + f->offset);

        if (rate > 0.0 && !(accelerator->fp16_only && strcmp(f->key, "bf16") == 0))
            fields_write_number(json, f->key, rate, f->unit);
    }
    json_end_object(json);
    json_member_int64(json, "compute_units", accelerator->sms);
    fields_write_member(json, "memory", memory_fields, accelerator);
    json_member_object(json, "power");
    write_or_null(json, "limit_w", accelerator->power_w);
    json_member_number(json, "idle_w", accelerator->idle_w);
    json_end_object(json);
    json_member_object(json, "price");
    write_or_null(json, "usd_per_hour", accelerator->usd_per_hour);
    if (accelerator->price_source != NULL)
        json_member_string(json, "source", accelerator->price_source);
    json_end_object(json);
    write_scale_up(json, accelerator);
    json_member_object(json, "node");
    json_member_int64(json, "accelerators", accelerator->gpus_per_node);
    fields_write(json, node_fields, accelerator);
    json_end_object(json);
    fields_write_member(json, "sustained", sustained_fields, accelerator);
    json_member_number(json, "wgrad_ratio", accelerator->wgrad_ratio);
    json_member_number(json, "speed_spread", accelerator->speed_spread);
    fields_write_member(json, "memory_op", memory_op_fields, accelerator);
    fields_write_member(json, "p2p", p2p_fields, accelerator);
    fields_write_member(json, "host", host_fields, accelerator);
    json_member_object(json, "lacks");
    json_member_row(json, "kernels");
    for (int k = 0; k < PLAIT_KERNELS; k++)
        if (accelerator->missing_kernels >> k & 1u)
            json_write_string(json, plait_kernel_name[k]);
    json_end_array(json);
    json_end_object(json);
    accelerator_write_fits(json, accelerator);
    json_end_object(json);
}

plait_status plait_accelerator_find(const char *name, plait_arena *arena, plait_accelerator *out,
                                    plait_error *err)
{
    const char *path;

    PLAIT_TRY(plait_data_find(PLAIT_DATA_ACCELERATORS, name, arena, &path, err));
    return plait_accelerator_load(path, arena, out, err);
}
