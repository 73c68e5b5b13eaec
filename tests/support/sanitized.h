/* sanitized.h - how many of a test's draws a build can afford: sanitizers are ten times as slow */
#ifndef SANITIZED_H
#define SANITIZED_H

#if !defined(__has_feature)
#define __has_feature(what) 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer) ||                             \
    defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif
