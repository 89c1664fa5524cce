#include "anystream/subspace/levels.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "anystream/damaged_model.hpp"
#include "anystream/growth.hpp"
#include "anystream/parallel.hpp"
#include "anystream/portable_math.hpp"
#include "anystream/subspace/cut_arrays.hpp"

namespace anystream::subspace {

namespace {

std::size_t count_distinct(std::span<const std::int32_t> labels) {
    std::vector<std::int32_t> distinct;
    for (std::size_t first = 0, last = 0; first < labels.size(); first = last) {
        while (last < labels.size() && labels[last] == labels[first]) ++last;  // runs are common
        const auto found = std::lower_bound(distinct.begin(), distinct.end(), labels[first]);
        if (found == distinct.end() || *found != labels[first]) distinct.insert(found, labels[first]);
    }
    return distinct.size();
}

}  // namespace

Levels::Levels(LevelsSettings settings, std::size_t dimensions)
    : settings_(std::move(settings)), dimensions_(dimensions), rule_(make_rule()) {
    for (std::size_t l = 0; l < settings_.levels; ++l) levels_.emplace_back(shape(), dimensions, classes_);
    drop_levels(levels_that_fit(dimensions_, classes_));
    judged_ = settings_.label_delay > 0 ? levels_ : std::vector<Level>{};
    regret_.assign(levels_.size(), 0.0);
    weigh();
}

LevelShape Levels::shape() const {
    return {settings_.level_size, settings_.ranges, settings_.class_floor, settings_.categorical};
}

VoteRule Levels::make_rule() const {
    const std::uint32_t apart = unrelated_ranges(settings_.ranges) * static_cast<std::uint32_t>(dimensions_);
    return {settings_.support, settings_.smoothing, Fading(settings_.kernel), Fading(settings_.affinity), apart};
}

std::size_t Levels::levels_that_fit(std::size_t dimensions, std::size_t classes) const {
    const std::size_t copies = settings_.label_delay > 0 ? 2 : 1;
    const std::size_t each = copies * Level::max_bytes(shape(), dimensions, classes) + sizeof(Losses);
    const std::size_t fixed = bytes_beside_levels() + classes * (sizeof(std::int64_t) + sizeof(double));
    const std::size_t max_levels = settings_.max_bytes > fixed ? (settings_.max_bytes - fixed) / each : 0;
    if (max_levels == 0)
        throw std::invalid_argument("max_bytes is " + std::to_string(settings_.max_bytes) + ", but a level of " +
                                    std::to_string(settings_.level_size) + " points of " + std::to_string(dimensions) +
                                    " features and " + std::to_string(classes) + " classes takes up to " +
                                    std::to_string(each + fixed) + " bytes; allow more, or use a smaller level_size");
    return max_levels;
}

void Levels::drop_levels(std::size_t max_levels) {
    if (max_levels >= levels_.size()) return;
    copied_at_ = kNever;
    levels_.erase(levels_.begin() + static_cast<std::ptrdiff_t>(max_levels), levels_.end());
    if (judged_.size() > max_levels)
        judged_.erase(judged_.begin() + static_cast<std::ptrdiff_t>(max_levels), judged_.end());
    if (regret_.size() > max_levels) regret_.resize(max_levels);
    weigh();
}

void Levels::declare_classes(std::size_t classes) {
    if (classes <= classes_) return;
    drop_levels(levels_that_fit(dimensions_, classes));
    classes_ = classes;
    class_seen_.resize(classes, 0);
    for (Level& level : levels_) level.declare_classes(classes);
    for (Level& level : judged_) level.declare_classes(classes);
}

void Levels::add_features(std::size_t dimensions, std::vector<std::uint32_t> categorical) {
    std::swap(settings_.categorical, categorical);
    try {
        drop_levels(levels_that_fit(dimensions, classes_));
    } catch (...) {
        std::swap(settings_.categorical, categorical);
        throw;
    }
    dimensions_ = dimensions;
    copied_at_ = kNever;
    for (Level& level : levels_) level.add_features(dimensions, settings_.categorical);
    for (Level& level : judged_) level.add_features(dimensions, settings_.categorical);
    rule_ = make_rule();
}

std::uint64_t Levels::lot(std::int64_t seen) const noexcept {
    return mix(settings_.seed + kGolden * static_cast<std::uint64_t>(seen + 1));
}

std::size_t Levels::levels_taking(std::uint64_t lot) const noexcept {
    const std::size_t stride = settings_.stride;
    if (std::has_single_bit(stride)) {
        const int zeros = lot == 0 ? 64 : std::countr_zero(lot);
        return std::min(levels_.size(), 1 + static_cast<std::size_t>(zeros / std::countr_zero(stride)));
    }
    std::size_t taking = 1;
    for (; taking < levels_.size() && lot % stride == 0; lot /= stride) ++taking;
    return taking;
}

std::array<std::size_t, kMaxLevels> Levels::max_taken(std::size_t points, std::size_t classes) const noexcept {
    std::array<std::size_t, kMaxLevels> taken{};
    for (std::size_t i = 0; i < points; ++i) {
        const std::size_t taking = levels_taking(lot(seen_ + static_cast<std::int64_t>(i)));
        for (std::size_t l = 1; l < taking; ++l) ++taken[l];
    }
    taken[0] = points;
    for (std::size_t l = 1; l < levels_.size(); ++l)
        taken[l] = std::min(points, taken[l] + classes * settings_.class_floor);
    return taken;
}

bool Levels::learns_in_place(std::span<const double> values, std::span<const std::int32_t> labels,
                             std::size_t classes) const noexcept {
    const auto points = static_cast<std::int64_t>(labels.size());
    if (settings_.label_delay > 0) {
        const std::int64_t since_copy = seen_ % settings_.label_delay;
        if (since_copy == 0 || since_copy + points > settings_.label_delay) return false;  // levels are copied
    }
    if (levels_[0].may_cut(values, labels.size())) return false;
    const auto taken = max_taken(labels.size(), std::max(classes, classes_));
    for (std::size_t l = 1; l < levels_.size(); ++l)
        if (levels_[l].may_cut(values, taken[l])) return false;
    return true;
}

void Levels::reserve(std::span<const double>, std::span<const std::int32_t> labels, std::size_t classes) {
    classes = std::max(classes, classes_);
    static_cast<void>(levels_that_fit(dimensions_, classes));
    reserve_doubling(class_seen_, classes);
    const std::size_t distinct = count_distinct(labels);
    const auto taken = max_taken(labels.size(), classes);
    for (std::size_t l = 0; l < levels_.size(); ++l) levels_[l].reserve(taken[l], distinct, classes);
    for (Level& level : judged_) level.reserve(0, 0, classes);
    loss_.resize(levels_.size());
    work_.row.resize(round_up(dimensions_, kLimitBlock));
    work_.view.reserve(levels_[0]);
    work_.sampler.reserve(levels_[0]);
    work_.vote.reserve(classes, settings_.level_size);
}

bool Levels::learn(std::span<const double> values, std::span<const std::int32_t> labels, int threads) {
    loss_.resize(levels_.size());
    Block block;
    bool finite = true;
    for (std::size_t first = 0; first < labels.size(); first += block.size) {
        block.values = values.data() + first * dimensions_;
        block.labels = labels.data() + first;
        fill(block, std::min(labels.size() - first, threads > 1 ? kMaxBlock : kNearBlock));
        if (threads > 1) {
            finite &= learn_on_threads(block, threads);
        } else {
            for (std::size_t l = 0; l < levels_.size(); ++l) finite &= learn_block(l, block, work_, class_seen_);
        }
        add_losses(block);
        for (std::size_t i = 0; i < block.size; ++i) ++class_seen_[static_cast<std::size_t>(block.labels[i])];
        const std::int64_t end = seen_ + static_cast<std::int64_t>(block.size);
        for (std::int64_t copied = next_copy(seen_); copied < end; copied += settings_.label_delay) copied_at_ = copied;
        seen_ = end;
    }
    weigh();
    return finite;
}

bool Levels::learn_on_threads(const Block& block, int threads) {
    std::atomic<bool> finite = true;
    parallel_for(levels_.size(), 1, threads, [&](std::size_t l, std::size_t) {
        Workspace work;
        std::vector<std::int64_t> class_seen = class_seen_;
        if (!learn_block(l, block, work, class_seen)) finite = false;
    });
    return finite;
}

void Levels::fill(Block& block, std::size_t points) const noexcept {
    block.judged = block.size = 0;
    for (std::size_t i = 0; i < points && block.judged < kMaxJudged; ++i, ++block.size) {
        // At random, not in turn: classes that arrive in a cycle would never be learned by some levels.
        const std::uint64_t lot = this->lot(seen_ + static_cast<std::int64_t>(i));
        block.is_judged[i] = (lot >> kJudgeBits) == 0;
        block.judged += block.is_judged[i];
        block.levels[i] = static_cast<std::uint8_t>(levels_taking(lot));
    }
}

std::int64_t Levels::next_copy(std::int64_t seen) const noexcept {
    const std::int64_t delay = settings_.label_delay;
    return delay == 0 ? std::numeric_limits<std::int64_t>::max() : (seen + delay - 1) / delay * delay;
}

bool Levels::learn_block(std::size_t l, const Block& block, Workspace& work, std::span<std::int64_t> class_seen) {
    constexpr std::size_t kAhead = 8, kLine = 64 / sizeof(double);  // rows that are read early; values in a cache line
    const bool is_first = l == 0;
    const std::int64_t delay = settings_.label_delay;
    Level& level = levels_[l];
    work.row.resize(round_up(dimensions_, kLimitBlock));
    float* const x = work.row.data();
    PendingPoints pending;  // of the first level, which takes every point
    std::size_t judged = 0;
    bool finite = true;
    std::int64_t copied_at = copied_at_, copy_at = next_copy(seen_);
    for (std::size_t i = 0; i < block.size; ++i) {
        const std::int64_t seen = seen_ + static_cast<std::int64_t>(i);
        const std::int32_t point_class = block.labels[i];
        if (i + kAhead < block.size && block.levels[i + kAhead] > l) {
            const double* const row = block.values + (i + kAhead) * dimensions_;
            for (std::size_t j = 0; j < dimensions_; j += kLine) __builtin_prefetch(row + j);
        }
        if (seen == copy_at) {
            level.settle(pending);
            if (copied_at == kNever) {
                judged_[l] = level;
            } else {
                judged_[l].follow(level, copied_at);
            }
            copied_at = seen;
            copy_at += delay;
        }
        const bool taken = block.levels[i] > l || level.wants(point_class);
        if (taken || block.is_judged[i]) finite &= to_floats(block.values + i * dimensions_, dimensions_, x);
        if (block.is_judged[i]) {
            if (delay == 0) level.settle(pending);
            loss_[l][judged++] = judge(l, x, point_class, work);
        }
        if (taken) {
            const StreamShares shares = is_first ? StreamShares{} : StreamShares{class_seen, seen};
            level.insert(x, point_class, seen, shares, is_first ? &pending : nullptr);
        }
        if (!is_first) ++class_seen[static_cast<std::size_t>(point_class)];
    }
    level.settle(pending);
    for (std::size_t i = 0; i < block.size && !is_first; ++i) --class_seen[static_cast<std::size_t>(block.labels[i])];
    return finite;
}

double Levels::judge(std::size_t l, const float* x, std::int32_t point_class, Workspace& work) const {
    const Level& level = settings_.label_delay > 0 ? judged_[l] : levels_[l];
    if (level.size() == 0) return -portable_log(kMinProbability);
    const std::uint64_t seed = record_seed(settings_.seed, x, dimensions_);
    const auto c = static_cast<std::size_t>(point_class);
    Vote& vote = work.vote;
    work.view.look(level, x);
    double right = 0.0, all = 0.0;
    for (std::uint64_t s = 0; s < kJudgeSamples; ++s) {
        Generator random(seed, s);
        vote.clear(classes_);
        work.sampler.sample(level, work.view, rule_, random, vote);
        for (const std::int32_t touched : vote.touched) all += vote.value[static_cast<std::size_t>(touched)];
        all += vote.prior;
        right += vote.value[c] + vote.prior * level.prior(c);
    }
    return -portable_log(std::max(right / all, kMinProbability));
}

void Levels::add_losses(const Block& block) {
    const double max_loss = -portable_log(kMinProbability);
    for (std::size_t i = 0; i < block.judged; ++i) {
        double lowest = max_loss, highest = 0.0;
        for (const auto& loss : loss_) lowest = std::min(lowest, loss[i]), highest = std::max(highest, loss[i]);
        // Old losses fade only as far as the levels disagree: a long run of one class carries no information.
        const double disagreement = std::min(1.0, (highest - lowest) / (0.5 * max_loss));
        const double keep = portable_exp(disagreement * portable_log(kForget));
        for (std::size_t l = 0; l < levels_.size(); ++l) regret_[l] = regret_[l] * keep + loss_[l][i];
    }
}

void Levels::weigh() {
    const std::size_t n = levels_.size();
    const auto usable = [&](std::size_t l) { return l == 0 || levels_[l].size() >= kMinPoints; };
    weight_.assign(n, 0.0);
    share_.assign(n, 0.0);
    double lowest = std::numeric_limits<double>::infinity(), sum = 0.0, roots = 0.0;
    std::size_t in_use = 0;
    for (std::size_t l = 0; l < n; ++l)
        if (usable(l)) lowest = std::min(lowest, regret_.empty() ? 0.0 : regret_[l]), ++in_use;
    for (std::size_t l = 0; l < n; ++l)
        if (usable(l)) sum += weight_[l] = regret_.empty() ? 1.0 : portable_exp(-kEta * (regret_[l] - lowest));
    for (std::size_t l = 0; l < n; ++l) {
        if (!usable(l)) continue;
        weight_[l] = (1.0 - kEvenShare) * weight_[l] / sum + kEvenShare / static_cast<double>(in_use);
        roots += share_[l] = std::sqrt(weight_[l]);
    }
    for (double& share : share_) share /= roots;
    only_class_ = -1;
    for (std::size_t l = 0; l < n; ++l) {
        if (!usable(l) || levels_[l].size() == 0) continue;
        const auto present = levels_[l].present();
        if (present.size() > 1 || (only_class_ >= 0 && only_class_ != present[0])) {
            only_class_ = -1;
            return;
        }
        only_class_ = present[0];
    }
}

Levels Levels::merged(std::span<const Levels* const> parts, std::span<const std::vector<std::int32_t>> class_maps,
                      std::size_t classes) {
    Levels whole(parts[0]->settings_, parts[0]->dimensions_);
    whole.declare_classes(classes);
    for (std::size_t p = 0; p < parts.size(); ++p) {
        whole.seen_ += parts[p]->seen_;
        for (std::size_t c = 0; c < parts[p]->classes_; ++c)
            whole.class_seen_[static_cast<std::size_t>(class_maps[p][c])] += parts[p]->class_seen_[c];
    }
    struct Point {
        std::int64_t age;
        std::size_t part, place;
    };
    std::vector<float> row(round_up(whole.dimensions_, kLimitBlock), std::numeric_limits<float>::quiet_NaN());
    const auto fill = [&](std::vector<Level>& levels, auto&& level_of) {
        for (std::size_t l = 0; l < levels.size(); ++l) {
            std::vector<Point> points;
            for (std::size_t p = 0; p < parts.size(); ++p) {
                const Level* level = level_of(*parts[p], l);
                for (std::size_t i = 0; level != nullptr && i < level->size(); ++i)
                    points.push_back({parts[p]->seen_ - level->arrivals()[i], p, i});
            }
            std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.age > b.age; });
            std::int64_t arrival = whole.seen_ - static_cast<std::int64_t>(points.size());
            for (const auto& [age, p, i] : points) {
                const Level& level = *level_of(*parts[p], l);
                std::copy_n(level.values().data() + i * whole.dimensions_, whole.dimensions_, row.data());
                const std::int32_t name = class_maps[p][static_cast<std::size_t>(level.point_class(i))];
                levels[l].reserve(1, 1, classes);
                levels[l].insert(row.data(), name, arrival++, whole.shares(l));
            }
        }
    };
    fill(whole.levels_,
         [](const Levels& part, std::size_t l) { return l < part.levels_.size() ? &part.levels_[l] : nullptr; });
    fill(whole.judged_,
         [](const Levels& part, std::size_t l) { return l < part.judged_.size() ? &part.judged_[l] : nullptr; });
    for (const Levels* part : parts)
        for (std::size_t l = 0; l < whole.regret_.size() && l < part->regret_.size(); ++l)
            whole.regret_[l] += part->regret_[l] / static_cast<double>(parts.size());
    whole.weigh();
    return whole;
}

