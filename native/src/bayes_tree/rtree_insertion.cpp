// The R-tree's insertion into a forest: least enlargement on the way down, quadratic splits on the way up.
//
// Volumes are compared in units of the bounding box of the class and the record that arrives, without the dimensions in
// which they do not vary. Boxes are kept in raw units beside the columns: they do not depend on the frame of z, so a
// forest that was saved and loaded inserts alike. A missing value widens no box.
//
// After a window has removed records, a node may hold records beside nodes. A record that is the least enlarged entry
// ends the way down, as in a leaf.
#include <algorithm>
#include <cmath>
#include <limits>

#include "anystream/bayes_tree/forest.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void Forest::prepare_boxes(std::size_t node_total) {
    auto& corners = raw_boxes_.corners;
    const std::size_t size = node_total * 2 * dimensions_;
    if (corners.capacity() < size) corners.reserve(std::max(size, corners.capacity() + corners.capacity() / 2));
    if (raw_boxes_.known) return;
    corners.assign(nodes() * 2 * dimensions_, 0.0);
    const std::vector<std::int32_t> order = nodes_from_above();
    for (std::size_t next = order.size(); next-- > 0;) {
        const auto node = static_cast<std::size_t>(order[next]);
        fit_box(node, children(node));
    }
    raw_boxes_.known = true;
}

void Forest::fit_box(std::size_t node, std::span<const std::int32_t> children) noexcept {
    const std::size_t d = dimensions_;
    double* const low = raw_boxes_.corners.data() + node * 2 * d;
    double* const high = low + d;
    std::fill_n(low, d, kInfinity);
    std::fill_n(high, d, -kInfinity);
    for (const std::int32_t child : children) {
        if (child < 0) {
            widen(points_.data() + static_cast<std::size_t>(~child) * d, low, high);
            continue;
        }
        const double* const below = raw_boxes_.corners.data() + static_cast<std::size_t>(child) * 2 * d;
        for (std::size_t j = 0; j < d; ++j) {
            low[j] = std::min(low[j], below[j]);
            high[j] = std::max(high[j], below[d + j]);
        }
    }
}

/// The box of a class, whose root is a node, and of a record that it does not hold yet.
void Forest::measure_units(std::size_t point_class, std::int32_t record) noexcept {
    const std::size_t d = dimensions_;
    const double* const box = raw_boxes_.corners.data() + static_cast<std::size_t>(class_root_[point_class]) * 2 * d;
    double* const low = scratch_.low.data();
    double* const high = scratch_.extent.data();
    std::copy_n(box, d, low);
    std::copy_n(box + d, d, high);
    widen(points_.data() + static_cast<std::size_t>(record) * d, low, high);
    for (std::size_t j = 0; j < d; ++j) scratch_.extent[j] = high[j] - low[j];
}

/// The boxes of entries in units of the class, without the dimensions in which it has no extent.
std::span<const Box> Forest::boxes_in_units(std::span<const std::int32_t> entries) {
    const std::size_t d = dimensions_;
    double* at = scratch_.corners.data();
    for (std::size_t e = 0; e < entries.size(); ++e) {
        const std::int32_t entry = entries[e];
        const double* const low = entry < 0 ? points_.data() + static_cast<std::size_t>(~entry) * d
                                            : raw_boxes_.corners.data() + static_cast<std::size_t>(entry) * 2 * d;
        const double* const high = entry < 0 ? low : low + d;
        double* const unit_low = at;
        double* const unit_high = at + d;
        std::size_t varying = 0;
        for (std::size_t j = 0; j < d; ++j) {
            if (!(scratch_.extent[j] > 0.0) || !std::isfinite(scratch_.extent[j])) continue;
            const bool missing = !(low[j] <= high[j]);
            unit_low[varying] = missing ? kInfinity : (low[j] - scratch_.low[j]) / scratch_.extent[j];
            unit_high[varying] = missing ? -kInfinity : (high[j] - scratch_.low[j]) / scratch_.extent[j];
            ++varying;
        }
        if (varying == 0) unit_low[varying] = unit_high[varying] = 0.0, ++varying;  // no volume at all
        scratch_.varying = varying;
        Box& box = scratch_.boxes[e];
        box = {unit_low, unit_high, 0.0};
        box.volume = union_volume(box, box, varying);
        at += 2 * d;
    }
    return {scratch_.boxes.data(), entries.size()};
}

std::int32_t Forest::least_enlarged_child(std::size_t node, std::int32_t record) {
    Children entries = children(node);
    if (std::all_of(entries.begin(), entries.end(), [](std::int32_t entry) { return entry < 0; })) return entries[0];
    entries.push_back(~record);
    const auto boxes = boxes_in_units(entries);
    return entries[least_enlargement(boxes.first(boxes.size() - 1), boxes.back(), scratch_.varying)];
}

std::pair<Forest::Children, Forest::Children> Forest::split_quadratically(std::span<const std::int32_t> children) {
    const auto boxes = boxes_in_units(children);
    scratch_.split.run(boxes, scratch_.varying);
    std::pair<Children, Children> halves;
    for (const std::size_t e : scratch_.split.side(0)) halves.first.push_back(children[e]);
    for (const std::size_t e : scratch_.split.side(1)) halves.second.push_back(children[e]);
    return halves;
}

}  // namespace anystream::bayes_tree
