// Building, extending, merging and checking a forest.
#include "anystream/bayes_tree/forest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "anystream/bayes_tree/em_top_down.hpp"
#include "anystream/bayes_tree/goldberger.hpp"
#include "anystream/bayes_tree/guttman.hpp"
#include "anystream/bayes_tree/hilbert.hpp"
#include "anystream/bayes_tree/str_packing.hpp"
#include "anystream/bayes_tree/virtual_sampling.hpp"
#include "anystream/bayes_tree/z_curve.hpp"
#include "anystream/damaged_model.hpp"
#include "anystream/parallel.hpp"

namespace anystream::bayes_tree {

namespace {

auto construction_function(Construction construction) -> TreeShape (*)(const Points&, const BuildOptions&) {
    switch (construction) {
        case Construction::hilbert:
            return hilbert;
        case Construction::z_curve:
            return z_curve;
        case Construction::str:
            return str_packing;
        case Construction::goldberger:
            return goldberger;
        case Construction::virtual_sampling:
            return virtual_sampling;
        case Construction::guttman:
            return guttman;
        default:
            return em_top_down;
    }
}

/// Appends the nodes of `tree` to `whole`; returns the entry that stands for it (a node, or its only record).
std::int32_t append_tree(TreeShape& whole, const TreeShape& tree, std::int32_t only_record) {
    if (tree.nodes() == 0) return ~only_record;
    const auto first = static_cast<std::int32_t>(whole.nodes());
    for (std::size_t i = 0; i < tree.nodes(); ++i) {
        for (const std::int32_t entry : tree.entries_of(i)) whole.entry.push_back(entry >= 0 ? entry + first : entry);
        whole.first_entry.push_back(static_cast<std::int32_t>(whole.entry.size()));
    }
    return first;
}

/// One tree from several: their roots become entries of new nodes, `fanout` at a time, until one is left.
TreeShape join(const std::vector<TreeShape>& trees, const std::vector<std::int32_t>& only_record, std::size_t fanout) {
    TreeShape whole;
    std::vector<std::int32_t> roots;
    for (std::size_t t = 0; t < trees.size(); ++t) roots.push_back(append_tree(whole, trees[t], only_record[t]));
    while (roots.size() > 1) {
        const std::size_t groups = (roots.size() + fanout - 1) / fanout;
        std::vector<std::int32_t> above;
        for (std::size_t g = 0; g < groups; ++g) {  // even groups: none of one entry, as there are at least two roots
            const std::size_t first = g * roots.size() / groups, last = (g + 1) * roots.size() / groups;
            above.push_back(static_cast<std::int32_t>(whole.nodes()));
            whole.entry.insert(whole.entry.end(), roots.begin() + static_cast<std::ptrdiff_t>(first),
                               roots.begin() + static_cast<std::ptrdiff_t>(last));
            whole.first_entry.push_back(static_cast<std::int32_t>(whole.entry.size()));
        }
        roots = std::move(above);
    }
    return roots.empty() || roots[0] < 0 ? TreeShape{} : bayes_tree::breadth_first(whole, roots[0]);
}

/// Throws DamagedModel(fault()) unless `holds`.
template <typename Fault>
void require(bool holds, Fault&& fault) {
    if (!holds) throw DamagedModel(fault());
}

}  // namespace

void Forest::build(std::span<const double> points, std::span<const std::int32_t> point_class, std::size_t class_total,
                   const Building& how) {
    points_ = Column<double>(points);
    point_class_ = Column<std::int32_t>(point_class);
    class_count_.own().assign(class_total, 0);
    learned_.own()[0] = static_cast<std::int64_t>(records());
    measure();

    std::vector<std::vector<std::int32_t>> members(class_total);
    for (std::size_t i = 0; i < records(); ++i)
        members[static_cast<std::size_t>(point_class[i])].push_back(static_cast<std::int32_t>(i));
    std::vector<std::size_t> largest_first(class_total);
    std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
    std::stable_sort(largest_first.begin(), largest_first.end(),
                     [&](std::size_t a, std::size_t b) { return members[a].size() > members[b].size(); });

    if (how.construction == Construction::nearest_mean) return insert_all();
    std::vector<TreeShape> trees(class_total);
    parallel_for(class_total, 1, how.threads, [&](std::size_t first, std::size_t last) {
        for (std::size_t k = first; k < last; ++k) {
            const std::size_t c = largest_first[k];
            if (!members[c].empty()) trees[c] = construct(members[c], c, how);
        }
    });
    assemble(trees);
}

Forest Forest::with_settings(const ForestSettings& settings) const {
    Forest next(settings, dimensions_);
    next.points_ = Column<double>(points_.view());
    next.point_class_ = Column<std::int32_t>(point_class_.view());
    next.class_count_.own().assign(classes(), 0);
    next.learned_.own()[0] = static_cast<std::int64_t>(records());
    next.measure();
    next.assemble(shapes());
    return next;
}

TreeShape Forest::construct(std::span<const std::int32_t> members, std::size_t c, const Building& how) const {
    const std::size_t d = dimensions_;
    std::vector<double> z(members.size() * d), spare(d);
    for (std::size_t i = 0; i < members.size(); ++i) record_in_z(members[i], {z.data() + i * d, d}, spare);
    for (std::size_t j = 0; j < d; ++j) {
        const double precision = kernel_precision(c)[j];
        spare[j] = 1.0 / (precision * precision);
    }
    BuildOptions options;
    options.fanout = static_cast<std::size_t>(settings_.fanout);
    options.seed = how.seed + c;
    options.kernel_variance = spare;
    options.stop = how.stop;
    options.placed = how.placed;
    options.sample_size = how.sample_size;
    options.all_groups = how.all_groups;
    options.tolerance = how.tolerance;
    TreeShape tree = construction_function(how.construction)({z, d}, options);
    for (auto& entry : tree.entry)
        if (entry < 0) entry = ~members[static_cast<std::size_t>(~entry)];
    return tree;
}

void Forest::insert_all() {
    assemble(std::vector<TreeShape>(classes()));
    std::fill(class_root_.own().begin(), class_root_.own().end(), kNothing);
    for (std::size_t i = 0; i < records(); ++i) {
        check_interrupts();
        reserve(1, classes());
        insert_into_tree(static_cast<std::int32_t>(i));
    }
    assemble(shapes());
}

std::vector<TreeShape> Forest::shapes() const {
    std::vector<TreeShape> trees(classes());
    for (std::size_t c = 0; c < classes(); ++c) {
        if (class_root_[c] < 0) continue;
        std::vector<std::int32_t> queue{class_root_[c]};
        for (std::size_t next = 0; next < queue.size(); ++next) {
            for (const std::int32_t child : children(static_cast<std::size_t>(queue[next]))) {
                trees[c].entry.push_back(child < 0 ? child : static_cast<std::int32_t>(queue.size()));
                if (child >= 0) queue.push_back(child);
            }
            trees[c].first_entry.push_back(static_cast<std::int32_t>(trees[c].entry.size()));
        }
    }
    return trees;
}

void Forest::add_features(std::size_t dimensions) {
    if (dimensions <= dimensions_) return;
    const auto trees = shapes();
    std::vector<double> wider(records() * dimensions, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < records(); ++i)
        std::copy_n(points_.data() + i * dimensions_, dimensions_, wider.data() + i * dimensions);
    points_ = Column<double>(wider);
    shift_.own().resize(dimensions, 0.0);
    scale_.own().resize(dimensions, 1.0);
    dimensions_ = dimensions;
    reserved_ = {};
    root_model_ = {};
    measure();
    assemble(trees);
}

Forest Forest::merged(std::span<const Forest* const> parts, std::span<const std::vector<std::int32_t>> class_maps,
                      std::size_t class_total) {
    Forest whole(parts[0]->settings(), parts[0]->dimensions());
    std::vector<std::vector<TreeShape>> trees(class_total);
    std::vector<std::vector<std::int32_t>> only_record(class_total);
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const auto first_record = static_cast<std::int32_t>(whole.records());
        auto& points = whole.points_.own();
        points.append(parts[p]->points_.view().begin(), parts[p]->points_.view().end());
        for (const std::int32_t c : parts[p]->point_class_.view())
            whole.point_class_.own().push_back(class_maps[p][static_cast<std::size_t>(c)]);
        auto shapes = parts[p]->shapes();
        for (std::size_t c = 0; c < shapes.size(); ++c) {
            const std::int32_t root = parts[p]->class_root_[c];
            if (root == kNothing) continue;
            for (auto& entry : shapes[c].entry)
                if (entry < 0) entry = ~(~entry + first_record);
            const auto into = static_cast<std::size_t>(class_maps[p][c]);
            trees[into].push_back(std::move(shapes[c]));
            only_record[into].push_back(root < 0 ? ~root + first_record : 0);
        }
    }
    whole.class_count_.own().assign(class_total, 0);
    whole.learned_.own()[0] = static_cast<std::int64_t>(whole.records());
    whole.measure();
    std::vector<TreeShape> joined;
    for (std::size_t c = 0; c < class_total; ++c)
        joined.push_back(join(trees[c], only_record[c], static_cast<std::size_t>(whole.settings_.fanout)));
    whole.assemble(joined);
    return whole;
}

