// Covariances of the entries of the upper levels: measured when the forest is assembled.
//
// An entry has one if it lies above level m and stands for at least 2 s records (2 d for full covariances; 2 is the
// default of covariance_min_records). Insertion
// updates its mean and measures it again, on a sample of its records, when they have grown by half or when its node was
// split; a record that leaves counts as much as two by which they grow.
#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "anystream/bayes_tree/forest.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr std::size_t kMinSample = 512;  // records by which insertion measures a covariance, or 16 per dimension

}  // namespace

std::size_t Forest::block_limit() const noexcept {
    const auto block = static_cast<std::size_t>(settings_.covariance_block);
    return block == 0 ? dimensions_ : std::min(block, dimensions_);
}

std::int64_t Forest::min_records() const noexcept {
    const double wanted = settings_.covariance_min_records * static_cast<double>(block_limit());
    return std::max<std::int64_t>(2, static_cast<std::int64_t>(std::ceil(wanted)));
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

/// Adds the records of an entry, as deviations from `origin`: all of them, or `max_records` at even distances in the
/// order of the tree. A missing value counts as the mean of its class.
void Forest::gather(std::int32_t entry, std::span<const double> origin, CrossProducts& into,
                    std::size_t max_records) const {
    const std::size_t d = dimensions_;
    const std::size_t size = entry < 0 ? 1 : static_cast<std::size_t>(node_count_[static_cast<std::size_t>(entry)]);
    const std::size_t taken = std::min(size, max_records);
    std::vector<double> z(d), unknown(d);
    std::vector<std::int32_t> stack{entry};
    std::size_t position = 0, next = 0;  // of the record at hand; of the records taken so far
    while (!stack.empty() && next < taken) {
        const std::int32_t child = stack.back();
        stack.pop_back();
        const std::size_t wanted = next * size / taken;
        if (child >= 0) {
            const auto below = static_cast<std::size_t>(child);
            if (position + static_cast<std::size_t>(node_count_[below]) <= wanted) {
                position += static_cast<std::size_t>(node_count_[below]);
                continue;
            }
            const NodeView view = node(below);
            for (std::size_t lane = view.entries; lane-- > 0;) stack.push_back(view.child(lane));
            continue;
        }
        if (position++ != wanted) continue;
        ++next;
        record_in_z(~child, z, unknown);
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
        variance[j] =
            std::max(node_scatter_[node * d + j] / static_cast<double>(node_count_[node]),
                     settings_.inner_variance == InnerVariance::max ? kernel_variance : kVarianceFloor * spread_[j]);
    }
    return variance;
}

void Forest::set_covariance(std::size_t node, const CrossProducts& products) {
    auto covariance = products.covariance();
    shrink(covariance, inner_variances(node), products.count(), settings_.covariance_shrinkage);
    const Blocks blocks = search_blocks(covariance, dimensions_, block_limit());
    covariance_.assign(node, covariance, blocks, node_mean_.data() + node * dimensions_, node_count_[node],
                       covariance_values(dimensions_, block_limit()));
}

/// If memory is short, or this insertion has measured another entry, the entry keeps what it has until a later record
/// passes it: reading the sample takes most of the time of the longest insertions.
void Forest::renew_covariance(std::size_t node) noexcept {
    if (block_limit() <= 1) return;
    if (node_count_[node] < min_records()) return covariance_.remove(node);  // it had more before records left
    const std::int32_t row = covariance_.of_node[node];
    if (row >= 0 && node_count_[node] * 2 < covariance_.count[static_cast<std::size_t>(row)] * 3) return;
    if (std::exchange(scratch_.measured, true)) return;
    try {
        const std::vector<double> origin(node_mean_.data() + node * dimensions_,
                                         node_mean_.data() + (node + 1) * dimensions_);
        CrossProducts products(dimensions_);
        gather(static_cast<std::int32_t>(node), origin, products, std::max(kMinSample, 16 * dimensions_));
        set_covariance(node, products);
    } catch (const std::bad_alloc&) {}
}

}  // namespace anystream::bayes_tree
