#include "anystream/drift/tree_leaves.hpp"

#include <cmath>

namespace anystream {

void tree_leaves(const TreeView& tree, std::span<const float> rows, std::size_t features,
                 std::span<std::int64_t> out) noexcept {
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto row = rows.subspan(i * features, features);
        std::size_t node = 0;
        while (tree.left[node] >= 0) {
            const double value = row[static_cast<std::size_t>(tree.feature[node])];
            const bool goes_left = std::isnan(value) ? tree.missing_left[node] != 0 : value <= tree.threshold[node];
            node = static_cast<std::size_t>(goes_left ? tree.left[node] : tree.right[node]);
        }
        out[i] = static_cast<std::int64_t>(node);
    }
}

}  // namespace anystream
