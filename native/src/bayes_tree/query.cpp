#include "anystream/bayes_tree/query.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

#include "anystream/bayes_tree/kernels.hpp"
#include "anystream/damaged_model.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr double kMaxPartialWeight =
    0.3;                           // of the root model on incomplete records: larger ones suit complete ones only
constexpr std::size_t kRun = 32;   // kernels that are added up at a time
constexpr double kNoVote = -2e30;  // log2: of a class without records; votes are above -1e30

/// k of qbk for this number of classes.
std::size_t turns_per_round(std::int32_t requested, std::size_t classes) noexcept {
    if (requested > 0) return static_cast<std::size_t>(requested);
    std::size_t log2 = 0;
    while ((std::size_t{2} << log2) <= classes) ++log2;
    if (requested == kPrintedK) return std::clamp<std::size_t>(log2, 1, 2);
    return std::max<std::size_t>(requested == kPublishedK ? 2 : 4, log2);
}

void require_node(const Forest& forest, std::int32_t entry) {
    if (entry >= 0 && static_cast<std::size_t>(entry) >= forest.nodes())
        throw DamagedModel("an entry points to node " + std::to_string(entry) + " of " +
                           std::to_string(forest.nodes()));
}

/// Children of fewer than eight lanes, with lanes behind them that have none.
struct PaddedChildren {
    explicit PaddedChildren(std::int32_t child) noexcept { std::memcpy(bits, &child, sizeof child); }
    explicit PaddedChildren(const NodeView& node) noexcept { std::copy_n(node.child_bits, node.lanes, bits); }

    float bits[Frontier::kLanes] = {};
};

/// The number times 2^power.
Scaled multiplied(const Scaled& number, double power) noexcept {
    if (number.fraction == 0.0) return number;
    const double whole = std::floor(power);
    return Scaled::of(number.fraction * std::exp2(power - whole), number.exponent + whole);
}

bool all_classes_have_records(const Forest& forest) noexcept {
    for (std::size_t c = 0; c < forest.classes(); ++c)
        if (forest.class_root(c) == kNothing) return false;
    return true;
}

std::size_t round_up_to_8(std::size_t n) noexcept {
    return (n + 7) / 8 * 8;
}

}  // namespace

void Query::open(const Forest& forest, const QuerySettings& settings, const TreeRecord& record) {
    settings_ = settings;
    classes_ = forest.classes();
    steps_ = 0;
    open_classes_ = 0;
    decided_ = false;
    look_state_ = Look::none;
    x_.resize(forest.dimensions());
    missing_ = forest.standardise(record.x.data(), x_.data());
    ahead_ = nothing_ahead(x_.data());
    project(forest, record);
    if (state_.size() < classes_) state_.resize(classes_);
    begin_turns();
    reserve_lanes(forest);
    evaluate_root_model(forest, record);
    roots_read_ = false;

    std::size_t populated = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
        const std::int32_t root = forest.class_root(c);
        populated += root != kNothing;
        open_classes_ += root >= 0;
        if (root == kNothing && !vote_.empty()) vote_[c] = kNoVote;
    }
    if (populated < 2 || nothing_known()) open_classes_ = 0;  // no step can change the answer
    // Before the first step the root model alone gives the answer: many records need no tree.
    if (vote_.empty() || settings_.certify) read_roots(forest);
    if (settings_.certify) open_certificate(forest);
    if (record.look != nullptr && !nothing_known() && looks_first(forest, record.look)) look_first(record);
}

bool Query::looks_first(const Forest& forest, const FirstLook* look) noexcept {
    if (look == nullptr || look->classes != forest.classes() || look->dimensions() != forest.dimensions()) return false;
    return all_classes_have_records(forest);
}

bool Query::root_model_answers(const Forest& forest, const QuerySettings& settings) noexcept {
    return !forest.root_model().empty() && !settings.certify && !forest.weighs_classes() && forest.classes() > 1 &&
           all_classes_have_records(forest);
}

void Query::root_posterior(std::span<const double> votes, std::span<double> out) noexcept {
    double highest = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (const double vote : votes) highest = std::max(highest, std::floor(vote));
    for (std::size_t c = 0; c < votes.size(); ++c) {
        const double whole = std::floor(votes[c]);
        out[c] = votes[c] == kNoVote ? 0.0 : Scaled::shifted(std::exp2(votes[c] - whole), whole - highest);
        sum += out[c];
    }
    for (double& share : out) share = sum > 0.0 ? share / sum : 1.0 / static_cast<double>(out.size());
}

