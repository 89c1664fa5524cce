// Learning one record at a time.
//
// A record goes down to the entry whose mean is nearest until that entry is a kernel; it joins the node of that kernel.
// A node with more than `fanout` entries is split: the two entries farthest apart gather the others. Splits travel up
// as in a B-tree. With the R-tree's insertion (rtree_insertion.cpp) boxes decide instead of means.
//
// Kernels follow the data with every record. Entries off its way keep what they were written with; so each insertion
// also writes a few other nodes again, in turn, and every entry follows before the records have grown by half. Small
// forests are assembled anew instead when they have grown by half (or half of a full window has been replaced), which
// also renews the frame of z. In a large one the frame stays: floats are as exact in it as long as the spread in it is
// neither very small nor very large.
//
// `reserve` allocates all that some insertions can need. What may be postponed, covariances and new frames, allocates
// memory of its own and is tried again with a later record if there is none.
#include <algorithm>
#include <cmath>
#include <new>

#include "anystream/bayes_tree/forest.hpp"
#include "anystream/bayes_tree/kernels.hpp"
#include "anystream/bayes_tree/moments.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr std::size_t kMaxAssembled = 1024;  // records of a forest that is assembled anew while it learns
constexpr double kMaxSpread = 0x1p60, kMinSpread = 0x1p-60;  // variances in z for which a frame is good enough
constexpr double kMaxOffset = 0x1p20;                        // likewise: squared distance from the origin, in variances
// Per insertion: nodes to look at and to write again, and records whose class's root is written again.
constexpr std::size_t kRefreshVisits = 8, kRefreshWrites = 2, kRefreshRoots = 4;

double squared_distance(const double* a, const double* b, const double* spread, std::size_t dimensions) noexcept {
    double sum = 0.0;
    for (std::size_t j = 0; j < dimensions; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]) / spread[j];
    return sum;
}

/// Capacity for `size` values, in steps that grow with the column.
template <typename T>
void grow(Column<T>& column, std::size_t size) {
    auto& own = column.own();
    if (own.capacity() < size) own.reserve(std::max(size, own.capacity() + own.capacity() / 2));
}

}  // namespace

// -- memory ---------------------------------------------------------------------------------------------------------

std::size_t Forest::measured_height() const {
    std::size_t highest = 0;
    std::vector<std::int32_t> level, below;
    for (std::size_t c = 0; c < classes(); ++c) {
        level.clear();
        if (class_root_[c] >= 0) level.push_back(class_root_[c]);
        for (std::size_t height = 1; !level.empty(); ++height) {
            highest = std::max(highest, height);
            below.clear();
            for (const std::int32_t node : level)
                for (const std::int32_t child : children(static_cast<std::size_t>(node)))
                    if (child >= 0) below.push_back(child);
            level.swap(below);
        }
    }
    return highest;
}

/// An insertion splits at most every node on its way, and the root gets a parent. Nodes are not full after a split: of
/// many insertions, each node is split at most once as it is now, and then after two more entries each.
std::size_t Forest::max_new_nodes(std::size_t records) const noexcept {
    const std::size_t one_by_one = records * (height_ + records / 2 + 2);
    return std::min(one_by_one, 2 * (records + 2 * std::min(records * (height_ + 1), nodes())) + 2);
}

std::size_t Forest::max_run_floats() const noexcept {
    return (static_cast<std::size_t>(settings_.fanout) + 7) / 8 * 8 * (2 * dimensions_ + 3);
}

std::size_t Forest::reserve_bytes(std::size_t records, std::size_t class_total) const noexcept {
    const std::size_t d = dimensions_, new_classes = std::max(class_total, classes()) - classes();
    const std::size_t raw_box = settings_.insertion == Insertion::guttman ? 16 * d : 0;
    const std::size_t per_node = 28 + 24 * d + raw_box, per_class = 20 + 60 * d;
    const std::size_t new_nodes = max_new_nodes(records);
    return records * (8 * d + 4) + new_nodes * per_node + (2 * new_nodes + 3 * records) * max_run_floats() * 4 +
           new_classes * per_class;
}

