// A block of the published LOCUST while it is built, in steps that one record after another takes.
//
//   columns   the ranges of each dimension are found, one dimension after another (the first half of the steps)
//   points    each point is coded and put into its lists, in order (the second half)
//   the end   gini indices and middles
//
// A step depends on the points and on the number of the step alone, so a building can be repeated from its points:
// files store no part of it. With one step all of it is done at once, with the same result.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "anystream/subspace/block.hpp"

namespace anystream::subspace {

/// Rows of floats (dimensions wide) and their classes.
struct BlockPoints {
    std::span<const float> values;
    std::span<const std::int32_t> point_class;
};

class BlockBuilding {
  public:
    BlockBuilding(const BlockPoints& points, std::size_t dimensions, std::size_t ranges,
                  const std::vector<std::uint32_t>& categorical, std::size_t steps);

    /// The number of points of the block.
    [[nodiscard]] std::size_t size() const noexcept { return block_.size_; }
    [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
    [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
    [[nodiscard]] bool done() const noexcept { return taken_ == steps_; }
    /// Whether one of the next `count` steps allocates memory or is the last.
    [[nodiscard]] bool allocates(std::size_t count) const noexcept;
    /// Allocates what steps can need that do not allocate; a copy needs it again.
    void reserve();
    /// Takes the next step. The points are the same in each step; more may follow them.
    void step(const BlockPoints& points);
    /// The block, after the last step.
    [[nodiscard]] std::shared_ptr<const Block> take() { return std::make_shared<const Block>(std::move(block_)); }
    [[nodiscard]] std::size_t own_bytes() const noexcept;
    /// An upper bound of own_bytes beyond those of the block.
    [[nodiscard]] static std::size_t max_scratch_bytes(std::size_t points, std::size_t dimensions, std::size_t classes,
                                                       std::size_t ranges, std::size_t categorical);

  private:
    /// Columns, or points, that are done after a number of steps.
    [[nodiscard]] std::size_t columns_after(std::size_t steps) const noexcept;
    [[nodiscard]] std::size_t points_after(std::size_t steps) const noexcept;
    void lay_out();
    void place(const BlockPoints& points, std::size_t first, std::size_t last);
    void find_middles();

    Block block_;
    std::size_t steps_;
    std::size_t taken_ = 0;
    ColumnScratch scratch_;
    std::vector<std::size_t> next_;         // (slots,) the next place of a class
    std::vector<std::size_t> first_range_;  // (dimensions,) of sum_ and count_
    std::vector<double> sum_, count_;       // (ranges of all dimensions,)
    std::vector<float> row_;
    std::vector<std::uint8_t> code_;
};

}  // namespace anystream::subspace
