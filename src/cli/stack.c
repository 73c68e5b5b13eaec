/* stack.c - the stack of the main thread, of its full size from the start */
#define _GNU_SOURCE // MAP_ANONYMOUS
#include "cli/stack.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/status.h"

/* Bytes of stack that are enough for any command. */
enum { STACK_BYTES = 1 << 20 };

static void grow_stack(void)
{
    volatile char lowest[STACK_BYTES];

    lowest[0] = 0;
    (void)lowest[0];
}

plait_status stack_reserve(plait_error *err)
{
    // Arguments and the environment take at most a quarter of the limit.
    const rlim_t least = STACK_BYTES / 2 * 3;
    void (*const volatile grow)(void) = grow_stack; // inlined, it would give its frame to main()
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < least)
        return plait_fail(err, PLAIT_ERROR_NOMEM, "stack",
                          "expected a limit (ulimit -s) of at least %d KiB, found %d KiB",
                          (int)(least / 1024), (int)(limit.rlim_cur / 1024));
    // A mapping fails under the same limits of memory as the stack, but without a signal.
    void *const probe =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED)
        return plait_fail_nomem(err);
    munmap(probe, STACK_BYTES);
    grow();
    return PLAIT_OK;
}
