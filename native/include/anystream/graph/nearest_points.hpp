// The nearest of some points to every record, on all cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "anystream/scan.hpp"

namespace anystream::graph {

/// Points to search. Immutable after construction; any number of threads may read.
class Points {
  public:
    /// `rows` is (points, dimensions).
    Points(std::span<const double> rows, std::size_t dimensions);

    /// The `k` nearest points to every row of `queries`, nearest first: (queries, k) positions. k is at most the number
    /// of points.
    void find_nearest(std::span<const double> queries, std::size_t k, int threads, std::span<std::int64_t> out) const;
    [[nodiscard]] std::size_t size() const noexcept { return store_.size(); }
    [[nodiscard]] std::size_t dimensions() const noexcept { return store_.dimensions(); }

  private:
    BlockStore store_;
};

}  // namespace anystream::graph
