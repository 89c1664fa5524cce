// Guttman's R-tree on the entries of one node: the entry that a record descends into, and the quadratic split.
//
// Both are shared by the construction of a whole tree (guttman.hpp) and by the insertion of single records into a
// forest. Boxes are given in units of the bounding box of the class, so that no volume exceeds 1. A dimension in which
// a box has no value has low > high: it takes the side of whatever it is united with.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace anystream::bayes_tree {

/// Minimum number of entries on either side of a split.
inline constexpr std::size_t kMinFill = 2;

/// A box and its volume; corners of `dimensions` values, borrowed.
struct Box {
    const double* low;
    const double* high;
    double volume;
};

/// The volume of the smallest box around two.
[[nodiscard]] double union_volume(const Box& a, const Box& b, std::size_t dimensions) noexcept;

/// The box whose volume grows least if it is to hold `added` too (ties: the smaller box, then the first).
[[nodiscard]] std::size_t least_enlargement(std::span<const Box> boxes, const Box& added,
                                            std::size_t dimensions) noexcept;

/// The quadratic split: the two entries whose common box wastes the most volume are the seeds, then the entry that
/// prefers one side most goes there, and so on; each side gets at least kMinFill.
class QuadraticSplit {
  public:
    /// Allocates what the split of `entries` boxes needs.
    void reserve(std::size_t entries, std::size_t dimensions);
    /// Splits the boxes; allocates only what was not reserved.
    void run(std::span<const Box> boxes, std::size_t dimensions);
    /// The positions of the boxes on side 0 or 1, in the order in which they were assigned.
    [[nodiscard]] std::span<const std::size_t> side(int which) const noexcept { return side_[which]; }

  private:
    [[nodiscard]] Box box(int which, std::size_t dimensions) const noexcept;
    void take(int which, std::size_t at, std::span<const Box> boxes, std::size_t dimensions);

    std::vector<std::size_t> side_[2], rest_;
    std::vector<double> corners_;  // ({side 0, side 1}, {low, high}, dimension)
    double volume_[2] = {0.0, 0.0};
};

}  // namespace anystream::bayes_tree
