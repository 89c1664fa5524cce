// Splits in 8 bytes, which compare float32 numbers: records and thresholds that are such numbers themselves, or else
// the ranks of both among the thresholds of their feature. A value is at most a threshold if its rank, the number of
// thresholds below it, is at most that threshold's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/forest/node.hpp"

namespace anystream::forest {

/// `left` counts from the node itself; 0 in a leaf, at which a descent stays.
struct SmallNode {
    static constexpr std::uint32_t kMissingLeft = 1u << 20, kLeft = kMissingLeft - 1, kMaxFeature = (1u << 11) - 1;

    float threshold;
    std::uint32_t bits;  // feature, missing goes left, left
};

class SmallNodes {
  public:
    /// Packs nodes of trees that begin at `roots`. Stays empty if there are splits on categories, or if a tree, the
    /// features or the thresholds are too many. `single_records`: records are float32 numbers.
    void pack(std::span<const Node> nodes, std::span<const std::int32_t> roots, std::size_t features,
              bool single_records);
    [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }
    [[nodiscard]] std::size_t own_bytes() const noexcept {
        return nodes_.size() * sizeof(SmallNode) + (cuts_.size() + first_cut_.size()) * 8 + zero_missing_.size();
    }

    /// Writes a record as these splits read it; both have max(features, 1) values.
    void encode(std::span<const double> x, float* out) const noexcept;
    /// Finds the leaves of several descents at once, so that the memory accesses of one hide those of the others: from
    /// node roots[i] (`same_tree`: roots[0]) for record x + i * stride. `missing`: whether a value may be NaN.
    void find_leaves(const std::int32_t* roots, bool same_tree, std::int32_t* leaves, std::size_t count, const float* x,
                     std::size_t stride, bool missing) const noexcept;
    /// Fetches the memory of a node.
    void fetch(std::int32_t node) const noexcept { __builtin_prefetch(&nodes_[static_cast<std::size_t>(node)]); }
    /// Moves a node down by at most `levels`, to its leaf at most; returns how many.
    std::int64_t descend(std::int32_t& node, std::int64_t levels, const float* x) const noexcept;

  private:
    [[nodiscard]] bool pack_numbers(std::span<const Node> nodes);
    [[nodiscard]] bool rank_numbers(std::span<const Node> nodes, std::size_t features);

    std::vector<SmallNode> nodes_;
    std::vector<double> cuts_;                // thresholds, ascending within a feature; empty: values are not ranked
    std::vector<std::size_t> first_cut_;      // (max(features, 1) + 1,), if values are ranked
    std::vector<std::uint8_t> zero_missing_;  // (max(features, 1),): whether zero is taken for missing
};

inline std::int64_t SmallNodes::descend(std::int32_t& node, std::int64_t levels, const float* x) const noexcept {
    std::int64_t taken = 0;
    for (; taken < levels; ++taken) {
        const SmallNode split = nodes_[static_cast<std::size_t>(node)];
        const std::uint32_t left = split.bits & SmallNode::kLeft;
        if (left == 0) break;
        const float value = x[split.bits >> 21];
        const bool goes_left =
            value <= split.threshold || (value != value && (split.bits & SmallNode::kMissingLeft) != 0);
        node += static_cast<std::int32_t>(left + (goes_left ? 0u : 1u));
    }
    return taken;
}

}  // namespace anystream::forest
