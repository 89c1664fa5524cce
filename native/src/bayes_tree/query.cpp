#include "anystream/bayes_tree/query.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "anystream/bayes_tree/kernels.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr float kHalfLog2E = static_cast<float>(0.5 * std::numbers::log2e);
constexpr float kLeastLog2 = -1e30F;  // a log density that is finite however far the query lies
constexpr float kMostAbove = 500.0F;  // values may exceed the origin by this power of two before it is moved
constexpr double kCancelled = 1e-7;   // a sum that fell below this share of its peak is added up anew

/// k of qbk for this number of classes.
std::size_t turns_per_round(std::int32_t asked, std::size_t classes) noexcept {
    if (asked > 0) return static_cast<std::size_t>(asked);
    std::size_t log2 = 0;
    while ((std::size_t{2} << log2) <= classes) ++log2;
    return std::max<std::size_t>(asked == kPublishedK ? 2 : 4, log2);
}

std::size_t round_up_to_8(std::size_t n) noexcept {
    return (n + 7) / 8 * 8;
}

}  // namespace

float Query::priority(float log2_density) const noexcept {
    switch (settings_.descent) {
        case Descent::breadth_first:
            return -static_cast<float>(steps_);
        case Descent::depth_first:
            return static_cast<float>(steps_);
        default:
            return log2_density;  // Eq. 6
    }
}

void Query::open(const Forest& forest, const QuerySettings& settings, const double* x) {
    settings_ = settings;
    classes_ = forest.classes();
    steps_ = 0;
    open_classes_ = 0;
    turns_.clear();
    x_.resize(forest.dimensions());
    missing_ = forest.standardise(x, x_.data());
    if (state_.size() < classes_) state_.resize(classes_);
    key_.resize(classes_);
    make_room(forest);
    ask_root_model(forest, x);

    const NodeView roots = forest.roots();
    evaluate(forest, roots, 0);
    for (std::size_t c = 0; c < classes_; ++c) {  // every class starts at its own origin
        state_[c].origin = std::floor(static_cast<double>(log2_value_[c]));
        exponent_[c] = log2_value_[c] - static_cast<float>(state_[c].origin);
    }
    kernels().powers_of_two(exponent_.data(), 0.0F, classes_, value_.data());
    std::size_t populated = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
        ClassState& state = state_[c];
        state.entries.clear();
        state.kernel_log2.clear();
        state.kernel_value.clear();
        state.history = {};
        state.since = 0;
        state.sum = 0.0;
        const std::int32_t root = roots.child(c);
        if (root != kNothing) {
            ++populated;
            add_entry(forest, state, root, c);
            if (root >= 0) ++open_classes_;
        }
        state.peak = state.sum;
        order(c);
    }
    if (populated < 2) open_classes_ = 0;  // one class: the answer is certain
}

void Query::make_room(const Forest& forest) {
    const std::size_t lanes = std::max(round_up_to_8(forest.classes()), static_cast<std::size_t>(kMostFanout));
    deviation_.resize(panels_of(forest.dimensions()) * kPanelRows, 0.0F);
    if (exponent_.size() >= lanes) return;
    exponent_.resize(lanes);
    log2_density_.resize(lanes);
    log2_value_.resize(lanes);
    value_.resize(lanes);
}

void Query::evaluate(const Forest& forest, const NodeView& node, std::size_t point_class) {
    if (missing_) return evaluate_partly(forest, node, point_class);
    const std::size_t d = x_.size();
    float* exponent = exponent_.data();
    if (node.precision == nullptr) {
        kernels().shared_exponents(x_.data(), node.mean, forest.kernel_precision(point_class), d, node.lanes, exponent);
        const float norm = forest.kernel_log2_norm(point_class);
        for (std::size_t l = 0; l < node.entries; ++l)
            log2_value_[l] = log2_density_[l] = std::max(norm - kHalfLog2E * exponent[l], kLeastLog2);
        return;
    }
    kernels().own_exponents(x_.data(), node.mean, node.precision, d, node.lanes, exponent);
    for (std::size_t l = 0; l < node.entries; ++l) {
        log2_density_[l] = std::max(node.log2_norm[l] - kHalfLog2E * exponent[l], kLeastLog2);
        log2_value_[l] = log2_density_[l] + node.log2_count[l];
    }
    if (node.covariant) evaluate_covariances(forest, node);
}

void Query::evaluate_covariances(const Forest& forest, const NodeView& node) {
    const CovarianceTable& table = forest.covariances();
    for (std::size_t l = 0; l < node.entries; ++l) {
        const std::int32_t child = node.child(l);
        if (child < 0 || static_cast<std::size_t>(child) >= forest.nodes()) continue;
        const std::int32_t found = table.of_node[static_cast<std::size_t>(child)];
        if (found < 0) continue;
        const auto row = static_cast<std::size_t>(found);
        const float exponent = table.exponent(row, x_.data(), x_.size(), deviation_.data());
        log2_density_[l] = std::max(table.log2_norm[row] - kHalfLog2E * exponent, kLeastLog2);
        log2_value_[l] = log2_density_[l] + node.log2_count[l];
    }
}