void Query::look_first(const TreeRecord& record) {
    if (record.raw.empty()) {
        look_state_ = Look::past;
        return;
    }
    look_state_ = Look::present;
    look_.score.resize(record.look->lanes());
    record.look->scores(record.raw.data(), 1, look_.score);
    look_.score.resize(classes_);
    look_.sharpness = record.look->sharpness;
    look_.floor = record.look->floor;
}

void Query::read_roots(const Forest& forest) {
    if (roots_read_) return;
    roots_read_ = true;
    for (std::size_t block = 0; block < forest.root_blocks(); ++block) {
        evaluate(forest, forest.roots(block), 0, block * kRootBlock);
        if (forest.shares_kernel() && forest.grown())
            evaluate_kernels(forest, forest.roots(block), 0, block * kRootBlock);
    }
    for (std::size_t c = 0; c < classes_; ++c) {  // every class starts at its own origin
        ClassState& state = state_[c];
        state.origin = std::floor(static_cast<double>(log2_value_[c]));
        state.frontier.clear();
        state.kernel_log2.clear();
        state.history = {};
        state.recent = 0.0;
        state.since = 0;
        state.sum = 0.0;
        const std::int32_t root = forest.class_root(c);
        if (root != kNothing) {
            const PaddedChildren children(root);
            if (!add_children(forest, c, children.bits, 1, c)) throw DamagedModel("its densities are not numbers");
        }
        state.peak = state.sum;
        if (!settings_.certify) order(c);
    }
}

void Query::reserve_lanes(const Forest& forest) {
    const std::size_t lanes = std::max(round_up_to_8(forest.classes()), static_cast<std::size_t>(kMaxFanout));
    deviation_.resize(kTogether * panels_of(forest.dimensions()) * kPanelRows, 0.0F);
    const std::size_t readable = lanes + Frontier::kLanes;  // the group of a root reads those of the roots behind it
    if (log2_value_.size() >= readable) return;
    log2_density_.resize(readable);
    log2_value_.resize(readable);
}

void Query::evaluate(const Forest& forest, const NodeView& node, std::size_t point_class, std::size_t first) {
    if (!projection_.empty()) return evaluate_projected(forest, node, point_class, first);
    if (missing_) return evaluate_partly(forest, node, point_class, first);
    const std::size_t d = x_.size();
    if (node.precision == nullptr) {
        kernels().shared_densities(x_.data(), node.mean, forest.kernel_precision(point_class),
                                   forest.kernel_log2_norm(point_class), d, node.lanes, log2_value_.data() + first);
        return;
    }
    kernels().own_densities(x_.data(), {node.mean, node.precision, node.log2_norm, node.log2_count, node.lanes}, d,
                            ahead_, log2_density_.data() + first, log2_value_.data() + first);
    if (node.covariant) evaluate_covariances(forest, node, first);
}

/// The log2 density of a class's kernel at its centre, in the dimensions that the query has.
float Query::kernel_peak(const Forest& forest, std::size_t point_class) const noexcept {
    if (!projection_.empty()) {
        thread_local std::vector<double> variance;
        variance.resize(projection_.size() / x_.size());
        project_kernel(forest, point_class, variance);
        double log2_norm = 0.0;
        for (const double each : variance) log2_norm -= 0.5 * std::log2(2.0 * std::numbers::pi * each);
        return static_cast<float>(log2_norm);
    }
    if (!missing_) return forest.kernel_log2_norm(point_class);
    const float* const precision = forest.kernel_precision(point_class);
    double log2_norm = 0.0;
    for (std::size_t j = 0; j < x_.size(); ++j)
        if (!std::isnan(x_[j]))
            log2_norm += std::log2(static_cast<double>(precision[j])) - 0.5 * std::log2(2.0 * std::numbers::pi);
    return static_cast<float>(log2_norm);
}

