// Signals such as Ctrl-C while native code runs.
#pragma once

#include <chrono>

#include "anystream/stop.hpp"
#include "bindings.hpp"

namespace anystream::bindings {

/// Lets Python handle signals from time to time; for the thread that Python called, without the GIL.
class SignalPoll {
  public:
    [[nodiscard]] bool due(Clock::time_point now) const noexcept { return now - last_ >= kInterval; }
    /// Throws what a signal handler raises. Call it often: it reads the clock, and takes the GIL every 50 ms.
    void poll() {
        if (!due(Clock::now())) return;
        const nb::gil_scoped_acquire locked;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        last_ = Clock::now();
    }

  private:
    static constexpr std::chrono::milliseconds kInterval{50};
    Clock::time_point last_ = Clock::now();
};

/// Handles signals every 50 ms; throws what a signal handler raises. With or without the GIL.
inline void check_signals() {
    thread_local SignalPoll signals;
    signals.poll();
}

}  // namespace anystream::bindings
