#include "anystream/forest/query.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "anystream/state_bytes.hpp"

namespace anystream::forest {

namespace {
constexpr std::size_t kAhead = 8;         // trees of one record whose leaves are found at once
constexpr std::int64_t kWorthwhile = 64;  // steps: some of those trees fit into the budget

/// The place of the largest number, the first of equals. Four maxima at a time, which do not wait for each other.
[[nodiscard]] inline std::size_t first_maximum(std::span<const double> values) noexcept {
    double most[4] = {values[0], values[0], values[0], values[0]};
    std::size_t i = 0;
    for (; i + 4 <= values.size(); i += 4)
        for (std::size_t j = 0; j < 4; ++j) most[j] = values[i + j] > most[j] ? values[i + j] : most[j];
    for (; i < values.size(); ++i) most[0] = values[i] > most[0] ? values[i] : most[0];
    const double largest = std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
    for (i = 0; values[i] != largest;) ++i;
    return i;
}
}  // namespace

void Query::open(const Forest& forest, const QuerySettings& settings, std::span<const double> x) {
    record_.assign(x.begin(), x.end());
    x_.assign(std::max<std::size_t>(x.size(), 1), 0.0);
    forest.encode(x, x_.data());
    const auto is_missing = [](auto value) { return value != value; };
    if (forest.small().empty()) {
        missing_ = std::any_of(x_.begin(), x_.end(), is_missing);
    } else {
        single_.resize(x_.size());
        forest.small().encode(x_, single_.data());
        missing_ = std::any_of(single_.begin(), single_.end(), is_missing);
    }
    has_nodes_ = !forest.reads_whole_trees();
    if (has_nodes_) {
        nodes_.assign(forest.roots().begin(), forest.roots().end());
        at_leaf_.assign(forest.leaf_roots().begin(), forest.leaf_roots().end());
    }
    tallies_.assign(forest.start_tallies().begin(), forest.start_tallies().end());
    weight_ = forest.start_weight();
    own_order_ = !forest.expected().empty() && !(settings.shared_order && forest.has_shared_order());
    if (own_order_) {
        begun_of_.assign(forest.outputs(), 0);
        above_.resize(forest.outputs());
        for (std::size_t k = 0; k < above_.size(); ++k) set_above(forest, k);
    }
    slot_ = 0;
    tree_ = -1;
    open_trees_ = forest.split_trees();
    next_try_ = 0;
    steps_ = asked_ = 0;
    certain_ = open_trees_ == 0;
    confident_ = false;
}

void Query::ask(std::int64_t steps) noexcept {
    asked_ = steps > Limits::kUnlimited - asked_ ? Limits::kUnlimited : asked_ + steps;
}

std::int64_t Query::advance(const Forest& forest, std::int64_t steps, StopWatch* watch) {
    const std::int64_t end = steps > Limits::kUnlimited - steps_ ? Limits::kUnlimited : steps_ + steps;
    if (watch == nullptr && forest.suffices(std::max(end, asked_))) return read_rest(forest);
    return over() ? 0 : walk(forest, end - steps_, watch, true);
}

std::int64_t Query::walk(const Forest& forest, std::int64_t steps, StopWatch* watch, bool checks) {
    const std::int64_t before = steps_;
    const std::int64_t end = steps > Limits::kUnlimited - steps_ ? Limits::kUnlimited : steps_ + steps;
    if (forest.reads_whole_trees())
        walk_trees(forest, end, watch, checks);
    else
        walk_slots(forest, end, watch, checks);
    certain_ = certain_ || open_trees_ == 0;
    return steps_ - before;
}

void Query::walk_trees(const Forest& forest, std::int64_t end, StopWatch* watch, bool checks) {
    const auto sequence = own_order_ ? std::span<const std::int32_t>() : forest.sequence();
    std::array<std::int32_t, kAhead> leaves{};
    while (steps_ < end && open_trees_ > 0 && !over() && (watch == nullptr || !watch->due())) {
        if (tree_ < 0 && slot_ + kAhead <= sequence.size() && end - steps_ >= kWorthwhile) {
            find_leaves(forest, sequence.subspan(slot_, kAhead), leaves.data());
            forest.fetch(leaves);
            std::size_t i = 0;
            for (; i < kAhead && !over(); ++i) {
                const auto depth = static_cast<std::int64_t>(forest.depth(leaves[i]));
                if (depth > end - steps_) break;  // the budget ends within this tree
                steps_ += depth;
                finish(forest, static_cast<std::size_t>(sequence[slot_++]), leaves[i]);
                if (checks) check(forest);
            }
            if (i == kAhead || over() || steps_ == end) continue;
        }
        if (tree_ < 0) begin(forest, next_tree(forest));
        if (walk_tree(forest, end) && checks) check(forest);
    }
}

std::size_t Query::next_tree(const Forest& forest) noexcept {
    if (!own_order_) return static_cast<std::size_t>(forest.sequence()[slot_++]);
    for (;;) {  // the class that is furthest above what the winner has by then
        const std::size_t best = first_maximum(above_);
        const auto trees = forest.trees_of(best);
        const auto tree = static_cast<std::size_t>(trees[begun_of_[best]++]);
        if (forest.leaf_roots()[tree] == 0) return tree;
        set_above(forest, best);
    }
}

inline void Query::set_above(const Forest& forest, std::size_t output) noexcept {
    const std::size_t begun = begun_of_[output];
    above_[output] = begun < forest.trees_of(output).size() ? tallies_[output].sum() - forest.expected()[begun]
                                                            : -std::numeric_limits<double>::infinity();
}

inline void Query::begin(const Forest& forest, std::size_t tree) noexcept {
    tree_ = static_cast<std::int64_t>(tree);
    node_ = forest.roots()[tree];
}

bool Query::walk_tree(const Forest& forest, std::int64_t end) {
    if (!forest.small().empty())
        steps_ += forest.small().descend(node_, end - steps_, single_.data());
    else
        for (; steps_ < end && !forest.is_leaf(node_); ++steps_) node_ = forest.child(node_, x_.data());
    if (!forest.is_leaf(node_)) return false;
    finish(forest, static_cast<std::size_t>(tree_), node_);
    tree_ = -1;
    return true;
}

void Query::walk_slots(const Forest& forest, std::int64_t end, StopWatch* watch, bool checks) {
    const auto order = forest.order();
    while (steps_ < end && open_trees_ > 0 && !over() && (watch == nullptr || !watch->due())) {
        const auto tree = static_cast<std::size_t>(order[slot_++]);
        if (at_leaf_[tree] == 0 && move(forest, tree) && checks) check(forest);
    }
}

bool Query::move(const Forest& forest, std::size_t tree) {
    nodes_[tree] = forest.child(nodes_[tree], x_.data());
    ++steps_;
    const bool at_leaf = forest.is_leaf(nodes_[tree]);
    tree_ = at_leaf ? -1 : static_cast<std::int64_t>(tree);
    if (!at_leaf) return false;
    at_leaf_[tree] = 1;
    --open_trees_;
    return true;
}

void Query::find_leaves(const Forest& forest, std::span<const std::int32_t> trees, std::int32_t* leaves) const {
    std::array<std::int32_t, kAhead> roots{};
    for (std::size_t i = 0; i < trees.size(); ++i)
        roots[i] = leaves[i] = forest.roots()[static_cast<std::size_t>(trees[i])];
    if (!forest.small().empty())
        forest.small().find_leaves(roots.data(), false, leaves, trees.size(), single_.data(), 0, missing_);
    else
        forest.find_leaves(leaves, trees.size(), x_.data(), 0, missing_);
}

inline void Query::finish(const Forest& forest, std::size_t tree, std::int32_t leaf) {
    --open_trees_;
    forest.add_leaf(tree, leaf, tallies_.data());
    weight_ += forest.weight(tree);
    if (own_order_) set_above(forest, forest.output_of(tree));
}

inline void Query::check(const Forest& forest) {
    if (open_trees_ == 0) return;
    const std::size_t finished = forest.split_trees() - open_trees_;
    if (finished >= next_try_) {
        next_try_ = (finished / forest.check_interval() + 1) * forest.check_interval();
        certain_ = forest.worth_trying(finished) && prove(forest);
    }
    confident_ = !certain_ && leads(forest);
}

bool Query::prove(const Forest& forest) {
    if (!has_nodes_) return forest.certain(tallies_, forest.bounds_after(slot_), scratch_);
    scratch_.tallies.assign(forest.outputs(), {});
    scratch_.unread.reset(forest.outputs());
    for (std::size_t t = 0; t < nodes_.size(); ++t) {
        const bool unread = forest.is_unread(t, nodes_[t]);
        forest.add_bounds(nodes_[t], [&](auto output, auto least, auto most) {
            (unread ? scratch_.unread.least[output] : scratch_.tallies[output].least) += least;
            (unread ? scratch_.unread.most[output] : scratch_.tallies[output].most) += most;
        });
    }
    return forest.certain(scratch_.tallies, &scratch_.unread, scratch_);
}

bool Query::leads(const Forest& forest) const noexcept {
    const auto margins = forest.stop_margin();
    return !margins.empty() && lead(forest).margin > margins[forest.trees() - open_trees_];
}

Query::Lead Query::lead(const Forest& forest) const noexcept {
    const double one = tallies_[0].sum();
    if (tallies_.size() == 1) {
        const bool second = one > 0.0 || (one == 0.0 && forest.link().zero_is_positive);
        return {std::abs(one), second ? std::size_t{1} : std::size_t{0}};
    }
    double best = one, next = -std::numeric_limits<double>::infinity();
    std::size_t first = 0;
    for (std::size_t k = 1; k < tallies_.size(); ++k) {
        const double sum = tallies_[k].sum();
        next = std::max(next, std::min(best, sum));
        if (sum > best) {
            best = sum;
            first = k;
        }
    }
    return {best - next, first};
}

void Query::trace(const Forest& forest, std::span<double> margins, std::span<std::int32_t> first) {
    for (std::size_t n = 0; n < margins.size(); ++n) {
        if (n > forest.trees() - open_trees_) {
            begin(forest, next_tree(forest));
            walk_tree(forest, Limits::kUnlimited);
        }
        const Lead found = lead(forest);
        margins[n] = found.margin;
        first[n] = static_cast<std::int32_t>(found.first);
    }
}

void Query::advance_together(const Forest& forest, std::span<Query> queries, std::int64_t steps, StopWatch* watch) {
    if (!forest.reads_whole_trees())
        read_slots_together(forest, queries, steps, watch);
    else if (!forest.small().empty())
        read_trees_together<float>(forest, queries, steps, watch);
    else
        read_trees_together<double>(forest, queries, steps, watch);
}

template <typename X>
void Query::read_trees_together(const Forest& forest, std::span<Query> queries, std::int64_t steps, StopWatch* watch) {
    constexpr std::size_t kGroup = 64;  // between two looks at the watch
    const std::size_t stride = queries.empty() ? 0 : queries[0].x_.size();
    std::vector<Query*> active;
    std::vector<X> x;  // rows of the active queries
    bool missing = false;
    for (Query& query : queries) {
        if (steps <= 0 || query.over()) continue;
        active.push_back(&query);
        missing |= query.missing_;
        if constexpr (std::is_same_v<X, float>)
            x.insert(x.end(), query.single_.begin(), query.single_.end());
        else
            x.insert(x.end(), query.x_.begin(), query.x_.end());
        query.begin(forest, query.next_tree(forest));
    }
    const bool same_tree = active.empty() || !active.front()->own_order_;
    std::array<std::int32_t, kGroup> roots{}, leaves{};
    while (!active.empty())
        for (std::size_t end = active.size(); end > 0;) {  // backward: queries that are over give way to the last one
            if (watch != nullptr && watch->due()) return;
            const std::size_t count = std::min(kGroup, end), first = end - count;
            end = first;
            for (std::size_t i = 0; i < count; ++i) roots[i] = leaves[i] = active[first + i]->node_;
            const X* rows = x.data() + first * stride;
            if constexpr (std::is_same_v<X, float>)
                forest.small().find_leaves(roots.data(), same_tree, leaves.data(), count, rows, stride, missing);
            else
                forest.find_leaves(leaves.data(), count, rows, stride, missing);
            forest.fetch(std::span(leaves).first(count));
            for (std::size_t i = count; i-- > 0;) {
                Query& query = *active[first + i];
                const auto depth = static_cast<std::int64_t>(forest.depth(leaves[i]));
                if (depth > steps - query.steps_) {
                    query.walk_tree(forest, steps);  // the budget ends within this tree
                } else {
                    query.steps_ += depth;
                    query.finish(forest, static_cast<std::size_t>(query.tree_), leaves[i]);
                    query.tree_ = -1;
                    query.check(forest);
                    query.certain_ = query.certain_ || query.open_trees_ == 0;
                    if (query.steps_ < steps && !query.over()) {  // its memory is at hand: choose the next tree now
                        query.begin(forest, query.next_tree(forest));
                        if (!same_tree) forest.fetch_tree(static_cast<std::size_t>(query.tree_));
                        continue;
                    }
                }
                if (first + i + 1 < active.size()) {
                    active[first + i] = active.back();
                    std::copy(x.end() - static_cast<std::ptrdiff_t>(stride), x.end(),
                              x.begin() + static_cast<std::ptrdiff_t>((first + i) * stride));
                }
                active.pop_back();
                x.resize(x.size() - stride);
            }
        }
}

void Query::read_slots_together(const Forest& forest, std::span<Query> queries, std::int64_t steps, StopWatch* watch) {
    std::vector<Query*> active;
    for (Query& query : queries)
        if (steps > 0 && !query.over()) active.push_back(&query);
    const auto order = forest.order();
    for (std::size_t slot = 0; slot < order.size() && !active.empty(); ++slot) {
        const auto tree = static_cast<std::size_t>(order[slot]);
        bool over = false;
        for (Query* query : active) {
            if (watch != nullptr && watch->due()) return;
            query->slot_ = slot + 1;
            if (query->at_leaf_[tree] != 0) continue;
            if (query->move(forest, tree)) query->check(forest);
            query->certain_ = query->certain_ || query->open_trees_ == 0;
            over |= query->over() || query->steps_ == steps;
        }
        if (over) std::erase_if(active, [&](Query* query) { return query->over() || query->steps_ == steps; });
    }
}

void Query::fill_nodes(const Forest& forest) {
    nodes_.assign(forest.roots().begin(), forest.roots().end());
    if (!forest.small().empty())
        forest.small().find_leaves(forest.roots().data(), false, nodes_.data(), nodes_.size(), single_.data(), 0,
                                   missing_);
    else
        forest.find_leaves(nodes_.data(), nodes_.size(), x_.data(), 0, missing_);
    has_nodes_ = true;
}

std::int64_t Query::read_rest(const Forest& forest) {
    if (open_trees_ == 0) return 0;
    const std::int64_t before = steps_;
    fill_nodes(forest);
    steps_ = 0;
    for (const std::int32_t node : nodes_) steps_ += forest.depth(node);
    open_trees_ = 0;
    tree_ = -1;
    certain_ = true;
    return steps_ - before;
}

void Query::posterior(const Forest& forest, std::span<double> out) {
    if (exhausted() && !has_nodes_ && !forest.in_tree_order()) fill_nodes(forest);
    if (has_nodes_)
        forest.posterior(nodes_, scratch_, out);
    else
        forest.posterior(tallies_, weight_, tree_, node_, exhausted(), scratch_, out);
}

std::size_t Query::label(const Forest& forest) {
    proba_.resize(forest.classes());
    posterior(forest, proba_);
    return static_cast<std::size_t>(std::max_element(proba_.begin(), proba_.end()) - proba_.begin());
}

namespace {
constexpr std::uint32_t kStateVersion = 2;
}  // namespace

std::vector<std::byte> Query::suspend() const {
    StateWriter out;
    out.value(kStateVersion);
    out.value(steps_);
    out.value(asked_);
    out.value(static_cast<std::uint8_t>(certain_));
    out.value(static_cast<std::uint8_t>(confident()));
    out.array(record_);
    return out.take();
}

void Query::resume(const Forest& forest, std::span<const std::byte> state) {
    StateReader in(state);
    in.require(in.value<std::uint32_t>() == kStateVersion, "it was written by another version");
    const auto steps = in.value<std::int64_t>(), asked = in.value<std::int64_t>();
    const bool certain = in.flag(), confident = in.flag();
    std::vector<double> record;
    in.array(record, forest.dimensions(), "the number of features differs");
    in.end();
    in.require_record(record);
    for (const double value : record)
        in.require(forest.accepts_missing() || value == value, "its record has a missing value");
    in.require(steps >= 0 && steps <= forest.max_steps() && asked >= 0, "its steps are damaged");
    open(forest, {}, record);
    walk(forest, steps, nullptr, false);
    asked_ = asked;
    in.require(steps_ == steps, "its steps are damaged");
    in.require(exhausted() ? certain
                           : !certain || (tree_ < 0 && forest.worth_trying(forest.split_trees() - open_trees_) &&
                                          prove(forest)),
               "its certificate is damaged");
    in.require(!confident || (!exhausted() && !certain && tree_ < 0 && leads(forest)), "its stop is damaged");
    certain_ = certain;
    confident_ = confident;
}

}  // namespace anystream::forest
