/* launch_keys.h - checks of launch files against tests/data/launch_keys, the keys of the targets */
#pragma once

#include "launch/read/settings_read.h"

/**
 * Fails the test unless tests/data/launch_keys/NAME.tsv has all keys of a config, with the types of
 * their values.
 */
void check_launch_keys(const char *name, const settings_source *config, plait_arena *arena);
