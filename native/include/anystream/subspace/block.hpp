// One block of the published LOCUST: an inverted histogram of its points.
//
// Points are sorted by class, and each class begins at a word of its own, so the classes of a subspace are counted by
// the bits of contiguous words:
//
//   words   0 .. w_1 - 1   w_1 .. w_2 - 1   ...
//           slot 0         slot 1                  slot s fills words first_word(s) .. first_word(s + 1) - 1
//
// Only the classes of its points have a slot: a block does not grow with classes that appear later.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "anystream/subspace/lists.hpp"

namespace anystream::subspace {

/// Const members may run on any number of threads; other members may not run concurrently with any.
class Block {
  public:
    /// Rows of codes (dimensions wide) in known ranges with known middles.
    Block(Ranges ranges, std::vector<float> middles, std::span<const std::uint8_t> codes,
          std::span<const std::int32_t> point_class);

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// The classes that have points here, ascending; the slot of a class is its place among them.
    [[nodiscard]] std::span<const std::int32_t> present() const noexcept { return present_; }
    [[nodiscard]] const Ranges& ranges() const noexcept { return ranges_; }
    [[nodiscard]] const Lists& lists() const noexcept { return lists_; }
    [[nodiscard]] std::uint32_t class_size(std::size_t slot) const noexcept { return class_size_[slot]; }
    [[nodiscard]] double prior(std::size_t slot) const noexcept {
        return static_cast<double>(class_size_[slot]) / static_cast<double>(size_);
    }
    [[nodiscard]] std::size_t first_word(std::size_t slot) const noexcept { return first_word_[slot]; }
    /// The normalised gini index of a list, Eq. 3 and 4; 0 if it is empty.
    [[nodiscard]] float gini(std::size_t list) const noexcept { return gini_[list]; }

    /// The mean value of each range, dimension after dimension; NaN for an empty range and for rare categories.
    [[nodiscard]] const std::vector<float>& middles() const noexcept { return middles_; }
    /// Rows of values in the order of the classes, as exactly as the block stores them: the middles of their ranges.
    [[nodiscard]] std::vector<float> remembered_values() const;
    /// Rows of codes in the order of the classes, and the classes.
    [[nodiscard]] std::vector<std::uint8_t> codes() const;
    [[nodiscard]] std::vector<std::int32_t> point_classes() const;
    /// The same points with further dimensions, missing in all of them.
    [[nodiscard]] Block with_features(std::size_t dimensions, std::size_t max_ranges,
                                      const std::vector<std::uint32_t>& categorical) const;

    [[nodiscard]] std::size_t own_bytes() const noexcept;
    /// An upper bound of own_bytes.
    [[nodiscard]] static std::size_t max_bytes(std::size_t points, std::size_t dimensions, std::size_t classes,
                                               std::size_t ranges, std::size_t categorical);

  private:
    friend class BlockBuilding;

    /// Without points so far: only the classes are known.
    Block(std::span<const std::int32_t> point_class, Ranges ranges);
    [[nodiscard]] std::size_t slot(std::int32_t c) const noexcept;
    void count_classes(std::span<const std::int32_t> point_class);
    /// Empty lists for the ranges; returns the first place of each class.
    [[nodiscard]] std::vector<std::size_t> lay_out();
    void find_gini();

    std::size_t size_;
    Ranges ranges_;
    Lists lists_;
    std::vector<std::int32_t> present_;      // (slots,)
    std::vector<std::uint32_t> class_size_;  // (slots,)
    std::vector<std::uint32_t> first_word_;  // (slots + 1,)
    std::vector<float> gini_;                // (lists,)
    std::vector<float> middles_;             // (ranges of all dimensions,)
};

}  // namespace anystream::subspace
