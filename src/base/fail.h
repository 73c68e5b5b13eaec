/* fail.h - plait_fail() with a va_list */
#pragma once

#include <stdarg.h>

#include "plait/error.h"

plait_status fail_list(plait_error *err, plait_status status, const char *where, const char *fmt,
                       va_list args) PLAIT_MUST_CHECK;