void Forest::size_scratch() {
    const std::size_t d = dimensions_;
    scratch_.z.resize(d);
    scratch_.unknown.resize(d);
    scratch_.lane.resize(2 * d);
    scratch_.centre.resize((kMaxFanout + 1) * d);
    scratch_.at.resize(d);
    scratch_.weight.resize(d);
    scratch_.box.resize(d);
    scratch_.trained.reserve(kMaxFanout);
    scratch_.trained_lanes.reserve(kMaxFanout * (2 * d + 3));
    if (settings_.insertion != Insertion::guttman) return;
    scratch_.low.resize(d);
    scratch_.extent.resize(d);
    scratch_.corners.resize((kMaxFanout + 2) * 2 * d);
    scratch_.boxes.resize(kMaxFanout + 2);
    scratch_.split.reserve(kMaxFanout + 1, d);
}

void Forest::reserve(std::size_t more, std::size_t class_total) {
    const std::size_t d = dimensions_;
    const std::size_t bound = settings_.window > 0 ? static_cast<std::size_t>(settings_.window) : records() + more;
    const std::size_t n = std::min(records() + more, bound);
    class_total = std::max(class_total, classes());
    if (height_ == 0) height_ = measured_height();
    if (!reserved_.owned) each_column(*this, [](const char*, auto& column) { (void)column.own(); });
    reserved_.owned = true;
    grow(points_, n * d);
    grow(point_class_, n);

    const std::size_t k = nodes() + max_new_nodes(more);
    grow(head_, k);
    grow(node_class_, k);
    grow(node_count_, k);
    grow(node_mean_, k * d);
    grow(node_scatter_, k * d);
    grow(node_box_, 2 * k * d);
    grow(covariance_.of_node, k);
    // A removal gives two nodes another size.
    const std::size_t runs = 2 * max_new_nodes(more) + (settings_.window > 0 ? 3 : 1) * more;
    grow(blob_, blob_.size() + runs * max_run_floats());
    covariance_.free_rows.reserve(covariance_.rows());

    grow(class_count_, class_total);
    grow(class_observed_, class_total * d);
    grow(class_mean_, class_total * d);
    grow(class_scatter_, class_total * d);
    grow(class_root_, class_total);
    if (settings_.bandwidth == Bandwidth::langley) {
        grow(class_low_, class_total * d);
        grow(class_high_, class_total * d);
    }
    if (!shares_kernel()) {
        grow(kernel_precision_, class_total * d);
        grow(kernel_log2_norm_, class_total);
    }
    grow(root_blob_, root_lanes(class_total) * (2 * d + 3));
    size_scratch();
    if (settings_.window > 0) prepare_removals(k, class_total);
    if (settings_.insertion == Insertion::guttman) prepare_boxes(k);
    scratch_.path.reserve(height_ + more + 2);
    reserved_.records = more;
    reserved_.classes = class_total;
}

// -- classes and records --------------------------------------------------------------------------------------------

void Forest::declare_classes(std::size_t count) {
    if (count <= classes()) return;
    reserve(reserved_.records, count);
    root_model_ = {};
    const std::size_t d = dimensions_, before = classes();
    class_count_.own().resize(count, 0);
    class_observed_.own().resize(count * d, 0.0);
    class_mean_.own().resize(count * d, 0.0);
    class_scatter_.own().resize(count * d, 0.0);
    class_root_.own().resize(count, kNothing);
    class_low_.own().resize(range_rows() * d, std::numeric_limits<double>::infinity());
    class_high_.own().resize(range_rows() * d, -std::numeric_limits<double>::infinity());
    kernel_precision_.own().resize(kernel_rows() * d, 1.0F);  // until the class is measured
    kernel_log2_norm_.own().resize(kernel_rows(), 0.0F);
    if (kernel_rows() > 1 || before == 0)
        for (std::size_t row = kernel_row(before); row < kernel_rows(); ++row) measure_kernel(row);
    if (second_.known) size_moments();
    root_blob_.own().resize(root_floats(), 0.0F);
    widen_root_block(before);
    for (std::size_t c = before; c < count; ++c) write_root(c);
}

