/* few_draws.h - how many of a test's draws a build can afford: gcc's release takes all of them,
 * sanitizers are ten times as slow, and what clang compiles otherwise shows in a few
 */
#pragma once

#if defined(__clang__) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { FEW_DRAWS = 1 };
#else
enum { FEW_DRAWS = 0 };
#endif
