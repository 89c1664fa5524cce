// A query in progress as bytes, and back.
#include <algorithm>
#include <cmath>

#include "anystream/bayes_tree/kernels.hpp"
#include "anystream/bayes_tree/query.hpp"
#include "anystream/state_bytes.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr std::uint32_t kVersion = 7;
constexpr double kMaxWeight = 1e100;  // of the root model
constexpr double kMaxLog2 = 1e31;     // of a density; the least is kMinLog2 = -1e30
constexpr double kRounding = 1e-6;    // of a sum from which a million entries were subtracted, relative to its peak

}  // namespace

std::vector<std::byte> Query::suspend() const {
    StateWriter out;
    out.value(kVersion);
    out.value(settings_.descent);
    out.value(settings_.decision);
    out.value(settings_.refined_classes);
    out.value(settings_.root_weight);
    out.value(settings_.hand_over);
    out.value(static_cast<std::uint8_t>(settings_.certify));
    out.array(vote_);
    out.value(static_cast<std::uint64_t>(classes_));
    out.value(steps_);
    out.value(static_cast<std::uint64_t>(open_classes_));
    out.array(x_);
    out.array(projection_);
    out.array(turns_);
    for (std::size_t c = 0; c < classes_; ++c) {
        const ClassState& state = state_[c];
        out.array(state.frontier.entries());
        out.array(state.kernel_log2);
        out.value(state.sum);
        out.value(state.peak);
        out.value(state.origin);
        out.value(state.history);
        out.value(state.recent);
        out.value(state.since);
    }
    if (settings_.certify) out.array(certificate_.sums());
    out.value(look_state_);
    if (looking()) {
        out.array(look_.score);
        out.value(look_.sharpness);
        out.value(look_.floor);
    }
    return out.take();
}

void Query::resume(const Forest& forest, std::span<const std::byte> bytes) {
    StateReader in(bytes);
    StateReader::require(in.value<std::uint32_t>() == kVersion, "it was written by another version");
    Query next;
    next.settings_.descent = in.choice(Descent::depth_first);
    next.settings_.decision = in.choice(Decision::nearest);
    next.settings_.refined_classes = in.value<std::int32_t>();
    next.settings_.root_weight = in.value<double>();
    next.settings_.hand_over = in.value<HandOver>();
    for (const double share : next.settings_.hand_over)
        StateReader::require(share >= 0.0 && share <= 1.0, "its settings are damaged");
    next.settings_.certify = in.flag();
    StateReader::require(next.settings_.refined_classes >= kPrintedK && next.settings_.root_weight >= 0.0 &&
                             next.settings_.root_weight <= kMaxWeight,
                         "its settings are damaged");
    in.array(next.vote_);
    next.classes_ = in.value<std::uint64_t>();
    StateReader::require(next.classes_ == forest.classes(), "the number of classes differs");
    next.steps_ = in.value<std::int64_t>();
    StateReader::require(next.steps_ >= 0 && static_cast<std::uint64_t>(next.steps_) <= forest.nodes(),
                         "its steps are damaged");
    next.open_classes_ = in.value<std::uint64_t>();
    in.array(next.x_, forest.dimensions(), "the number of features differs");
    StateReader::require_record(next.x_);
    next.ahead_ = nothing_ahead(next.x_.data());
    for (const float value : next.x_) next.missing_ |= value != value;
    in.array(next.projection_);
    next.require_projection();
    next.require_votes(forest);
    next.begin_turns();
    in.array(next.turns_);
    next.state_.resize(next.classes_);
    std::vector<Frontier::Entry> entries;
    for (ClassState& state : next.state_) {
        in.array(entries);
        state.frontier.add(entries);
        in.array(state.kernel_log2);
        state.sum = in.value<double>();
        state.peak = in.value<double>();
        state.origin = in.value<double>();
        state.history = in.value<Scaled>();
        state.recent = in.value<double>();
        state.since = in.value<std::int64_t>();
        next.require_sums(state, entries);
    }
    std::vector<Certificate::Sums> sums;
    if (next.settings_.certify) in.array(sums, next.classes_, "its bounds are damaged");
    const Look look_state = in.choice(Look::past);
    if (look_state == Look::present) {
        in.array(next.look_.score, next.classes_, "its first look is damaged");
        next.look_.sharpness = in.value<double>();
        next.look_.floor = in.value<double>();
        next.require_look();
        StateReader::require(next.steps_ == 0, "its steps are damaged");
    }
    in.end();
    StateReader::require(next.turns_.size() <= next.classes_, "its turns are damaged");
    for (const std::int32_t c : next.turns_)
        StateReader::require(c >= 0 && static_cast<std::size_t>(c) < next.classes_, "its turns are damaged");
    next.require_frontiers(forest);
    if (next.settings_.certify) {
        next.open_certificate(forest);
        StateReader::require(next.certificate_.agrees_with(sums), "its bounds are damaged");
        next.certificate_.set_sums(std::move(sums));
        next.decided_ = !next.exhausted() && next.certificate_.decided();
    }
    for (std::size_t c = 0; c < next.classes_; ++c) next.order(c);
    next.roots_read_ = true;
    next.look_state_ = look_state;
    next.reserve_lanes(forest);
    *this = std::move(next);
}

