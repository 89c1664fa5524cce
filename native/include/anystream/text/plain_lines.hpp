// Lines that are read on several threads up to the first that is not plain.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "anystream/parallel.hpp"

namespace anystream::text {

inline constexpr std::size_t kLinesPerTask = 512;

/// Calls read(first, last, stopped) for parts of [0, lines): it reads lines until one is not plain or `stopped(i)`, and
/// returns where it ended. Returns the first line that is not plain, on any number of threads; `lines` if there is
/// none.
template <typename Read>
[[nodiscard]] std::size_t first_not_plain(std::size_t lines, const Read& read) {
    std::atomic<std::size_t> found{lines};
    const auto stopped = [&](std::size_t i) { return i >= found.load(std::memory_order_relaxed); };
    // Half of the cores: the others classify meanwhile, and a thread that waits for a core holds up those that do.
    parallel_for(lines, kLinesPerTask, std::max(1, thread_count(0) / 2), [&](std::size_t first, std::size_t last) {
        const std::size_t end = read(first, last, stopped);
        if (end == last) return;
        std::size_t before = found.load();
        while (end < before && !found.compare_exchange_weak(before, end)) {}
    });
    return found.load();
}

}  // namespace anystream::text