/// Kernels among the entries of a node that was written before the last record came: all kernels of a class are as wide
/// as in its leaves, and those of incomplete records nowhere higher.
void Query::evaluate_kernels(const Forest& forest, const NodeView& node, std::size_t point_class, std::size_t first) {
    constexpr std::size_t kMaxLanes = std::max<std::size_t>(kRootBlock, kMaxFanout);
    bool complete[kMaxLanes] = {};
    bool any = false;
    for (std::size_t l = 0; l < node.entries; ++l) {
        const std::int32_t child = node.child(l);
        if (child >= 0 || child == kNothing) continue;
        if (static_cast<std::size_t>(~child) >= forest.records())
            throw DamagedModel("an entry refers to record " + std::to_string(~child) + " of " +
                               std::to_string(forest.records()));
        any |= complete[l] = forest.complete(~child);
        if (complete[l]) continue;
        log2_density_[first + l] = std::min(log2_density_[first + l], kernel_peak(forest, point_class));
        log2_value_[first + l] = std::min(log2_value_[first + l], log2_density_[first + l]);
    }
    if (!any) return;
    float density[kMaxLanes], value[kMaxLanes];
    std::copy_n(log2_density_.data() + first, node.lanes, density);
    std::copy_n(log2_value_.data() + first, node.lanes, value);
    NodeView leaf = node;
    leaf.precision = leaf.log2_norm = leaf.log2_count = nullptr;
    leaf.covariant = false;
    evaluate(forest, leaf, point_class, first);
    for (std::size_t l = 0; l < node.lanes; ++l) {
        if (!complete[l]) log2_value_[first + l] = value[l];
        log2_density_[first + l] = complete[l] ? log2_value_[first + l] : density[l];
    }
}

void Query::evaluate_covariances(const Forest& forest, const NodeView& node, std::size_t first) {
    constexpr std::size_t kMaxLanes = std::max<std::size_t>(kRootBlock, kMaxFanout);
    const CovarianceTable& table = forest.covariances();
    std::int32_t rows[kMaxLanes];
    std::uint8_t lanes[kMaxLanes];
    float exponent[kMaxLanes];
    std::size_t found = 0;
    for (std::size_t l = 0; l < node.entries; ++l) {
        const std::int32_t child = node.child(l);
        if (child < 0 || static_cast<std::size_t>(child) >= forest.nodes()) continue;
        rows[found] = table.of_node[static_cast<std::size_t>(child)];
        lanes[found] = static_cast<std::uint8_t>(l);
        found += rows[found] >= 0;
    }
    table.exponents({rows, found}, x_.data(), x_.size(), deviation_.data(), exponent);
    for (std::size_t i = 0; i < found; ++i) {
        const std::size_t l = lanes[i];
        const float log2_norm = table.log2_norm[static_cast<std::size_t>(rows[i])];
        log2_density_[first + l] = std::max(log2_norm - kHalfLog2E * exponent[i], kMinLog2);
        log2_value_[first + l] = log2_density_[first + l] + node.log2_count[l];
    }
}

void Query::evaluate_root_model(const Forest& forest, const TreeRecord& record) {
    vote_.clear();
    if (forest.root_model().empty() || nothing_known()) return;
    vote_.resize(classes_);
    if (!forest.root_model().log2_joint(record, vote_)) return vote_.clear();
    // It was trained on some of the records, the trees hold all of them.
    const auto known = static_cast<double>(forest.root_model().known[0]);
    settings_.root_weight *= std::min(1.0, known / static_cast<double>(forest.learned()));
    if (!missing_ && projection_.empty()) return;
    settings_.root_weight = std::min(settings_.root_weight, kMaxPartialWeight);
    settings_.hand_over = kEvenHandOver;
}

bool Query::nothing_known() const noexcept {
    return std::all_of(x_.begin(), x_.end(), [](float value) { return std::isnan(value); });
}

/// Sets `projection_`. A record of which nothing is known has NaN in all dimensions.
void Query::project(const Forest& forest, const TreeRecord& record) {
    projection_.clear();
    const std::size_t d = x_.size(), missing = record.missing_axes.size();
    if (missing == 0) return;
    if (missing == d) {
        std::fill(x_.begin(), x_.end(), std::numeric_limits<float>::quiet_NaN());
        missing_ = true;
        return;
    }
    thread_local std::vector<double> directions;
    directions.assign(record.directions.begin(), record.directions.end());
    for (std::size_t k = 0; k < directions.size(); ++k) directions[k] /= forest.scale()[k % d];
    projection_ = complement_basis(directions, record.missing_axes, d);
    if (settings_.certify) {  // boxes do not bound what lies across them: only exhaustion proves the label
        settings_.certify = false;
        settings_.decision = Decision::mixture;
    }
}

void Query::project_kernel(const Forest& forest, std::size_t c, std::span<double> variance) const noexcept {
    const std::size_t d = x_.size();
    const float* const precision = forest.kernel_precision(c);
    for (std::size_t i = 0; i < variance.size(); ++i) {
        const double* const row = projection_.data() + i * d;
        variance[i] = 0.0;
        for (std::size_t j = 0; j < d; ++j) {
            const double part = row[j] / static_cast<double>(precision[j]);
            variance[i] += part * part;
        }
    }
}

