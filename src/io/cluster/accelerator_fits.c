/* accelerator_fits.c - reads the fitted constants of an accelerator, which override its family's */
#include <string.h>

#include "plait/units.h"

#include "io/cluster/cluster_file.h"

#define GEMM(member) FIELD_AT(plait_gemm_fit, member)
const field accelerator_gemm_fields[] = {
    {"emax", JSON_POSITIVE, .least = 1e-3, .most = 1.0, GEMM(emax)},
    {"k0", JSON_NON_NEGATIVE, .most = 1e9, GEMM(k0)},
    {"q", JSON_FRACTION, GEMM(q)},
    {"r128", JSON_POSITIVE, .least = 1e-3, .most = 2.0, GEMM(r128)},
    {"r64", JSON_POSITIVE, .least = 1e-3, .most = 2.0, GEMM(r64)},
    {"r32", JSON_POSITIVE, .least = 1e-3, .most = 2.0, GEMM(r32)},
    {"eb", JSON_POSITIVE, .least = 1e-3, .most = 1.5, GEMM(eb)},
    {"t0_us", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_US, GEMM(t0_s)},
    {"p", JSON_POSITIVE, .least = 0.5, .most = 100.0, GEMM(p)},
    {"cq", JSON_NON_NEGATIVE, .most = 1e6, GEMM(cq)},
    {.key = NULL},
};

#define GROUPED(member) FIELD_AT(plait_grouped_fit, member)
const field accelerator_grouped_fields[] = {
    {"emax", JSON_POSITIVE, .least = 1e-3, .most = 1.0, GROUPED(emax)},
    {"rs", JSON_POSITIVE, .least = 1e-3, .most = 1.0, GROUPED(rs)},
    {"k0", JSON_NON_NEGATIVE, .most = 1e9, GROUPED(k0)},
    {"eb", JSON_POSITIVE, .least = 1e-3, .most = 1.5, GROUPED(eb)},
    {"t0_us", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_US, GROUPED(t0_s)},
    {"permute_passes", JSON_NON_NEGATIVE, .most = 1e6, GROUPED(permute_passes)},
    {.key = NULL},
};

#define ATTENTION(member) FIELD_AT(plait_attention_fit, member)
static const field attention_fields[] = {
    {"s0", JSON_NON_NEGATIVE, .most = 1e9, ATTENTION(s0)},
    {"q", JSON_FRACTION, ATTENTION(q)},
    {"t0_us", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_US, ATTENTION(t0_s)},
    {"fp8_rate", JSON_POSITIVE, .least = 1e-2, .most = 2.0, ATTENTION(fp8_rate)},
    {"backward_ratio", JSON_POSITIVE, .least = 1e-2, .most = 20.0, ATTENTION(backward_ratio)},
    {.key = NULL},
};

#define DECODE(member) FIELD_AT(plait_decode_fit, member)
const field accelerator_decode_fields[] = {
    {"eb", JSON_POSITIVE, .least = 1e-3, .most = 1.5, DECODE(eb)},
    {"few", JSON_NON_NEGATIVE, .most = 1e6, DECODE(few)},
    {"t0_us", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_US, DECODE(t0_s)},
    {.key = NULL},
};

/* Smallest valid fraction of the peak that a kernel reaches. */
#define MIN_SHARE 1e-4

static const char *const head_widths[] = {"64", "128", "192", "256"};