/// Moves the entries of the block that was not full when there were `before` classes: it may have more lanes now.
void Forest::widen_root_block(std::size_t before) {
    const std::size_t entries = before % kRootBlock;
    if (entries == 0) return;
    const NodeHead head = root_head(before / kRootBlock);
    const std::size_t lanes = head.lanes(), old_lanes = root_lanes(entries);
    if (lanes == old_lanes) return;
    float* const at = root_blob_.own().data() + head.offset();
    for (std::size_t row = 2 * dimensions_ + 3; row-- > 0;) {  // from behind, as rows move back
        std::copy_backward(at + row * old_lanes, at + row * old_lanes + entries, at + row * lanes + entries);
        std::fill(at + row * lanes + entries, at + (row + 1) * lanes, 0.0F);
    }
}

void Forest::insert(const double* x, std::int32_t point_class) {
    const auto c = static_cast<std::size_t>(point_class);
    if (reserved_.records == 0) reserve(1, c + 1);
    declare_classes(c + 1);
    scratch_.measured = false;
    scratch_.trained.clear();
    const bool replaces = full();
    const std::size_t record = replaces ? static_cast<std::size_t>(learned() % settings_.window) : records();
    const std::size_t left = replaces ? static_cast<std::size_t>(point_class_[record]) : c;
    if (replaces) {
        remove_from_tree(static_cast<std::int32_t>(record));
        subtract_record(record);
    }
    store_record(record, x, c);
    measure_spread();
    measure_kernel(kernel_row(c));
    if (kernel_row(left) != kernel_row(c)) measure_kernel(kernel_row(left));
    insert_into_tree(static_cast<std::int32_t>(record));
    if (links_.known && range_rows() > 0) measure_kernel(kernel_row(c));  // by the box of its tree
    if (left != c) write_root(left);
    ++learned_.own()[0];
    if (replaces)
        measure_next();
    else
        learned_.own()[1] = learned();
    refresh_some();
    --reserved_.records;
    if (outgrown()) renew_frame();
}

/// Stores a record at a free place, or at the end, and adds it to the moments.
void Forest::store_record(std::size_t record, const double* x, std::size_t c) {
    const std::size_t d = dimensions_;
    if (record == records()) {
        points_.own().resize((record + 1) * d);
        point_class_.own().push_back(0);
        if (links_.known) links_.node_of.push_back(0);
    }
    std::copy_n(x, d, points_.own().data() + record * d);
    point_class_.own()[record] = static_cast<std::int32_t>(c);
    ++class_count_.own()[c];
    add_moments(x, d, class_observed_.own().data() + c * d, class_mean_.own().data() + c * d,
                class_scatter_.own().data() + c * d);
    add_moments(x, d, observed_.own().data(), mean_.own().data(), scatter_.own().data());
    widen_ranges(x, c);
}

// -- the tree -------------------------------------------------------------------------------------------------------

void Forest::insert_into_tree(std::int32_t record) {
    const std::size_t d = dimensions_;
    const auto c = static_cast<std::size_t>(point_class_[static_cast<std::size_t>(record)]);
    const std::int32_t root = class_root_[c];
    if (root < 0) {  // the first record of the class, or the second, which makes the first node
        const std::int32_t both[] = {root, ~record};
        class_root_.own()[c] = root == kNothing ? ~record : new_node(c, both);
        if (root != kNothing) height_ = std::max<std::size_t>(height_, 1);
        write_root(c);
        return;
    }

    const std::span<double> z = scratch_.z, unknown = scratch_.unknown;
    record_in_z(record, z, unknown);
    const bool by_boxes = settings_.insertion == Insertion::guttman;
    if (by_boxes) measure_units(c, record);
    const auto choose = [&](std::int32_t above) {
        const auto node = static_cast<std::size_t>(above);
        return by_boxes ? least_enlarged_child(node, record) : nearest_child(node, record);
    };
    auto& path = scratch_.path;
    path.clear();
    for (std::int32_t next = root; next >= 0; next = choose(next)) {
        path.push_back(next);
        const auto node = static_cast<std::size_t>(next);
        mark_trained(node, false);
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
        height_ = std::max(height_, path.size() + 1);
    }
    if (links_.known)
        height_ = std::max(height_, static_cast<std::size_t>(links_.height[static_cast<std::size_t>(class_root_[c])]));
    write_root(c);
}

