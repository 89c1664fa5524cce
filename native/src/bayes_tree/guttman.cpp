#include "anystream/bayes_tree/guttman.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "anystream/bayes_tree/rtree.hpp"

namespace anystream::bayes_tree {
namespace {

constexpr std::size_t kReportEvery = 256;

/// Each point in units of the bounding box of all, dimensions of no extent left out (one of zeros if none is left).
std::vector<double> unit_box(const Points& points, std::size_t& dimensions) {
    const std::size_t n = points.size(), d = points.dimensions;
    std::vector<double> low(points.row(0), points.row(0) + d), high = low;
    for (std::size_t i = 1; i < n; ++i) {
        for (std::size_t j = 0; j < d; ++j) {
            low[j] = std::min(low[j], points.row(i)[j]);
            high[j] = std::max(high[j], points.row(i)[j]);
        }
    }
    std::vector<std::size_t> kept;
    for (std::size_t j = 0; j < d; ++j) {
        if (high[j] > low[j]) kept.push_back(j);
    }
    dimensions = std::max<std::size_t>(1, kept.size());
    std::vector<double> scaled(n * dimensions);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < kept.size(); ++k) {
            const std::size_t j = kept[k];
            scaled[i * dimensions + k] = (points.row(i)[j] - low[j]) / (high[j] - low[j]);
        }
    }
    return scaled;
}

class RTree {
  public:
    RTree(const Points& points, std::size_t fanout) : values_(unit_box(points, dimensions_)), fanout_(fanout) {}

    void insert(std::int32_t record);
    [[nodiscard]] TreeShape shape() const;

  private:
    [[nodiscard]] Box box_of(std::int32_t entry) const noexcept {
        if (entry < 0) {
            const double* const point = values_.data() + static_cast<std::size_t>(~entry) * dimensions_;
            return {point, point, 0.0};
        }
        const auto node = static_cast<std::size_t>(entry);
        const double* const low = boxes_.data() + node * 2 * dimensions_;
        return {low, low + dimensions_, volumes_[node]};
    }
    /// The boxes of the entries of a node, until the next call.
    [[nodiscard]] std::span<const Box> boxes_of(std::int32_t node);

    std::int32_t new_node();
    void fit_box(std::int32_t node) noexcept;
    void stretch_box(std::int32_t node, const double* point) noexcept;
    void measure_volume(std::size_t node) noexcept;
    std::int32_t split(std::int32_t node);

    std::size_t dimensions_ = 0;
    std::vector<double> values_;
    std::size_t fanout_;

    std::int32_t root_ = -1;
    std::vector<std::vector<std::int32_t>> nodes_;  // entries
    std::vector<double> boxes_;                     // (node, {low, high}, dimension)
    std::vector<double> volumes_;
    std::vector<std::int32_t> path_;
    std::vector<Box> boxes_here_;
    QuadraticSplit split_;
};

std::int32_t RTree::new_node() {
    nodes_.emplace_back();
    boxes_.resize(boxes_.size() + 2 * dimensions_);
    volumes_.push_back(0.0);
    return static_cast<std::int32_t>(nodes_.size() - 1);
}

void RTree::fit_box(std::int32_t node) noexcept {
    const auto n = static_cast<std::size_t>(node);
    double* const low = boxes_.data() + n * 2 * dimensions_;
    double* const high = low + dimensions_;
    bool first = true;
    for (const auto entry : nodes_[n]) {
        const Box box = box_of(entry);
        for (std::size_t j = 0; j < dimensions_; ++j) {
            low[j] = first ? box.low[j] : std::min(low[j], box.low[j]);
            high[j] = first ? box.high[j] : std::max(high[j], box.high[j]);
        }
        first = false;
    }
    measure_volume(n);
}

void RTree::stretch_box(std::int32_t node, const double* point) noexcept {
    const auto n = static_cast<std::size_t>(node);
    double* const low = boxes_.data() + n * 2 * dimensions_;
    double* const high = low + dimensions_;
    for (std::size_t j = 0; j < dimensions_; ++j) {
        low[j] = std::min(low[j], point[j]);
        high[j] = std::max(high[j], point[j]);
    }
    measure_volume(n);
}

void RTree::measure_volume(std::size_t node) noexcept {
    const Box box = box_of(static_cast<std::int32_t>(node));
    volumes_[node] = union_volume(box, box, dimensions_);
}

std::span<const Box> RTree::boxes_of(std::int32_t node) {
    boxes_here_.clear();
    for (const auto entry : nodes_[static_cast<std::size_t>(node)]) boxes_here_.push_back(box_of(entry));
    return boxes_here_;
}

// The node keeps the first side, the new node returned takes the other.
std::int32_t RTree::split(std::int32_t node) {
    split_.run(boxes_of(node), dimensions_);
    const std::vector<std::int32_t> all = std::move(nodes_[static_cast<std::size_t>(node)]);
    const std::int32_t side[2] = {node, new_node()};
    for (int s = 0; s < 2; ++s) {
        auto& entries = nodes_[static_cast<std::size_t>(side[s])];
        entries.clear();
        for (const std::size_t e : split_.side(s)) entries.push_back(all[e]);
        fit_box(side[s]);
    }
    return side[1];
}

void RTree::insert(std::int32_t record) {
    if (root_ < 0) root_ = new_node();
    path_.assign(1, root_);
    while (!nodes_[static_cast<std::size_t>(path_.back())].empty() &&
           nodes_[static_cast<std::size_t>(path_.back())].front() >= 0) {
        const std::int32_t node = path_.back();
        const std::size_t chosen = least_enlargement(boxes_of(node), box_of(~record), dimensions_);
        path_.push_back(nodes_[static_cast<std::size_t>(node)][chosen]);
    }
    std::int32_t added = ~record;  // the entry that the node on the path still has to take, if any
    bool pending = true;
    const double* const point = box_of(~record).low;
    while (!path_.empty()) {
        const std::int32_t node = path_.back();
        path_.pop_back();
        auto& entries = nodes_[static_cast<std::size_t>(node)];
        if (pending) entries.push_back(added);
        if (entries.size() > fanout_) {
            added = split(node);
            if (node == root_) {
                root_ = new_node();
                nodes_[static_cast<std::size_t>(root_)] = {node, added};
                fit_box(root_);
            }
        } else if (pending && entries.size() == 1) {
            pending = false;
            fit_box(node);
        } else {
            pending = false;
            stretch_box(node, point);
        }
    }
}

TreeShape RTree::shape() const {
    TreeShape loose;
    for (const auto& entries : nodes_) {
        loose.entry.insert(loose.entry.end(), entries.begin(), entries.end());
        loose.first_entry.push_back(static_cast<std::int32_t>(loose.entry.size()));
    }
    return breadth_first(loose, root_);
}

}  // namespace

TreeShape guttman(const Points& points, const BuildOptions& options) {
    require_buildable(points, options);
    if (options.fanout < 3) {
        throw std::invalid_argument("fanout is " + std::to_string(options.fanout) +
                                    "; guttman splits fanout + 1 entries into two nodes of 2 or more: pass at least 3");
    }
    if (points.size() == 1) {
        report_placed(options, 1);
        return {};
    }
    RTree tree(points, options.fanout);
    for (std::size_t i = 0; i < points.size(); ++i) {
        tree.insert(static_cast<std::int32_t>(i));
        if ((i + 1) % kReportEvery == 0) {
            throw_if_stopped(options);
            report_placed(options, kReportEvery);
        }
    }
    report_placed(options, points.size() % kReportEvery);
    return tree.shape();
}

}  // namespace anystream::bayes_tree
