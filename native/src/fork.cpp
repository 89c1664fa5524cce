#include "anystream/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <new>
#include <system_error>

#include "anystream/parallel.hpp"

namespace anystream {

namespace {

std::atomic<std::uint64_t> generation{0};

/// Never destroyed: threads may still run while the process ends.
union Guard {
    Guard() : mutex() {}
    ~Guard() {}
    std::shared_mutex mutex;
};
Guard guard;

void before_fork() noexcept {
    guard.mutex.lock();
    end_idle_helpers();  // the child would not have them, and Python warns of a fork beside other threads
}
void after_fork_in_parent() noexcept {
    guard.mutex.unlock();
}
void after_fork_in_child() noexcept {
    new (&guard.mutex) std::shared_mutex;  // threads that waited for it do not exist here
    generation.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

std::uint64_t process_generation() noexcept {
    return generation.load(std::memory_order_relaxed);
}

std::shared_mutex& fork_guard() noexcept {
    return guard.mutex;
}

void watch_forks() {
    const int failed = pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), "pthread_atfork");
}

}  // namespace anystream