Levels::Arrays Levels::arrays() const {
    Arrays out;
    const auto append = [](auto& to, const auto& from) { to.own().append(from.begin(), from.end()); };
    for (const auto* levels : {&levels_, &judged_}) {
        for (const Level& level : *levels) {
            append(out.value, level.values());
            append(out.point_class, level.point_classes());
            append(out.arrival, level.arrivals());
            append(out.level_state, std::vector{static_cast<std::int64_t>(level.size()), level.inserted_since_cut(),
                                                level.size_at_cut(), std::int64_t{level.surprised()}});
            append(out.constant, level.constants());
            append_cuts(level.ranges(), out.cut.own(), out.cut_end.own());
        }
    }
    out.regret.own() = regret_;
    out.class_seen.own() = class_seen_;
    out.seen.own() = {seen_};
    return out;
}

Levels Levels::from_arrays(LevelsSettings settings, std::size_t dimensions, std::size_t classes, const Arrays& in) {
    const auto require = [](bool holds, const char* fault) { require_intact(holds, "the levels", fault); };
    Levels model(std::move(settings), dimensions);
    model.declare_classes(classes);
    const std::size_t n = model.levels_.size(), all = n + model.judged_.size();
    require(in.level_state.size() == 4 * all, "their number differs from the settings");
    require(in.constant.size() == all * dimensions, "not every feature has a value");
    for (const float v : in.constant.view()) require(!std::isinf(v), "a value is infinite");
    require(in.regret.size() == n, "not every level has a sum of losses");
    require(in.class_seen.size() == classes, "not every class has a count");
    for (const std::int64_t n_c : in.class_seen.view()) require(n_c >= 0 && n_c <= kMaxSeen, "a count is out of range");
    require(in.seen.size() == 1 && in.seen[0] >= 0 && in.seen[0] <= kMaxSeen,
            "the number of points seen is out of range");
    require(in.arrival.size() == in.point_class.size() && in.value.size() == in.point_class.size() * dimensions,
            "points, classes and times differ in number");
    for (const std::int32_t c : in.point_class.view())
        require(c >= 0 && static_cast<std::size_t>(c) < classes, "a point has no valid class");
    for (const std::int64_t t : in.arrival.view())
        require(t >= 0 && t < in.seen[0], "the time of a point is out of range");
    for (const float v : in.value.view()) require(!std::isinf(v), "a value is infinite");
    std::size_t point = 0;
    CutReader cuts(in.cut.view(), in.cut_end.view());
    for (std::size_t l = 0; l < all; ++l) {
        Level& level = l < n ? model.levels_[l] : model.judged_[l - n];
        const std::int64_t* state = in.level_state.data() + 4 * l;
        require(state[0] >= 0 && static_cast<std::size_t>(state[0]) <= level.capacity() &&
                    point + static_cast<std::size_t>(state[0]) <= in.point_class.size(),
                "a level has more points than slots");
        require(state[1] >= 0 && state[2] >= 0 && state[2] <= state[0] && (state[3] == 0 || state[3] == 1),
                "the counters contradict each other");
        const auto size = static_cast<std::size_t>(state[0]);
        level.restore({.values = {in.value.data() + point * dimensions, size * dimensions},
                       .point_class = {in.point_class.data() + point, size},
                       .arrival = {in.arrival.data() + point, size},
                       .constants = {in.constant.data() + l * dimensions, dimensions},
                       .since_cut = state[1],
                       .size_at_cut = state[2],
                       .surprised = state[3] == 1},
                      cuts.next(dimensions, model.settings_.ranges, model.settings_.categorical));
        point += size;
    }
    require(point == in.point_class.size(), "there are more points than the levels have");
    cuts.end();
    for (const double regret : in.regret.view()) require(std::isfinite(regret) && regret >= 0.0, "a loss is negative");
    model.regret_ = in.regret.copy();
    model.class_seen_ = in.class_seen.copy();
    model.seen_ = in.seen[0];
    model.weigh();
    return model;
}

std::size_t Levels::bytes_beside_levels() const noexcept {
    return sizeof(Levels) + rule_.kernel.own_bytes() + rule_.affinity.own_bytes();
}

std::size_t Levels::own_bytes() const noexcept {
    std::size_t bytes = bytes_beside_levels() + class_seen_.capacity() * sizeof(std::int64_t) +
                        work_.vote.value.capacity() * sizeof(double) + loss_.capacity() * sizeof(Losses);
    for (const Level& level : levels_) bytes += sizeof(Level) + level.own_bytes();
    for (const Level& level : judged_) bytes += sizeof(Level) + level.own_bytes();
    return bytes;
}

}  // namespace anystream::subspace
