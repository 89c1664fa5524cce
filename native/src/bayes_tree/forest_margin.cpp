// Margin maximisation on a forest: level by level on its entries (Eq. 12), and of a model of its roots beside it.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "anystream/bayes_tree/forest.hpp"

namespace anystream::bayes_tree {

/// The position of an entry.
struct Forest::Place {
    std::int32_t holder;  // the node that holds it; -1: the root table
    std::size_t lane;     // in the root table: the class
    std::int32_t child;
    std::size_t point_class;
};

namespace {

std::vector<double> class_priors(const Forest& forest) {
    const auto total = static_cast<double>(std::max<std::size_t>(forest.records(), 1));
    std::vector<double> prior(forest.classes());
    for (std::size_t c = 0; c < prior.size(); ++c) prior[c] = static_cast<double>(forest.class_count(c)) / total;
    return prior;
}

}  // namespace

void Forest::mark_trained(std::size_t node, bool trained) noexcept {
    const NodeHead head(head_[node]);
    if (head.trained() != trained) head_.own()[node] = head.trained_as(trained).packed();
}

void Forest::save_trained(std::size_t node) noexcept {
    const NodeHead head(head_[node]);
    scratch_.trained.clear();
    if (head.leaf()) return;
    const std::size_t rows = 2 * dimensions_ + 3, lanes = head.lanes();
    const float* const at = blob_.data() + head.offset();
    const NodeView view = this->node(node);
    for (std::size_t lane = 0; lane < view.entries; ++lane) {
        if (!trained(view.child(lane))) continue;
        const std::size_t first = scratch_.trained.size() * rows;
        scratch_.trained.push_back(view.child(lane));
        scratch_.trained_lanes.resize(first + rows);
        for (std::size_t row = 0; row < rows; ++row) scratch_.trained_lanes[first + row] = at[row * lanes + lane];
    }
}

/// Writes a trained entry as it was saved last; false, and the entry is trained no more, if it was not.
bool Forest::restore_trained(const NodeHead& head, float* at, std::size_t lane, std::int32_t child) noexcept {
    const std::size_t rows = 2 * dimensions_ + 3, lanes = head.lanes();
    for (std::size_t e = scratch_.trained.size(); e-- > 0;) {
        if (scratch_.trained[e] != child) continue;
        for (std::size_t row = 0; row < rows; ++row) at[row * lanes + lane] = scratch_.trained_lanes[e * rows + row];
        return true;
    }
    mark_trained(static_cast<std::size_t>(child), false);
    return false;
}

/// Gives every trained entry the moments of its records again.
void Forest::forget_trained() {
    size_scratch();
    scratch_.trained.clear();
    std::vector<std::int32_t> plain;
    for (std::size_t i = 0; i < nodes(); ++i)
        if (trained(static_cast<std::int32_t>(i))) plain.push_back(static_cast<std::int32_t>(i));
    for (const std::int32_t entry : plain) {
        const auto node = static_cast<std::size_t>(entry);
        mark_trained(node, false);
        if (covariance_.of_node[node] < 0) continue;
        CrossProducts products(dimensions_);
        gather(entry, {node_mean_.data() + node * dimensions_, dimensions_}, products);
        set_covariance(node, products);
    }
    for (std::size_t i = 0; i < nodes(); ++i) {
        const Children entries = children(i);
        const bool changed = std::any_of(entries.begin(), entries.end(), [&](std::int32_t entry) {
            return std::binary_search(plain.begin(), plain.end(), entry);
        });
        if (changed) write_node(i, entries);
    }
    for (std::size_t c = 0; c < classes(); ++c) write_root(c);
}

Component Forest::component_at(const Place& place, const MarginSettings& how) const {
    const std::size_t d = dimensions_;
    Component component;
    component.point_class = static_cast<std::int32_t>(place.point_class);
    component.blocks = Blocks::single(d);
    const double total = static_cast<double>(class_count_[place.point_class]);
    if (place.child < 0) {  // a kernel
        std::vector<double> unknown(d);
        component.mean.resize(d);
        record_in_z(~place.child, component.mean, unknown);
        const float* precision = kernel_precision(place.point_class);
        for (std::size_t j = 0; j < d; ++j)
            component.covariance.push_back(1.0 / (static_cast<double>(precision[j]) * precision[j]) + unknown[j]);
        component.floor = component.covariance;
        component.weight = 1.0 / total;
        component.fixed = true;
        return component;
    }
    const auto node = static_cast<std::size_t>(place.child);
    component.occupancy = static_cast<double>(node_count_[node]);
    component.weight = component.occupancy / total;
    component.fixed = component.occupancy < how.min_records;
    component.mean.assign(node_mean_.data() + node * d, node_mean_.data() + (node + 1) * d);
    const auto variance = inner_variances(node);
    component.covariance = variance;
    component.floor.resize(d);
    const float* precision = kernel_precision(place.point_class);
    for (std::size_t j = 0; j < d; ++j) {
        const double kernel = how.floor ? 1.0 / (static_cast<double>(precision[j]) * precision[j]) : 0.0;
        component.floor[j] = std::min(variance[j], std::max(kernel, kVarianceFloor * spread_[j]));
    }
    if (covariance_.of_node[node] >= 0) {
        CrossProducts products(d);
        gather(place.child, component.mean, products);
        auto covariance = products.covariance();
        shrink(covariance, variance, products.count(), settings_.covariance_shrinkage);
        component.blocks = search_blocks(covariance, d, block_limit());
        component.set_dense(covariance);
    }
    return component;
}

/// Puts a component's parameters in the place of its entry's.
void Forest::write_component(const Place& place, const Component& component, bool weighted) {
    const std::size_t d = dimensions_;
    const bool root = place.holder < 0;
    const NodeHead head =
        root ? root_head(place.lane / kRootBlock) : NodeHead(head_[static_cast<std::size_t>(place.holder)]);
    float* const at = (root ? root_blob_ : blob_).own().data() + head.offset();
    const std::size_t lanes = head.lanes(), lane = root ? place.lane % kRootBlock : place.lane;
    double log2_norm = -0.5 * static_cast<double>(d) * std::log2(2.0 * std::numbers::pi);
    const auto covariance = component.dense();
    for (std::size_t j = 0; j < d; ++j) {
        const auto precision = static_cast<float>(1.0 / std::sqrt(covariance[j * d + j]));
        at[j * lanes + lane] = static_cast<float>(component.mean[j]);
        at[(d + j) * lanes + lane] = precision;
        log2_norm += std::log2(static_cast<double>(precision));
    }
    at[2 * d * lanes + lane] = static_cast<float>(log2_norm);
    const auto total = static_cast<double>(class_count_[place.point_class]);
    if (weighted) at[(2 * d + 1) * lanes + lane] = static_cast<float>(std::log2(component.weight * total));
    const auto node = static_cast<std::size_t>(place.child);
    mark_trained(node, true);
    if (covariance_.of_node[node] >= 0)
        covariance_.assign(node, covariance, component.blocks, component.mean.data(), node_count_[node],
                           covariance_values(d, block_limit()));
}

std::vector<std::vector<double>> Forest::maximise_margin(std::size_t levels, const MarginSettings& how) {
    const std::size_t d = dimensions_;
    std::vector<double> rows, unknown(d);
    std::vector<std::int32_t> label, record, own;
    for (std::size_t i = 0; i < records(); ++i) {
        const auto number = static_cast<std::int32_t>(i);
        if (!complete(number)) continue;
        rows.resize(rows.size() + d);
        record_in_z(number, {rows.data() + rows.size() - d, d}, unknown);
        label.push_back(point_class_[i]);
        record.push_back(number);
    }
    const std::vector<double> prior = class_priors(*this);

    std::vector<Place> level;  // E_0: the root entries
    for (std::size_t c = 0; c < classes(); ++c)
        if (class_root_[c] != kNothing) level.push_back({-1, c, class_root_[c], c});
    std::vector<std::vector<double>> histories;
    if (level.size() < 2) return histories;
    forget_trained();
    for (std::size_t m = 0; m < levels; ++m) {
        std::vector<Component> components;
        std::vector<std::int32_t> kernel_of(records(), -1);
        for (const Place& place : level) {
            if (place.child < 0)
                kernel_of[static_cast<std::size_t>(~place.child)] = static_cast<std::int32_t>(components.size());
            components.push_back(component_at(place, how));
        }
        own.resize(record.size());
        for (std::size_t i = 0; i < record.size(); ++i) own[i] = kernel_of[static_cast<std::size_t>(record[i])];
        if (std::all_of(components.begin(), components.end(), [](const Component& each) { return each.fixed; })) break;
        MarginProblem problem({rows, label, own, d}, prior, how);
        histories.push_back(problem.maximise(components));
        for (std::size_t e = 0; e < level.size(); ++e)
            if (!components[e].fixed) write_component(level[e], components[e], how.weights);

        std::vector<Place> next;  // Eq. 12
        for (const Place& place : level) {
            if (place.child < 0) {
                next.push_back(place);
                continue;
            }
            const auto below = children(static_cast<std::size_t>(place.child));
            for (std::size_t lane = 0; lane < below.size(); ++lane)
                next.push_back({place.child, lane, below[lane], place.point_class});
        }
        level = std::move(next);
    }
    return histories;
}

std::vector<double> Forest::train_root_model(const MarginSettings& how, std::size_t max_records, std::uint64_t seed) {
    const std::size_t d = dimensions_, m = classes();
    std::vector<std::int32_t> record;
    for (std::size_t i = 0; i < records(); ++i)
        if (complete(static_cast<std::int32_t>(i))) record.push_back(static_cast<std::int32_t>(i));
    if (record.size() > max_records) {  // Floyd would save memory; a partial shuffle is plain
        std::mt19937_64 random(seed);
        for (std::size_t i = 0; i < max_records; ++i) std::swap(record[i], record[i + random() % (record.size() - i)]);
        record.resize(max_records);
        std::sort(record.begin(), record.end());
    }
    std::vector<double> rows(record.size() * d), unknown(d);
    const std::vector<double> prior = class_priors(*this);
    std::vector<std::int32_t> label(record.size());
    for (std::size_t i = 0; i < record.size(); ++i) {
        record_in_z(record[i], {rows.data() + i * d, d}, unknown);
        label[i] = point_class_[static_cast<std::size_t>(record[i])];
    }
    std::vector<Component> components;
    std::size_t populated = 0;
    for (std::size_t c = 0; c < m; ++c) {
        Component component;
        component.point_class = static_cast<std::int32_t>(c);
        component.blocks = Blocks::whole(d);
        component.mean.assign(d, 0.0);
        component.floor.assign(d, 0.0);
        std::vector<double> covariance(d * d, 0.0), variance(d);
        const float* precision = kernel_precision(c);
        for (std::size_t j = 0; j < d; ++j) variance[j] = 1.0 / (static_cast<double>(precision[j]) * precision[j]);
        if (class_root_[c] >= 0) {
            const auto node = static_cast<std::size_t>(class_root_[c]);
            component.occupancy = static_cast<double>(node_count_[node]);
            component.mean.assign(node_mean_.data() + node * d, node_mean_.data() + (node + 1) * d);
            const auto spread = inner_variances(node);
            for (std::size_t j = 0; j < d; ++j) component.floor[j] = std::min(spread[j], variance[j]);
            variance = spread;
            CrossProducts products(d);
            gather(class_root_[c], component.mean, products);
            covariance = products.covariance();
            shrink(covariance, variance, products.count());
        } else {
            component.fixed = true;
            if (class_root_[c] != kNothing) record_in_z(~class_root_[c], component.mean, unknown);
            for (std::size_t j = 0; j < d; ++j) covariance[j * d + j] = variance[j];
        }
        populated += class_root_[c] != kNothing;
        component.set_dense(covariance);
        components.push_back(std::move(component));
    }
    if (populated < 2 || record.empty()) {
        root_model_ = {};
        return {};
    }
    MarginProblem problem({rows, label, {}, d}, prior, how);
    auto history = problem.maximise(components);

    root_model_ = {};
    root_model_.shift = Column<double>(shift_.view());
    root_model_.scale = Column<double>(scale_.view());
    root_model_.known.own().push_back(learned());
    std::vector<std::int32_t> first;
    std::vector<float> values;
    for (std::size_t c = 0; c < m; ++c) {
        const InverseFactor factor = inverse_factor(components[c].dense(), components[c].blocks);
        append_panels(factor, first, values);
        root_model_.log2_norm.own().push_back(static_cast<float>(factor.log2_norm + std::log2(prior[c])));
        for (const double value : components[c].mean) root_model_.mean.own().push_back(static_cast<float>(value));
    }
    root_model_.values = Column<float>(values);
    return history;
}

}  // namespace anystream::bayes_tree