/// The entries along the rows of the projection: means and variances are projected, covariances between the rows are
/// left out, as those between dimensions are. Kernels of equal width in all dimensions lose nothing.
void Query::evaluate_projected(const Forest& forest, const NodeView& node, std::size_t c, std::size_t first) {
    constexpr std::size_t kMaxLanes = std::max<std::size_t>(kRootBlock, kMaxFanout);
    const std::size_t d = x_.size(), known = projection_.size() / d, lanes = node.lanes;
    const bool shared = node.precision == nullptr;
    thread_local std::vector<double> apart, variance, kernel;
    apart.resize(d * lanes);
    for (std::size_t j = 0; j < d; ++j)
        for (std::size_t l = 0; l < lanes; ++l)
            apart[j * lanes + l] = static_cast<double>(x_[j]) - static_cast<double>(node.mean[j * lanes + l]);
    if (shared) {
        kernel.resize(known);
        project_kernel(forest, c, kernel);
    } else {
        variance.resize(d * lanes);
        for (std::size_t k = 0; k < d * lanes; ++k) {
            const double width = 1.0 / static_cast<double>(node.precision[k]);
            variance[k] = width * width;
        }
    }
    double exponent[kMaxLanes] = {}, log2_norm[kMaxLanes] = {}, distance[kMaxLanes], spread[kMaxLanes];
    for (std::size_t i = 0; i < known; ++i) {
        const double* const row = projection_.data() + i * d;
        std::fill_n(distance, lanes, 0.0);
        std::fill_n(spread, lanes, shared ? kernel[i] : 0.0);
        for (std::size_t j = 0; j < d; ++j)
            for (std::size_t l = 0; l < lanes; ++l) distance[l] += row[j] * apart[j * lanes + l];
        for (std::size_t j = 0; j < d && !shared; ++j)
            for (std::size_t l = 0; l < lanes; ++l) spread[l] += row[j] * row[j] * variance[j * lanes + l];
        const double shared_norm = shared ? 0.5 * std::log2(2.0 * std::numbers::pi * kernel[i]) : 0.0;
        for (std::size_t l = 0; l < node.entries; ++l) {
            exponent[l] += distance[l] * distance[l] / spread[l];
            log2_norm[l] -= shared ? shared_norm : 0.5 * std::log2(2.0 * std::numbers::pi * spread[l]);
        }
    }
    for (std::size_t l = 0; l < node.entries; ++l) {
        const auto log2_density = static_cast<float>(log2_norm[l] - 0.5 * std::numbers::log2e * exponent[l]);
        log2_density_[first + l] = std::max(log2_density, kMinLog2);
        log2_value_[first + l] = log2_density_[first + l] + (shared ? 0.0F : node.log2_count[l]);
    }
}

// A missing dimension is integrated out: it adds nothing to the exponent and nothing to the norm. For such records
// only the diagonals of covariances are used.
void Query::evaluate_partly(const Forest& forest, const NodeView& node, std::size_t point_class, std::size_t first) {
    const std::size_t d = x_.size();
    const float* shared = node.precision == nullptr ? forest.kernel_precision(point_class) : nullptr;
    for (std::size_t l = 0; l < node.entries; ++l) {
        double exponent = 0.0, log2_norm = 0.0;
        for (std::size_t j = 0; j < d; ++j) {
            if (std::isnan(x_[j])) continue;
            const float precision = shared != nullptr ? shared[j] : node.precision[j * node.lanes + l];
            const double apart = static_cast<double>(x_[j] - node.mean[j * node.lanes + l]) * precision;
            exponent += apart * apart;
            log2_norm += std::log2(static_cast<double>(precision)) - 0.5 * std::log2(2.0 * std::numbers::pi);
        }
        const auto log2_density = static_cast<float>(log2_norm - 0.5 * std::numbers::log2e * exponent);
        log2_density_[first + l] = std::max(log2_density, kMinLog2);
        log2_value_[first + l] = log2_density_[first + l] + (node.log2_count == nullptr ? 0.0F : node.log2_count[l]);
    }
}

