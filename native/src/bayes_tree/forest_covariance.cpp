// Covariances of the entries of the upper levels: measured when the forest is assembled.
//
// An entry has one if it lies above level m and stands for at least 2 s records (2 d for full covariances). Insertion
// updates its mean and measures it again when its records have grown by half, or when its node was split.
#include <algorithm>

#include "anystream/bayes_tree/forest.hpp"

namespace anystream::bayes_tree {

std::size_t Forest::block_limit() const noexcept {
    const auto block = static_cast<std::size_t>(settings_.covariance_block);
    return block == 0 ? dimensions_ : std::min(block, dimensions_);
}

std::int64_t Forest::min_records() const noexcept {
    return 2 * static_cast<std::int64_t>(block_limit());
}

bool Forest::has_covariances(std::span<const std::int32_t> children) const noexcept {
    return std::any_of(children.begin(), children.end(), [&](std::int32_t child) {
        return child >= 0 && covariance_.of_node[static_cast<std::size_t>(child)] >= 0;
    });
}

void Forest::measure_covariances() {
    if (block_limit() <= 1 || settings_.covariance_levels <= 0) return;
    for (std::size_t c = 0; c < classes(); ++c) {
        if (class_root_[c] < 0) continue;
        const auto root = static_cast<std::size_t>(class_root_[c]);
        const std::vector<double> origin(node_mean_.data() + root * dimensions_,
                                         node_mean_.data() + (root + 1) * dimensions_);
        measure_below(root, 0, origin, nullptr);
    }
}

/// Gives the entry of `node` and those below it their covariances, and adds its records to `above`.
void Forest::measure_below(std::size_t node, std::size_t depth, std::span<const double> origin, CrossProducts* above) {
    if (depth >= static_cast<std::size_t>(settings_.covariance_levels) || node_count_[node] < min_records()) {
        if (above != nullptr) gather(static_cast<std::int32_t>(node), origin, *above);
        return;
    }
    CrossProducts products(dimensions_);
    for (const std::int32_t child : children(node)) {
        if (child < 0)
            gather(child, origin, products);
        else
            measure_below(static_cast<std::size_t>(child), depth + 1, origin, &products);
    }
    set_covariance(node, products);
    const NodeHead head(head_[node]);
    head_.own()[node] = head.marked(has_covariances(children(node))).packed();
    if (above != nullptr) above->add(products);
}

/// Adds the records of an entry, as deviations from `origin`. A missing value counts as the mean of its class.
void Forest::gather(std::int32_t entry, std::span<const double> origin, CrossProducts& into) const {
    const std::size_t d = dimensions_;
    std::vector<double> z(d), unknown(d);
    std::vector<std::int32_t> stack{entry};
    while (!stack.empty()) {
        const std::int32_t next = stack.back();
        stack.pop_back();
        if (next >= 0) {
            const NodeView view = node(static_cast<std::size_t>(next));
            for (std::size_t lane = view.entries; lane-- > 0;) stack.push_back(view.child(lane));
            continue;
        }
        record_in_z(~next, z, unknown);
        for (std::size_t j = 0; j < d; ++j) z[j] -= origin[j];
        into.add(z.data());
    }
}

/// The variances that the entry of `node` has in the diagonal model.
std::vector<double> Forest::inner_variances(std::size_t node) const {
    const std::size_t d = dimensions_;
    const float* kernel = kernel_precision(static_cast<std::size_t>(node_class_[node]));
    std::vector<double> variance(d);
    for (std::size_t j = 0; j < d; ++j) {
        const double kernel_variance = 1.0 / (static_cast<double>(kernel[j]) * kernel[j]);
        variance[j] = std::max(node_scatter_[node * d + j] / static_cast<double>(node_count_[node]),
                               settings_.inner_variance == InnerVariance::max ? kernel_variance : kVarianceFloor);
    }
    return variance;
}

void Forest::set_covariance(std::size_t node, const CrossProducts& products) {
    auto covariance = products.covariance();
    shrink(covariance, inner_variances(node), products.count());
    const Blocks blocks = search_blocks(covariance, dimensions_, block_limit());
    covariance_.of_node.own()[node] =
        covariance_.append(covariance, blocks, node_mean_.data() + node * dimensions_, node_count_[node]);
}

void Forest::renew_covariance(std::size_t node) {
    if (block_limit() <= 1 || node_count_[node] < min_records()) return;
    const std::int32_t row = covariance_.of_node[node];
    if (row >= 0 && node_count_[node] * 2 < covariance_.count[static_cast<std::size_t>(row)] * 3) return;
    const std::vector<double> origin(node_mean_.data() + node * dimensions_,
                                     node_mean_.data() + (node + 1) * dimensions_);
    CrossProducts products(dimensions_);
    gather(static_cast<std::int32_t>(node), origin, products);
    set_covariance(node, products);
}

}  // namespace anystream::bayes_tree
