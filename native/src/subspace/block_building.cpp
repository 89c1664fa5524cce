#include "anystream/subspace/block_building.hpp"

#include <algorithm>
#include <limits>

namespace anystream::subspace {

BlockBuilding::BlockBuilding(const BlockPoints& points, std::size_t dimensions, std::size_t ranges,
                             const std::vector<std::uint32_t>& categorical, std::size_t steps)
    : block_(points.point_class, Ranges(dimensions, ranges, categorical)),
      steps_(steps),
      row_(block_.ranges_.float_stride(), std::numeric_limits<float>::quiet_NaN()),
      code_(block_.ranges_.code_stride(), kMissing) {
    reserve();
}

std::size_t BlockBuilding::columns_after(std::size_t steps) const noexcept {
    const std::size_t dimensions = block_.ranges_.dimensions();
    return std::min(dimensions, (2 * steps * dimensions + steps_ - 1) / steps_);
}

std::size_t BlockBuilding::points_after(std::size_t steps) const noexcept {
    return 2 * steps <= steps_ ? 0 : block_.size_ * (2 * steps - steps_) / steps_;
}

bool BlockBuilding::allocates(std::size_t count) const noexcept {
    if (count == 0) return false;
    if (count >= steps_ - taken_) return true;
    const std::size_t from = columns_after(taken_), to = columns_after(taken_ + count);
    if (from == to) return false;
    if (to == block_.ranges_.dimensions()) return true;  // lists are laid out
    for (std::size_t j = from; j < to; ++j)
        if (block_.ranges_.is_categorical(j)) return true;
    return false;
}

void BlockBuilding::reserve() {
    if (columns_after(taken_) < block_.ranges_.dimensions())
        scratch_.reserve(block_.size_, block_.ranges_.max_ranges());
}

void BlockBuilding::step(const BlockPoints& points) {
    const std::size_t dimensions = block_.ranges_.dimensions();
    const std::span<const float> values = points.values.first(block_.size_ * dimensions);
    const std::size_t first = columns_after(taken_), last = columns_after(taken_ + 1);
    if (first == 0 && last == dimensions) {
        block_.ranges_.fit(values);
    } else {
        for (std::size_t j = first; j < last; ++j) block_.ranges_.fit_column(j, values, scratch_);
    }
    if (first < last && last == dimensions) lay_out();
    place(points, points_after(taken_), points_after(taken_ + 1));
    if (++taken_ < steps_) return;
    find_middles();
    block_.find_gini();
}

/// Empty lists for the ranges.
void BlockBuilding::lay_out() {
    const std::size_t dimensions = block_.ranges_.dimensions();
    scratch_ = {};
    next_ = block_.lay_out();
    first_range_.clear();
    std::size_t ranges = 0;
    for (std::size_t j = 0; j < dimensions; ranges += block_.ranges_.ranges(j), ++j) first_range_.push_back(ranges);
    sum_.assign(ranges, 0.0);
    count_.assign(ranges, 0.0);
}

void BlockBuilding::place(const BlockPoints& points, std::size_t first, std::size_t last) {
    const std::size_t dimensions = block_.ranges_.dimensions();
    for (std::size_t p = first; p < last; ++p) {
        std::copy_n(points.values.begin() + static_cast<std::ptrdiff_t>(p * dimensions), dimensions, row_.begin());
        block_.ranges_.encode(row_.data(), code_.data());
        for (std::size_t j = 0; j < dimensions; ++j) {
            if (code_[j] == kMissing) continue;
            sum_[first_range_[j] + code_[j]] += row_[j];
            count_[first_range_[j] + code_[j]] += 1.0;
        }
        const std::size_t slot = block_.slot(points.point_class[p]);
        block_.lists_.add(next_[slot]++, code_.data(), slot);
    }
}

void BlockBuilding::find_middles() {
    const Ranges& ranges = block_.ranges_;
    block_.middles_.reserve(sum_.size());
    for (std::size_t j = 0; j < ranges.dimensions(); ++j) {
        for (std::size_t r = 0; r < ranges.ranges(j); ++r) {
            const std::size_t at = first_range_[j] + r;
            const bool rare = ranges.is_categorical(j) && r + 1 == ranges.ranges(j);
            block_.middles_.push_back(count_[at] == 0.0 || rare ? std::numeric_limits<float>::quiet_NaN()
                                                                : static_cast<float>(sum_[at] / count_[at]));
        }
    }
}

std::size_t BlockBuilding::own_bytes() const noexcept {
    return block_.own_bytes() + scratch_.own_bytes() + (sum_.capacity() + count_.capacity()) * sizeof(double) +
           (next_.capacity() + first_range_.capacity()) * sizeof(std::size_t) + row_.capacity() * sizeof(float) +
           code_.capacity();
}

std::size_t BlockBuilding::max_scratch_bytes(std::size_t points, std::size_t dimensions, std::size_t classes,
                                             std::size_t ranges, std::size_t categorical) {
    const std::size_t all = (dimensions - categorical) * ranges + categorical * kMaxRanges;
    return ColumnScratch::max_bytes(points, ranges) + all * 2 * sizeof(double) +
           (std::min(classes, points) + dimensions) * sizeof(std::size_t) +
           round_up(dimensions, kLimitBlock) * sizeof(float) + round_up(dimensions, kCodeBlock);
}

}  // namespace anystream::subspace
