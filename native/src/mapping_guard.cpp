#include "anystream/mapping_guard.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <system_error>

namespace anystream {

namespace {

/// What the signal handler knows of a guard: atomics only, since it may run at any time in any thread.
struct Slot {
    std::atomic<bool> taken{false};
    std::atomic<bool> lost{false};
    std::atomic<std::uintptr_t> begin{0};  // 0: not guarded
    std::atomic<std::uintptr_t> end{0};
};

std::array<Slot, 4096> slots;
std::uintptr_t page_bytes = 0;
struct sigaction previous;
std::once_flag installed;

/// Replaces the page at `address`, and all behind it up to the end of its mapping, if it is guarded.
bool replace_pages(std::uintptr_t address) noexcept {
    for (Slot& slot : slots) {
        const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
        const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
        if (begin == 0 || address < begin || address >= end) continue;
        const std::uintptr_t page = address / page_bytes * page_bytes;
        void* const first = reinterpret_cast<void*>(page);
        if (mmap(first, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != first) return false;
        slot.lost.store(true, std::memory_order_release);
        return true;
    }
    return false;
}

void on_bus_error(int number, siginfo_t* info, void* context) {
    const int error = errno;
    // A handler that was installed later, such as Python's faulthandler, raises the signal again after its own work;
    // the access then fails once more, and this handler gets its address.
    const bool raised_here = info->si_code <= 0 && info->si_pid == getpid();
    if (raised_here || replace_pages(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
        errno = error;
        return;
    }
    if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(number, info, context);
    if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(number);
    sigaction(number, &previous, nullptr);  // the access fails once more, and the process ends
}

void install() {
    page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action{};
    action.sa_sigaction = &on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, &previous) != 0)
        throw std::system_error(errno, std::generic_category(), "the signal SIGBUS cannot be handled");
}

}  // namespace

MappingGuard::MappingGuard(const void* begin, std::size_t bytes) : slot_(0) {
    std::call_once(installed, install);
    while (slot_ < slots.size() && slots[slot_].taken.exchange(true)) ++slot_;
    if (slot_ == slots.size()) throw std::runtime_error("4096 files are mapped already; read this one without mmap");
    Slot& slot = slots[slot_];
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    slot.lost.store(false, std::memory_order_relaxed);
    slot.end.store(address + (bytes + page_bytes - 1) / page_bytes * page_bytes, std::memory_order_relaxed);
    slot.begin.store(address, std::memory_order_release);
}

MappingGuard::~MappingGuard() {
    slots[slot_].begin.store(0, std::memory_order_release);
    slots[slot_].taken.store(false, std::memory_order_release);
}

bool MappingGuard::lost() const noexcept {
    return slots[slot_].lost.load(std::memory_order_acquire);
}

}  // namespace anystream