bool Query::add_children(const Forest& forest, std::size_t c, const float* child_bits, std::size_t count,
                         std::size_t first) {
    ClassState& state = state_[c];
    const bool by_density = settings_.certify || settings_.descent == Descent::global_best;  // Eq. 6
    const auto step = static_cast<std::int32_t>(settings_.descent == Descent::depth_first ? steps_ : -steps_);
    const ChildLanes children{log2_density_.data() + first,
                              log2_value_.data() + first,
                              child_bits,
                              count,
                              static_cast<float>(state.origin),
                              static_cast<std::int32_t>(forest.nodes()),
                              by_density,
                              step};
    LaneSum found{};
    state.frontier.add([&](EntryGroup& group) {
        found = kernels().fill_group(children, group);
        return (found.flags & (LaneSum::kEntry | LaneSum::kOutside)) == LaneSum::kEntry;
    });
    if ((found.flags & (LaneSum::kOutside | LaneSum::kKernel)) != 0) {
        const std::size_t before = state.kernel_log2.size();
        state.kernel_log2.resize(before + count);
        float* end = state.kernel_log2.data() + before;
        for (std::size_t l = 0; l < count; ++l) {  // without a branch on which children are kernels
            std::int32_t child;
            std::memcpy(&child, child_bits + l, sizeof child);
            if (found.flags & LaneSum::kOutside) require_node(forest, child);
            *end = log2_value_[first + l];
            end += child < 0;
        }
        state.kernel_log2.resize(static_cast<std::size_t>(end - state.kernel_log2.data()));
    }
    state.sum += found.sum;
    return (found.flags & LaneSum::kTooHigh) == 0;
}

bool Query::add_inner(const Forest& forest, std::size_t c, const NodeView& node) {
    if (node.lanes < Frontier::kLanes) {
        const PaddedChildren children(node);
        return add_children(forest, c, children.bits, node.entries, 0);
    }
    bool valid = true;
    for (std::size_t first = 0; first < node.entries; first += Frontier::kLanes)
        valid &=
            add_children(forest, c, node.child_bits + first, std::min(Frontier::kLanes, node.entries - first), first);
    return valid;
}

bool Query::add_leaf(const Forest& forest, std::size_t c, const NodeView& node) {
    ClassState& state = state_[c];
    const auto origin = static_cast<float>(state.origin);
    LaneSum found;
    if (missing_ || !projection_.empty()) {
        evaluate(forest, node, c, 0);
        found = kernels().sum_powers(log2_value_.data(), origin, node.entries);
    } else {
        found = kernels().leaf_sum(x_.data(), node.mean, forest.kernel_precision(c), forest.kernel_log2_norm(c),
                                   x_.size(), node.lanes, node.entries, origin, ahead_, log2_value_.data());
    }
    state.kernel_log2.insert(state.kernel_log2.end(), log2_value_.data(), log2_value_.data() + node.entries);
    state.sum += found.sum;
    return (found.flags & LaneSum::kTooHigh) == 0;
}

/// The class's sum from its frontier, with the origin at its largest value.
void Query::rebase(ClassState& state) {
    float highest = -std::numeric_limits<float>::infinity();
    for (const EntryGroup& group : state.frontier.groups())
        for (const float log2_value : group.log2_value) highest = std::max(highest, log2_value);
    for (const float value : state.kernel_log2) highest = std::max(highest, value);
    state.history.add(Scaled::of(state.recent, state.origin));
    state.recent = 0.0;
    state.origin = std::floor(static_cast<double>(highest));
    const auto origin = static_cast<float>(state.origin);

    state.sum = 0.0;
    for (std::size_t first = 0; first < state.kernel_log2.size(); first += kRun) {
        const std::size_t run = std::min(kRun, state.kernel_log2.size() - first);
        double value[kRun];
        kernels().powers_of_two(state.kernel_log2.data() + first, origin, run, value);
        for (std::size_t i = 0; i < run; ++i) state.sum += value[i];
    }
    for (EntryGroup& group : state.frontier.groups()) {
        kernels().powers_of_two(group.log2_value, origin, Frontier::kLanes, group.value);
        for (const double value : group.value) state.sum += value;
    }
    state.peak = state.sum;
}

void Query::order(std::size_t c) {
    const ClassState& state = state_[c];
    if (state.frontier.empty())
        key_[c] = -std::numeric_limits<double>::infinity();
    else
        key_[c] = settings_.certify ? certificate_.upper_key(c) : order_key(state.sum, state.origin);
}

void Query::begin_turns() {
    turns_.clear();
    candidates_.clear();
    per_round_ = turns_per_round(settings_.refined_classes, classes_);
    key_.assign(std::max(classes_, kFewClasses), -std::numeric_limits<double>::infinity());
}

