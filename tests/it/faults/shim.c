/* Stands between a process and the kernel (LD_PRELOAD): records what reaches the files below one directory,
 * and makes chosen calls fail. Told by its environment:
 *
 *   HM_SHIM_BELOW   the directory; nothing else is looked at
 *   HM_SHIM_RECORD  append a record of every call here, in the order in which they took place
 *   HM_SHIM_PLAN    "CALL ERRNO NTH TIMES FILE": the NTH CALL on a path that ends in FILE ("*": any) fails with
 *                   ERRNO; TIMES is `once`, or `forever`: it and every one after it, also in other processes
 *   HM_SHIM_FIRED   made when the plan first fires
 *   HM_SHIM_LIFTED  while this file exists, nothing fails
 *
 * ERRNO 0: the process is killed there, before the call. CALL is one of write, sync, truncate, rename, unlink, open (for writing). Linux with glibc or musl. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, SYNC, TRUNCATE, RENAME, UNLINK, CREATE, LINK, OPEN };

static const char *below, *fired, *lifted;
static size_t below_len;
static int record = -1;
static int plan_call, plan_errno, plan_nth, plan_forever, seen;
static char plan_file[256];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("HM_SHIM_RECORD"), *plan = getenv("HM_SHIM_PLAN");
    char call[16], times[16];
    fired = getenv("HM_SHIM_FIRED");
    lifted = getenv("HM_SHIM_LIFTED");
    if (path) record = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (plan) {
        static const char *const names[] = {"", "write", "sync", "truncate", "rename", "unlink", "", "", "open"};
        if (sscanf(plan, "%15s %d %d %15s %255s", call, &plan_errno, &plan_nth, times, plan_file) != 5) abort();
        for (int at = WRITE; at <= OPEN; at++)
            if (strcmp(names[at], call) == 0) plan_call = at;
        if (!plan_call || !fired || !lifted) abort();
        plan_forever = strcmp(times, "forever") == 0;
    }
    below = getenv("HM_SHIM_BELOW");
    if (below) below_len = strlen(below);
}

static int is_below(const char *path) {
    return below && strncmp(path, below, below_len) == 0 && (path[below_len] == '/' || path[below_len] == 0);
}

static int ends_with(const char *path, const char *end) {
    size_t len = strlen(path), end_len = strlen(end);
    return len >= end_len && strcmp(path + len - end_len, end) == 0;
}

/* The path of a descriptor, if it is one of those looked at. */
static int path_of(int fd, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = below ? readlink(link, path, size - 1) : -1;
    if (len < 0) return 0;
    path[len] = 0;
    return is_below(path) && !ends_with(path, " (deleted)");
}

/* One call at a time, in this process and in all others that record: the record has the true order. */
static void enter(void) {
    pthread_mutex_lock(&turn);
    if (record >= 0) flock(record, LOCK_EX);
}

static void leave(void) {
    int saved = errno;
    if (record >= 0) flock(record, LOCK_UN);
    pthread_mutex_unlock(&turn);
    errno = saved;
}

static int exists(const char *path) { return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0; }

/* Whether this call is to fail; errno is set then. */
static int fails(int call, const char *path) {
    if (call != plan_call || (strcmp(plan_file, "*") != 0 && !ends_with(path, plan_file))) return 0;
    int before = errno, has_fired = exists(fired);
    seen += 1;
    int due = (plan_forever && has_fired) || (seen == plan_nth && !has_fired);
    errno = before;
    if (!due || exists(lifted)) { errno = before; return 0; }
    if (!has_fired) {
        int fd = syscall(SYS_openat, AT_FDCWD, fired, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        syscall(SYS_write, fd, path, strlen(path));
        syscall(SYS_close, fd);
    }
    if (plan_errno == 0) syscall(SYS_kill, getpid(), SIGKILL);
    errno = plan_errno;
    return 1;
}

/* A path as seen from the directory looked at, which is "" itself. */
static const char *within(const char *path) {
    if (!is_below(path)) return path;
    return path[below_len] ? path + below_len + 1 : "";
}

/* Layout read by tests/it/faults.rs. */
static void note(int call, int error, const char *path, uint64_t offset, const void *data, size_t len) {
    if (record < 0 || ends_with(path, "-shm")) return;
    path = within(path);
    struct { uint32_t call, error, path_len, data_len; uint64_t offset; } head = {
        call, error, strlen(path), len, offset};
    char *bytes = malloc(sizeof head + head.path_len + len);
    if (!bytes) abort();
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, path, head.path_len);
    memcpy(bytes + sizeof head + head.path_len, data, len);
    size_t total = sizeof head + head.path_len + len;
    if (syscall(SYS_write, record, bytes, total) != (long)total) abort();
    free(bytes);
}

