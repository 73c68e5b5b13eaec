/* accelerator_unsupported.c - kernels that an accelerator or a family has not
 *
 *     "lacks": {"kernels": ["flash3", "fp8_block"], "source": "..."}
 */
#include "io/cluster/accelerator_private.h"

plait_status accelerator_read_lacks(const json_cursor *at, unsigned *lacks, plait_error *err)
{
    static const char *const keys[] = {"kernels", "source", NULL};
    json_cursor block;

    PLAIT_TRY(json_object_optional(at, "lacks", &block, err));
    if (json_is_null(&block))
        return PLAIT_OK;
    PLAIT_TRY(json_keys_among(&block, keys, err));
    return json_mask(&block, "kernels", plait_kernel_name, 0, lacks, err);
}

void accelerator_write_lacks(json_writer *json, unsigned lacks)
{
    json_write_key(json, "lacks");
    json_begin_object(json);
    json_write_key(json, "kernels");
    json_begin_row(json);
    for (int k = 0; k < PLAIT_KERNELS; k++)
        if (lacks >> k & 1u)
            json_write_string(json, plait_kernel_name[k]);
    json_end_array(json);
    json_end_object(json);
}
