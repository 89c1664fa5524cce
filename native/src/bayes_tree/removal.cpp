// Records that leave a forest with a window.
//
// Links lead from a record to its node and from there up, so a removal costs one way through its tree. A node that is
// left with one entry gives its place to that entry. Every node on the way is summarised again from its entries, so
// counts, means, scatters and boxes are those of the records that are left, without errors that add up.
//
// The moments of all data and of the classes have no such entries: they are subtracted, which loses digits, and ranges
// cannot be narrowed at all. So they are measured a second time beside, by additions alone:
//
//       leave        visited so far, from the newest of that time on        added since
//     |------|- - - - - - - - - - - - - |<==============================|================|
//          oldest                  next visit                        learned_[1]      learned_[0]
//
// When the visits meet the oldest record, the second moments replace the first, and the next measurement begins. Each
// insertion visits kVisits records: a measurement takes a third of the window.
#include <algorithm>
#include <limits>

#include "anystream/bayes_tree/forest.hpp"
#include "anystream/bayes_tree/moments.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr std::int64_t kVisits = 2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

// -- memory ---------------------------------------------------------------------------------------------------------

void Forest::prepare_removals(std::size_t node_total, std::size_t class_total) {
    const std::size_t d = dimensions_;
    if (!links_.known) find_links();
    const auto grow = [](auto& values, std::size_t size) {
        if (values.capacity() < size) values.reserve(std::max(size, values.capacity() + values.capacity() / 2));
    };
    grow(links_.parent, node_total);
    grow(links_.height, node_total);
    grow(links_.node_of, point_class_.own().capacity());
    for (auto* each : {&second_.class_observed, &second_.class_mean, &second_.class_scatter})
        grow(*each, class_total * d);
    if (range_rows() > 0 || settings_.bandwidth == Bandwidth::langley)
        for (auto* each : {&second_.class_low, &second_.class_high}) grow(*each, class_total * d);
    if (second_.known) return;
    clear_moments();
    const std::int64_t last = learned();
    for (learned_.own()[0] = learned_[1]; learned() < last;) {  // a loaded forest visits the same records again
        ++learned_.own()[0];
        visit_records();
    }
    second_.known = true;
}

void Forest::find_links() {
    links_.parent.assign(nodes(), kNothing);
    links_.height.assign(nodes(), 0);
    links_.node_of.assign(records(), kNothing);
    const std::vector<std::int32_t> order = nodes_from_above();
    for (std::size_t next = order.size(); next-- > 0;) {
        const auto node = static_cast<std::size_t>(order[next]);
        link(node, children(node));
    }
    links_.known = true;
}

void Forest::link(std::size_t node, std::span<const std::int32_t> children) noexcept {
    std::int32_t below = 0;
    for (const std::int32_t child : children) {
        if (child < 0) {
            links_.node_of[static_cast<std::size_t>(~child)] = static_cast<std::int32_t>(node);
            continue;
        }
        links_.parent[static_cast<std::size_t>(child)] = static_cast<std::int32_t>(node);
        below = std::max(below, links_.height[static_cast<std::size_t>(child)]);
    }
    links_.height[node] = below + 1;
}

// -- the tree -------------------------------------------------------------------------------------------------------

void Forest::remove_from_tree(std::int32_t record) {
    const auto c = static_cast<std::size_t>(point_class_[static_cast<std::size_t>(record)]);
    const std::int32_t root = class_root_[c];
    if (root == ~record) {
        class_root_.own()[c] = kNothing;
        write_root(c);
        return;
    }
    auto& path = scratch_.path;  // from the record's node up to the root
    path.clear();
    for (std::int32_t node = links_.node_of[static_cast<std::size_t>(record)];;
         node = links_.parent[static_cast<std::size_t>(node)]) {
        path.push_back(node);
        mark_trained(static_cast<std::size_t>(node), false);
        if (node == root) break;
    }
    const auto levels = static_cast<std::size_t>(settings_.covariance_levels);
    const auto node = static_cast<std::size_t>(path[0]);
    Children left;
    for (const std::int32_t child : children(node))
        if (child != ~record) left.push_back(child);
    const bool dissolves = left.size() == 1;
    if (!dissolves) {
        save_trained(node);
        place(node, left);
    } else {
        const std::int32_t only = left[0];
        if (only >= 0) mark_trained(static_cast<std::size_t>(only), false);  // it changes its place
        if (only >= 0 && path.size() <= levels) renew_covariance(static_cast<std::size_t>(only));
        if (path.size() == 1) {
            class_root_.own()[c] = only;
        } else {
            const auto above = static_cast<std::size_t>(path[1]);
            Children entries;
            for (const std::int32_t child : children(above)) entries.push_back(child == path[0] ? only : child);
            save_trained(above);
            place(above, entries);
        }
    }
    for (std::size_t i = dissolves ? 1 : 0; i < path.size(); ++i) {
        const auto changed = static_cast<std::size_t>(path[i]);
        summarise(changed, children(changed));
        if (const std::int32_t row = covariance_.of_node[changed]; row >= 0) {
            std::int64_t& count = covariance_.count.own()[static_cast<std::size_t>(row)];
            count = std::max<std::int64_t>(0, count - 2);
        }
        if (path.size() - 1 - i < levels) renew_covariance(changed);
        if (i + 1 < path.size()) rewrite_entry(static_cast<std::size_t>(path[i + 1]), path[i]);
    }
    write_root(c);
    if (dissolves) free_node(node);
}