void Query::ask_root_model(const Forest& forest, const double* x) {
    vote_.clear();
    if (missing_ || forest.root_model().empty()) return;
    vote_.resize(classes_);
    forest.root_model().log2_joint(x, vote_);
    // It knows the objects it was trained on; the trees know all of them.
    const auto known = static_cast<double>(forest.root_model().known[0]);
    settings_.root_weight *= std::min(1.0, known / static_cast<double>(forest.objects()));
}

// A missing dimension is integrated out: it adds nothing to the exponent and nothing to the norm. Such records see the
// diagonals of the covariances only, and the root model has no vote on them.
void Query::evaluate_partly(const Forest& forest, const NodeView& node, std::size_t point_class) {
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
        log2_density_[l] = std::max(log2_density, kLeastLog2);
        log2_value_[l] = log2_density_[l] + (node.log2_count == nullptr ? 0.0F : node.log2_count[l]);
    }
}

void Query::add_entry(const Forest& forest, ClassState& state, std::int32_t child, std::size_t lane) {
    state.sum += value_[lane];
    if (child < 0) {
        state.kernel_log2.push_back(log2_value_[lane]);
        state.kernel_value.push_back(value_[lane]);
        return;
    }
    if (static_cast<std::size_t>(child) >= forest.nodes())
        throw DamagedForest("the tree is damaged: an entry points to node " + std::to_string(child) + " of " +
                            std::to_string(forest.nodes()));
    state.entries.push_back(
        {priority(log2_density_[lane]), log2_density_[lane], log2_value_[lane], child, value_[lane]});
    std::push_heap(state.entries.begin(), state.entries.end(), Later{});
}

/// The class's sum from its frontier, with the origin at its largest value.
void Query::rebase(ClassState& state) {
    float most = -std::numeric_limits<float>::infinity();
    for (const Entry& entry : state.entries) most = std::max(most, entry.log2_value);
    for (const float value : state.kernel_log2) most = std::max(most, value);
    state.origin = std::floor(static_cast<double>(most));
    const auto origin = static_cast<float>(state.origin);

    kernels().powers_of_two(state.kernel_log2.data(), origin, state.kernel_log2.size(), state.kernel_value.data());
    state.sum = 0.0;
    for (const double value : state.kernel_value) state.sum += value;
    constexpr std::size_t kRun = 32;
    float log2_value[kRun];
    double value[kRun];
    for (std::size_t first = 0; first < state.entries.size(); first += kRun) {
        const std::size_t run = std::min(kRun, state.entries.size() - first);
        for (std::size_t i = 0; i < run; ++i) log2_value[i] = state.entries[first + i].log2_value;
        kernels().powers_of_two(log2_value, origin, run, value);
        for (std::size_t i = 0; i < run; ++i) {
            state.entries[first + i].value = value[i];
            state.sum += value[i];
        }
    }
    state.peak = state.sum;
}

void Query::order(std::size_t c) {
    const ClassState& state = state_[c];
    key_[c] = state.entries.empty() ? -std::numeric_limits<double>::infinity() : order_key(state.sum, state.origin);
}

/// The classes with the highest joint densities take turns, the best one first (qbk); those with nothing left to refine
/// are passed over. Of equals the lower number is first.
void Query::choose_classes() {
    const std::size_t k = std::min(turns_per_round(settings_.refined_classes, classes_), open_classes_);
    turns_.resize(k);
    std::size_t chosen = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
        const double key = key_[c];
        if (key == -std::numeric_limits<double>::infinity()) continue;
        if (chosen == k && !(key > key_[static_cast<std::size_t>(turns_[k - 1])])) continue;
        std::size_t place = chosen < k ? chosen++ : k - 1;
        for (; place > 0 && key > key_[static_cast<std::size_t>(turns_[place - 1])]; --place)
            turns_[place] = turns_[place - 1];
        turns_[place] = static_cast<std::int32_t>(c);
    }
    turns_.resize(chosen);
    std::reverse(turns_.begin(), turns_.end());
}

