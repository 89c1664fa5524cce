// One record being classified by a forest: a step moves one of its trees from a node to a child.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/anytime_query.hpp"
#include "anystream/forest/forest.hpp"
#include "anystream/stop.hpp"

namespace anystream::forest {

struct QuerySettings {
    /// Read the trees in the sequence of the forest even if every record has an order of its own: records that read the
    /// same tree at the same time take a fifth of the time for a node. Not where the lead of a class ends the work.
    bool shared_order = false;
};

/// Reusable: `open` starts a new query in the memory of the last one. One thread at a time. Every call must pass the
/// forest that `open` was given.
///
/// Sums of all trees are added in the order of the trees, as the framework does; those of some trees in the order in
/// which they were read. Work ends once the label is certain, which is tried each time that some trees have reached
/// their leaves, or once one class leads by the margin that the forest asks for; but a budget without a deadline that
/// suffices for all trees reads all of them, so that the probabilities are those of the framework.
class Query {
  public:
    using Model = Forest;
    using Settings = QuerySettings;
    static constexpr std::size_t kRecordsPerTask = 32;
    static constexpr std::int64_t kRoundSteps = 128;

    /// Every tree is at its root: after this there is an answer.
    void open(const Forest& forest, const QuerySettings& settings, std::span<const double> x);
    /// Takes at most `steps` steps, until `watch` (or nullptr) is due, which it polls every few trees. Returns how
    /// many.
    std::int64_t advance(const Forest& forest, std::int64_t steps, StopWatch* watch);
    /// Takes at most `steps` steps on each of some queries that were just opened, until `watch` (or nullptr) is due.
    /// The queries read their next trees together, so that the memory accesses of one hide those of the others.
    static void advance_together(const Forest& forest, std::span<Query> queries, std::int64_t steps, StopWatch* watch);
    /// Reads tree after tree and writes, for every number of trees from 0 to all, the lead of the first class in the
    /// running sums and its number, whatever the forest's margins are. `open` came just before; the forest reads whole
    /// trees.
    void trace(const Forest& forest, std::span<double> lead, std::span<std::int32_t> first);
    /// Adds to the number of steps that were asked for in calls without a deadline.
    void ask(std::int64_t steps) noexcept;
    /// Whether that many suffice for all trees.
    [[nodiscard]] bool asked_all(const Forest& forest) const noexcept { return forest.suffices(asked_); }

    [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
    /// Steps that calls without a deadline asked for and did not take.
    [[nodiscard]] std::int64_t open_steps() const noexcept { return asked_ > steps_ ? asked_ - steps_ : 0; }
    /// All trees are at their leaves.
    [[nodiscard]] bool exhausted() const noexcept { return open_trees_ == 0; }
    [[nodiscard]] bool certified() const noexcept { return certain_; }
    /// The work ended because one class leads by the margin; no certificate.
    [[nodiscard]] bool confident() const noexcept { return confident_ && !certain_; }

    void posterior(const Forest& forest, std::span<double> out);
    [[nodiscard]] std::size_t label(const Forest& forest);

    /// The record and the number of steps: resuming takes them again.
    [[nodiscard]] std::vector<std::byte> suspend() const;
    void resume(const Forest& forest, std::span<const std::byte> state);

  private:
    struct Lead {
        double margin;
        std::size_t first;
    };

    [[nodiscard]] bool over() const noexcept { return certain_ || confident_; }
    /// Takes steps; `checks`: looks for the end of the work. Returns their number.
    std::int64_t walk(const Forest& forest, std::int64_t steps, StopWatch* watch, bool checks);
    void walk_trees(const Forest& forest, std::int64_t end, StopWatch* watch, bool checks);
    void walk_slots(const Forest& forest, std::int64_t end, StopWatch* watch, bool checks);
    /// Moves a tree to a child, in an order that does not read whole trees; returns whether it reached the leaf.
    bool move(const Forest& forest, std::size_t tree);
    /// Goes on in the tree that is being read whole, up to step number `end`; returns whether it reached the leaf.
    bool walk_tree(const Forest& forest, std::int64_t end);
    /// Chooses the next tree that has a split.
    [[nodiscard]] std::size_t next_tree(const Forest& forest) noexcept;
    /// Sets how far a class is above what the winner is expected to have.
    void set_above(const Forest& forest, std::size_t output) noexcept;
    /// Finds the leaves of some of the next trees of the sequence at once.
    void find_leaves(const Forest& forest, std::span<const std::int32_t> trees, std::int32_t* leaves) const;
    /// Counts a whole tree with its leaf; the steps are counted by the caller.
    void finish(const Forest& forest, std::size_t tree, std::int32_t leaf);
    /// Begins a tree at its root.
    void begin(const Forest& forest, std::size_t tree) noexcept;
    /// Finds the leaves of all trees, into nodes_.
    void fill_nodes(const Forest& forest);
    /// After a tree has reached its leaf: looks whether the work is over.
    void check(const Forest& forest);
    [[nodiscard]] bool prove(const Forest& forest);
    [[nodiscard]] bool leads(const Forest& forest) const noexcept;
    [[nodiscard]] Lead lead(const Forest& forest) const noexcept;
    /// Moves every tree to its leaf; returns the number of steps.
    std::int64_t read_rest(const Forest& forest);
    template <typename X>
    static void read_trees_together(const Forest& forest, std::span<Query> queries, std::int64_t steps,
                                    StopWatch* watch);
    static void read_slots_together(const Forest& forest, std::span<Query> queries, std::int64_t steps,
                                    StopWatch* watch);

    // hot, in one or two cache lines
    std::size_t slot_ = 0;    // in the order, or in the sequence of whole trees
    std::int64_t tree_ = -1;  // that is being read to its leaf; -1: none
    std::int64_t steps_ = 0, asked_ = 0;
    std::size_t open_trees_ = 0;
    std::size_t next_try_ = 0;  // no certificate is tried before so many trees with a split are at their leaves
    double weight_ = 0.0;       // of the trees at their leaves
    std::int32_t node_ = 0;     // of the tree that is being read
    bool certain_ = false, confident_ = false, missing_ = false;
    bool own_order_ = false;               // whether the record has an order of its own
    bool has_nodes_ = false;               // whether nodes_ are up to date: if not, tallies and node_ are
    std::vector<Tally> tallies_;           // of whole trees
    std::vector<double> above_;            // see set_above; -infinity if all trees of a class were begun
    std::vector<std::uint32_t> begun_of_;  // trees begun of every class, if the record has an order of its own

    std::vector<double> record_;         // as it was given
    std::vector<double> x_;              // as splits read it
    std::vector<float> single_;          // x_, for small nodes
    std::vector<std::int32_t> nodes_;    // of every tree
    std::vector<std::uint8_t> at_leaf_;  // whether a tree is at a leaf; if the order does not read whole trees
    std::vector<double> proba_;
    Scratch scratch_;
};

}  // namespace anystream::forest