/// Removes a node to which no entry refers; the last node takes its number.
void Forest::free_node(std::size_t node) {
    const std::size_t d = dimensions_, last = nodes() - 1;
    release_run(NodeHead(head_[node]));
    covariance_.remove(node);
    if (node != last) {
        const auto c = static_cast<std::size_t>(node_class_[last]);
        const auto from = static_cast<std::int32_t>(last), to = static_cast<std::int32_t>(node);
        const auto move = [&](auto& column, std::size_t width) {
            auto* const values = column.own().data();
            std::copy_n(values + last * width, width, values + node * width);
        };
        move(head_, 1);
        move(node_class_, 1);
        move(node_count_, 1);
        move(node_mean_, d);
        move(node_scatter_, d);
        move(node_box_, 2 * d);
        move(covariance_.of_node, 1);
        links_.parent[node] = links_.parent[last];
        follow(node, children(node));
        if (class_root_[c] == from) {
            class_root_.own()[c] = to;
            write_root(c);
        } else {
            const auto above = static_cast<std::size_t>(links_.parent[node]);
            const NodeView view = this->node(above);
            std::size_t lane = 0;
            while (view.child(lane) != from) ++lane;
            const auto at = static_cast<std::size_t>(view.child_bits + lane - blob_.data());
            std::memcpy(blob_.own().data() + at, &to, sizeof to);
        }
    }
    head_.own().pop_back();
    node_class_.own().pop_back();
    node_count_.own().pop_back();
    node_mean_.own().resize(last * d);
    node_scatter_.own().resize(last * d);
    node_box_.own().resize(last * 2 * d);
    covariance_.of_node.own().pop_back();
    links_.parent.pop_back();
    links_.height.pop_back();
    if (raw_boxes_.known) raw_boxes_.corners.resize(last * 2 * d);
}

// -- moments --------------------------------------------------------------------------------------------------------

void Forest::subtract_record(std::size_t record) {
    const std::size_t d = dimensions_;
    const double* const x = points_.data() + record * d;
    const auto c = static_cast<std::size_t>(point_class_[record]);
    subtract_moments(x, d, class_observed_.own().data() + c * d, class_mean_.own().data() + c * d,
                     class_scatter_.own().data() + c * d);
    subtract_moments(x, d, observed_.own().data(), mean_.own().data(), scatter_.own().data());
    if (--class_count_.own()[c] > 0 || range_rows() == 0) return;
    std::fill_n(class_low_.own().data() + c * d, d, kInfinity);
    std::fill_n(class_high_.own().data() + c * d, d, -kInfinity);
}

/// The second moments, without records.
void Forest::clear_moments() {
    const std::size_t d = dimensions_;
    for (auto* each : {&second_.observed, &second_.mean, &second_.scatter}) each->assign(d, 0.0);
    second_.low.assign(d, kInfinity);
    second_.high.assign(d, -kInfinity);
    for (auto* each : {&second_.class_observed, &second_.class_mean, &second_.class_scatter, &second_.class_low,
                       &second_.class_high})
        each->clear();
    size_moments();
}

/// Gives the second moments the rows of all classes.
void Forest::size_moments() {
    const std::size_t d = dimensions_;
    for (auto* each : {&second_.class_observed, &second_.class_mean, &second_.class_scatter})
        each->resize(classes() * d, 0.0);
    second_.class_low.resize(range_rows() * d, kInfinity);
    second_.class_high.resize(range_rows() * d, -kInfinity);
}

std::int64_t Forest::next_visit() const noexcept {
    return learned_[1] - 1 - kVisits * (learned() - learned_[1]);
}

void Forest::measure_next() {
    visit_records();
    if (next_visit() >= learned() - static_cast<std::int64_t>(records())) return;
    for (const auto& [column, values] : {std::pair{&observed_, &second_.observed},
                                         {&mean_, &second_.mean},
                                         {&scatter_, &second_.scatter},
                                         {&low_, &second_.low},
                                         {&high_, &second_.high},
                                         {&class_observed_, &second_.class_observed},
                                         {&class_mean_, &second_.class_mean},
                                         {&class_scatter_, &second_.class_scatter},
                                         {&class_low_, &second_.class_low},
                                         {&class_high_, &second_.class_high}})
        std::swap_ranges(values->begin(), values->end(), column->own().begin());
    learned_.own()[1] = learned();
    clear_moments();
}

/// Adds the newest record to the second moments, and the next ones of those that are visited.
void Forest::visit_records() noexcept {
    const std::int64_t oldest = std::max<std::int64_t>(0, learned() - settings_.window);
    visit_record(learned() - 1);
    for (std::int64_t visit = kVisits; visit > 0; --visit)
        if (next_visit() + visit >= oldest) visit_record(next_visit() + visit);
}

void Forest::visit_record(std::int64_t number) noexcept {
    const std::size_t d = dimensions_;
    const auto record = static_cast<std::size_t>(number % settings_.window);
    const double* const x = points_.data() + record * d;
    const auto c = static_cast<std::size_t>(point_class_[record]);
    add_moments(x, d, second_.observed.data(), second_.mean.data(), second_.scatter.data());
    add_moments(x, d, second_.class_observed.data() + c * d, second_.class_mean.data() + c * d,
                second_.class_scatter.data() + c * d);
    widen(x, second_.low.data(), second_.high.data());
    if (range_rows() > 0) widen(x, second_.class_low.data() + c * d, second_.class_high.data() + c * d);
}

}  // namespace anystream::bayes_tree
