// Learning one record at a time: nearest-mean insertion.
//
// A record goes down to the entry whose mean is nearest, in z, until that entry is a kernel; it joins the node of that
// kernel. A node with more than `fanout` entries is split: the two entries farthest apart gather the others. Splits
// travel up as in a B-tree. When the records have grown by half since the last assembly, everything is assembled again,
// so that scale and bandwidths follow the data; spread over the insertions this costs about as much as they do.
#include <algorithm>
#include <cmath>

#include "anystream/bayes_tree/forest.hpp"
#include "anystream/bayes_tree/kernels.hpp"

namespace anystream::bayes_tree {

namespace {

double squared_distance(const double* a, const double* b, std::size_t dimensions) noexcept {
    double sum = 0.0;
    for (std::size_t j = 0; j < dimensions; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

}  // namespace

void Forest::declare_classes(std::size_t count) {
    if (count <= classes()) return;
    root_model_ = {};
    const std::size_t d = dimensions_, before = classes();
    class_count_.own().resize(count, 0);
    class_observed_.own().resize(count * d, 0.0);
    class_mean_.own().resize(count * d, 0.0);
    class_scatter_.own().resize(count * d, 0.0);
    class_root_.own().resize(count, kNothing);
    kernel_precision_.own().resize(count * d, 1.0F);  // until the class is measured
    kernel_log2_norm_.own().resize(count, 0.0F);
    for (std::size_t c = before; c < count; ++c) measure_kernel(c, {}, {});
    root_blob_.own().resize(root_floats(), 0.0F);
    // The block that was not full may have more lanes now: all its entries move.
    const std::size_t block = before / kRootBlock * kRootBlock;
    const bool moved = root_lanes(before) < root_lanes(std::min(count, block + kRootBlock));
    for (std::size_t c = moved ? block : before; c < count; ++c) write_root(c);
}

void Forest::insert(const double* x, std::int32_t point_class) {
    const std::size_t d = dimensions_;
    const auto c = static_cast<std::size_t>(point_class);
    declare_classes(c + 1);
    auto& points = points_.own();
    points.insert(points.end(), x, x + d);
    point_class_.own().push_back(point_class);
    ++class_count_.own()[c];
    double* observed = class_observed_.own().data() + c * d;
    double* mean = class_mean_.own().data() + c * d;
    double* scatter = class_scatter_.own().data() + c * d;
    for (std::size_t j = 0; j < d; ++j) {
        if (std::isnan(x[j])) continue;
        const double apart = x[j] - mean[j];
        observed[j] += 1.0;
        mean[j] += apart / observed[j];
        scatter[j] += apart * (x[j] - mean[j]);
    }
    insert_into_tree(static_cast<std::int32_t>(records() - 1));
    if (static_cast<std::int64_t>(records()) * 2 >= assembled_at_[0] * 3) reassemble();
}

void Forest::insert_into_tree(std::int32_t record) {
    const std::size_t d = dimensions_;
    const auto c = static_cast<std::size_t>(point_class_[static_cast<std::size_t>(record)]);
    const std::int32_t root = class_root_[c];
    if (root < 0) {  // the first record of the class, or the second, which makes the first node
        const std::int32_t both[] = {root, ~record};
        class_root_.own()[c] = root == kNothing ? ~record : new_node(c, both);
        write_root(c);
        return;
    }

    std::vector<double> z(d), unknown(d);
    record_in_z(record, z, unknown);
    std::vector<std::int32_t> path;
    for (std::int32_t next = root; next >= 0; next = nearest_child(static_cast<std::size_t>(next), record, z)) {
        path.push_back(next);
        const auto node = static_cast<std::size_t>(next);
        const auto count = static_cast<double>(++node_count_.own()[node]);
        double* mean = node_mean_.own().data() + node * d;
        double* scatter = node_scatter_.own().data() + node * d;
        for (std::size_t j = 0; j < d; ++j) {
            const double apart = z[j] - mean[j];
            mean[j] += apart / count;
            scatter[j] += unknown[j] + apart * (z[j] - mean[j]);
        }
        widen_box(node, record, z);
    }

    std::int32_t added = ~record;  // the entry that the node on the way up still has to add
    for (std::size_t level = path.size(); level-- > 0;) {
        const auto node = static_cast<std::size_t>(path[level]);
        if (added != kNothing) added = add_entry(node, added);
        if (level < static_cast<std::size_t>(settings_.covariance_levels)) {
            renew_covariance(node);
            if (added != kNothing) renew_covariance(static_cast<std::size_t>(added));
        }
        if (level > 0) rewrite_entry(static_cast<std::size_t>(path[level - 1]), path[level]);
    }
    if (added != kNothing) {
        const std::int32_t both[] = {root, added};
        class_root_.own()[c] = new_node(c, both);
        renew_covariance(static_cast<std::size_t>(class_root_[c]));
    }
    write_root(c);
}

std::int32_t Forest::nearest_child(std::size_t node, std::int32_t record, std::span<const double> z) const {
    const std::size_t d = dimensions_;
    const NodeView view = this->node(node);
    const double* x = points_.data() + static_cast<std::size_t>(record) * d;
    std::vector<float> at(d), weight(d), distance(view.lanes);
    for (std::size_t j = 0; j < d; ++j) {
        at[j] = static_cast<float>(z[j]);
        weight[j] = std::isnan(x[j]) ? 0.0F : 1.0F;
    }
    kernels().shared_exponents(at.data(), view.mean, weight.data(), d, view.lanes, distance.data());
    const auto end = distance.begin() + static_cast<std::ptrdiff_t>(view.entries);
    return view.child(static_cast<std::size_t>(std::min_element(distance.begin(), end) - distance.begin()));
}

std::int32_t Forest::add_entry(std::size_t node, std::int32_t child) {
    auto all = children(node);
    all.push_back(child);
    if (all.size() <= static_cast<std::size_t>(settings_.fanout)) {
        place(node, all);
        return kNothing;
    }
    const auto [kept, moved] = split(all);
    place(node, kept);
    summarise(node, kept);
    covariance_.of_node.own()[node] = -1;
    return new_node(static_cast<std::size_t>(node_class_[node]), moved);
}

void Forest::rewrite_entry(std::size_t node, std::int32_t child) {
    const NodeHead head(head_[node]);
    const NodeView view = this->node(node);
    std::size_t lane = 0;
    while (view.child(lane) != child) ++lane;
    write_lane(head, blob_.own().data() + head.offset(), lane, child, static_cast<std::size_t>(node_class_[node]));
    if (has_covariances({&child, 1})) head_.own()[node] = head.marked(true).packed();
}

std::int32_t Forest::new_node(std::size_t point_class, std::span<const std::int32_t> children) {
    const std::size_t node = nodes(), d = dimensions_;
    head_.own().push_back(0);
    node_class_.own().push_back(static_cast<std::int32_t>(point_class));
    node_count_.own().push_back(0);
    node_mean_.own().resize((node + 1) * d, 0.0);
    node_scatter_.own().resize((node + 1) * d, 0.0);
    node_box_.own().resize((node + 1) * 2 * d, 0.0F);
    covariance_.of_node.own().push_back(-1);
    place(node, children);
    summarise(node, children);
    return static_cast<std::int32_t>(node);
}

void Forest::place(std::size_t node, std::span<const std::int32_t> children) {
    const NodeHead old(head_[node]);
    const NodeHead wanted = form(children);
    std::size_t offset = old.offset();
    if (wanted.floats(dimensions_) > old.floats(dimensions_)) {  // the old run stays unused until the next assembly
        offset = blob_.size();
        blob_.own().resize(offset + wanted.floats(dimensions_));
    }
    head_.own()[node] = NodeHead(offset, wanted.lanes(), wanted.entries(), wanted.leaf()).packed();
    write_node(node, children);
}

std::vector<std::int32_t> Forest::children(std::size_t node) const {
    const NodeView view = this->node(node);
    std::vector<std::int32_t> all(view.entries);
    for (std::size_t lane = 0; lane < view.entries; ++lane) all[lane] = view.child(lane);
    return all;
}

std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> Forest::split(
    std::span<const std::int32_t> children) const {
    const std::size_t d = dimensions_, size = children.size();
    std::vector<double> centre(size * d), unknown(d);
    for (std::size_t e = 0; e < size; ++e) {
        if (children[e] < 0)
            record_in_z(~children[e], {centre.data() + e * d, d}, unknown);
        else
            std::copy_n(node_mean_.data() + static_cast<std::size_t>(children[e]) * d, d, centre.data() + e * d);
    }
    const auto apart = [&](std::size_t a, std::size_t b) {
        return squared_distance(centre.data() + a * d, centre.data() + b * d, d);
    };
    std::size_t first = 0, second = 1;
    double farthest = -1.0;
    for (std::size_t a = 0; a < size; ++a) {
        for (std::size_t b = a + 1; b < size; ++b) {
            const double distance = apart(a, b);
            if (distance > farthest) {
                farthest = distance;
                first = a;
                second = b;
            }
        }
    }
    // Sorted by how much nearer an entry is to the first than to the second; the border lies where that changes sign,
    // but leaves two entries on either side.
    std::vector<std::size_t> order(size);
    std::vector<double> lean(size);
    for (std::size_t e = 0; e < size; ++e) {
        order[e] = e;
        lean[e] = apart(e, first) - apart(e, second);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lean[a] < lean[b]; });
    std::size_t border = 0;
    while (border < size && lean[order[border]] < 0.0) ++border;
    border = std::clamp<std::size_t>(border, 2, size - 2);
    std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> halves;
    for (std::size_t e = 0; e < size; ++e) (e < border ? halves.first : halves.second).push_back(children[order[e]]);
    return halves;
}

}  // namespace anystream::bayes_tree
