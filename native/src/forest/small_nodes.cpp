#include "anystream/forest/small_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace anystream::forest {

namespace {

constexpr std::size_t kMaxRank = std::size_t{1} << 24;  // whole numbers up to this are float32 numbers
constexpr std::size_t kLanes = 16;

template <bool kMissing, std::size_t kCount, bool kOneRecord>
void find_leaves_together(const SmallNode* all, const std::int32_t* roots, std::size_t next_root, std::int32_t* leaves,
                          const float* x, std::size_t stride) noexcept {
    std::uint32_t at[kCount];
    for (std::size_t i = 0; i < kCount; ++i) at[i] = static_cast<std::uint32_t>(roots[i * next_root]);
    for (std::uint32_t moved = 1; moved != 0;) {
        moved = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
            const SmallNode node = all[at[i]];
            const float value = x[(kOneRecord ? 0 : i * stride) + (node.bits >> 21)];
            unsigned right = !(value <= node.threshold);
            if constexpr (kMissing) right &= ~(static_cast<unsigned>(value != value) & (node.bits >> 20));
            const std::uint32_t down = (node.bits & SmallNode::kLeft) + right;
            moved |= down;
            at[i] += down;
        }
    }
    for (std::size_t i = 0; i < kCount; ++i) leaves[i] = static_cast<std::int32_t>(at[i]);
}

/// The number of ascending cuts below a value. Without branches: several features are searched at the same time.
[[nodiscard]] inline std::size_t rank_of(const double* cuts, std::size_t count, double value) noexcept {
    const double* at = cuts;
    while (count > 1) {
        const std::size_t half = count / 2;
        at += half & -static_cast<std::size_t>(at[half - 1] < value);
        count -= half;
    }
    return static_cast<std::size_t>(at - cuts) + static_cast<std::size_t>(count == 1 && *at < value);
}

[[nodiscard]] bool is_split(std::span<const Node> nodes, std::size_t at) noexcept {
    return static_cast<std::size_t>(nodes[at].left) != at;
}

}  // namespace

void SmallNodes::pack(std::span<const Node> nodes, std::span<const std::int32_t> roots, std::size_t features,
                      bool single_records) {
    if (features > SmallNode::kMaxFeature) return;
    for (std::size_t t = 0; t < roots.size(); ++t) {
        const std::size_t last = t + 1 < roots.size() ? static_cast<std::size_t>(roots[t + 1]) : nodes.size();
        if (last - static_cast<std::size_t>(roots[t]) > SmallNode::kLeft) return;
    }
    nodes_.resize(nodes.size());
    for (std::size_t at = 0; at < nodes.size(); ++at) {
        const auto left = static_cast<std::uint32_t>(static_cast<std::size_t>(nodes[at].left) - at);
        nodes_[at].bits = (nodes[at].feature & Node::kFeature) << 21 |
                          ((nodes[at].feature & Node::kMissingLeft) != 0 ? SmallNode::kMissingLeft : 0u) | left;
        nodes_[at].threshold = std::numeric_limits<float>::infinity();
    }
    if ((single_records && pack_numbers(nodes)) || rank_numbers(nodes, features)) return;
    *this = SmallNodes();
}

bool SmallNodes::pack_numbers(std::span<const Node> nodes) {
    for (std::size_t at = 0; at < nodes.size(); ++at) {
        if ((nodes[at].feature & (Node::kCategories | Node::kZeroMissing)) != 0) return false;
        nodes_[at].threshold = static_cast<float>(nodes[at].threshold);
        if (static_cast<double>(nodes_[at].threshold) != nodes[at].threshold) return false;
    }
    return true;
}

bool SmallNodes::rank_numbers(std::span<const Node> nodes, std::size_t features) {
    const std::size_t width = std::max<std::size_t>(features, 1);
    std::vector<std::vector<double>> cuts(width);
    std::vector<std::uint8_t> kinds(width, 0);  // of the splits of a feature: 1 and 2, if zero is taken for missing
    for (std::size_t at = 0; at < nodes.size(); ++at) {
        if (!is_split(nodes, at)) continue;
        const std::size_t feature = nodes[at].feature & Node::kFeature;
        if ((nodes[at].feature & Node::kCategories) != 0 || std::isnan(nodes[at].threshold)) return false;
        cuts[feature].push_back(nodes[at].threshold);
        kinds[feature] |= (nodes[at].feature & Node::kZeroMissing) != 0 ? 2 : 1;
        if (kinds[feature] == 3) return false;
    }
    first_cut_.assign(1, 0);
    for (std::size_t j = 0; j < width; ++j) {
        std::sort(cuts[j].begin(), cuts[j].end());
        cuts[j].erase(std::unique(cuts[j].begin(), cuts[j].end()), cuts[j].end());
        if (cuts[j].size() > kMaxRank) return false;
        cuts_.insert(cuts_.end(), cuts[j].begin(), cuts[j].end());
        first_cut_.push_back(cuts_.size());
        zero_missing_.push_back(kinds[j] == 2);
    }
    for (std::size_t at = 0; at < nodes.size(); ++at) {
        if (!is_split(nodes, at)) continue;
        const std::vector<double>& own = cuts[nodes[at].feature & Node::kFeature];
        nodes_[at].threshold = static_cast<float>(rank_of(own.data(), own.size(), nodes[at].threshold));
    }
    cuts_.shrink_to_fit();
    return true;
}

void SmallNodes::encode(std::span<const double> x, float* out) const noexcept {
    if (first_cut_.empty()) {
        for (std::size_t j = 0; j < x.size(); ++j) out[j] = static_cast<float>(x[j]);  // exact: records were rounded
        return;
    }
    for (std::size_t j = 0; j < x.size(); ++j) {
        const std::size_t first = first_cut_[j];
        const bool missing = x[j] != x[j] || (zero_missing_[j] != 0 && std::abs(x[j]) <= Node::kZero);
        const auto rank = static_cast<float>(rank_of(cuts_.data() + first, first_cut_[j + 1] - first, x[j]));
        out[j] = missing ? std::numeric_limits<float>::quiet_NaN() : rank;
    }
}

void SmallNodes::find_leaves(const std::int32_t* roots, bool same_tree, std::int32_t* leaves, std::size_t count,
                             const float* x, std::size_t stride, bool missing) const noexcept {
    const std::size_t next_root = same_tree ? 0 : 1;
    const auto read = [&]<std::size_t kCount, bool kOneRecord>(std::size_t i) {
        const auto find =
            missing ? find_leaves_together<true, kCount, kOneRecord> : find_leaves_together<false, kCount, kOneRecord>;
        find(nodes_.data(), roots + i * next_root, next_root, leaves + i, x + i * stride, stride);
    };
    const auto read_all = [&]<bool kOneRecord>() {
        std::size_t i = 0;
        for (; i + kLanes <= count; i += kLanes) read.template operator()<kLanes, kOneRecord>(i);
        for (; i + kLanes / 2 <= count; i += kLanes / 2) read.template operator()<kLanes / 2, kOneRecord>(i);
        if (i < count && count >= kLanes / 2)  // some are read twice, which takes less time than one by one
            return read.template operator()<kLanes / 2, kOneRecord>(count - kLanes / 2);
        for (; i < count; ++i) read.template operator()<1, kOneRecord>(i);
    };
    if (stride == 0)
        read_all.template operator()<true>();
    else
        read_all.template operator()<false>();
}

}  // namespace anystream::forest
