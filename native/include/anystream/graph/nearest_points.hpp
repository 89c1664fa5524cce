// The nearest of some points to every record, on all cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anystream::graph {

/// The `k` nearest of `points` to every row of `queries`, nearest first: (queries, k) positions. k is at most the
/// number of points.
void nearest_points(std::span<const double> points, std::span<const double> queries, std::size_t dimensions,
                    std::size_t k, int threads, std::span<std::int64_t> out);

}  // namespace anystream::graph
