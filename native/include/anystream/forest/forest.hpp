// An ensemble of decision trees as queries read it. Immutable: any number of threads may use it.
//
// Nodes of one tree are consecutive, the root first, the two children of a split side by side:
//
//     node     0      1     2      3     4
//     left     1      1     3      3     4     of a leaf: itself, so that a descent stays there
//     payload  entries and depth of a node
//
// A node's entries are the outputs to which it adds: its value and, in units of `unit`, the least and the most that the
// leaves below it add. Outputs to which no leaf below adds anything have none; most leaves of a random forest have one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/forest/link.hpp"
#include "anystream/forest/node.hpp"
#include "anystream/forest/small_nodes.hpp"

namespace anystream::forest {

/// Arrays of an ensemble, borrowed while a forest is built; see anystream.forest.ensemble.
struct EnsembleView {
    std::span<const std::int64_t> first_node;    // (trees + 1,)
    std::span<const std::int32_t> feature;       // (nodes,)
    std::span<const double> threshold;           // (nodes,)
    std::span<const std::int32_t> left;          // (nodes,)
    std::span<const std::uint8_t> missing_left;  // (nodes,)
    std::span<const std::uint8_t> zero_missing;  // (nodes,)
    std::span<const std::int32_t> category_set;  // (nodes,)
    std::span<const std::int64_t> first_word;    // (sets + 1,)
    std::span<const std::uint32_t> category_words;
    std::span<const double> value;  // (nodes, width)
    std::size_t width = 0;
    std::span<const std::int32_t> output;         // (trees,)
    std::span<const double> base;                 // (outputs,)
    std::span<const std::int64_t> coded_feature;  // features whose categories are listed, ascending
    std::span<const std::int64_t> first_code;     // (coded features + 1,)
    std::span<const double> code_value;           // ascending within a feature
    std::span<const std::int64_t> code;           // number of the category of each value
    double divisor = 1.0;
    double min_category = 0.0;
    Link link;
    std::size_t features = 0;
    std::size_t classes = 0;
    bool single_records = false;
    bool single_sums = false;
    bool accepts_missing = true;
};

/// How queries read the trees; borrowed while a forest is built.
struct ReadingView {
    std::span<const std::int32_t> order;  // (max_steps,): tree that each step advances
    /// Sum that the winning class is expected to have after so many of its trees. If it is not empty, every record has
    /// an order of its own, and `order` is not used.
    std::span<const double> expected;
    /// By how much the first class must lead after so many trees (trees + 1,) for the work to end; empty: never.
    std::span<const double> stop_margin;
};

/// What a node adds to one output.
struct Entry {
    double value;
    std::int32_t least, most;
    std::uint32_t output;
};

/// The entries of a node: a single one is here, several are elsewhere. Most leaves take one access to memory this way.
struct alignas(32) Payload {
    Entry only;
    std::uint32_t count : 17;
    std::uint32_t depth : 15;
    std::uint32_t first;
};

/// The least and the most that nodes add to each output, in units of the forest.
struct Bounds {
    std::vector<std::int64_t> least, most;

    void reset(std::size_t outputs) {
        least.assign(outputs, 0);
        most.assign(outputs, 0);
    }
};

/// What is known of one output when some trees were read to their leaves. If trees are averaged, the others do not
/// count; in other ensembles they count with their roots, and the bounds are those of all trees.
struct Tally {
    double leaves, roots;      // sums: of the leaves in the order of reading, and of the roots of the other trees
    std::int64_t least, most;  // in units of the forest

    [[nodiscard]] double sum() const noexcept { return leaves + roots; }
};

/// Memory of a query, which `posterior` and `certain` resize.
struct Scratch {
    std::vector<double> low, high;
    std::vector<float> single;
    std::vector<Tally> tallies;
    Bounds unread;
};

class Forest {
  public:
    /// Copies the arrays. Throws DamagedModel if one has an index out of range, std::invalid_argument if the ensemble
    /// is too large.
    Forest(const EnsembleView& ensemble, const ReadingView& reading);

