// Shared by all constructions of a Bayes tree: options, progress and stopping.
//
// A construction is a pure function from the records of one class to a TreeShape: same points, same options, same
// shape, on any number of threads and on any machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <span>

#include "anystream/bayes_tree/tree_shape.hpp"
#include "anystream/parallel.hpp"
#include "anystream/stop.hpp"

namespace anystream::bayes_tree {

/// Each construction's header names the options that it reads.
struct BuildOptions {
    std::size_t fanout = 7;          // maximum number of entries per node, M, and of records per leaf node, L
    std::uint64_t seed = 0;          // of all random draws
    int threads = 1;                 // 0: one per core
    std::size_t sample_size = 2000;  // maximum number of records that one split is fitted to
    std::size_t all_groups = 512;    // up to this many groups are all compared; of more, those nearby
    double tolerance = 1e-2;         // EM of virtual sampling ends when the mean log likelihood rises by no more
    std::span<const double> kernel_variance{};    // (dimensions,), > 0: the variance of the kernel around every record
    std::atomic<std::int64_t>* placed = nullptr;  // counts the records in their final place, up to points.size()
    const StopFlag* stop = nullptr;               // borrowed; when it is set, the construction throws BuildStopped
};

/// The stop flag was set before the tree was complete.
struct BuildStopped : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return "the construction was stopped"; }
};

/// Throws std::invalid_argument unless there are records, their values can be squared and the options are valid.
void require_buildable(const Points& points, const BuildOptions& options);

/// Throws std::invalid_argument unless there is a kernel variance.
void require_kernel_variance(const BuildOptions& options);

/// The same tree with its nodes numbered breadth first from `root`; unreachable nodes are left out.
[[nodiscard]] TreeShape breadth_first(const TreeShape& tree, std::int32_t root);

inline void throw_if_stopped(const BuildOptions& options) {
    if (options.stop != nullptr && options.stop->is_set()) throw BuildStopped{};
    check_interrupts();
}

inline void report_placed(const BuildOptions& options, std::size_t records) noexcept {
    if (options.placed != nullptr) {
        options.placed->fetch_add(static_cast<std::int64_t>(records), std::memory_order_relaxed);
    }
}

}  // namespace anystream::bayes_tree