/// The classes with the highest joint densities take turns, the best one first (qbk); those with nothing left to refine
/// are skipped. Among equal ones the lower number is first.
void Query::choose_classes() {
    const std::size_t count = std::min(per_round_, open_classes_);
    turns_.resize(count);
    turns_.resize(classes_ <= kFewClasses ? kernels().highest_classes(key_.data(), classes_, count, turns_.data())
                                          : choose_among_many(count));
    std::reverse(turns_.begin(), turns_.end());
}

/// Writes the classes of the `count` highest keys to `turns_` and returns how many there are. Those of the last round
/// are looked at first: most of them are chosen again, so that the others are soon compared with the lowest one and
/// left out.
std::size_t Query::choose_among_many(std::size_t count) {
    if (candidates_.empty()) {
        candidates_.resize(classes_);
        std::iota(candidates_.begin(), candidates_.end(), 0);
    }
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    std::size_t chosen = 0;
    double lowest = kNone;  // the key of the last of `count` classes
    for (const std::int32_t c : candidates_) {
        const double key = key_[static_cast<std::size_t>(c)];
        if (key < lowest || key == kNone) continue;
        const auto precedes = [&](std::int32_t other) {
            const double of_other = key_[static_cast<std::size_t>(other)];
            return key > of_other || (key == of_other && c < other);
        };
        if (chosen == count && !precedes(turns_[count - 1])) continue;
        std::size_t place = chosen < count ? chosen++ : count - 1;
        for (; place > 0 && precedes(turns_[place - 1]); --place) turns_[place] = turns_[place - 1];
        turns_[place] = c;
        if (chosen == count) lowest = key_[static_cast<std::size_t>(turns_[count - 1])];
    }
    for (std::size_t i = 0; i < chosen; ++i)
        std::swap(candidates_[i],
                  *std::find(candidates_.begin() + static_cast<std::ptrdiff_t>(i), candidates_.end(), turns_[i]));
    return chosen;
}

/// The node that the next turn refines, if that is known; fetches what `take` needs.
NodeAhead Query::next_turn(const Forest& forest) const noexcept {
    if (turns_.empty()) return {};
    const Frontier& next = state_[static_cast<std::size_t>(turns_.back())].frontier;
    if (next.empty()) return {};
    next.prefetch();
    return forest.ahead(static_cast<std::size_t>(next.next_node()));
}

/// The class whose turn it is.
std::size_t Query::next_class() {
    while (!turns_.empty() && state_[static_cast<std::size_t>(turns_.back())].frontier.empty()) turns_.pop_back();
    if (turns_.empty()) choose_classes();
    if (turns_.empty()) return classes_;
    const auto c = static_cast<std::size_t>(turns_.back());
    turns_.pop_back();
    return c;
}

NodeAhead Query::look_ahead(const Forest& forest) {
    if (!roots_read_ || settings_.certify) return {};
    if (turns_.empty()) choose_classes();
    return next_turn(forest);
}

bool Query::step(const Forest& forest, const NodeAhead& ahead) {
    if (looking()) {
        look_state_ = Look::past;
        return true;
    }
    if (certified()) return false;
    read_roots(forest);
    const std::size_t c = settings_.certify ? widest_class() : next_class();
    ahead_ = ahead.at != nullptr ? ahead : next_turn(forest);
    if (ahead_.at == nullptr) ahead_ = nothing_ahead(x_.data());
    if (c == classes_) throw DamagedModel("its densities are not numbers");
    if (++steps_ > static_cast<std::int64_t>(forest.nodes())) throw DamagedModel("its tree has a cycle");
    replace(forest, c, state_[c].frontier.take());
    return true;
}

void Query::replace(const Forest& forest, std::size_t c, const Frontier::Entry& refined) {
    ClassState& state = state_[c];
    if (settings_.decision == Decision::ensemble) {
        state.recent += state.sum * static_cast<double>(steps_ - state.since);
        state.since = steps_;
    }

    const NodeView node = forest.node(static_cast<std::size_t>(refined.node));
    state.sum -= refined.value;
    bool valid = true;
    if (node.precision == nullptr) {
        valid = add_leaf(forest, c, node);
        if (settings_.certify) refine_bounds(forest, c, refined.node, node);
    } else {
        evaluate(forest, node, c, 0);
        if (forest.grown()) evaluate_kernels(forest, node, c, 0);
        if (settings_.certify) refine_bounds(forest, c, refined.node, node);  // sets the priorities of the children
        valid = add_inner(forest, c, node);
    }
    state.peak = std::max(state.peak, state.sum);
    if (!valid || !(state.sum > kCancelled * state.peak)) rebase(state);
    if (state.frontier.empty())
        --open_classes_;
    else
        forest.prefetch_head(static_cast<std::size_t>(state.frontier.next_node()));
    if (settings_.certify) {
        if (certificate_.worn(c)) add_up_bounds(forest, c);
        decided_ = certificate_.decided();
    }
    order(c);
}