    [[nodiscard]] std::size_t dimensions() const noexcept { return features_; }
    [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
    [[nodiscard]] std::size_t outputs() const noexcept { return base_.size(); }
    [[nodiscard]] std::size_t trees() const noexcept { return root_.size(); }
    [[nodiscard]] bool accepts_missing() const noexcept { return accepts_missing_; }
    [[nodiscard]] bool single_sums() const noexcept { return single_sums_; }
    [[nodiscard]] const Link& link() const noexcept { return link_; }
    [[nodiscard]] std::span<const std::int32_t> order() const noexcept { return order_; }
    /// The trees that have a split, in the order in which every record reads them, each to its leaf; empty if the order
    /// goes from tree to tree before the leaf. If every record has its own order, batches may read in this one.
    [[nodiscard]] std::span<const std::int32_t> sequence() const noexcept { return sequence_; }
    /// Whether records that have orders of their own may be read in the sequence instead: nothing that was measured in
    /// their order ends the work.
    [[nodiscard]] bool has_shared_order() const noexcept { return !sequence_.empty() && stop_margin_.empty(); }
    [[nodiscard]] std::span<const double> expected() const noexcept { return expected_; }
    [[nodiscard]] std::span<const double> stop_margin() const noexcept { return stop_margin_; }
    /// Whether a tree is read to its leaf before the next is begun.
    [[nodiscard]] bool reads_whole_trees() const noexcept { return !sequence_.empty() || !expected_.empty(); }
    /// The trees that add to an output, if every tree adds to one.
    [[nodiscard]] std::span<const std::int32_t> trees_of(std::size_t output) const noexcept {
        return std::span(output_trees_)
            .subspan(first_of_output_[output], first_of_output_[output + 1] - first_of_output_[output]);
    }
    [[nodiscard]] std::span<const std::int32_t> roots() const noexcept { return root_; }
    /// For every tree, whether its root is a leaf.
    [[nodiscard]] std::span<const std::uint8_t> leaf_roots() const noexcept { return leaf_root_; }
    /// The number of trees that have a split.
    [[nodiscard]] std::size_t split_trees() const noexcept { return split_trees_; }
    /// The most steps that a record can take.
    [[nodiscard]] std::int64_t max_steps() const noexcept { return static_cast<std::int64_t>(order_.size()); }
    /// The output to which a tree adds, if every tree adds to one and `expected` is not empty.
    [[nodiscard]] std::size_t output_of(std::size_t tree) const noexcept {
        return static_cast<std::size_t>(tree_output_[tree]);
    }
    /// Whether a budget without a deadline reads all trees: where the lead of a class may end the work, only one
    /// without a limit does.
    [[nodiscard]] bool suffices(std::int64_t steps) const noexcept;
    /// A certificate is tried each time that so many trees have reached their leaves.
    [[nodiscard]] std::size_t check_interval() const noexcept { return check_interval_; }
    /// Whether a certificate is tried when so many trees have reached their leaves: averaged trees that are unread can
    /// add as much as those that are read.
    [[nodiscard]] bool worth_trying(std::size_t finished_splits) const noexcept {
        return finished_splits % check_interval_ == 0 &&
               (link_.kind != LinkKind::mean || 2 * (finished_splits + trees() - split_trees_) >= trees());
    }
    [[nodiscard]] std::size_t own_bytes() const noexcept;

    [[nodiscard]] bool is_leaf(std::int32_t node) const noexcept {
        return nodes_[static_cast<std::size_t>(node)].left == node;
    }
    [[nodiscard]] std::uint32_t depth(std::int32_t node) const noexcept {
        return payload_[static_cast<std::size_t>(node)].depth;
    }

    /// Writes a record as splits read it: rounded, and category numbers for categories; out has max(features, 1).
    void encode(std::span<const double> record, double* out) const noexcept;
    /// The child of a split to which an encoded record goes; a leaf itself.
    [[nodiscard]] std::int32_t child(std::int32_t node, const double* x) const noexcept;
    /// Moves several nodes to leaves at once, so that the memory accesses of one hide those of the others: node i of
    /// record x + i * stride. `missing`: whether a value may be NaN.
    void find_leaves(std::int32_t* nodes, std::size_t count, const double* x, std::size_t stride,
                     bool missing) const noexcept;
    /// The nodes for records in float32; empty if some node does not fit.
    [[nodiscard]] const SmallNodes& small() const noexcept { return small_; }
    /// Fetches the memory that add_leaf needs.
    void fetch(std::span<const std::int32_t> leaves) const noexcept {
        for (const std::int32_t leaf : leaves) __builtin_prefetch(&payload_[static_cast<std::size_t>(leaf)]);
    }
    /// Fetches the memory of a tree's root, which is about to be read and then replaced by a leaf.
    void fetch_tree(std::size_t tree) const noexcept {
        __builtin_prefetch(&top_[tree]);
        if (small_.empty())
            __builtin_prefetch(&nodes_[static_cast<std::size_t>(root_[tree])]);
        else
            small_.fetch(root_[tree]);
    }
    /// Adds the values of a node to sums.
    template <typename T>
    void add(std::int32_t node, T* sums) const noexcept;
    /// The scores of the nodes of all trees, added in the order of the trees and divided; out has outputs(). If trees
    /// are averaged, those at their root are left out once another tree has left it: the trees that were read say more
    /// about the others than the class shares of all records do.
    template <typename T>
    void scores(std::span<const std::int32_t> nodes, T* out) const noexcept;
    /// Sums that were started with `start` and to which the leaves of all trees were added, as probabilities.
    template <typename T>
    void finish(T* sums, std::span<double> out) const noexcept;
    template <typename T>
    void start(T* sums) const noexcept;
    /// The probabilities that belong to these nodes.
    void posterior(std::span<const std::int32_t> nodes, Scratch& scratch, std::span<double> out) const;
    /// The tallies before the first step.
    [[nodiscard]] std::span<const Tally> start_tallies() const noexcept { return start_tallies_; }
    /// Replaces a tree's root by its leaf. Sums are rounded as the framework's are.
    void add_leaf(std::size_t tree, std::int32_t leaf, Tally* tallies) const noexcept;
    /// Sum of the weights of trees whose root is a leaf, and of a tree; 0 unless trees are averaged.
    [[nodiscard]] double start_weight() const noexcept { return start_weight_; }
    [[nodiscard]] double weight(std::size_t tree) const noexcept { return weight_.empty() ? 0.0 : weight_[tree]; }
    /// Whether the sums of all leaves, in the order of reading, are those of the framework.
    [[nodiscard]] bool in_tree_order() const noexcept { return in_tree_order_; }
    /// The probabilities that belong to tallies of trees with this `weight`, and to the node of one tree that was read
    /// in part (-1: none). `finished`: all trees are at their leaves.
    void posterior(std::span<const Tally> tallies, double weight, std::int64_t tree, std::int32_t node, bool finished,
                   Scratch& scratch, std::span<double> out) const;
    /// The bounds of the trees of the sequence after the first `place`, a multiple of the check interval; nullptr if
    /// tallies contain them.
    [[nodiscard]] const Bounds* bounds_after(std::size_t place) const noexcept {
        return link_.kind == LinkKind::mean ? &bounds_after_[place / check_interval_] : nullptr;
    }
    /// Whether a tree that is averaged is at its root, a split.
    [[nodiscard]] bool is_unread(std::size_t tree, std::int32_t node) const noexcept {
        return node == unread_root_[tree];
    }
    /// Whether one class is the label wherever the trees lead: those of the tallies, and the unread ones (or nullptr).
    /// Averaged trees that are unread do not count yet, so that both must give the same label.
    [[nodiscard]] bool certain(std::span<const Tally> tallies, const Bounds* unread, Scratch& scratch) const;
    template <typename Target>
    void add_bounds(std::int32_t node, Target&& add) const noexcept;

  private:
    struct Codes {  // the categories of a feature
        std::uint32_t feature;
        std::int64_t first, last;  // of code_value_ and code_; first == last: values are truncated
    };

    void copy_nodes(const EnsembleView& ensemble);
    void copy_codes(const EnsembleView& ensemble);
    void copy_order(std::span<const std::int32_t> order);
    void find_sequence();
    void copy_rules(const EnsembleView& ensemble, const ReadingView& reading);
    void add_start(const EnsembleView& ensemble);
    void add_entries(const EnsembleView& ensemble);
    void bound_rounding();
    [[nodiscard]] std::int64_t decided(std::span<const Tally> tallies, const Bounds* more, Scratch& scratch) const;
    template <typename T>
    void scores_of(std::span<const Tally> tallies, double weight, std::int64_t tree, std::int32_t node, bool finished,
                   std::vector<T>& out) const;
    [[nodiscard]] double rounded(double sum) const noexcept {
        return single_sums_ ? static_cast<double>(static_cast<float>(sum)) : sum;
    }
    [[nodiscard]] bool in_set(const Node& node, double number) const noexcept;
    [[nodiscard]] std::span<const Entry> entries_of(const Payload& payload) const noexcept {
        return payload.count == 1 ? std::span(&payload.only, 1)
                                  : std::span(entries_.data() + payload.first, payload.count);
    }
    [[nodiscard]] std::span<const Entry> entries_of(std::int32_t node) const noexcept {
        return entries_of(payload_[static_cast<std::size_t>(node)]);
    }

    std::vector<Node> nodes_;
    SmallNodes small_;
    std::vector<Payload> payload_;
    std::vector<Payload> top_;  // (trees,): payloads of the roots
    std::vector<Entry> entries_;
    std::vector<std::int32_t> root_;         // (trees,)
    std::vector<std::uint8_t> leaf_root_;    // (trees,)
    std::vector<std::int32_t> unread_root_;  // (trees,): -1 unless trees are averaged and the root is a split
    std::vector<std::int32_t> order_;        // tree of each slot
    std::vector<std::int32_t> sequence_;     // see sequence()
    std::vector<double> expected_, stop_margin_;
    std::vector<std::size_t> first_of_output_;  // (outputs + 1,) of output_trees_, if every tree adds to one output
    std::vector<std::int32_t> output_trees_, tree_output_;
    std::vector<Tally> start_tallies_;  // (outputs,)
    std::vector<double> root_sums_;     // (outputs,): base and the roots of all trees, if trees are averaged
    std::vector<Bounds> bounds_after_;
    std::vector<double> base_;    // (outputs,)
    std::vector<double> weight_;  // (trees,): sum of the values of a node, if trees are averaged
    std::vector<double> error_;   // (outputs,): bound of the rounding error of a sum
    std::vector<std::int64_t> first_word_;
    std::vector<std::uint32_t> words_;
    std::vector<Codes> codes_;
    std::vector<double> code_value_;
    std::vector<std::int64_t> code_;
    double divisor_, min_category_;
    double unit_ = 1.0;  // of the bounds of entries
    double start_weight_ = 0.0;
    double separation_ = 0.0;  // of sums that surely differ after the division
    Link link_;
    std::size_t features_, classes_, split_trees_ = 0, check_interval_ = 1;
    bool single_records_, single_sums_, accepts_missing_;
    bool in_tree_order_ = false;
    bool plain_ = true;  // no split on categories, none that takes zero for missing
};

inline bool Forest::in_set(const Node& node, double number) const noexcept {
    const auto set = static_cast<std::size_t>(node.threshold);
    if (!(number >= 0.0)) return false;
    const auto category = static_cast<std::int64_t>(number);
    const std::int64_t word = first_word_[set] + category / 32;
    return word < first_word_[set + 1] && (words_[static_cast<std::size_t>(word)] >> (category % 32) & 1u) != 0;
}

inline std::int32_t Forest::child(std::int32_t at, const double* x) const noexcept {
    const Node& node = nodes_[static_cast<std::size_t>(at)];
    const double value = x[node.feature & Node::kFeature];
    bool goes_left = value <= node.threshold;
    if ((node.feature & (Node::kZeroMissing | Node::kCategories)) != 0) [[unlikely]] {
        if ((node.feature & Node::kCategories) != 0)
            goes_left = in_set(node, value);
        else if (value >= -Node::kZero && value <= Node::kZero)
            goes_left = (node.feature & Node::kMissingLeft) != 0;
    }
    if (value != value) goes_left = (node.feature & Node::kMissingLeft) != 0;
    return node.left + (goes_left ? 0 : 1);
}

/// Calls add(output, least, most) for every entry of a node.
template <typename Target>
inline void Forest::add_bounds(std::int32_t node, Target&& add) const noexcept {
    for (const Entry& entry : entries_of(node)) add(entry.output, entry.least, entry.most);
}

inline void Forest::add_leaf(std::size_t tree, std::int32_t leaf, Tally* tallies) const noexcept {
    for (const Entry& entry : entries_of(leaf)) {
        Tally& tally = tallies[entry.output];
        tally.leaves = rounded(tally.leaves + rounded(entry.value));
        tally.least += entry.least;
        tally.most += entry.most;
    }
    if (link_.kind == LinkKind::mean) return;
    for (const Entry& entry : entries_of(top_[tree])) {
        Tally& tally = tallies[entry.output];
        tally.roots = rounded(tally.roots - rounded(entry.value));
        tally.least -= entry.least;
        tally.most -= entry.most;
    }
}

template <typename T>
inline void Forest::start(T* sums) const noexcept {
    for (std::size_t j = 0; j < base_.size(); ++j) sums[j] = static_cast<T>(base_[j]);
}

template <typename T>
inline void Forest::finish(T* sums, std::span<double> out) const noexcept {
    for (std::size_t j = 0; j < base_.size(); ++j) sums[j] /= static_cast<T>(divisor_);
    probabilities<T>(link_, {sums, base_.size()}, out);
}

template <typename T>
inline void Forest::add(std::int32_t node, T* sums) const noexcept {
    for (const Entry& entry : entries_of(node)) sums[entry.output] += static_cast<T>(entry.value);
}

}  // namespace anystream::forest