void Forest::check_sizes() const {
    const std::size_t d = dimensions_, n = records(), m = classes(), k = nodes();
    const auto expect = [](const char* name, std::size_t size, std::size_t expected) {
        require(size == expected, [&] {
            return std::string(std::string("the array '") + name + "' has " + std::to_string(size) +
                               " values, expected " + std::to_string(expected));
        });
    };
    require(n <= std::numeric_limits<std::int32_t>::max() && k <= std::numeric_limits<std::int32_t>::max(),
            [&] { return std::string("it has too many records or nodes"); });
    expect("points", points_.size(), n * d);
    expect("shift", shift_.size(), d);
    expect("scale", scale_.size(), d);
    expect("class_observed", class_observed_.size(), m * d);
    expect("class_mean", class_mean_.size(), m * d);
    expect("class_scatter", class_scatter_.size(), m * d);
    expect("class_root", class_root_.size(), m);
    for (const auto& [name, column] : {std::pair{"observed", &observed_},
                                       {"mean", &mean_},
                                       {"scatter", &scatter_},
                                       {"low", &low_},
                                       {"high", &high_},
                                       {"spread", &spread_}})
        expect(name, column->size(), d);
    expect("class_low", class_low_.size(), range_rows() * d);
    expect("class_high", class_high_.size(), range_rows() * d);
    expect("kernel_precision", kernel_precision_.size(), kernel_rows() * d);
    expect("kernel_log2_norm", kernel_log2_norm_.size(), kernel_rows());
    expect("root_blob", root_blob_.size(), root_floats());
    expect("node_class", node_class_.size(), k);
    expect("node_count", node_count_.size(), k);
    expect("node_mean", node_mean_.size(), k * d);
    expect("node_scatter", node_scatter_.size(), k * d);
    expect("node_box", node_box_.size(), 2 * k * d);
    expect("assembled_at", assembled_at_.size(), 1);
    expect("learned", learned_.size(), 2);
    expect("refreshed", refreshed_.size(), 2);
    expect("free_runs", free_runs_.size(), kRunSizes);
    check_window();
    const char* const covariance_flaw = covariance_.flaw(k, d, covariance_values(d, block_limit()));
    require(covariance_flaw == nullptr, [&] { return std::string(covariance_flaw); });
    const char* const root_model_flaw = root_model_.flaw(m, d);
    require(root_model_flaw == nullptr, [&] { return std::string(root_model_flaw); });
    for (std::size_t j = 0; j < d; ++j)
        require(scale_[j] > 0.0 && std::isfinite(scale_[j]) && std::isfinite(shift_[j]) && spread_[j] > 0.0, [&] {
            return std::string("the scale of feature " + std::to_string(j) + " is " + std::to_string(scale_[j]));
        });
}