std::int32_t Forest::nearest_child(std::size_t node, std::int32_t record) {
    const std::size_t d = dimensions_;
    const NodeView view = this->node(node);
    const double* x = points_.data() + static_cast<std::size_t>(record) * d;
    float distance[kMaxFanout];
    for (std::size_t j = 0; j < d; ++j) {
        scratch_.at[j] = static_cast<float>(scratch_.z[j]);
        scratch_.weight[j] = std::isnan(x[j]) ? 0.0F : static_cast<float>(1.0 / std::sqrt(spread_[j]));
    }
    kernels().shared_exponents(scratch_.at.data(), view.mean, scratch_.weight.data(), d, view.lanes, distance);
    return view.child(static_cast<std::size_t>(std::min_element(distance, distance + view.entries) - distance));
}

std::int32_t Forest::add_entry(std::size_t node, std::int32_t child) {
    auto all = children(node);
    all.push_back(child);
    save_trained(node);
    if (all.size() <= static_cast<std::size_t>(settings_.fanout)) {
        place(node, all);
        return kNothing;
    }
    const auto [kept, moved] = settings_.insertion == Insertion::guttman ? split_quadratically(all) : split(all);
    place(node, kept);
    summarise(node, kept);
    covariance_.remove(node);
    return new_node(static_cast<std::size_t>(node_class_[node]), moved);
}

void Forest::rewrite_entry(std::size_t node, std::int32_t child) {
    const NodeHead head(head_[node]);
    const NodeView view = this->node(node);
    std::size_t lane = 0;
    while (view.child(lane) != child) ++lane;
    write_lane(head, blob_.own().data() + head.offset(), lane, child, static_cast<std::size_t>(node_class_[node]));
    follow(node, children(node));
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
    if (links_.known) {
        links_.parent.push_back(kNothing);
        links_.height.push_back(0);
    }
    if (raw_boxes_.known) raw_boxes_.corners.resize((node + 1) * 2 * d);
    place(node, children);
    summarise(node, children);
    return static_cast<std::int32_t>(node);
}

void Forest::place(std::size_t node, std::span<const std::int32_t> children) {
    const NodeHead old(head_[node]);
    const NodeHead wanted = form(children);
    std::size_t offset = old.offset();
    if (wanted.floats(dimensions_) != old.floats(dimensions_)) {
        if (old.lanes() > 0) release_run(old);
        offset = take_run(wanted);
    }
    head_.own()[node] = NodeHead(offset, wanted.lanes(), wanted.entries(), wanted.leaf()).packed();
    write_node(node, children);
}

/// The offset of a run for a node of this form, of those that are free or at the end.
std::size_t Forest::take_run(const NodeHead& form) {
    std::int64_t& first = free_runs_.own()[run_size(form)];
    if (first < 0) {
        const std::size_t offset = blob_.size();
        blob_.own().resize(offset + form.floats(dimensions_));
        return offset;
    }
    const auto offset = static_cast<std::size_t>(first);
    std::memcpy(&first, blob_.data() + offset, sizeof first);
    return offset;
}

void Forest::release_run(const NodeHead& run) {
    std::int64_t& first = free_runs_.own()[run_size(run)];
    std::memcpy(blob_.own().data() + run.offset(), &first, sizeof first);
    first = static_cast<std::int64_t>(run.offset());
}

void Forest::follow(std::size_t node, std::span<const std::int32_t> children) noexcept {
    if (links_.known) link(node, children);
    if (raw_boxes_.known) fit_box(node, children);
}

std::vector<std::int32_t> Forest::nodes_from_above() const {
    std::vector<std::int32_t> order;
    order.reserve(nodes());
    for (std::size_t c = 0; c < classes(); ++c)
        if (class_root_[c] >= 0) order.push_back(class_root_[c]);
    for (std::size_t next = 0; next < order.size(); ++next)
        for (const std::int32_t child : children(static_cast<std::size_t>(order[next])))
            if (child >= 0) order.push_back(child);
    return order;
}

