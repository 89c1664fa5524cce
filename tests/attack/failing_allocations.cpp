// Preloaded into Python: lets chosen allocations of the native core fail, as they do when memory runs out.
//
// Allocations are counted while the library is armed, and only those that the watched modules make: malloc and its
// relatives, operator new, mmap, and the creation of threads. The C++ library counts as watched, because containers
// allocate from within it. Those of Python and NumPy never fail. See failing_allocations.py for the functions to call.

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

struct Range {
    const char* begin;
    const char* end;
};

constexpr int kMaxRanges = 64;
Range watched[kMaxRanges];
int n_watched = 0;

std::atomic<bool> armed{false};
std::atomic<long> n_seen{0};    // allocations while armed
std::atomic<long> n_failed{0};  // of these
long first = 0;                 // number of the first that fails
long last = -1;                 // and of the last

bool is_watched(const void* caller) {
    const char* at = static_cast<const char*>(caller);
    for (int i = 0; i < n_watched; ++i)
        if (at >= watched[i].begin && at < watched[i].end) return true;
    return false;
}

bool must_fail(const void* caller) {
    if (!armed.load(std::memory_order_acquire) || !is_watched(caller)) return false;
    const long number = n_seen.fetch_add(1);
    if (number < first || number > last) return false;
    n_failed.fetch_add(1);
    return true;
}

int add_ranges(dl_phdr_info* info, size_t, void* name) {
    if (info->dlpi_name == nullptr || strstr(info->dlpi_name, static_cast<const char*>(name)) == nullptr) return 0;
    for (int i = 0; i < info->dlpi_phnum && n_watched < kMaxRanges; ++i) {
        const auto& part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
        const char* begin = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
        watched[n_watched++] = {begin, begin + part.p_memsz};
    }
    return 0;
}

void* allocate(size_t size, size_t alignment, const void* caller) {
    void* memory = nullptr;
    if (!must_fail(caller))
        memory = alignment == 0 ? __libc_malloc(size == 0 ? 1 : size) : __libc_memalign(alignment, size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {

/// Watch the loaded modules whose file name contains a text; return the number of watched code ranges.
int failing_allocations_watch(const char* name) {
    dl_iterate_phdr(add_ranges, const_cast<char*>(name));
    return n_watched;
}

/// From now on let the allocations numbered from_number to to_number fail, counted from 0.
void failing_allocations_arm(long from_number, long to_number) {
    first = from_number;
    last = to_number;
    n_seen = 0;
    n_failed = 0;
    armed = true;
}

/// Let no more allocations fail; return how many were made since arming.
long failing_allocations_disarm() {
    armed = false;
    return n_seen;
}

/// Return how many allocations failed since arming.
long failing_allocations_failed() {
    return n_failed;
}

void* malloc(size_t size) {
    if (must_fail(CALLER)) return errno = ENOMEM, nullptr;
    return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
    if (must_fail(CALLER)) return errno = ENOMEM, nullptr;
    return __libc_calloc(count, size);
}

void* realloc(void* memory, size_t size) {
    if (must_fail(CALLER)) return errno = ENOMEM, nullptr;
    return __libc_realloc(memory, size);
}

void* memalign(size_t alignment, size_t size) {
    if (must_fail(CALLER)) return errno = ENOMEM, nullptr;
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
    if (must_fail(CALLER)) return errno = ENOMEM, nullptr;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
    if (must_fail(CALLER)) return ENOMEM;
    *memory = __libc_memalign(alignment, size);
    return *memory == nullptr ? ENOMEM : 0;
}

void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
    static const auto next = reinterpret_cast<decltype(&mmap)>(dlsym(RTLD_NEXT, "mmap"));
    if (must_fail(CALLER)) return errno = ENOMEM, MAP_FAILED;
    return next(address, size, protection, flags, file, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
    static const auto next = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    if (must_fail(CALLER)) return EAGAIN;
    return next(thread, attributes, run, argument);
}

}  // extern "C"

void* operator new(size_t size) {
    return allocate(size, 0, CALLER);
}
void* operator new[](size_t size) {
    return allocate(size, 0, CALLER);
}
void* operator new(size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<size_t>(alignment), CALLER);
}
void* operator new[](size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<size_t>(alignment), CALLER);
}
