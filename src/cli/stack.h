/* stack.h - the stack of the main thread */
#pragma once

#include "plait/error.h"

/**
 * Lets the stack of the main thread grow to the size that every command needs. Call it before
 * anything is allocated: the kernel ends a program by a signal if its stack has to grow when memory
 * is short.
 */
PLAIT_MUST_CHECK plait_status stack_reserve(plait_error *err);