Forest::Children Forest::children(std::size_t node) const noexcept {
    const NodeView view = this->node(node);
    Children all;
    for (std::size_t lane = 0; lane < view.entries; ++lane) all.push_back(view.child(lane));
    return all;
}

std::pair<Forest::Children, Forest::Children> Forest::split(std::span<const std::int32_t> children) {
    const std::size_t d = dimensions_, size = children.size();
    double* const centre = scratch_.centre.data();
    for (std::size_t e = 0; e < size; ++e) {
        if (children[e] < 0)
            record_in_z(~children[e], {centre + e * d, d}, scratch_.unknown);
        else
            std::copy_n(node_mean_.data() + static_cast<std::size_t>(children[e]) * d, d, centre + e * d);
    }
    const auto apart = [&](std::size_t a, std::size_t b) {
        return squared_distance(centre + a * d, centre + b * d, spread_.data(), d);
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
    std::array<std::size_t, kMaxFanout + 1> order;
    std::array<double, kMaxFanout + 1> lean;
    for (std::size_t e = 0; e < size; ++e) {
        order[e] = e;
        lean[e] = apart(e, first) - apart(e, second);
    }
    std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size),
              [&](std::size_t a, std::size_t b) { return lean[a] != lean[b] ? lean[a] < lean[b] : a < b; });
    std::size_t border = 0;
    while (border < size && lean[order[border]] < 0.0) ++border;
    border = std::clamp<std::size_t>(border, 2, size - 2);
    std::pair<Children, Children> halves;
    for (std::size_t e = 0; e < size; ++e) (e < border ? halves.first : halves.second).push_back(children[order[e]]);
    return halves;
}

// -- following the data ---------------------------------------------------------------------------------------------

/// Writes the next nodes and roots again. Leaves hold nothing but centres, which do not change. The turn of a root is
/// that of the records of its class: it does not depend on how many classes were declared.
void Forest::refresh_some() {
    for (std::size_t visited = 0; visited < kRefreshRoots; ++visited) {
        std::int64_t& record = refreshed_.own()[1];
        const auto turn = static_cast<std::size_t>(record) % records();
        record = static_cast<std::int64_t>(turn + 1);
        const auto c = static_cast<std::size_t>(point_class_[turn]);
        if (settings_.window > 0 && !shares_kernel()) measure_kernel(c);  // its moments were measured again
        write_root(c);
    }
    std::int64_t& next = refreshed_.own()[0];
    std::size_t written = 0;
    for (std::size_t visited = 0; visited < std::min(kRefreshVisits, nodes()) && written < kRefreshWrites; ++visited) {
        const auto node = static_cast<std::size_t>(next) % nodes();
        next = static_cast<std::int64_t>((node + 1) % nodes());
        if (NodeHead(head_[node]).leaf()) continue;
        const Children entries = children(node);
        summarise(node, entries);
        save_trained(node);
        write_node(node, entries);
        ++written;
    }
}

/// Whether the frame of z does not suit the data any more.
bool Forest::outgrown() const noexcept {
    const std::int64_t assembled = std::max<std::int64_t>(0, assembled_at_[0]);
    const std::int64_t held = settings_.window > 0 ? std::min(assembled, settings_.window) : assembled;
    const bool small =
        records() <= kMaxAssembled && std::none_of(head_.view().begin(), head_.view().end(), [](auto head) {
            return NodeHead(head).trained();  // which an assembly would make plain
        });
    if (small) return (learned() - assembled) * 2 >= held;
    if ((learned() - assembled) * 8 < held) return false;
    for (std::size_t j = 0; j < dimensions_; ++j) {
        const double offset = (mean_[j] - shift_[j]) / scale_[j];
        if (!(spread_[j] < kMaxSpread && spread_[j] > kMinSpread && offset * offset < kMaxOffset * spread_[j]))
            return true;
    }
    return false;
}

/// Assembles the forest anew in a frame of its present data. If memory is short, a later record does it.
void Forest::renew_frame() noexcept {
    try {
        Forest next(*this);
        const auto trees = shapes();
        next.measure();
        next.assemble(trees);
        next.reserve(reserved_.records, reserved_.classes);
        *this = std::move(next);
    } catch (const std::bad_alloc&) {}
}

}  // namespace anystream::bayes_tree
