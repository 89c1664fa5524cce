// A layout of vertices in which a query compares near ones first.
//
//     cell     up to 16 neighbouring vertices of one class, at [first[c], first[c + 1]) of the store
//     store    the vertices, cell by cell; full cells come first, so each of them is one block of the scan
//     means    the mean of each cell: its representative
//     radius   the farthest that a vertex of the cell lies from its mean; infinite where a value is missing
//
// Cells with near means hold near vertices. d(x, mean) - radius is at most the distance of x to any vertex of the cell:
// where it exceeds the distance of the k-th nearest so far, the cell can be skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/scan.hpp"

namespace anystream::graph {

/// Immutable after construction; any number of threads may read.
class Cells {
  public:
    /// `rows` is (vertices, dimensions), already in the units of the metric; `classes_of` their classes. The vertices
    /// are numbered from `first_vertex` on.
    Cells(std::span<const double> rows, std::size_t dimensions, std::span<const std::int32_t> classes_of,
          std::int64_t first_vertex = 0);

    [[nodiscard]] std::size_t size() const noexcept { return radius_.size(); }
    [[nodiscard]] std::size_t vertices() const noexcept { return store_.size(); }
    [[nodiscard]] std::size_t first(std::size_t cell) const noexcept { return first_[cell]; }
    [[nodiscard]] std::size_t last(std::size_t cell) const noexcept { return first_[cell + 1]; }
    [[nodiscard]] double radius(std::size_t cell) const noexcept { return radius_[cell]; }
    [[nodiscard]] const BlockStore& store() const noexcept { return store_; }
    [[nodiscard]] const BlockStore& means() const noexcept { return means_; }
    /// The number of the vertex at each position of the store.
    [[nodiscard]] std::span<const std::int64_t> vertex() const noexcept { return vertex_; }
    [[nodiscard]] std::size_t own_bytes() const noexcept;

  private:
    void measure();

    std::size_t dimensions_;
    std::vector<std::int64_t> vertex_;
    std::vector<std::size_t> first_;
    std::vector<double> radius_;
    BlockStore store_, means_;
};

}  // namespace anystream::graph