void Forest::check_window() const {
    const auto n = static_cast<std::int64_t>(records());
    const std::int64_t window = settings_.window, since = learned() - learned_[1];
    require(window == 0 ? learned() == n : n == std::min(learned(), window),
            [&] { return std::string("it has another number of records than it learned"); });
    require(learned_[1] >= 0 && since >= 0 && (since == 0 || (window > 0 && next_visit() >= learned() - n)),
            [&] { return std::string("its moments were measured in another order"); });
}

void Forest::check_heads() const {
    for (std::size_t i = 0; i < nodes(); ++i) {
        const NodeHead head(head_[i]);
        const std::size_t lanes = head.lanes();
        require(lanes == 4 || (lanes > 0 && lanes % 8 == 0 && lanes <= kMaxFanout),
                [&] { return std::string("node " + std::to_string(i) + " has " + std::to_string(lanes) + " lanes"); });
        require(head.entries() >= 2 && head.entries() <= lanes, [&] {
            return std::string("node " + std::to_string(i) + " has " + std::to_string(head.entries()) + " entries");
        });
        require(head.offset() <= blob_.size() && head.floats(dimensions_) <= blob_.size() - head.offset(),
                [&] { return std::string("node " + std::to_string(i) + " lies outside the array of nodes"); });
    }
    for (std::size_t c = 0; c < classes(); ++c) {
        const std::int32_t root = class_root_[c];
        require(root == kNothing ||
                    (root < 0 ? static_cast<std::size_t>(~root) < records() : static_cast<std::size_t>(root) < nodes()),
                [&] { return std::string("class " + std::to_string(c) + " has the root " + std::to_string(root)); });
        require(roots(c / kRootBlock).child(c % kRootBlock) == root,
                [&] { return std::string("the root table and class " + std::to_string(c) + " name different roots"); });
    }
}