#define COLLECTIVE(member) FIELD_AT(plait_collective_fit, member)
static const field collective_fields[] = {
    {"a_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, .count = 3, COLLECTIVE(a_s)},
    {"b_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, .count = 3, COLLECTIVE(b_s)},
    {"bus_gb_per_s", JSON_POSITIVE, .least = 1e-6, .most = 1e9, .unit = PLAIT_GB, .count = 3,
     COLLECTIVE(bytes_per_s)},
    {"local_gb_per_s", JSON_POSITIVE, .least = 1e-6, .most = 1e9, .unit = PLAIT_GB,
     COLLECTIVE(local_bytes_per_s)},
    {"nvls_a_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, COLLECTIVE(nvls_a_s)},
    {"nvls_gb_per_s", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_GB,
     COLLECTIVE(nvls_bytes_per_s)},
    {.key = NULL},
};

/* Finds a member of a section; *child is null if either is missing. */
static plait_status find_block(const json_cursor *at, const char *key, json_cursor *child,
                               plait_error *err)
{
    if (json_is_null(at)) {
        *child = *at;
        return PLAIT_OK;
    }
    return json_object_optional(at, key, child, err);
}

/* Finds a section. Its valid keys are words[from] to words[to - 1] and "source". */
static plait_status find_section(const json_cursor *at, const char *key, const char *const *words,
                                 int from, int to, json_cursor *section, plait_error *err)
{
    const char *keys[16];
    int count = 0;

    PLAIT_TRY(json_object_optional(at, key, section, err));
    if (json_is_null(section))
        return PLAIT_OK;
    for (int i = from; i < to; i++)
        keys[count++] = words[i];
    keys[count++] = "source";
    keys[count] = NULL;
    return json_keys_among(section, keys, err);
}

plait_status accelerator_products(const json_cursor *at, const char *key, json_cursor *section,
                                  plait_error *err)
{
    return find_section(at, key, plait_precision_name, 0, PLAIT_PRECISIONS, section, err);
}

plait_status accelerator_decodes(const json_cursor *at, json_cursor *section, plait_error *err)
{
    return find_section(at, "attention_decode", plait_kv_name, 0, PLAIT_KV_FORMATS, section, err);
}

/*
 * Reads the fit `key` of a section, which overrides the default in *fit. A fit in a file counts as
 * measured unless the file says otherwise.
 */
static plait_status read_fit(const json_cursor *section, const char *key, const field *fields,
                             void *fit, bool *measured, plait_error *err)
{
    static const char *const also[] = {"measured", NULL};
    json_cursor block;

    PLAIT_TRY(find_block(section, key, &block, err));
    if (json_is_null(&block))
        return PLAIT_OK;
    *measured = true;
    PLAIT_TRY(fields_read(&block, fields, also, fit, err));
    return json_bool_optional(&block, "measured", measured, err);
}

/* ---- matrix products ---- */

/*
 * The array element of bf16 prices all 16-bit products, so on hardware without bf16 its key is
 * "fp16".
 */
static const char *precision_key(const plait_accelerator *out, int precision)
{
    return plait_precision_name[precision == PLAIT_BF16 && out->fp16_only ? PLAIT_FP16 : precision];
}

/* ---- attention ---- */

static plait_status read_width(const json_cursor *widths, int i, double missing, double e[4],
                               plait_error *err)
{
    e[i] = missing;
    PLAIT_TRY(json_number_optional(widths, head_widths[i], JSON_POSITIVE, &e[i], err));
    if (e[i] < MIN_SHARE || e[i] > 1.0)
        return json_fail_key(widths, head_widths[i], PLAIT_ERROR_RANGE, err,
                             "expected a fraction of the peak from %g to 1, found %g", MIN_SHARE,
                             e[i]);
    return PLAIT_OK;
}

static plait_status read_attention(const json_cursor *at, const accelerator_family *family,
                                   plait_accelerator *out, plait_error *err)
{
    static const char *const also[] = {"e", "measured", NULL};
    json_cursor section, block;

    PLAIT_TRY(find_section(at, "attention", plait_attention_kernel_name, PLAIT_ATTENTION_FLASH,
                           PLAIT_ATTENTION_KERNELS, &section, err));
    for (int k = 0; k < PLAIT_ATTENTION_KERNELS; k++) {
        static const char *const keys[] = {"64", "128", "192", "256", NULL};
        plait_attention_fit *fit = &out->attention[k];
        json_cursor widths;

        *fit = accelerator_default_attention(family, (plait_attention_kernel)k);
        PLAIT_TRY(find_block(&section, plait_attention_kernel_name[k], &block, err));
        if (json_is_null(&block))
            continue;
        fit->measured = true;
        PLAIT_TRY(fields_read(&block, attention_fields, also, fit, err));
        PLAIT_TRY(json_bool_optional(&block, "measured", &fit->measured, err));

        // Read {"64": 0.45, "128": 0.58}. A missing width above 128 has the rate of the next
        // narrower one; a missing 64 has the rate of 128 times the family's ratio.
        PLAIT_TRY(json_object_optional(&block, "e", &widths, err));
        if (!json_is_null(&widths)) {
            PLAIT_TRY(json_keys_among(&widths, keys, err));
            PLAIT_TRY(json_number(&widths, "128", JSON_POSITIVE, &fit->e[1], err));
            PLAIT_TRY(read_width(&widths, 1, fit->e[1], fit->e, err));
            PLAIT_TRY(
                read_width(&widths, 0, family->attention.e64_over_e128 * fit->e[1], fit->e, err));
            PLAIT_TRY(read_width(&widths, 2, fit->e[1], fit->e, err));
            PLAIT_TRY(read_width(&widths, 3, fit->e[2], fit->e, err));
        }
    }
    return PLAIT_OK;
}

/* ---- collectives ---- */

plait_status accelerator_read_fits(const json_cursor *at, const accelerator_family *family,
                                   plait_accelerator *out, plait_error *err)
{
    json_cursor section;

    PLAIT_TRY(accelerator_products(at, "gemm", &section, err));
    for (int p = 0; p < PLAIT_PRECISIONS; p++) {
        plait_gemm_fit *fit = &out->gemm[p];

        *fit = accelerator_default_gemm(family, (plait_precision)p, out->gemm);
        PLAIT_TRY(read_fit(&section, precision_key(out, p), accelerator_gemm_fields, fit,
                           &fit->measured, err));
    }
    PLAIT_TRY(accelerator_products(at, "grouped_gemm", &section, err));
    for (int p = 0; p < PLAIT_PRECISIONS; p++) {
        plait_grouped_fit *fit = &out->grouped[p];

        *fit = accelerator_default_grouped(family, (plait_precision)p, out);
        PLAIT_TRY(read_fit(&section, precision_key(out, p), accelerator_grouped_fields, fit,
                           &fit->measured, err));
    }
    PLAIT_TRY(read_attention(at, family, out, err));
    PLAIT_TRY(accelerator_decodes(at, &section, err));
    for (int f = 0; f < PLAIT_KV_FORMATS; f++) {
        plait_decode_fit *fit = &out->decode[f];

        *fit = family->decode[f];
        PLAIT_TRY(read_fit(&section, plait_kv_name[f], accelerator_decode_fields, fit,
                           &fit->measured, err));
    }
    PLAIT_TRY(find_section(at, "collectives", plait_collective_name, 0, PLAIT_FITTED_COLLECTIVES,
                           &section, err));
    for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++) {
        plait_collective_fit *fit = &out->collective[op];

        *fit = accelerator_default_collective(family, (plait_collective_op)op, out);
        PLAIT_TRY(read_fit(&section, plait_collective_name[op], collective_fields, fit,
                           &fit->measured, err));
    }
    return PLAIT_OK;
}

/* ---- writing ---- */

static void write_fit(json_writer *json, const char *key, const field *fields, const void *fit,
                      bool measured)
{
    json_member_object(json, key);
    fields_write(json, fields, fit);
    json_member_bool(json, "measured", measured);
    json_end_object(json);
}

void accelerator_write_fits(json_writer *json, const plait_accelerator *accelerator)
{
    const int first = accelerator->fp16_only; // skip bf16 if the hardware does not have it

    json_member_object(json, "gemm");
    for (int p = first; p < PLAIT_PRECISIONS; p++)
        write_fit(json, plait_precision_name[p], accelerator_gemm_fields, &accelerator->gemm[p],
                  accelerator->gemm[p].measured);
    json_end_object(json);
    json_member_object(json, "grouped_gemm");
    for (int p = first; p < PLAIT_PRECISIONS; p++)
        write_fit(json, plait_precision_name[p], accelerator_grouped_fields,
                  &accelerator->grouped[p], accelerator->grouped[p].measured);
    json_end_object(json);
    json_member_object(json, "attention");
    for (int k = PLAIT_ATTENTION_FLASH; k < PLAIT_ATTENTION_KERNELS; k++) {
        json_member_object(json, plait_attention_kernel_name[k]);
        json_member_object(json, "e");
        for (int i = 0; i < 4; i++)
            json_member_number(json, head_widths[i], accelerator->attention[k].e[i]);
        json_end_object(json);
        fields_write(json, attention_fields, &accelerator->attention[k]);
        json_member_bool(json, "measured", accelerator->attention[k].measured);
        json_end_object(json);
    }
    json_end_object(json);
    json_member_object(json, "attention_decode");
    for (int f = 0; f < PLAIT_KV_FORMATS; f++)
        write_fit(json, plait_kv_name[f], accelerator_decode_fields, &accelerator->decode[f],
                  accelerator->decode[f].measured);
    json_end_object(json);
    json_member_object(json, "collectives");
    for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++)
        write_fit(json, plait_collective_name[op], collective_fields, &accelerator->collective[op],
                  accelerator->collective[op].measured);
    json_end_object(json);
}