Scaled Query::score(std::size_t point_class) const {
    if (decided_) return certificate_.middle(point_class);
    const ClassState& state = state_[point_class];
    const Decision decision = settings_.certify && exhausted() ? Decision::mixture : settings_.decision;
    if (decision == Decision::nearest) {  // Eq. 21
        float highest_kernel = EntryGroup::kGone;
        for (const float log2_value : state.kernel_log2) highest_kernel = std::max(highest_kernel, log2_value);
        double highest;
        kernels().powers_of_two(&highest_kernel, static_cast<float>(state.origin), 1, &highest);
        for (const EntryGroup& group : state.frontier.groups())
            for (const double value : group.value) highest = std::max(highest, value);
        return Scaled::of(highest, state.origin);
    }
    if (decision == Decision::mixture) return Scaled::of(state.sum, state.origin);  // Eq. 7
    Scaled score = state.history;                                                   // Eq. 20
    score.add(Scaled::of(state.recent + state.sum * static_cast<double>(steps_ + 1 - state.since), state.origin));
    return score;
}

void Query::posterior(const Forest& forest, std::span<double> out) const {
    if (looking()) return look_posterior(look_.score, 1.0, 0.0, out);
    if (nothing_known()) {
        double total = 0.0;
        for (std::size_t c = 0; c < classes_; ++c)
            total += out[c] = static_cast<double>(forest.class_count(c)) * std::exp2(forest.log2_class_weight(c));
        for (std::size_t c = 0; c < classes_; ++c)
            out[c] = total > 0.0 ? out[c] / total : 1.0 / static_cast<double>(classes_);
        return;
    }
    const bool votes = !decided_ && !vote_.empty();
    if (votes && steps_ == 0 && !forest.weighs_classes()) return root_posterior(vote_, out);
    Scaled highest;
    thread_local std::vector<Scaled> scores;
    scores.resize(classes_);
    const double share = tree_share();
    for (std::size_t c = 0; c < classes_; ++c) {
        if (votes && steps_ == 0) {  // the trees may not have been read
            scores[c] = vote_[c] == kNoVote ? Scaled{} : Scaled::of(1.0, 0.0);
        } else {
            scores[c] = score(c);
        }
        if (votes && scores[c].fraction > 0.0) {
            Scaled& score = scores[c];
            double power = (1.0 - share + share * settings_.root_weight) * vote_[c];
            if (share < 1.0) {
                if (share > 0.0) power += share * (std::log2(score.fraction) + score.exponent);
                score = Scaled::of(1.0, 0.0);
            }
            score = multiplied(score, power);
        }
        if (forest.weighs_classes() && !decided_)  // a certificate has the weights in its bounds
            scores[c] = multiplied(scores[c], forest.log2_class_weight(c));
        if (highest < scores[c]) highest = scores[c];
    }
    double sum = 0.0;
    for (std::size_t c = 0; c < classes_; ++c) {
        out[c] = scores[c].fraction == 0.0 ? 0.0
                                           : Scaled::shifted(scores[c].fraction, scores[c].exponent - highest.exponent);
        sum += out[c];
    }
    for (std::size_t c = 0; c < classes_; ++c) out[c] = sum > 0.0 ? out[c] / sum : 1.0 / static_cast<double>(classes_);
}

double Query::tree_share() const noexcept {
    if (exhausted() && steps_ > 0) return 1.0;
    double below = 0.0;
    std::int64_t first = 0, last = 1;
    for (const double share : settings_.hand_over) {
        if (steps_ < last)
            return below + (share - below) * static_cast<double>(steps_ - first) / static_cast<double>(last - first);
        below = share;
        first = last;
        last *= 2;
    }
    return below;
}

void Query::log2_scores(const Forest& forest, std::span<double> scores, std::span<double> votes) {
    read_roots(forest);
    for (std::size_t c = 0; c < classes_; ++c) {
        const Scaled found = score(c);
        scores[c] = found.fraction > 0.0 ? std::log2(found.fraction) + found.exponent : -1e30;
        votes[c] = vote_.empty() ? 0.0 : vote_[c];
    }
}

