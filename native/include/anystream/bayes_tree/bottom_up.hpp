// Bottom-up constructions: group the entries of a level into nodes, which become the entries of the next level, until
// one node holds them all. The methods differ in how they group.
#pragma once

#include <functional>
#include <vector>

#include "anystream/bayes_tree/construction.hpp"

namespace anystream::bayes_tree {

/// The entries that have no node yet, with the mean of the records below each. Row-major.
struct Level {
    std::size_t dimensions;
    std::vector<std::int32_t> entry;  // >= 0: a node, in the order of creation; < 0: the record ~entry
    std::vector<double> weight;       // the number of records below
    std::vector<double> mean;         // (size, dimensions)
    std::vector<double> variance;     // (size, dimensions), kernel variance included; empty if there is no kernel

    [[nodiscard]] std::size_t size() const noexcept { return entry.size(); }
    [[nodiscard]] const double* mean_of(std::size_t i) const noexcept { return mean.data() + i * dimensions; }
    [[nodiscard]] const double* variance_of(std::size_t i) const noexcept { return variance.data() + i * dimensions; }
};

/// Positions of a level, in groups: the first size[0] of `member` are the first group, and so on. Each position occurs
/// once. A group of one stays an entry of the next level: no node holds a single entry.
struct Groups {
    std::vector<std::int32_t> member;
    std::vector<std::size_t> size;
};

/// Weight, mean and variance of the mixture of some entries: the Gaussian with the same first two moments.
struct Moments {
    explicit Moments(std::size_t dimensions) : mean(dimensions), variance(dimensions) {}

    void of(const Level& level, std::span<const std::int32_t> members);

    double weight = 0.0;
    std::vector<double> mean;
    std::vector<double> variance;  // of the means alone if the level has no variances
};

/// The positions in the given order, cut into groups of `length`; the last group takes what is left.
[[nodiscard]] Groups runs_of(std::vector<std::int32_t> order, std::size_t length);

/// Calls `group` on every level with more than fanout entries. It has to return groups of at most fanout members, and
/// fewer groups than entries. Levels have variances if a kernel variance, (dimensions,), is given. Reads fanout, placed
/// and stop.
[[nodiscard]] TreeShape build_bottom_up(const Points& points, std::span<const double> kernel_variance,
                                        const BuildOptions& options, const std::function<Groups(const Level&)>& group);

}  // namespace anystream::bayes_tree
