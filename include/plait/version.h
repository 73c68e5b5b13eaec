/* version.h - the version of the library that a program runs with */
#ifndef PLAIT_VERSION_H
#define PLAIT_VERSION_H

#include "plait/error.h"

PLAIT_BEGIN_DECLS

/**
 * "0.1.0": the version of the library, MAJOR.MINOR.PATCH (semver.org).
 *
 * A shared library may have another version than the headers; plait.h describes their
 * compatibility.
 */
const char *plait_version(void);

PLAIT_END_DECLS

#endif
