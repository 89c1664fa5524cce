// Locks in a process that forks. The child has only the thread that forked, so a lock that another thread held at that
// moment would stay locked for ever.
//
// Fork waits until no BriefMutex is held. A mutex that may be held for long cannot be waited for; its owner notes the
// generation of the process and makes a new mutex when it finds itself in a child.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace anystream {

/// The number of forks between the first process and this one.
[[nodiscard]] std::uint64_t process_generation() noexcept;

/// Held shared by everyone who holds a BriefMutex, and exclusively while the process forks.
[[nodiscard]] std::shared_mutex& fork_guard() noexcept;

/// Has fork wait for the mutexes of all threads. Call it once, when the library is loaded.
void watch_forks();

/// A mutex that no thread holds for more than about a millisecond, nor while it waits for anything. Who takes it again
/// and again calls give_way between: a mutex alone would let the same thread in again.
class BriefMutex {
  public:
    void lock() {
        fork_guard().lock_shared();
        if (mutex_.try_lock()) return;
        waiting_.fetch_add(1);
        mutex_.lock();
        waiting_.fetch_sub(1);
    }
    [[nodiscard]] bool try_lock() {
        fork_guard().lock_shared();
        if (mutex_.try_lock()) return true;
        fork_guard().unlock_shared();
        return false;
    }
    void unlock() noexcept {
        mutex_.unlock();
        fork_guard().unlock_shared();
    }
    /// Whether another thread waits.
    [[nodiscard]] bool wanted() const noexcept { return waiting_.load(std::memory_order_relaxed) > 0; }
    /// Returns when those who wait have had the mutex. Call it without holding it.
    void give_way() const noexcept {
        while (wanted()) std::this_thread::yield();
    }

  private:
    std::mutex mutex_;
    std::atomic<int> waiting_{0};
};

}  // namespace anystream
