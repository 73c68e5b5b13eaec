/* mcp_tools.h - the commands as tools of a server of the Model Context Protocol */
#pragma once

#include "mcp/mcp.h"

/**
 * Fill the functions of a host.
 *
 * @param only  names of tools to offer, ended by NULL; NULL: all
 */
PLAIT_MUST_CHECK plait_status mcp_tools_init(const char *const *only, plait_arena *arena,
                                             mcp_host *host, plait_error *err);
