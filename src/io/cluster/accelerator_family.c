/*
 * accelerator_family.c - reads a family of accelerators as JSON; its own numbers override
 * common.json
 */
#include "io/cluster/cluster_file.h"

#include <stddef.h>
#include <string.h>

#include "plait/data.h"
#include "plait/units.h"

/* Longest chain of references by "from"; the limit also ends a circle of references. */
enum { MAX_CHAIN = 3 };

static const char common[] = "common";

/* A family file that is being read into *family. */
typedef struct family_file {
    accelerator_family *family;
    const accelerator_family *shared; /* numbers of common.json; NULL: this is common.json */
    int chain; /* length of the chain of "from" references that led to this file */
    plait_arena *arena;
} family_file;

#define FAMILY(member) FIELD_AT(accelerator_family, member)

static const field peak_fields[] = {
    {"bf16_over_fp32", JSON_POSITIVE, .least = 1.0, .most = 1e6, FAMILY(bf16_over_fp32)},
    {.key = NULL},
};
static const field sustained_fields[] = {
    {"from_w", JSON_NON_NEGATIVE, .most = 1e6, FAMILY(sustained_from_w)},
    {"bf16", JSON_POSITIVE, .least = 1e-2, .most = 1.5, FAMILY(sustained[0])},
    {"fp8", JSON_POSITIVE, .least = 1e-2, .most = 1.5, FAMILY(sustained[1])},
    {.key = NULL},
};
static const field power_fields[] = {
    {"idle_share", JSON_FRACTION, FAMILY(idle_share)},
    {"idle_least_w", JSON_NON_NEGATIVE, .most = 1e6, FAMILY(idle_least_w)},
    {"idle_most_w", JSON_NON_NEGATIVE, .most = 1e6, FAMILY(idle_most_w)},
    {.key = NULL},
};
static const field wgrad_fields[] = {
    {"ratio", JSON_POSITIVE, .least = 0.01, .most = 100.0, FAMILY(wgrad_ratio)},
    {.key = NULL},
};
static const field spread_fields[] = {
    {"speed", JSON_FRACTION, FAMILY(speed_spread)},
    {.key = NULL},
};
static const field memory_op_fields[] = {
    {"fraction", JSON_POSITIVE, .least = 1e-3, .most = 1.5, FAMILY(memory_op_fraction)},
    {"t0_us", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_US, FAMILY(memory_op_t0_s)},
    {.key = NULL},
};
static const field scale_up_fields[] = {
    {"ring_share", JSON_POSITIVE, .least = 1e-3, .most = 1.0, FAMILY(ring_share)},
    {"pcie_ring_share", JSON_POSITIVE, .least = 1e-3, .most = 1.0, FAMILY(pcie_ring_share)},
    {.key = NULL},
};
static const field p2p_fields[] = {
    {"latency_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, FAMILY(p2p_latency_s)},
    {.key = NULL},
};

static const field host_fields[] = {
    {"link_gb_per_s", JSON_POSITIVE, .least = 1e-6, .most = 1e9, .unit = PLAIT_GB,
     FAMILY(host_bytes_per_s)},
    {"adam_ns", JSON_NON_NEGATIVE, .most = 1e9, .unit = 1e-9, FAMILY(host_adam_s)},
    {.key = NULL},
};

#define E128(kernel)                                                                               \
    JSON_POSITIVE, .least = 1e-3, .most = 1.0, FAMILY(attention.e128[PLAIT_ATTENTION_##kernel])
static const field attention_fields[] = {
    {"flash", E128(FLASH)},
    {"flash2", E128(FLASH2)},
    {"flash3", E128(FLASH3)},
    {"fused", E128(FUSED)},
    {"e64_over_e128", JSON_POSITIVE, .least = 0.1, .most = 1.0, FAMILY(attention.e64_over_e128)},
    {"s0", JSON_NON_NEGATIVE, .most = 1e9, FAMILY(attention.s0)},
    {"q", JSON_FRACTION, FAMILY(attention.q)},
    {"t0_us", JSON_NON_NEGATIVE, .most = 1e6, .unit = PLAIT_US, FAMILY(attention.t0_s)},
    {"fp8_rate", JSON_POSITIVE, .least = 1e-2, .most = 2.0, FAMILY(attention.fp8_rate)},
    {"backward_ratio", JSON_POSITIVE, .least = 1e-2, .most = 20.0,
     FAMILY(attention.backward_ratio)},
    {.key = NULL},
};
static const field collective_fields[] = {
    {"a_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, .count = 3, FAMILY(collective.a_s)},
    {"b_us", JSON_NON_NEGATIVE, .most = 1e9, .unit = PLAIT_US, .count = 3, FAMILY(collective.b_s)},
    {"single_pass_share", JSON_FRACTION, FAMILY(collective.single_pass_share)},
    {"ring_share", JSON_POSITIVE, .least = 1e-3, .most = 1.0, .count = 3,
     FAMILY(collective.ring_share)},
    {"hbm_share", JSON_POSITIVE, .least = 1e-3, .most = 1.5, FAMILY(collective.hbm_share)},
    {.key = NULL},
};

/* Blocks of a family whose numbers do not depend on the precision. */
static const struct family_block {
    const char *key;
    const field *fields;
} blocks[] = {
    {"peak", peak_fields},   {"sustained", sustained_fields}, {"power", power_fields},
    {"wgrad", wgrad_fields}, {"memory_op", memory_op_fields}, {"scale_up", scale_up_fields},
    {"p2p", p2p_fields},     {"attention", attention_fields}, {"collectives", collective_fields},
    {"host", host_fields},   {"spread", spread_fields},
};
enum { BLOCKS = sizeof blocks / sizeof blocks[0] };

/* ---- blocks ---- */

static plait_status load_family(const char *name, family_file *file, plait_error *err);

/* Reads the block `key` if the file has it, and overwrites the numbers read so far. */
static plait_status read_block(const json_cursor *at, const char *key, const field *fields,
                               const family_file *file, void *numbers, plait_error *err)
{
    static const char *const also[] = {"from", NULL};
    json_cursor block;

    PLAIT_TRY(json_object_optional(at, key, &block, err));
    if (json_is_null(&block))
        return PLAIT_OK;
    if (json_has(&block, "from")) {
        accelerator_family lender;

        // Copy the numbers that the family named by "from" has in the same block.
        const ptrdiff_t place = (char *)numbers - (char *)file->family;
        family_file other = {&lender, file->shared, file->chain + 1, file->arena};
        const char *name = common;
        if (file->shared == NULL)
            return json_fail_key(
                &block, "from", PLAIT_ERROR_SCHEMA, err,
                "expected numbers, found a reference to a family; this file cannot "
                "refer to one, since all families inherit from it");
        if (file->chain == MAX_CHAIN)
            return json_fail_key(&block, "from", PLAIT_ERROR_RANGE, err,
                                 "expected numbers, found a chain of more than %d families",
                                 MAX_CHAIN);
        PLAIT_TRY(accelerator_family_name(&block, "from", file->arena, &name, err));
        lender = *file->shared;
        PLAIT_TRY(load_family(name, &other, err));
        fields_copy_filled(fields, (const char *)&lender + place, numbers);
    }
    return fields_read(&block, fields, also, numbers, err);
}

/* ---- required numbers ---- */

static plait_status check_block(const json_cursor *at, const char *key, const field *fields,
                                const void *numbers, plait_error *err)
{
    const json_cursor block = {.parent = at, .key = key};
    const char *blank = fields_first_blank(fields, numbers);

    if (blank == NULL)
        return PLAIT_OK;
    return json_fail_key(&block, blank, PLAIT_ERROR_SCHEMA, err,
                         "expected a number here or in %s.json, found none", common);
}

/*
 * Checks that all numbers without a default are given: only precisions other than bf16 may be
 * blank, and bf16's grouped product may take the emax of its plain product.
 */
static plait_status check_required(const json_cursor *at, const accelerator_family *family,
                                   plait_error *err)
{
    const json_cursor gemm = {.parent = at, .key = "gemm"};
    const json_cursor grouped = {.parent = at, .key = "grouped_gemm"};
    const json_cursor decode = {.parent = at, .key = "attention_decode"};
    plait_grouped_fit expert = family->grouped[PLAIT_BF16];

    expert.emax = family->gemm[PLAIT_BF16].emax;
    PLAIT_TRY(check_block(&gemm, plait_precision_name[PLAIT_BF16], accelerator_gemm_fields,
                          &family->gemm[PLAIT_BF16], err));
    PLAIT_TRY(check_block(&grouped, plait_precision_name[PLAIT_BF16], accelerator_grouped_fields,
                          &expert, err));
    for (int f = 0; f < PLAIT_KV_FORMATS; f++)
        PLAIT_TRY(check_block(&decode, plait_kv_name[f], accelerator_decode_fields,
                              &family->decode[f], err));
    for (int b = 0; b < BLOCKS; b++)
        PLAIT_TRY(check_block(at, blocks[b].key, blocks[b].fields, family, err));
    return PLAIT_OK;
}

/* ---- the family ---- */

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *out,
                              plait_error *err)
{
    enum { OTHERS = 6 };
    const char *keys[BLOCKS + OTHERS + 1] = {"name",         "source",           "gemm",
                                             "grouped_gemm", "attention_decode", "lacks"};
    const family_file *file = out;
    accelerator_family *family = file->family;
    json_cursor gemm, grouped, section;

    for (int b = 0; b < BLOCKS; b++)
        keys[OTHERS + b] = blocks[b].key;
    PLAIT_TRY(json_keys_among(root, keys, err));
    PLAIT_TRY(json_string(root, "name", arena, &family->name, err));
    for (int b = 0; b < BLOCKS; b++)
        PLAIT_TRY(read_block(root, blocks[b].key, blocks[b].fields, file, family, err));
    PLAIT_TRY(accelerator_products(root, "gemm", &gemm, err));
    PLAIT_TRY(accelerator_products(root, "grouped_gemm", &grouped, err));
    for (int p = 0; p < PLAIT_PRECISIONS; p++) {
        const char *key = plait_precision_name[p];

        if (!json_is_null(&gemm))
            PLAIT_TRY(read_block(&gemm, key, accelerator_gemm_fields, file, &family->gemm[p], err));
        if (!json_is_null(&grouped))
            PLAIT_TRY(read_block(&grouped, key, accelerator_grouped_fields, file,
                                 &family->grouped[p], err));
    }
    PLAIT_TRY(accelerator_decodes(root, &section, err));
    for (int f = 0; f < PLAIT_KV_FORMATS && !json_is_null(&section); f++)
        PLAIT_TRY(read_block(&section, plait_kv_name[f], accelerator_decode_fields, file,
                             &file->family->decode[f], err));
    PLAIT_TRY(accelerator_read_missing_kernels(root, &family->missing_kernels, err));
    // A family that was reached by "from" need not be complete, since only one of its blocks is
    // copied.
    return file->shared != NULL && file->chain == 0 ? check_required(root, family, err) : PLAIT_OK;
}

static plait_status load_family(const char *name, family_file *file, plait_error *err)
{
    const char *path;

    PLAIT_TRY(plait_data_find(PLAIT_DATA_FAMILIES, name, file->arena, &path, err));
    return json_load(path, read_root, file->arena, file, err);
}

static plait_status load_common(plait_arena *arena, accelerator_family *out, plait_error *err)
{
    family_file file = {.family = out, .arena = arena};

    *out = (accelerator_family){0};
    for (int b = 0; b < BLOCKS; b++)
        fields_blank(blocks[b].fields, out);
    for (int p = 0; p < PLAIT_PRECISIONS; p++) {
        fields_blank(accelerator_gemm_fields, &out->gemm[p]);
        fields_blank(accelerator_grouped_fields, &out->grouped[p]);
    }
    for (int f = 0; f < PLAIT_KV_FORMATS; f++)
        fields_blank(accelerator_decode_fields, &out->decode[f]);
    return load_family(common, &file, err);
}

plait_status accelerator_family_find(const char *name, plait_arena *arena, accelerator_family *out,
                                     plait_error *err)
{
    accelerator_family shared;
    family_file file = {.family = out, .shared = &shared, .arena = arena};

    PLAIT_TRY(load_common(arena, &shared, err));
    *out = shared;
    return load_family(name, &file, err);
}

plait_status accelerator_family_parse(const char *text, size_t length, const char *name,
                                      plait_arena *arena, accelerator_family *out, plait_error *err)
{
    accelerator_family shared;
    family_file file = {.family = out, .shared = &shared, .arena = arena};

    PLAIT_TRY(load_common(arena, &shared, err));
    *out = shared;
    return json_parse(text, length, name, read_root, arena, &file, err);
}

/*
 * If no families are installed, the error comes from accelerator_family_find(), because an empty
 * list of names would not help.
 */
plait_status accelerator_family_name(const json_cursor *at, const char *key, plait_arena *arena,
                                     const char **name, plait_error *err)
{
    const char *const *families = NULL;
    int index = 0;
    const char *const *names, **found;

    if (!json_has(at, key))
        return PLAIT_OK;

    // List the names of all families, which are all files but common.json; NULL ends the list.
    size_t count, kept = 0;
    PLAIT_TRY(plait_data_list(PLAIT_DATA_FAMILIES, arena, &names, &count, err));
    found = plait_arena_alloc(arena, count + 1, sizeof *found);
    PLAIT_TRY(plait_check_allocated(found, err));
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], common) != 0)
            found[kept++] = names[i];
    families = found;
    if (families[0] == NULL)
        return PLAIT_OK;
    PLAIT_TRY(json_word(at, key, families, &index, err));
    *name = families[index];
    return PLAIT_OK;
}