void Forest::check() const {
    check_heads();
    for (std::size_t i = 0; i < records(); ++i)
        require(point_class_[i] >= 0 && static_cast<std::size_t>(point_class_[i]) < classes(), [&] {
            return std::string("record " + std::to_string(i) + " is of class " + std::to_string(point_class_[i]));
        });
    std::vector<std::int64_t> per_class(classes(), 0);
    std::vector<bool> node_seen(nodes(), false), record_seen(records(), false);
    for (std::size_t c = 0; c < classes(); ++c) {
        std::vector<std::int32_t> stack;
        if (class_root_[c] != kNothing) stack.push_back(class_root_[c]);
        while (!stack.empty()) {
            const std::int32_t entry = stack.back();
            stack.pop_back();
            const auto i = static_cast<std::size_t>(entry < 0 ? ~entry : entry);
            auto& seen = entry < 0 ? record_seen : node_seen;
            require(i < seen.size(), [&] { return std::string("an entry points to " + std::to_string(entry)); });
            require(!seen[i], [&] {
                return std::string((entry < 0 ? "record " : "node ") + std::to_string(i) + " occurs in two places");
            });
            seen[i] = true;
            if (entry < 0) {
                require(static_cast<std::size_t>(point_class_[i]) == c, [&] {
                    return std::string("record " + std::to_string(i) + " is in the tree of another class");
                });
                ++per_class[c];
            } else {
                require(static_cast<std::size_t>(node_class_[i]) == c,
                        [&] { return std::string("node " + std::to_string(i) + " is in the tree of another class"); });
                require(node_count_[i] >= 2 && static_cast<std::uint64_t>(node_count_[i]) <= records(), [&] {
                    return std::string("node " + std::to_string(i) + " counts " + std::to_string(node_count_[i]) +
                                       " records");
                });
                for (const std::int32_t child : children(i)) stack.push_back(child);
            }
        }
        require(per_class[c] == class_count_[c], [&] {
            return std::string("class " + std::to_string(c) + " counts " + std::to_string(class_count_[c]) +
                               " records, but " + std::to_string(per_class[c]) + " are in its tree");
        });
    }
    require(std::find(record_seen.begin(), record_seen.end(), false) == record_seen.end(),
            [&] { return std::string("a record is in no tree"); });
    require(std::find(node_seen.begin(), node_seen.end(), false) == node_seen.end(),
            [&] { return std::string("a node is in no tree"); });
    check_boxes();
    check_free_runs();
}