/* `at` < 0: where the descriptor stands. A failing write leaves its first half, as a full disk does. */
static ssize_t written(int fd, const void *data, size_t len, off_t at) {
    char path[4096];
    int saved = errno, ours = path_of(fd, path, sizeof path);
    errno = saved;
    if (!ours) return at < 0 ? syscall(SYS_write, fd, data, len) : syscall(SYS_pwrite64, fd, data, len, at);
    enter();
    int failing = fails(WRITE, path), error = errno;
    size_t asked = failing ? len / 2 : len;
    ssize_t done = at < 0 ? syscall(SYS_write, fd, data, asked) : syscall(SYS_pwrite64, fd, data, asked, at);
    int said = errno;
    if (done > 0) note(WRITE, 0, path, at < 0 ? (uint64_t)(syscall(SYS_lseek, fd, 0, SEEK_CUR) - done) : (uint64_t)at, data, done);
    errno = failing ? error : said;
    leave();
    return failing ? -1 : done;
}

ssize_t write(int fd, const void *data, size_t len) { return written(fd, data, len, -1); }
ssize_t pwrite(int fd, const void *data, size_t len, off_t at) { return written(fd, data, len, at); }
ssize_t pwrite64(int fd, const void *data, size_t len, off_t at) { return written(fd, data, len, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[4096];
    int saved = errno, ours = path_of(fd, path, sizeof path);
    errno = saved;
    /* A short write is a legal answer: the caller comes again with the rest. */
    for (int at = 0; ours && at < count; at++)
        if (parts[at].iov_len) return written(fd, parts[at].iov_base, parts[at].iov_len, -1);
    return syscall(SYS_writev, fd, parts, count);
}

static int synced(int fd, long call) {
    char path[4096];
    if (!path_of(fd, path, sizeof path)) return syscall(call, fd);
    enter();
    int failed = fails(SYNC, path);
    int done = failed ? -1 : syscall(call, fd);
    note(SYNC, done < 0 ? errno : 0, path, 0, "", 0);
    leave();
    return done;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

int ftruncate(int fd, off_t len) {
    char path[4096];
    if (!path_of(fd, path, sizeof path)) return syscall(SYS_ftruncate, fd, len);
    enter();
    int done = fails(TRUNCATE, path) ? -1 : syscall(SYS_ftruncate, fd, len);
    if (done == 0) note(TRUNCATE, 0, path, len, "", 0);
    leave();
    return done;
}
int ftruncate64(int fd, off_t len) { return ftruncate(fd, len); }

int rename(const char *from, const char *to) {
    if (!is_below(from) && !is_below(to)) return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    enter();
    int done = fails(RENAME, to) ? -1 : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (done == 0) note(RENAME, 0, from, 0, within(to), strlen(within(to)));
    leave();
    return done;
}

int unlink(const char *path) {
    if (!is_below(path)) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    enter();
    int done = fails(UNLINK, path) ? -1 : syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (done == 0) note(UNLINK, 0, path, 0, "", 0);
    leave();
    return done;
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    if (!is_below(to)) return syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
    enter();
    int done = syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
    if (done == 0) note(LINK, 0, from, 0, within(to), strlen(within(to)));
    leave();
    return done;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

static int opened(const char *path, int flags, mode_t mode) {
    int writes = (flags & O_ACCMODE) != O_RDONLY;
    if (!is_below(path) || !writes) return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    enter();
    int saved = errno, was_there = exists(path);
    errno = saved;
    int fd = fails(OPEN, path) ? -1 : syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (fd >= 0 && (flags & O_CREAT) && !was_there) note(CREATE, 0, path, 0, "", 0);
    if (fd >= 0 && (flags & O_TRUNC) && was_there) note(TRUNCATE, 0, path, 0, "", 0);
    leave();
    return fd;
}

/* Nothing here makes a file without a name (O_TMPFILE), the other call that has a mode. */
static mode_t mode_of(int flags, va_list more) { return flags & O_CREAT ? va_arg(more, mode_t) : 0; }

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int fd = opened(path, flags, mode_of(flags, more));
    va_end(more);
    return fd;
}
int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int fd = opened(path, flags, mode_of(flags, more));
    va_end(more);
    return fd;
}
