// The ranges of each dimension, and the code of a value: the number of its range.
//
// Numeric: limits rise, a limit belongs to the range below it, so the code is the number of limits below the value.
// Categorical: each of the most frequent categories is a range, and the last range takes all others.
// Values are 32-bit floats throughout; values beyond their range count as the largest float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/subspace/kernels.hpp"

namespace anystream::subspace {

inline constexpr std::size_t kMaxRanges = 254;  // codes are bytes, and one of them marks a missing value

[[nodiscard]] constexpr std::size_t round_up(std::size_t size, std::size_t block) noexcept {
    return (size + block - 1) / block * block;
}

/// A row as floats, padded with NaN to a multiple of kLimitBlock. `out` must have that length. False if a value is
/// infinite.
bool to_floats(const double* x, std::size_t dimensions, float* out) noexcept;

/// The average distance of two unrelated values among n ranges, rounded: the distance of two different categories.
[[nodiscard]] constexpr std::uint8_t unrelated_ranges(std::size_t n) noexcept {
    const std::size_t mean = (2 * (n * n - 1) + 3 * n) / (6 * n);  // (n^2 - 1) / (3 n)
    return static_cast<std::uint8_t>(mean == 0 ? 1 : mean);
}

/// Memory for finding the ranges of one dimension.
struct ColumnScratch {
    std::vector<std::uint32_t> keys, sorted;  // (points,)
    std::vector<float> cuts;                  // (ranges,)

    void reserve(std::size_t points, std::size_t ranges) {
        keys.reserve(points);
        sorted.reserve(points);
        cuts.reserve(ranges);
    }
    [[nodiscard]] std::size_t own_bytes() const noexcept {
        return (keys.capacity() + sorted.capacity()) * sizeof(std::uint32_t) + cuts.capacity() * sizeof(float);
    }
    [[nodiscard]] static std::size_t max_bytes(std::size_t points, std::size_t ranges) noexcept {
        return 2 * points * sizeof(std::uint32_t) + ranges * sizeof(float);
    }
};

/// Const members may run on any number of threads.
class Ranges {
  public:
    Ranges() = default;
    /// One range for everything. `categorical` lists the categorical dimensions in rising order.
    Ranges(std::size_t dimensions, std::size_t max_ranges, std::vector<std::uint32_t> categorical);

    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    /// Length of a row of codes.
    [[nodiscard]] std::size_t code_stride() const noexcept { return round_up(dimensions_, kCodeBlock); }
    /// Length of a row of floats.
    [[nodiscard]] std::size_t float_stride() const noexcept { return round_up(dimensions_, kLimitBlock); }
    /// The number of ranges of dimension j.
    [[nodiscard]] std::size_t ranges(std::size_t j) const noexcept { return ranges_[j]; }
    /// The maximum number of ranges of a numeric dimension.
    [[nodiscard]] std::size_t max_ranges() const noexcept { return max_ranges_; }
    [[nodiscard]] bool is_categorical(std::size_t j) const noexcept { return category_place_[j] >= 0; }
    /// The distance of different codes, a row of code_stride(); 0 at numeric dimensions, where codes are
    /// subtracted.
    [[nodiscard]] const std::uint8_t* unrelated() const noexcept { return unrelated_.data(); }

    /// The codes of a padded row; `code` has code_stride() bytes, of which those past the dimensions are kMissing.
    void encode(const float* x, std::uint8_t* code) const noexcept;

    /// New ranges for dimension j: its limits, or its categories, in rising order.
    void set(std::size_t j, std::span<const float> cuts);
    /// Finds the ranges of all dimensions from rows of values (dimensions wide). Numeric: at most as many as allowed,
    /// of about equal depth. Equal values share a range: whole values are added while that brings a range nearer to
    /// (points left) / (ranges left). Categorical: the most frequent values; of equally frequent ones the smaller.
    void fit(std::span<const float> values);
    /// The same for dimension j alone. Allocates nothing for a numeric one if `scratch` was reserved.
    void fit_column(std::size_t j, std::span<const float> values, ColumnScratch& scratch);
    [[nodiscard]] std::vector<float> cuts(std::size_t j) const;

    [[nodiscard]] std::size_t own_bytes() const noexcept;

  private:
    void fit_keys(std::size_t j, std::vector<std::uint32_t>& keys, ColumnScratch& scratch);

    std::size_t dimensions_ = 0;
    std::size_t max_ranges_ = 0;
    std::vector<float> limits_;                   // (max_ranges - 1, float_stride), unused ones +inf
    std::vector<std::uint8_t> limit_rows_;        // (float_stride / kLimitBlock,) rows in use for each block of columns
    std::vector<std::uint16_t> ranges_;           // (dimensions,)
    std::vector<std::uint32_t> categorical_;      // the categorical dimensions
    std::vector<std::int32_t> category_place_;    // (dimensions,) place in categorical_, or -1
    std::vector<std::vector<float>> categories_;  // one sorted table per categorical dimension
    std::vector<std::uint8_t> unrelated_;         // (code_stride,)
};

}  // namespace anystream::subspace
