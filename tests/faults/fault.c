/* fault.c - a preloaded library in which the n-th call of a kind fails, or is the program's last
 *
 *     LD_PRELOAD=libplait_fault.so PLAIT_FAULT=FILE plait ...
 *
 * FILE holds a fault_order, which is shared with whoever wrote it: the order goes in, the number of
 * calls comes out, even of a program that is killed. Calls count from main() on, since what comes
 * before is the loader's. Clocks stand still, so that what is printed is the same twice.
 */
#undef _FORTIFY_SOURCE /* its read() is an inline function; ours is no caller of it */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Five numbers, as struct.pack("5q") writes them. */
typedef struct fault_order {
    _Atomic int64_t kinds; /* bits of fault_kind: which calls count */
    _Atomic int64_t from;  /* the first one that fails, from 1; 0: none */
    _Atomic int64_t times; /* how many fail */
    _Atomic int64_t error; /* errno of it; 0: the program is killed before the call */
    _Atomic int64_t calls; /* out */
} fault_order;

typedef enum fault_kind {
    FAULT_ALLOC = 1,
    FAULT_OPEN = 2, /* to read */
    FAULT_READ = 4,
    FAULT_WRITE = 8,
    FAULT_SYNC = 16,
    FAULT_CLOSE = 32,
    FAULT_STAT = 64,
    FAULT_NAME = 128,   /* rename, link, mkdir, chmod: what a folder shows */
    FAULT_REMOVE = 256, /* unlink, rmdir */
    FAULT_CREATE = 512, /* open to write */
    FAULT_FLUSH = 1024, /* of a FILE */
    FAULT_THREAD = 2048 /* the creation of a thread */
} fault_kind;

enum { FAULT_SHORT = 1 << 20 }; /* no errno: half of what was to be written is */

static fault_order *order;

static bool fails(fault_kind kind)
{
    if (order == NULL || !(order->kinds & kind))
        return false;
    const int64_t call = atomic_fetch_add(&order->calls, 1) + 1;

    if (order->from == 0 || call < order->from || call - order->from >= order->times)
        return false;
    if (order->error == 0)
        raise(SIGKILL);
    errno = (int)order->error;
    return true;
}

/* ---- from main() on ---- */

static int (*real_main)(int, char **, char **);

static int armed_main(int argc, char **argv, char **environment)
{
    const char *const path = getenv("PLAIT_FAULT");
    const int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *const map =
        fd >= 0 ? mmap(NULL, sizeof *order, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (map == MAP_FAILED) { // little memory: the loader fails with this status, too
        fputs("error while loading shared libraries: no fault_order\n", stderr);
        _exit(127);
    }
    close(fd);
    order = map;
    return real_main(argc, argv, environment);
}

typedef int start_main(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                       void (*)(void), void *);
start_main __libc_start_main;

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loaded)(void), void *end)
{
    start_main *real;

    *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = main;
    return real(armed_main, argc, argv, init, fini, loaded, end);
}

/* ---- memory ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    *block = aligned_alloc(alignment, size);
    return *block != NULL ? 0 : ENOMEM;
}

/* ---- files ---- */

/* A function that fails with a value: its kind, that value, its type, name, parameters, arguments. */
#define FAULTY(kind, failure, type, name, parameters, ...)                                         \
    type name parameters                                                                           \
    {                                                                                              \
        type(*real) parameters;                                                                    \
                                                                                                   \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                 \
        return fails(kind) ? (failure) : real(__VA_ARGS__);                                        \
    }

// clang-format off
FAULTY(FAULT_READ, -1, ssize_t, read, (int fd, void *bytes, size_t size), fd, bytes, size)
FAULTY(FAULT_SYNC, -1, int, fsync, (int fd), fd)
FAULTY(FAULT_STAT, -1, int, stat, (const char *path, struct stat *out), path, out)
FAULTY(FAULT_STAT, -1, int, lstat, (const char *path, struct stat *out), path, out)
FAULTY(FAULT_STAT, -1, int, fstat, (int fd, struct stat *out), fd, out)
FAULTY(FAULT_STAT, -1, int, fstatat, (int at, const char *path, struct stat *out, int flags), at, path, out, flags)
FAULTY(FAULT_STAT, -1, int, access, (const char *path, int mode), path, mode)
FAULTY(FAULT_NAME, -1, int, rename, (const char *from, const char *to), from, to)
FAULTY(FAULT_NAME, -1, int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags), a, from, b, to, flags)
FAULTY(FAULT_NAME, -1, int, linkat, (int a, const char *from, int b, const char *to, int flags), a, from, b, to, flags)
FAULTY(FAULT_NAME, -1, int, mkdir, (const char *path, mode_t mode), path, mode)
FAULTY(FAULT_NAME, -1, int, mkdirat, (int at, const char *path, mode_t mode), at, path, mode)
FAULTY(FAULT_NAME, -1, int, chmod, (const char *path, mode_t mode), path, mode)
FAULTY(FAULT_NAME, -1, int, fchmod, (int fd, mode_t mode), fd, mode)
FAULTY(FAULT_NAME, -1, int, ftruncate, (int fd, off_t length), fd, length)
FAULTY(FAULT_REMOVE, -1, int, unlink, (const char *path), path)
FAULTY(FAULT_REMOVE, -1, int, unlinkat, (int at, const char *path, int flags), at, path, flags)
FAULTY(FAULT_REMOVE, -1, int, rmdir, (const char *path), path)
FAULTY(FAULT_OPEN, NULL, FILE *, fopen, (const char *path, const char *mode), path, mode)
FAULTY(FAULT_OPEN, NULL, DIR *, opendir, (const char *path), path)
FAULTY(FAULT_FLUSH, EOF, int, fflush, (FILE *file), file)
FAULTY(FAULT_THREAD, EAGAIN, int, pthread_create, (pthread_t *thread, const pthread_attr_t *how, void *(*start)(void *), void *argument), thread, how, start, argument)
// clang-format on

ssize_t write(int fd, const void *bytes, size_t size)
{
    ssize_t (*real)(int, const void *, size_t);
    const bool failed = fails(FAULT_WRITE);

    *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (failed && errno != FAULT_SHORT)
        return -1;
    return real(fd, bytes, failed ? (size + 1) / 2 : size);
}

/* What fails to close is closed all the same. */
#define FAULTY_CLOSE(type, name)                                                                   \
    int name(type what)                                                                            \
    {                                                                                              \
        int (*real)(type);                                                                         \
        const bool failed = fails(FAULT_CLOSE);                                                    \
                                                                                                   \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                 \
        const int error = errno, status = real(what);                                              \
        errno = failed ? error : errno;                                                            \
        return failed ? -1 : status;                                                               \
    }

FAULTY_CLOSE(int, close)
FAULTY_CLOSE(FILE *, fclose)

static int open_really(int at, const char *path, int flags, va_list rest)
{
    int (*real)(int, const char *, int, ...);

    *(void **)&real = dlsym(RTLD_NEXT, "openat");
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;

    return fails(flags & (O_WRONLY | O_RDWR) ? FAULT_CREATE : FAULT_OPEN)
               ? -1
               : real(at, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list rest;

    va_start(rest, flags);
    const int fd = open_really(AT_FDCWD, path, flags, rest);
    va_end(rest);
    return fd;
}

int openat(int at, const char *path, int flags, ...)
{
    va_list rest;

    va_start(rest, flags);
    const int fd = open_really(at, path, flags, rest);
    va_end(rest);
    return fd;
}

/* ---- time ---- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = 1};
    return 0;
}
