#include "anystream/forest/forest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "anystream/damaged_model.hpp"

namespace anystream::forest {

namespace {

constexpr const char* kPart = "a tree";
constexpr double kUnits = 1 << 30;  // the largest value in units of bounds
constexpr std::uint32_t kMaxDepth = (1u << 15) - 1;

void require_sizes(const EnsembleView& e) {
    const std::size_t nodes = e.feature.size(), trees = e.output.size();
    require_intact(trees > 0 && nodes > 0 && nodes < (std::size_t{1} << 31), kPart, "there are no or too many nodes");
    require_intact(e.first_node.size() == trees + 1 && e.threshold.size() == nodes && e.left.size() == nodes &&
                       e.missing_left.size() == nodes && e.zero_missing.size() == nodes &&
                       e.category_set.size() == nodes && e.value.size() == nodes * e.width,
                   kPart, "its arrays have different lengths");
    require_intact(!e.base.empty() && (e.width == 1 || e.width == e.base.size()), kPart, "its values have no output");
    require_intact(!e.first_word.empty() && e.first_word[0] == 0 &&
                       e.first_word.back() == static_cast<std::int64_t>(e.category_words.size()) &&
                       std::is_sorted(e.first_word.begin(), e.first_word.end()),
                   kPart, "its sets of categories do not lie one after another");
    require_intact(e.classes >= 1 && e.base.size() == (e.link.kind == LinkKind::sigmoid ? 1 : e.classes) &&
                       (e.link.kind != LinkKind::sigmoid || e.classes == 2),
                   kPart, "its outputs are not those of its classes");
    if (e.features > Node::kFeature) throw std::invalid_argument("there are more than 2^29 - 1 features; use fewer");
}

}  // namespace

Forest::Forest(const EnsembleView& ensemble, const ReadingView& reading)
    : base_(ensemble.base.begin(), ensemble.base.end()),
      first_word_(ensemble.first_word.begin(), ensemble.first_word.end()),
      words_(ensemble.category_words.begin(), ensemble.category_words.end()),
      divisor_(ensemble.divisor),
      min_category_(ensemble.min_category),
      link_(ensemble.link),
      features_(ensemble.features),
      classes_(ensemble.classes),
      single_records_(ensemble.single_records),
      single_sums_(ensemble.single_sums),
      accepts_missing_(ensemble.accepts_missing) {
    require_sizes(ensemble);
    copy_nodes(ensemble);
    copy_codes(ensemble);
    add_entries(ensemble);
    bound_rounding();
    copy_order(reading.order);
    small_.pack(nodes_, root_, features_, single_records_);
    for (const std::int32_t root : root_) leaf_root_.push_back(is_leaf(root));
    for (const std::int32_t root : root_)
        unread_root_.push_back(link_.kind == LinkKind::mean && !is_leaf(root) ? root : -1);
    if (link_.kind == LinkKind::mean)
        for (const std::int32_t root : root_) {
            double& weight = weight_.emplace_back(0.0);
            for (std::size_t j = 0; j < ensemble.width; ++j)
                weight += ensemble.value[static_cast<std::size_t>(root) * ensemble.width + j];
        }
    copy_rules(ensemble, reading);
    find_sequence();
    require_intact(stop_margin_.empty() || reads_whole_trees() || split_trees_ == 0, "the stop",
                   "the order does not read whole trees");
    add_start(ensemble);
}

void Forest::copy_nodes(const EnsembleView& e) {
    const std::size_t size = e.feature.size();
    const auto sets = static_cast<std::int64_t>(e.first_word.size()) - 1;
    nodes_.resize(size);
    payload_.resize(size);
    root_.resize(e.output.size());
    for (std::size_t t = 0; t < root_.size(); ++t) {
        const std::int64_t first = e.first_node[t], last = e.first_node[t + 1];
        require_intact(first >= 0 && first < last && last <= static_cast<std::int64_t>(size) && (t > 0 || first == 0) &&
                           (t + 1 < root_.size() || last == static_cast<std::int64_t>(size)),
                       kPart, "it does not follow the tree before");
        root_[t] = static_cast<std::int32_t>(first);
        payload_[static_cast<std::size_t>(first)].depth = 0;
        require_intact(e.width > 1 || e.base.size() == 1 ||
                           (e.output[t] >= 0 && static_cast<std::size_t>(e.output[t]) < e.base.size()),
                       kPart, "it has no output");
        for (std::int64_t i = first; i < last; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const std::int64_t left = e.left[at], set = e.category_set[at];
            if (left < 0) {
                nodes_[at] = {std::numeric_limits<double>::infinity(), Node::kMissingLeft,
                              static_cast<std::int32_t>(i)};
                continue;
            }
            require_intact(left > i && left + 1 < last, kPart, "a child is outside of it or before its parent");
            require_intact(e.feature[at] >= 0 && static_cast<std::size_t>(e.feature[at]) < features_ && set < sets,
                           kPart, "a feature or a set of categories does not exist");
            const std::uint32_t depth = payload_[at].depth;
            require_intact(depth < kMaxDepth, kPart, "it is too deep");
            payload_[static_cast<std::size_t>(left)].depth = (depth + 1) & kMaxDepth;
            payload_[static_cast<std::size_t>(left) + 1].depth = (depth + 1) & kMaxDepth;
            nodes_[at].threshold = set >= 0 ? static_cast<double>(set) : e.threshold[at];
            nodes_[at].feature =
                static_cast<std::uint32_t>(e.feature[at]) | (e.missing_left[at] != 0 ? Node::kMissingLeft : 0u) |
                (e.zero_missing[at] != 0 ? Node::kZeroMissing : 0u) | (set >= 0 ? Node::kCategories : 0u);
            nodes_[at].left = static_cast<std::int32_t>(left);
            plain_ = plain_ && set < 0 && e.zero_missing[at] == 0;
        }
        split_trees_ += !is_leaf(root_[t]);
    }
}

void Forest::copy_codes(const EnsembleView& e) {
    std::vector<std::uint32_t> categorical;
    for (const Node& node : nodes_)
        if ((node.feature & Node::kCategories) != 0) categorical.push_back(node.feature & Node::kFeature);
    std::sort(categorical.begin(), categorical.end());
    categorical.erase(std::unique(categorical.begin(), categorical.end()), categorical.end());
    code_value_.assign(e.code_value.begin(), e.code_value.end());
    code_.assign(e.code.begin(), e.code.end());
    require_intact(e.first_code.size() == e.coded_feature.size() + 1 && code_.size() == code_value_.size() &&
                       e.first_code.front() == 0 && e.first_code.back() == static_cast<std::int64_t>(code_.size()) &&
                       std::is_sorted(e.first_code.begin(), e.first_code.end()),
                   kPart, "its lists of categories do not lie one after another");
    for (const std::uint32_t feature : categorical) {
        const auto found = std::find(e.coded_feature.begin(), e.coded_feature.end(), feature);
        if (found == e.coded_feature.end()) {
            codes_.push_back({feature, -1, -1});
            continue;
        }
        const auto place = static_cast<std::size_t>(found - e.coded_feature.begin());
        codes_.push_back({feature, e.first_code[place], e.first_code[place + 1]});
        require_intact(
            std::is_sorted(code_value_.begin() + e.first_code[place], code_value_.begin() + e.first_code[place + 1]),
            kPart, "its categories are not sorted");
    }
}

/// From the last node to the first: a split has the outputs of both children.
void Forest::add_entries(const EnsembleView& e) {
    double largest = 0.0;
    for (const double value : e.value) {
        require_intact(std::isfinite(value), kPart, "a value is not finite");
        largest = std::max(largest, std::abs(value));
    }
    const double per_value = largest > 0.0 ? kUnits / largest : 1.0;
    unit_ = largest > 0.0 ? largest / kUnits : 1.0;
    const auto least_of = [&](double value) { return static_cast<std::int32_t>(std::floor(value * per_value)) - 1; };
    const auto most_of = [&](double value) { return static_cast<std::int32_t>(std::ceil(value * per_value)) + 1; };
    std::size_t tree = trees();
    std::vector<Entry> found;
    for (std::size_t at = nodes_.size(); at-- > 0;) {
        while (tree == trees() || static_cast<std::size_t>(root_[tree]) > at) --tree;
        found.clear();
        const std::uint32_t only = e.output[tree] < 0 ? 0u : static_cast<std::uint32_t>(e.output[tree]);
        const auto value_of = [&](std::uint32_t j) { return e.value[at * e.width + (e.width == 1 ? 0 : j)]; };
        if (is_leaf(static_cast<std::int32_t>(at))) {
            for (std::uint32_t j = 0; j < e.width; ++j)
                if (const double value = value_of(j); value != 0.0)
                    found.push_back({value, least_of(value), most_of(value), e.width == 1 ? only : j});
        } else {
            const auto left = static_cast<std::size_t>(nodes_[at].left);
            const auto a = entries_of(payload_[left]), b = entries_of(payload_[left + 1]);
            for (std::size_t i = 0, k = 0; i < a.size() || k < b.size();) {
                constexpr std::uint32_t kNone = ~0u;
                const std::uint32_t in_a = i < a.size() ? a[i].output : kNone;
                const std::uint32_t in_b = k < b.size() ? b[k].output : kNone;
                const std::uint32_t j = std::min(in_a, in_b);
                const double value = value_of(j);
                Entry entry{value, std::min(least_of(value), 0), std::max(most_of(value), 0), j};
                if (in_a == in_b) entry = {value, least_of(value), most_of(value), j};
                if (in_a == j) {
                    entry.least = std::min(entry.least, a[i].least);
                    entry.most = std::max(entry.most, a[i].most);
                    ++i;
                }
                if (in_b == j) {
                    entry.least = std::min(entry.least, b[k].least);
                    entry.most = std::max(entry.most, b[k].most);
                    ++k;
                }
                found.push_back(entry);
            }
        }
        payload_[at].count = static_cast<std::uint32_t>(found.size()) & ((1u << 17) - 1);
        payload_[at].first = static_cast<std::uint32_t>(entries_.size());
        if (found.size() == 1)
            payload_[at].only = found.front();
        else
            entries_.insert(entries_.end(), found.begin(), found.end());
        if (entries_.size() > std::numeric_limits<std::uint32_t>::max())
            throw std::invalid_argument("the trees have more than 2^32 values; use fewer trees or classes");
    }
    entries_.shrink_to_fit();
    for (const std::int32_t root : root_) top_.push_back(payload_[static_cast<std::size_t>(root)]);
}

/// A sum of n numbers, added one after another and then divided, differs from the exact one by at most (n + 1) u times
/// the sum of their magnitudes, where u is half of the distance from 1 to the next number; numbers that are rounded
/// before add one u more. Twice of that is assumed here.
void Forest::bound_rounding() {
    error_.resize(outputs());
    for (std::size_t j = 0; j < outputs(); ++j) error_[j] = std::abs(base_[j]);
    std::vector<double> largest(outputs(), 0.0);
    std::size_t tree = 0;
    const auto flush = [&] {
        for (std::size_t j = 0; j < outputs(); ++j) error_[j] += std::exchange(largest[j], 0.0);
    };
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
        if (tree + 1 < trees() && static_cast<std::size_t>(root_[tree + 1]) == at) {
            flush();
            ++tree;
        }
        for (const Entry& entry : entries_of(payload_[at]))
            largest[entry.output] = std::max(largest[entry.output], std::abs(entry.value));
    }
    flush();
    const double u = single_sums_ ? 0x1p-24 : 0x1p-53;
    separation_ = 32.0 * u * *std::max_element(error_.begin(), error_.end());
    const double errors = (static_cast<double>(trees()) + 4.0) * u;
    for (double& each : error_) each = errors < 0.25 ? each * 2.0 * errors : std::numeric_limits<double>::infinity();
}