/// Throws unless the rows of the projection are directions, fewer than there are dimensions.
void Query::require_projection() const {
    const auto require = [](bool holds) { StateReader::require(holds, "its projection is damaged"); };
    const std::size_t d = x_.size();
    require(projection_.size() % d == 0 && projection_.size() < d * d && (projection_.empty() || !settings_.certify));
    for (std::size_t first = 0; first < projection_.size(); first += d) {
        double length = 0.0;
        for (std::size_t j = first; j < first + d; ++j) length += projection_[j] * projection_[j];
        require(std::abs(length - 1.0) <= kRounding);
    }
}

/// Throws unless the scores of the first look and their calibration are numbers that `suspend` writes.
void Query::require_look() const {
    const auto require = [](bool holds) { StateReader::require(holds, "its first look is damaged"); };
    for (const float score : look_.score) require(std::abs(score) <= kMaxLog2);
    require(look_.sharpness > 0.0 && look_.sharpness <= kMaxWeight && look_.floor >= 0.0 && look_.floor <= 1.0);
}

/// Throws unless the votes of the root model are complete, or missing.
void Query::require_votes(const Forest& forest) const {
    const bool sound = vote_.empty() || (vote_.size() == classes_ && !forest.root_model().empty());
    StateReader::require(sound, "its votes are damaged");
    for (const double vote : vote_) StateReader::require(std::abs(vote) <= kMaxLog2, "its votes are damaged");
}

/// Throws unless the numbers of one class are those of some frontier: the values follow from their logarithms and the
/// origin, and their sum from the values, but for rounding.
void Query::require_sums(const ClassState& state, const std::vector<Frontier::Entry>& entries) const {
    const auto require = [](bool holds) { StateReader::require(holds, "its densities are damaged"); };
    const auto whole = [](double number) { return std::abs(number) <= kMaxLog2 && number == std::floor(number); };
    const Scaled& history = state.history;
    require(history.fraction == 0.0 || (history.fraction >= 0.5 && history.fraction < 1.0));
    require(std::isfinite(state.recent) && state.recent >= 0.0);
    require(whole(history.exponent) && state.since >= 0 && state.since <= steps_);
    if (entries.empty() && state.kernel_log2.empty()) return require(state.sum == 0.0 && state.peak == 0.0);
    require(whole(state.origin));
    const auto origin = static_cast<float>(state.origin);
    double sum = 0.0;
    const auto value_of = [&](float log2_value) {
        require(std::abs(log2_value) <= kMaxLog2 && log2_value - origin <= kMaxAbove);
        double value;
        kernels().powers_of_two(&log2_value, origin, 1, &value);
        sum += value;
        return value;
    };
    for (const float log2_value : state.kernel_log2) value_of(log2_value);
    for (const Frontier::Entry& entry : entries)
        require(entry.key != EntryGroup::kNoKey && entry.value == value_of(entry.log2_value));
    require(std::isfinite(state.peak) && state.sum > 0.0 && state.sum <= state.peak);
    require(state.sum == state.peak || state.sum > kCancelled * state.peak);
    require(std::abs(state.sum - sum) <= kRounding * state.peak);
}

/// Throws unless the entries and kernels of every class are what its tree has below the nodes that were refined, and
/// these are as many as the steps.
void Query::require_frontiers(const Forest& forest) const {
    const auto require = [](bool holds) { StateReader::require(holds, "its frontiers are damaged"); };
    std::int64_t refined = 0;
    std::size_t populated = 0, refinable = 0;
    std::vector<std::int32_t> frontier, below;
    for (std::size_t c = 0; c < classes_; ++c) {
        const ClassState& state = state_[c];
        frontier.clear();
        for (const Frontier::Entry& entry : state.frontier.entries()) frontier.push_back(entry.node);
        std::sort(frontier.begin(), frontier.end());
        const std::int32_t root = forest.class_root(c);
        populated += root != kNothing;
        refinable += !frontier.empty();
        std::size_t nodes = 0, found_kernels = root < 0 && root != kNothing;
        below.clear();
        if (root >= 0) below.push_back(root);
        while (!below.empty()) {
            const std::int32_t at = below.back();
            below.pop_back();
            require(at >= 0 && static_cast<std::size_t>(at) < forest.nodes());
            if (std::binary_search(frontier.begin(), frontier.end(), at)) {
                ++nodes;
                continue;
            }
            require(++refined <= steps_);
            const NodeView node = forest.node(static_cast<std::size_t>(at));
            for (std::size_t l = 0; l < node.entries; ++l) {
                if (node.precision == nullptr || node.child(l) < 0)
                    ++found_kernels;
                else
                    below.push_back(node.child(l));
            }
        }
        require(nodes == frontier.size() && found_kernels == state.kernel_log2.size());
    }
    require(refined == steps_ && open_classes_ == (populated < 2 || nothing_known() ? 0 : refinable));
}

}  // namespace anystream::bayes_tree
