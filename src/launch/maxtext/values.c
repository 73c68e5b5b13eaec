/* values.c - values of a configuration, or those of base.yml */
#include <stdio.h>
#include <string.h>

#include "launch/maxtext/maxtext.h"

static const yaml_leaf *given(const yaml_file *yaml, const char *key)
{
    const yaml_leaf *const leaf = yaml_find(yaml, key);

    return leaf != NULL && leaf->values > 0 ? leaf : NULL;
}

const char *maxtext_word(const yaml_file *yaml, const char *key, const char *otherwise)
{
    const yaml_leaf *const leaf = given(yaml, key);

    return leaf != NULL ? leaf->value[0] : otherwise;
}

bool maxtext_is_on(const yaml_file *yaml, const char *key)
{
    return strcmp(maxtext_word(yaml, key, ""), "true") == 0 ||
           strcmp(maxtext_word(yaml, key, ""), "True") == 0;
}

/* 10_000 is 10000 in YAML 1.1. */
static bool without_underscores(const char *text, char *out, size_t size)
{
    size_t length = 0;

    for (; *text != '\0' && length + 1 < size; text++)
        if (*text != '_')
            out[length++] = *text;
    out[length] = '\0';
    return *text == '\0';
}

plait_status maxtext_int(const yaml_file *yaml, const char *key, int least, int most, int otherwise,
                         int *out, plait_error *err)
{
    const yaml_leaf *const leaf = given(yaml, key);
    char text[32], expected[64];

    *out = otherwise;
    if (leaf == NULL || (without_underscores(leaf->value[0], text, sizeof text) &&
                         text_parse_int(text, least, most, out)))
        return PLAIT_OK;
    snprintf(expected, sizeof expected, "an integer from %d to %d", least, most);
    return yaml_expected(yaml, leaf, expected, err);
}

plait_status maxtext_number(const yaml_file *yaml, const char *key, double otherwise, double *out,
                            plait_error *err)
{
    const yaml_leaf *const leaf = given(yaml, key);
    char text[32];

    *out = otherwise;
    if (leaf == NULL || (without_underscores(leaf->value[0], text, sizeof text) &&
                         text_parse_number(text, out) && *out >= 0.0 && *out < 1e15))
        return PLAIT_OK;
    return yaml_expected(yaml, leaf, "a number that is not negative", err);
}

const char *maxtext_real(double number, char out[TEXT_NUMBER_SIZE])
{
    char text[TEXT_NUMBER_SIZE];
    const char *const said = text_number(number, text);
    const size_t mantissa = strcspn(said, "e");

    if (said[mantissa] == '\0' || memchr(said, '.', mantissa) != NULL)
        snprintf(out, TEXT_NUMBER_SIZE, "%s", said);
    else
        snprintf(out, TEXT_NUMBER_SIZE, "%.*s.0%s", (int)mantissa, said, said + mantissa);
    return out;
}
