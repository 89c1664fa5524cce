// Locks in a process that forks. The child has only the thread that forked, so a lock that another thread held at that
// moment would stay locked for ever.
//
// A mutex that is held for a moment is locked through BriefLock: fork waits until no BriefLock is held. A mutex that
// may be held for long cannot be waited for; its owner notes the generation of the process and makes a new mutex when
// it finds itself in a child.
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace anystream {

/// The number of forks between the first process and this one.
[[nodiscard]] std::uint64_t process_generation() noexcept;

/// Held shared by every BriefLock, and exclusively while the process forks.
[[nodiscard]] std::shared_mutex& fork_guard() noexcept;

/// Has fork wait for the BriefLocks of all threads. Call it once, when the library is loaded.
void watch_forks();

/// Locks a mutex that no thread holds for more than about a millisecond, nor while it waits for anything.
class BriefLock {
  public:
    explicit BriefLock(std::mutex& guard) : unforked_(fork_guard()), lock_(guard) {}
    /// Takes the mutex only if it is free; see owns().
    BriefLock(std::mutex& guard, std::try_to_lock_t choice) : unforked_(fork_guard()), lock_(guard, choice) {}

    [[nodiscard]] bool owns() const noexcept { return lock_.owns_lock(); }

  private:
    std::shared_lock<std::shared_mutex> unforked_;
    std::unique_lock<std::mutex> lock_;
};

}  // namespace anystream
