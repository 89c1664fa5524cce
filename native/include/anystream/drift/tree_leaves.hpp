// The leaves that records reach in a decision tree stored as arrays.
//
//   feature       (nodes,)  what an inner node compares
//   threshold     (nodes,)  at most this goes left
//   left, right   (nodes,)  children, of a higher number than their parent; -1 for a leaf
//   missing_left  (nodes,)  whether a missing value goes left
//
// Node 0 is the root. The caller ensures that features and children are in range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anystream {

struct TreeView {
    std::span<const std::int32_t> feature;
    std::span<const double> threshold;
    std::span<const std::int32_t> left;
    std::span<const std::int32_t> right;
    std::span<const std::uint8_t> missing_left;
};

/// The leaf of each row of `features` values, into `out`. NaN stands for a missing value. Values are in single
/// precision, as scikit-learn compares them.
void tree_leaves(const TreeView& tree, std::span<const float> rows, std::size_t features,
                 std::span<std::int64_t> out) noexcept;

}  // namespace anystream
