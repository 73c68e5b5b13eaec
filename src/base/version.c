/* version.c - version of the library, which the build defines */
#include "plait/version.h"

const char *plait_version(void)
{
    return PLAIT_VERSION;
}