void Forest::copy_order(std::span<const std::int32_t> order) {
    std::vector<std::uint32_t> left(trees(), 0);
    for (std::size_t t = 0; t < trees(); ++t) {
        const auto last = t + 1 < trees() ? static_cast<std::size_t>(root_[t + 1]) : nodes_.size();
        for (auto at = static_cast<std::size_t>(root_[t]); at < last; ++at)
            left[t] = std::max<std::uint32_t>(left[t], payload_[at].depth);
    }
    for (const std::int32_t tree : order) {
        require_intact(tree >= 0 && static_cast<std::size_t>(tree) < trees(), "the order", "it has an unknown tree");
        require_intact(left[static_cast<std::size_t>(tree)]-- > 0, "the order", "it has a tree too often");
    }
    for (const std::uint32_t levels : left) require_intact(levels == 0, "the order", "it does not reach all leaves");
    order_.assign(order.begin(), order.end());
}

/// Fills the sequence if every tree is read to its leaf before the next is begun.
void Forest::find_sequence() {
    std::vector<std::uint8_t> seen(trees(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i) {
        if (i > 0 && order_[i] == order_[i - 1]) continue;
        if (std::exchange(seen[static_cast<std::size_t>(order_[i])], std::uint8_t{1}) != 0) return sequence_.clear();
        sequence_.push_back(order_[i]);
    }
    sequence_.shrink_to_fit();
}

void Forest::copy_rules(const EnsembleView& e, const ReadingView& reading) {
    constexpr const char* kOrder = "the order of a record";
    const auto finite = [](double value) { return std::isfinite(value); };
    expected_.assign(reading.expected.begin(), reading.expected.end());
    stop_margin_.assign(reading.stop_margin.begin(), reading.stop_margin.end());
    if (!stop_margin_.empty()) {
        require_intact(stop_margin_.size() == trees() + 1, "the stop",
                       "it has not one margin for every number of trees");
        require_intact(std::all_of(stop_margin_.begin(), stop_margin_.end(), [](double each) { return each >= 0.0; }),
                       "the stop", "a margin is negative or no number");
    }
    if (expected_.empty()) return;
    require_intact(e.width == 1 && outputs() > 1 && link_.kind != LinkKind::mean, kOrder,
                   "its trees do not add to one class each");
    require_intact(std::all_of(expected_.begin(), expected_.end(), finite), kOrder, "a sum is not finite");
    first_of_output_.assign(outputs() + 1, 0);
    for (const std::int32_t output : e.output) ++first_of_output_[static_cast<std::size_t>(output) + 1];
    for (std::size_t j = 0; j < outputs(); ++j) {
        require_intact(first_of_output_[j + 1] < expected_.size(), kOrder,
                       "it has not one sum for every tree of a class");
        first_of_output_[j + 1] += first_of_output_[j];
    }
    tree_output_.assign(e.output.begin(), e.output.end());
    output_trees_.resize(trees());
    std::vector<std::size_t> next(first_of_output_.begin(), first_of_output_.end() - 1);
    for (std::size_t t = 0; t < trees(); ++t)
        output_trees_[next[static_cast<std::size_t>(e.output[t])]++] = static_cast<std::int32_t>(t);
}

/// What queries start with, and the bounds of what they have not read.
void Forest::add_start(const EnsembleView& e) {
    constexpr std::size_t kChecks = 16;  // of a record
    const bool averages = e.link.kind == LinkKind::mean;
    check_interval_ = std::max<std::size_t>(1, split_trees_ / kChecks);
    in_tree_order_ =
        split_trees_ == trees() && reads_whole_trees() && std::is_sorted(sequence_.begin(), sequence_.end());
    for (const double base : base_) start_tallies_.push_back({rounded(base), 0.0, 0, 0});
    Bounds left;
    left.reset(outputs());
    for (std::size_t t = 0; t < trees(); ++t) {
        const bool leaf = leaf_root_[t] != 0;
        for (const Entry& entry : entries_of(top_[t])) {
            Tally& tally = start_tallies_[entry.output];
            if (leaf)
                tally.leaves = rounded(tally.leaves + rounded(entry.value));
            else if (!averages)
                tally.roots = rounded(tally.roots + rounded(entry.value));
            if (leaf || !averages) {
                tally.least += entry.least;
                tally.most += entry.most;
            } else {
                left.least[entry.output] += entry.least;
                left.most[entry.output] += entry.most;
            }
        }
        if (leaf) start_weight_ += weight(t);
    }
    if (!averages) return;
    root_sums_ = base_;
    for (const std::int32_t root : root_) add(root, root_sums_.data());
    for (std::size_t place = 0; place <= sequence_.size(); ++place) {
        if (place % check_interval_ == 0) bounds_after_.push_back(left);
        if (place < sequence_.size())
            add_bounds(root_[static_cast<std::size_t>(sequence_[place])], [&](auto output, auto least, auto most) {
                left.least[output] -= least;
                left.most[output] -= most;
            });
    }
}

bool Forest::suffices(std::int64_t steps) const noexcept {
    constexpr auto kUnlimited = std::numeric_limits<std::int64_t>::max();
    return steps >= (stop_margin_.empty() ? max_steps() : kUnlimited);
}

std::size_t Forest::own_bytes() const noexcept {
    return sizeof *this + nodes_.size() * (sizeof(Node) + sizeof(Payload)) + small_.own_bytes() +
           top_.size() * sizeof(Payload) + entries_.size() * sizeof(Entry) +
           (root_.size() + order_.size() + sequence_.size() + output_trees_.size() + words_.size()) * 4 +
           (base_.size() + error_.size() + first_word_.size() + code_value_.size() + code_.size() + expected_.size() +
            stop_margin_.size() + outputs() * (2 * bounds_after_.size() + 5)) *
               8;
}

void Forest::encode(std::span<const double> record, double* out) const noexcept {
    if (single_records_)
        for (std::size_t j = 0; j < record.size(); ++j) out[j] = static_cast<double>(static_cast<float>(record[j]));
    else
        std::copy(record.begin(), record.end(), out);
    for (const Codes& codes : codes_) {
        double& value = out[codes.feature];
        if (std::isnan(value)) continue;
        if (codes.first < 0) {
            constexpr double kMaxCategory = 0x1p31;
            value = value >= min_category_ && value < kMaxCategory ? std::trunc(value) + 0.0 : -1.0;
            continue;
        }
        const double wanted = record[codes.feature];
        const auto begin = code_value_.begin() + codes.first, end = code_value_.begin() + codes.last;
        const auto found = std::lower_bound(begin, end, wanted);
        value = found != end && *found == wanted
                    ? static_cast<double>(code_[static_cast<std::size_t>(found - code_value_.begin())])
                    : -1.0;
    }
}

namespace {

/// The child of a split on a number; a leaf itself.
template <bool kMissing>
inline std::int32_t child_by_number(const Node& node, const double* x) noexcept {
    const double value = x[node.feature & Node::kFeature];
    unsigned right = !(value <= node.threshold);
    if constexpr (kMissing) right &= ~(static_cast<unsigned>(value != value) & (node.feature >> 31));
    return node.left + static_cast<std::int32_t>(right);
}

template <bool kMissing, std::size_t kLanes>
void find_leaves_by_number(const Node* all, std::int32_t* nodes, const double* x, std::size_t stride) noexcept {
    std::int32_t at[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) at[i] = nodes[i];
    for (std::uint32_t moved = 1; moved != 0;) {
        moved = 0;
        for (std::size_t i = 0; i < kLanes; ++i) {
            const std::int32_t next = child_by_number<kMissing>(all[at[i]], x + i * stride);
            moved |= static_cast<std::uint32_t>(next) ^ static_cast<std::uint32_t>(at[i]);
            at[i] = next;
        }
    }
    for (std::size_t i = 0; i < kLanes; ++i) nodes[i] = at[i];
}

}  // namespace

void Forest::find_leaves(std::int32_t* nodes, std::size_t count, const double* x, std::size_t stride,
                         bool missing) const noexcept {
    constexpr std::size_t kLanes = 8;
    std::size_t i = 0;
    if (plain_)
        for (; i + kLanes <= count; i += kLanes) {
            if (missing)
                find_leaves_by_number<true, kLanes>(nodes_.data(), nodes + i, x + i * stride, stride);
            else
                find_leaves_by_number<false, kLanes>(nodes_.data(), nodes + i, x + i * stride, stride);
        }
    for (; i < count; ++i)
        while (!is_leaf(nodes[i])) nodes[i] = child(nodes[i], x + i * stride);
}

template <typename T>
void Forest::scores(std::span<const std::int32_t> nodes, T* out) const noexcept {
    start(out);
    for (std::size_t t = 0; t < nodes.size(); ++t)  // the memory of all nodes is fetched at once
        if (!is_unread(t, nodes[t])) __builtin_prefetch(&payload_[static_cast<std::size_t>(nodes[t])]);
    double weight = 0.0;
    std::size_t read = 0;
    for (std::size_t t = 0; t < nodes.size(); ++t) {
        if (is_unread(t, nodes[t])) continue;
        add(nodes[t], out);
        if (!weight_.empty()) weight += weight_[t];
        ++read;
    }
    double divisor = divisor_;
    if (read == 0)
        for (const std::int32_t node : nodes) add(node, out);
    else if (read < nodes.size())
        divisor = weight;
    for (std::size_t j = 0; j < outputs(); ++j) out[j] /= static_cast<T>(divisor);
}

void Forest::posterior(std::span<const std::int32_t> nodes, Scratch& scratch, std::span<double> out) const {
    if (single_sums_) {
        scratch.single.resize(outputs());
        scores(nodes, scratch.single.data());
        probabilities<float>(link_, scratch.single, out);
    } else {
        scratch.low.resize(outputs());
        scores(nodes, scratch.low.data());
        probabilities<double>(link_, scratch.low, out);
    }
}

template <typename T>
void Forest::scores_of(std::span<const Tally> tallies, double weight, std::int64_t tree, std::int32_t node,
                       bool finished, std::vector<T>& out) const {
    const bool averages = link_.kind == LinkKind::mean;
    out.resize(outputs());
    for (std::size_t j = 0; j < outputs(); ++j)
        out[j] = static_cast<T>(finished || averages ? tallies[j].leaves : tallies[j].sum());
    const bool begun = tree >= 0 && node != root_[static_cast<std::size_t>(tree)];
    double divisor = divisor_;
    if (begun) {
        add(node, out.data());
        if (averages) weight += weight_[static_cast<std::size_t>(tree)];
        if (!averages)
            for (const Entry& entry : entries_of(top_[static_cast<std::size_t>(tree)]))
                out[entry.output] -= static_cast<T>(entry.value);
    }
    if (averages && weight == 0.0)
        std::transform(root_sums_.begin(), root_sums_.end(), out.begin(), [](double v) { return static_cast<T>(v); });
    else if (averages && !finished)
        divisor = weight;
    for (T& score : out) score /= static_cast<T>(divisor);
}

void Forest::posterior(std::span<const Tally> tallies, double weight, std::int64_t tree, std::int32_t node,
                       bool finished, Scratch& scratch, std::span<double> out) const {
    if (single_sums_) {
        scores_of(tallies, weight, tree, node, finished, scratch.single);
        probabilities<float>(link_, scratch.single, out);
    } else {
        scores_of(tallies, weight, tree, node, finished, scratch.low);
        probabilities<double>(link_, scratch.low, out);
    }
}

bool Forest::certain(std::span<const Tally> tallies, const Bounds* unread, Scratch& scratch) const {
    if (link_.kind != LinkKind::mean) return decided(tallies, unread, scratch) >= 0;
    const std::int64_t label = decided(tallies, nullptr, scratch);
    return label >= 0 && decided(tallies, unread, scratch) == label;
}

/// The class that the bounds leave, -1 if there are several. Every comparison leaves a distance that survives the
/// rounding of the division and of the link.
std::int64_t Forest::decided(std::span<const Tally> tallies, const Bounds* more, Scratch& scratch) const {
    std::vector<double>&low = scratch.low, &high = scratch.high;
    low.resize(outputs());
    high.resize(outputs());
    for (std::size_t j = 0; j < outputs(); ++j) {
        const std::int64_t least = tallies[j].least + (more != nullptr ? more->least[j] : 0);
        const std::int64_t most = tallies[j].most + (more != nullptr ? more->most[j] : 0);
        low[j] = base_[j] + static_cast<double>(least) * unit_ - error_[j];
        high[j] = base_[j] + static_cast<double>(most) * unit_ + error_[j];
    }
    const double fine = divisor_ * (single_sums_ ? 0x1p-18 : 0x1p-47);  // 64 rounding errors of a score around 1
    if (link_.kind == LinkKind::sigmoid) {
        const double far = fine / link_.scale + separation_;
        return low[0] > far ? 1 : high[0] < -far ? 0 : -1;
    }
    const auto best = static_cast<std::size_t>(std::max_element(low.begin(), low.end()) - low.begin());
    const bool by_scores = link_.kind == LinkKind::mean || link_.label_from_scores;
    const double distance = by_scores ? separation_ : separation_ + fine;
    for (std::size_t j = 0; j < low.size(); ++j) {
        if (j == best) continue;
        if (!(low[best] > high[j] + distance)) return -1;
        if (by_scores || link_.kind == LinkKind::softmax) continue;
        const double factor = link_.scale / divisor_, close = single_sums_ ? 1e-5 : 1e-11;
        if (!(sigmoid<double>(factor * low[best]) > sigmoid<double>(factor * high[j]) * (1.0 + close))) return -1;
    }
    return static_cast<std::int64_t>(best);
}

template void Forest::scores<float>(std::span<const std::int32_t>, float*) const noexcept;
template void Forest::scores<double>(std::span<const std::int32_t>, double*) const noexcept;

}  // namespace anystream::forest