void Forest::check_free_runs() const {
    std::size_t left = blob_.size() / 8;  // a run is no shorter
    for (std::size_t size = 0; size < kRunSizes; ++size) {
        const std::size_t floats = run_form(size).floats(dimensions_);
        std::int64_t offset = free_runs_[size];
        while (offset != -1) {
            require(offset >= 0 && offset % 4 == 0 && static_cast<std::size_t>(offset) <= blob_.size() &&
                        floats <= blob_.size() - static_cast<std::size_t>(offset) && left-- > 0,
                    [&] { return std::string("its list of free nodes is wrong"); });
            std::memcpy(&offset, blob_.data() + offset, sizeof offset);
        }
    }
}

void Forest::check_boxes() const {
    const std::size_t d = dimensions_;
    std::vector<double> z(d), unknown(d);
    std::vector<float> centre(d);
    for (std::size_t i = 0; i < nodes(); ++i) {
        const float* box = node_box(i);
        if (std::isnan(box[0])) continue;  // no bounds
        for (const std::int32_t child : children(i)) {
            const float* low = child >= 0 ? node_box(static_cast<std::size_t>(child)) : centre.data();
            const float* high = child >= 0 ? low + d : low;
            if (child < 0) {
                record_in_z(~child, z, unknown);
                std::copy(z.begin(), z.end(), centre.begin());
            }
            bool holds = child >= 0 || complete(~child);
            for (std::size_t j = 0; j < d; ++j) holds &= box[j] <= low[j] && high[j] <= box[d + j];
            require(holds, [&] { return "the box of node " + std::to_string(i) + " does not hold its entries"; });
        }
    }
}

std::size_t Forest::own_bytes() const {
    return sizeof(Forest) + column_bytes(*this) + raw_boxes_.corners.capacity() * sizeof(double);
}

NamedColumns Forest::columns() {
    NamedColumns all{{"points", &points_},
                     {"point_class", &point_class_},
                     {"shift", &shift_},
                     {"scale", &scale_},
                     {"observed", &observed_},
                     {"mean", &mean_},
                     {"scatter", &scatter_},
                     {"low", &low_},
                     {"high", &high_},
                     {"spread", &spread_},
                     {"class_count", &class_count_},
                     {"class_observed", &class_observed_},
                     {"class_mean", &class_mean_},
                     {"class_scatter", &class_scatter_},
                     {"class_low", &class_low_},
                     {"class_high", &class_high_},
                     {"class_root", &class_root_},
                     {"kernel_precision", &kernel_precision_},
                     {"kernel_log2_norm", &kernel_log2_norm_},
                     {"root_blob", &root_blob_},
                     {"blob", &blob_},
                     {"head", &head_},
                     {"node_class", &node_class_},
                     {"node_count", &node_count_},
                     {"node_mean", &node_mean_},
                     {"node_scatter", &node_scatter_},
                     {"node_box", &node_box_},
                     {"assembled_at", &assembled_at_},
                     {"learned", &learned_},
                     {"refreshed", &refreshed_},
                     {"free_runs", &free_runs_}};
    for (const NamedColumns& more : {covariance_.columns(), root_model_.columns()})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

TreeEntries Forest::entries() const {
    TreeEntries all;
    all.first.reserve(nodes() + 1);
    all.first.push_back(0);
    for (std::size_t i = 0; i < nodes(); ++i) {
        const NodeView view = node(i);
        const auto offset = static_cast<std::int64_t>(view.child_bits - blob_.data());
        for (std::size_t lane = 0; lane < view.entries; ++lane) {
            all.node.push_back(static_cast<std::int32_t>(i));
            all.child.push_back(view.child(lane));
            all.offset.push_back(offset + static_cast<std::int64_t>(lane));
        }
        all.first.push_back(static_cast<std::int64_t>(all.node.size()));
    }
    return all;
}

}  // namespace anystream::bayes_tree
