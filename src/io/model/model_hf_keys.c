/* model_hf_keys.c - keys of a Hugging Face config, under whichever name a class gives them */
#include "io/model/model_hf.h"

#include <string.h>

#include "base/text.h"

bool hf_mentions(const json_cursor *at, const char *key)
{
    json_cursor member;

    for (bool more = json_first(at, &member); more; more = json_next(&member))
        if (strcmp(member.key, key) == 0)
            return true;
    return false;
}

const char *hf_name(const hf_config *hf, const char *const *names)
{
    for (const char *const *name = names; *name != NULL; name++)
        if (json_has(hf->text, *name))
            return *name;
    return names[0];
}

void hf_skip(const hf_config *hf, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        json_mark_read(hf->text, *keys);
}

/* A file may give one quantity under two of its names. Only names with the same number are skipped. */
static void skip_copies(const hf_config *hf, const char *const *names, int number)
{
    json_cursor at;
    int copy;

    for (bool more = json_first(hf->text, &at); more; more = json_next(&at))
        if (text_index(at.key, names) >= 0 &&
            json_as_int(&at, number, number, &copy, NULL) == PLAIT_OK)
            json_mark_read(hf->text, at.key);
}

plait_status hf_int(const hf_config *hf, const char *const *names, int min, int max, int *out,
                    plait_error *err)
{
    PLAIT_TRY(json_int(hf->text, hf_name(hf, names), min, max, out, err));
    skip_copies(hf, names, *out);
    return PLAIT_OK;
}

plait_status hf_int_optional(const hf_config *hf, const char *const *names, int min, int max,
                             int *out, plait_error *err)
{
    PLAIT_TRY(json_int_optional(hf->text, hf_name(hf, names), min, max, out, err));
    skip_copies(hf, names, *out);
    return PLAIT_OK;
}

plait_status hf_int_or(const hf_config *hf, const char *const *names, int min, int max, int absent,
                       int *out, plait_error *err)
{
    *out = absent;
    return absent > 0 ? hf_int_optional(hf, names, min, max, out, err)
                      : hf_int(hf, names, min, max, out, err);
}

bool hf_has_trait(const hf_config *hf, enum hf_trait trait)
{
    return (hf->class->traits & (unsigned)trait) != 0;
}

plait_status hf_flag(const hf_config *hf, const char *key, bool absent, bool *out, plait_error *err)
{
    *out = absent;
    return json_bool_optional(hf->text, key, out, err);
}

plait_status hf_number(const json_cursor *at, const char *const *names, json_range range,
                       double none, double *out, plait_error *err)
{
    for (const char *const *name = names; *name != NULL; name++) {
        if (!hf_mentions(at, *name))
            continue;
        *out = none;
        return json_number_optional(at, *name, range, out, err);
    }
    return PLAIT_OK;
}