bool Query::step(const Forest& forest) {
    if (open_classes_ == 0) return false;
    while (!turns_.empty() && state_[static_cast<std::size_t>(turns_.back())].entries.empty()) turns_.pop_back();
    if (turns_.empty()) choose_classes();
    if (turns_.empty()) return false;
    const auto c = static_cast<std::size_t>(turns_.back());
    turns_.pop_back();
    if (!turns_.empty()) {
        const auto& next = state_[static_cast<std::size_t>(turns_.back())].entries;
        if (!next.empty()) forest.prefetch(static_cast<std::size_t>(next.front().node));
    }
    if (++steps_ > static_cast<std::int64_t>(forest.nodes()))
        throw DamagedForest("the tree is damaged: it goes round in a circle");
    auto& entries = state_[c].entries;
    std::pop_heap(entries.begin(), entries.end(), Later{});
    const Entry refined = entries.back();
    entries.pop_back();
    replace(forest, c, refined);
    return true;
}

void Query::replace(const Forest& forest, std::size_t c, const Entry& refined) {
    ClassState& state = state_[c];
    if (settings_.decision == Decision::ensemble) {
        state.history.add(Scaled::of(state.sum * static_cast<double>(steps_ - state.since), state.origin));
        state.since = steps_;
    }

    const NodeView node = forest.node(static_cast<std::size_t>(refined.node));
    evaluate(forest, node, c);
    float most = kLeastLog2;
    for (std::size_t l = 0; l < node.entries; ++l) most = std::max(most, log2_value_[l]);
    const bool too_high = most - static_cast<float>(state.origin) > kMostAbove;
    if (too_high)
        std::fill_n(value_.begin(), node.entries, 0.0);
    else
        kernels().powers_of_two(log2_value_.data(), static_cast<float>(state.origin), node.entries, value_.data());
    state.sum -= refined.value;
    for (std::size_t l = 0; l < node.entries; ++l) add_entry(forest, state, node.child(l), l);
    state.peak = std::max(state.peak, state.sum);
    if (too_high || !(state.sum > kCancelled * state.peak)) rebase(state);
    if (state.entries.empty()) --open_classes_;
    order(c);
}

std::int64_t Query::refine(const Forest& forest, const Limits& limits) {
    const std::int64_t start = steps_;
    if (limits.interruptible()) {
        StopWatch watch(limits);
        while (steps_ - start < limits.steps && !watch.due() && step(forest)) {}
    } else {
        while (steps_ - start < limits.steps && step(forest)) {}
    }
    return steps_ - start;
}

Scaled Query::score(std::size_t point_class) const {
    const ClassState& state = state_[point_class];
    if (settings_.decision == Decision::nearest) {  // Eq. 21
        double most = 0.0;
        for (const Entry& entry : state.entries) most = std::max(most, entry.value);
        for (const double value : state.kernel_value) most = std::max(most, value);
        return Scaled::of(most, state.origin);
    }
    if (settings_.decision == Decision::mixture) return Scaled::of(state.sum, state.origin);  // Eq. 7
    Scaled score = state.history;                                                             // Eq. 20
    score.add(Scaled::of(state.sum * static_cast<double>(steps_ + 1 - state.since), state.origin));
    return score;
}

void Query::posterior(std::span<double> out) const {
    Scaled most;
    thread_local std::vector<Scaled> scores;
    scores.resize(classes_);
    for (std::size_t c = 0; c < classes_; ++c) {
        scores[c] = score(c);
        if (!vote_.empty() && scores[c].fraction > 0.0) {
            const double power = steps_ == 0 ? vote_[c] : settings_.root_weight * vote_[c];
            const double whole = std::floor(power);
            scores[c] = Scaled::of((steps_ == 0 ? 1.0 : scores[c].fraction) * std::exp2(power - whole),
                                   (steps_ == 0 ? 0.0 : scores[c].exponent) + whole);
        }
        if (most < scores[c]) most = scores[c];
    }
    double sum = 0.0;
    for (std::size_t c = 0; c < classes_; ++c) {
        out[c] =
            scores[c].fraction == 0.0 ? 0.0 : Scaled::shifted(scores[c].fraction, scores[c].exponent - most.exponent);
        sum += out[c];
    }
    for (std::size_t c = 0; c < classes_; ++c) out[c] = sum > 0.0 ? out[c] / sum : 1.0 / static_cast<double>(classes_);
}

std::size_t Query::label() const {
    thread_local std::vector<double> proba;
    proba.resize(classes_);
    posterior(proba);
    return static_cast<std::size_t>(std::max_element(proba.begin(), proba.end()) - proba.begin());
}

std::vector<Query::FrontierEntry> Query::frontier() const {
    std::vector<FrontierEntry> all;
    for (std::size_t c = 0; c < classes_; ++c) {
        for (const Entry& entry : state_[c].entries)
            all.push_back({static_cast<std::int32_t>(c), entry.node, entry.log2_value});
        for (const float value : state_[c].kernel_log2) all.push_back({static_cast<std::int32_t>(c), -1, value});
    }
    return all;
}

}  // namespace anystream::bayes_tree
