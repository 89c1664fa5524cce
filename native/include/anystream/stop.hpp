// Limits of work: a number of steps, a deadline, and a flag that another thread sets.
//
// A kernel polls its condition once per step. Steps are counted exactly; the flag is read at every poll (a relaxed
// load); the clock is read only when enough steps have passed since the last time, because reading it costs as much as
// a tenth of a step. The stride doubles or halves so that reads stay some microseconds apart, whatever a step costs:
// this interval bounds the overshoot, and the cost stays below a percent.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace anystream {

using Clock = std::chrono::steady_clock;

/// A flag that one thread sets and others read. Every member may be called from any thread.
class StopFlag {
  public:
    void set() noexcept { set_.store(true, std::memory_order_relaxed); }
    void clear() noexcept { set_.store(false, std::memory_order_relaxed); }
    [[nodiscard]] bool is_set() const noexcept { return set_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> set_{false};
};

/// The limits of a call. Plain values: copied freely, shared between threads.
struct Limits {
    static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

    std::int64_t steps = kUnlimited;                     // per record
    Clock::time_point until = Clock::time_point::max();  // for the whole call
    const StopFlag* flag = nullptr;                      // borrowed; outlives the call

    [[nodiscard]] bool timed() const noexcept { return until != Clock::time_point::max(); }
    [[nodiscard]] bool interruptible() const noexcept { return timed() || flag != nullptr; }
};

/// Polls the deadline and the flag of some limits for one thread. Once due, it stays due.
class StopWatch {
  public:
    explicit StopWatch(const Limits& limits) noexcept
        : until_(limits.until), flag_(limits.flag), timed_(limits.timed()) {
        if (timed_) {
            last_read_ = Clock::now();
            due_ = last_read_ >= until_;
        }
        if (flag_ != nullptr && flag_->is_set()) due_ = true;
    }

    /// True when the work has to stop. Call it once per step.
    [[nodiscard]] bool due() noexcept {
        if (due_) return true;
        if (flag_ != nullptr && flag_->is_set()) return due_ = true;
        if (timed_ && --countdown_ <= 0) return read_clock();
        return false;
    }

    /// Whether `due` has returned true.
    [[nodiscard]] bool ended() const noexcept { return due_; }

    /// Sets another deadline for the same thread: the share of the time that one part of the work may take.
    void restart(Clock::time_point until) noexcept {
        until_ = until;
        due_ = flag_ != nullptr && flag_->is_set();
        last_read_ = Clock::now();
        countdown_ = 0;
    }

    /// Sets another deadline, which counts from the next time on that the clock is read.
    void end_at(Clock::time_point until) noexcept { until_ = until; }

  private:
    static constexpr std::chrono::nanoseconds kNear{
        6'000};  // reads closer together than this waste time: one costs up to 50 ns
    static constexpr std::chrono::nanoseconds kFar{16'000};  // reads further apart than this come too late
    static constexpr int kMaxStride = 4096;

    bool read_clock() noexcept {
        const auto now = Clock::now();
        const auto since = now - last_read_;
        if (since < kNear && stride_ < kMaxStride) stride_ *= 2;
        if (since > kFar && stride_ > 1) stride_ /= 2;
        last_read_ = now;
        countdown_ = stride_;
        return due_ = now >= until_;
    }

    Clock::time_point until_;
    Clock::time_point last_read_{};
    const StopFlag* flag_;
    bool timed_;
    bool due_ = false;
    int stride_ = 1;
    int countdown_ = 1;
};

}  // namespace anystream