std::size_t Query::label(const Forest& forest) const {
    if (looking()) return look_label(look_.score);
    thread_local std::vector<double> proba;
    proba.resize(classes_);
    posterior(forest, proba);
    return static_cast<std::size_t>(std::max_element(proba.begin(), proba.end()) - proba.begin());
}

void Query::open_certificate(const Forest& forest) {
    std::vector<double> log2_factor(vote_);
    for (double& factor : log2_factor) factor *= settings_.root_weight;
    if (forest.weighs_classes()) {
        log2_factor.resize(classes_, 0.0);
        for (std::size_t c = 0; c < classes_; ++c) log2_factor[c] += forest.log2_class_weight(c);
    }
    certificate_.open(forest, x_, missing_, log2_factor);
    for (std::size_t c = 0; c < classes_; ++c) add_up_bounds(forest, c);
    decided_ = !exhausted() && certificate_.decided();
    for (std::size_t c = 0; c < classes_; ++c) order(c);
}

/// Entries of a query for a certificate are ordered by how far their bounds are apart.
void Query::refine_bounds(const Forest& forest, std::size_t c, std::int32_t refined, const NodeView& node) {
    nodes_.resize(node.entries);
    for (std::size_t l = 0; l < node.entries; ++l) {
        nodes_[l] = node.child(l);
        require_node(forest, nodes_[l]);
    }
    certificate_.refine(forest, c, refined, nodes_, log2_value_, log2_density_);
}

void Query::add_up_bounds(const Forest& forest, std::size_t c) {
    nodes_.clear();
    for (const Frontier::Entry& entry : state_[c].frontier.entries()) nodes_.push_back(entry.node);
    certificate_.add_up(forest, c, nodes_, state_[c].kernel_log2);
}

/// Of the two classes with the highest upper bounds, the one whose bounds are farther apart: the label is not
/// certain before these two are separated.
std::size_t Query::widest_class() const {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    std::size_t first = classes_, second = classes_;
    for (std::size_t c = 0; c < classes_; ++c) {
        if (key_[c] == kNone) continue;
        if (first == classes_ || key_[c] > key_[first]) {
            second = first;
            first = c;
        } else if (second == classes_ || key_[c] > key_[second]) {
            second = c;
        }
    }
    if (second == classes_) return first;
    return certificate_.width_key(first) >= certificate_.width_key(second) ? first : second;
}

void Query::posterior_bounds(std::span<double> out) const {
    if (!settings_.certify) {
        for (std::size_t c = 0; c < classes_; ++c) out[2 * c] = 0.0, out[2 * c + 1] = 1.0;
        return;
    }
    const auto share = [](const Scaled& of, const Scaled& rest) {  // of / (of + rest)
        if (of.fraction == 0.0) return 0.0;
        Scaled sum = of;
        sum.add(rest);
        return Scaled::shifted(of.fraction / sum.fraction, of.exponent - sum.exponent);
    };
    std::vector<Scaled> lower_after(classes_ + 1), upper_after(classes_ + 1);  // sums over the classes from c on
    for (std::size_t c = classes_; c-- > 0;) {
        lower_after[c] = lower_after[c + 1];
        upper_after[c] = upper_after[c + 1];
        lower_after[c].add(certificate_.lower(c));
        upper_after[c].add(certificate_.upper(c));
    }
    Scaled lower_before, upper_before;
    for (std::size_t c = 0; c < classes_; ++c) {
        const Scaled lower = certificate_.lower(c), upper = certificate_.upper(c);
        Scaled others_lower = lower_before, others_upper = upper_before;
        others_lower.add(lower_after[c + 1]);
        others_upper.add(upper_after[c + 1]);
        out[2 * c] = share(lower, others_upper);
        out[2 * c + 1] = share(upper, others_lower);
        lower_before.add(lower);
        upper_before.add(upper);
    }
}

std::vector<Query::FrontierEntry> Query::frontier() const {
    std::vector<FrontierEntry> all;
    for (std::size_t c = 0; c < classes_; ++c) {
        for (const Frontier::Entry& entry : state_[c].frontier.entries())
            all.push_back({static_cast<std::int32_t>(c), entry.node, entry.log2_value});
        for (const float value : state_[c].kernel_log2) all.push_back({static_cast<std::int32_t>(c), -1, value});
    }
    return all;
}

}  // namespace anystream::bayes_tree
