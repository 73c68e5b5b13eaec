/* runtime_features.c - what a release of the software does not have yet */
#include "runtime_features.h"

#include <stdio.h>

const plait_release *runtime_brought(const plait_runtime *runtime, int key, int value)
{
    if (runtime->at == NULL)
        return NULL;
    for (size_t i = 0; i < runtime->features; i++) {
        const plait_feature *const feature = &runtime->feature[i];
        const plait_release *const since = &runtime->release[feature->since];

        if (feature->key == key && feature->value == value)
            return since > runtime->at ? since : NULL;
    }
    return NULL;
}

const char *runtime_brought_text(const plait_runtime *runtime, int key, int value,
                                 char out[RUNTIME_BROUGHT_SIZE])
{
    const plait_release *const since = runtime_brought(runtime, key, value);

    out[0] = '\0';
    if (since != NULL)
        snprintf(out, RUNTIME_BROUGHT_SIZE, "; %.40s brought it", since->name);
    return out;
}
