/* fail.h - plait_fail for functions that take a format themselves */
#pragma once

#include <stdarg.h>

#include "plait/error.h"

/** As plait_fail, with the arguments of the format as a list. */
plait_status fail_list(plait_error *err, plait_status status, const char *where, const char *fmt,
                       va_list args) PLAIT_MUST_CHECK;
