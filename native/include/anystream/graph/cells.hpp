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
#include <utility>
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
    friend class CellsInProgress;
    explicit Cells(std::size_t dimensions) : dimensions_(dimensions), store_(dimensions), means_(dimensions) {}
    void measure();

    std::size_t dimensions_;
    std::vector<std::int64_t> vertex_;
    std::vector<std::size_t> first_;
    std::vector<double> radius_;
    BlockStore store_, means_;
};

/// Cells that are built in a few steps of about equal length. One thread at a time.
class CellsInProgress {
  public:
    CellsInProgress(std::vector<double> rows, std::size_t dimensions, std::vector<std::int32_t> classes_of,
                    std::int64_t first_vertex);

    /// Takes one step. Returns false, and does nothing, when none is left.
    bool advance();
    /// The cells; call it once, when no step is left.
    [[nodiscard]] Cells take() { return std::move(cells_); }

  private:
    void cut();
    void lay_out();

    std::vector<double> rows_;
    std::vector<std::int32_t> classes_of_;
    std::int64_t first_vertex_;
    int step_ = 0;
    std::vector<std::int64_t> order_;           // vertices, cell by cell
    std::vector<std::span<std::int64_t>> cut_;  // the cells: parts of order_
    Cells cells_;
};

}  // namespace anystream::graph
