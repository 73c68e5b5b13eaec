/* version.c - which plait this is: as the build says it */
#include "plait/version.h"

const char *plait_version(void)
{
    return PLAIT_VERSION;
}
