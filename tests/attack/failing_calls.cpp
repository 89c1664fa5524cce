// Preloaded into Python: ends the process at a chosen call that changes a file, or lets the call fail.
//
// Calls are counted while the library is armed, and only those that change something below one folder. See
// failing_calls.py for the functions to call.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

namespace {

enum Mode { kCount, kKillBefore, kKillAfter, kNoSpace, kInputOutputError, kShortWrite };

std::atomic<bool> armed{false};
std::atomic<long> n_seen{0};
std::atomic<long> n_hit{0};
long first = 0, last = -1;
int mode = kCount;
char folder[PATH_MAX];
int log_file = -1;  // one line per call: its number, name and file

/// Whether a path is the folder or lies below it.
bool is_below_folder(const char* path) {
    const size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool name_of(int file, char* path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return false;
    path[length] = '\0';
    return true;
}

/// Write the full name of a path to `full`.
void complete(int base, const char* path, char* full) {
    char start[PATH_MAX] = "";
    if (path[0] != '/' && (base == AT_FDCWD ? getcwd(start, sizeof start) != nullptr : name_of(base, start)))
        snprintf(full, PATH_MAX, "%.2000s/%.2000s", start, path);
    else
        snprintf(full, PATH_MAX, "%s", path);
}

/// What happens to one call.
struct Fate {
    bool counted = false;
    bool hit = false;

    Fate(const char* call, const char* path) {
        if (!armed.load(std::memory_order_acquire) || !is_below_folder(path)) return;
        counted = true;
        const long number = n_seen.fetch_add(1);
        if (log_file >= 0) {
            char line[PATH_MAX + 64];
            const int length = snprintf(line, sizeof line, "%ld %s %s\n", number, call, path + strlen(folder));
            (void)!syscall(SYS_write, log_file, line, static_cast<size_t>(length));
        }
        hit = number >= first && number <= last;
        if (!hit) return;
        n_hit.fetch_add(1);
        if (mode == kKillBefore) kill(getpid(), SIGKILL);
    }

    /// Whether the call fails, with errno set.
    bool fails() const {
        if (!hit || (mode != kNoSpace && mode != kInputOutputError)) return false;
        errno = mode == kNoSpace ? ENOSPC : EIO;
        return true;
    }

    template <typename Result>
    Result done(Result result) const {
        if (hit && mode == kKillAfter) kill(getpid(), SIGKILL);
        return result;
    }
};

Fate fate_of_file(const char* call, int file) {
    char path[PATH_MAX] = "";
    if (armed.load(std::memory_order_acquire)) name_of(file, path);
    return Fate(call, path);
}

Fate fate_of_path(const char* call, int base, const char* path) {
    char full[PATH_MAX] = "";
    if (armed.load(std::memory_order_acquire)) complete(base, path, full);
    return Fate(call, full);
}

template <typename Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int open_at(int base, const char* path, int flags, mode_t permissions) {
    static const auto real = next<int (*)(int, const char*, int, ...)>("openat");
    if (!(flags & (O_CREAT | O_TRUNC))) return real(base, path, flags, permissions);
    const Fate fate = fate_of_path("open", base, path);
    if (fate.fails()) return -1;
    return fate.done(real(base, path, flags, permissions));
}

ssize_t write_at(const char* call, int file, const void* data, size_t size, off_t offset, bool positioned) {
    const Fate fate = fate_of_file(call, file);
    if (fate.fails()) return -1;
    if (fate.hit && mode == kShortWrite && size > 1) size /= 2;
    static const auto real_write = next<ssize_t (*)(int, const void*, size_t)>("write");
    static const auto real_pwrite = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
    return fate.done(positioned ? real_pwrite(file, data, size, offset) : real_write(file, data, size));
}

}  // namespace

// A call on one path or one open file: forwarded unless it fails.
#define FORWARD_PATH(result, name, base, path, parameters, ...)     \
    result name parameters {                                        \
        static const auto real = next<result(*) parameters>(#name); \
        const Fate fate = fate_of_path(#name, base, path);          \
        if (fate.fails()) return -1;                                \
        return fate.done(real(__VA_ARGS__));                        \
    }
#define FORWARD_FILE(result, name, file, parameters, ...)           \
    result name parameters {                                        \
        static const auto real = next<result(*) parameters>(#name); \
        const Fate fate = fate_of_file(#name, file);                \
        if (fate.fails()) return -1;                                \
        return fate.done(real(__VA_ARGS__));                        \
    }

extern "C" {

/// From now on apply the mode to the calls numbered from_number to to_number below a folder, counted from 0.
void failing_calls_arm(const char* below, long from_number, long to_number, int how, int log) {
    snprintf(folder, sizeof folder, "%s", below);
    first = from_number;
    last = to_number;
    mode = how;
    log_file = log;
    n_seen = 0;
    n_hit = 0;
    armed = true;
}

/// Let no more calls fail; return how many were made since arming.
long failing_calls_disarm() {
    armed = false;
    return n_seen;
}

/// Return how many calls were hit since arming.
long failing_calls_hit() {
    return n_hit;
}

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t permissions = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_at(AT_FDCWD, path, flags, permissions);
}

int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t permissions = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_at(AT_FDCWD, path, flags | O_LARGEFILE, permissions);
}

int openat(int base, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t permissions = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_at(base, path, flags, permissions);
}

int openat64(int base, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t permissions = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_at(base, path, flags | O_LARGEFILE, permissions);
}

ssize_t write(int file, const void* data, size_t size) {
    return write_at("write", file, data, size, 0, false);
}
ssize_t pwrite(int file, const void* data, size_t size, off_t offset) {
    return write_at("pwrite", file, data, size, offset, true);
}
ssize_t pwrite64(int file, const void* data, size_t size, off64_t offset) {
    return write_at("pwrite", file, data, size, offset, true);
}
FORWARD_FILE(ssize_t, writev, file, (int file, const iovec* parts, int count), file, parts, count)

FORWARD_FILE(int, ftruncate, file, (int file, off_t size), file, size)
FORWARD_FILE(int, ftruncate64, file, (int file, off64_t size), file, size)
FORWARD_FILE(int, fsync, file, (int file), file)
FORWARD_FILE(int, fdatasync, file, (int file), file)
FORWARD_FILE(int, fchmod, file, (int file, mode_t permissions), file, permissions)
FORWARD_FILE(ssize_t, copy_file_range, out,
             (int in, off64_t* in_offset, int out, off64_t* out_offset, size_t size, unsigned flags), in, in_offset,
             out, out_offset, size, flags)
FORWARD_FILE(ssize_t, sendfile, out, (int out, int in, off_t* offset, size_t size), out, in, offset, size)
FORWARD_FILE(ssize_t, sendfile64, out, (int out, int in, off64_t* offset, size_t size), out, in, offset, size)

FORWARD_PATH(int, truncate, AT_FDCWD, path, (const char* path, off_t size), path, size)
FORWARD_PATH(int, truncate64, AT_FDCWD, path, (const char* path, off64_t size), path, size)
FORWARD_PATH(int, rename, AT_FDCWD, to, (const char* from, const char* to), from, to)
FORWARD_PATH(int, renameat, to_base, to, (int from_base, const char* from, int to_base, const char* to), from_base,
             from, to_base, to)
FORWARD_PATH(int, link, AT_FDCWD, to, (const char* from, const char* to), from, to)
FORWARD_PATH(int, linkat, to_base, to, (int from_base, const char* from, int to_base, const char* to, int flags),
             from_base, from, to_base, to, flags)
FORWARD_PATH(int, symlink, AT_FDCWD, to, (const char* from, const char* to), from, to)
FORWARD_PATH(int, unlink, AT_FDCWD, path, (const char* path), path)
FORWARD_PATH(int, unlinkat, base, path, (int base, const char* path, int flags), base, path, flags)
FORWARD_PATH(int, rmdir, AT_FDCWD, path, (const char* path), path)
FORWARD_PATH(int, mkdir, AT_FDCWD, path, (const char* path, mode_t permissions), path, permissions)
FORWARD_PATH(int, mkdirat, base, path, (int base, const char* path, mode_t permissions), base, path, permissions)
FORWARD_PATH(int, chmod, AT_FDCWD, path, (const char* path, mode_t permissions), path, permissions)
FORWARD_PATH(int, fchmodat, base, path, (int base, const char* path, mode_t permissions, int flags), base, path,
             permissions, flags)

}  // extern "C"
