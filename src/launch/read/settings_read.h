/* settings_read.h - reads the rows of settings (write/settings.h) from YAML, flags or overrides */
#pragma once

#include "launch/read/flags.h"
#include "launch/read/yaml_read.h"
#include "launch/write/settings.h"

/** The texts of a config. One of the two sources is NULL. */
typedef struct settings_source {
    yaml_file *yaml;
    launch_flags *flags; /* names are keys with '_' for '-'; those of overrides keep their dots */
    plait_arena *arena;
} settings_source;

/**
 * Read a config: overrides (KEY=VALUE) if `overrides` is true, else a script or YAML, by its first
 * key.
 */
PLAIT_MUST_CHECK plait_status settings_open(const char *text, size_t length, const char *name,
                                            bool overrides, const launch_call *call,
                                            plait_arena *arena, settings_source *out,
                                            plait_error *err);

/** Returns the first value of a key, with references such as ${policy.model_name} resolved. */
const char *settings_value(const settings_source *source, const char *key);

/**
 * Set the fields of the rows that the config gives. Values that depend on the environment of the
 * script or on a function of the config are treated as not given.
 *
 * Fails (RANGE) on a value of another kind.
 */
PLAIT_MUST_CHECK plait_status settings_read(const setting_row *rows, const settings_source *source,
                                            void *values, plait_error *err);

/** Returns the keys that no reader looked up, with commas between them; NULL: out of memory. */
const char *settings_not_read(const settings_source *source);
