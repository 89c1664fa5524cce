#include "anystream/subspace/level_query.hpp"

#include <algorithm>
#include <cmath>

namespace anystream::subspace {

void LevelQuery::open(const Levels& model, const SamplingSettings& settings, std::span<const double> x) {
    settings_ = settings;
    x_.resize(round_up(model.dimensions(), kLimitBlock));
    to_floats(x.data(), model.dimensions(), x_.data());
    steps_ = 0;
    given_.assign(model.size(), 0);
    sum_.assign(model.size() * model.classes(), 0.0);
    prior_sum_.assign(model.size(), 0.0);
    if (settings.error > 0.0) test_.begin(model.classes());
    prepare(model);
    exhausted_ = model.only_class() >= 0;
}

void LevelQuery::prepare(const Levels& model) {
    seed_ = record_seed(model.settings().seed, x_.data(), model.dimensions());
    view_.resize(model.size());
    for (LevelView& view : view_) view.open = false;
    final_.clear();
}

std::size_t LevelQuery::next_level(const Levels& model, const std::vector<std::int64_t>& given,
                                   std::int64_t step) const {
    std::size_t best = 0;
    double highest = -std::numeric_limits<double>::infinity();
    for (std::size_t l = 0; l < model.size(); ++l) {
        if (model.share(l) == 0.0) continue;
        const double behind = model.share(l) * static_cast<double>(step + 1) - static_cast<double>(given[l]);
        if (behind > highest) highest = behind, best = l;
    }
    return best;
}

bool LevelQuery::step(const Levels& model) {
    if (exhausted_) return false;
    const std::size_t l = next_level(model, given_, steps_);
    const Level& level = model.level(l);
    if (!view_[l].open) view_[l].look(level, x_.data());
    Generator random(seed_, static_cast<std::uint64_t>(steps_));
    vote_.clear(model.classes());
    sampler_.sample(level, view_[l], model.rule(), random, vote_);
    double* sum = sum_.data() + l * model.classes();
    for (const std::int32_t c : vote_.touched) sum[c] += vote_.value[static_cast<std::size_t>(c)];
    prior_sum_[l] += vote_.prior;
    ++given_[l];
    ++steps_;
    if (settings_.error > 0.0) {
        double highest = 0.0;
        for (std::size_t k = 0; k < model.size(); ++k)
            if (model.share(k) > 0.0) highest = std::max(highest, model.weight(k) / model.share(k));
        auto& votes = test_.votes();
        for (std::size_t c = 0; c < votes.size(); ++c) votes[c] = vote_.value[c] + vote_.prior * level.prior(c);
        test_.update(model.weight(l) / model.share(l) / highest);
    }
    check_exhausted(model);
    return true;
}

void LevelQuery::check_exhausted(const Levels& model) {
    exhausted_ = steps_ >= settings_.max_samples ||
                 (steps_ >= settings_.max_samples - steps_ && steps_ % kCheckEvery == 0 && cannot_change(model));
    if (!exhausted_ && settings_.error > 0.0) {
        double highest = 0.0, drift = 0.0;
        for (std::size_t l = 0; l < model.size(); ++l) {
            if (model.share(l) == 0.0) continue;
            const double scale = model.weight(l) / model.share(l);
            highest = std::max(highest, scale);
            drift += scale * std::abs(static_cast<double>(given_[l]) - model.share(l) * static_cast<double>(steps_));
        }
        exhausted_ = test_.decided(label(model), settings_.error, drift / highest);
    }
}

/// Even if every sample to come gave a full vote to one other class and none to the leader.
bool LevelQuery::cannot_change(const Levels& model) {
    constexpr std::int64_t kMaxAhead = 100'000;  // samples to look ahead
    if (settings_.max_samples - steps_ > kMaxAhead) return false;
    if (final_.empty()) {
        final_ = given_;
        for (std::int64_t s = steps_; s < settings_.max_samples; ++s) ++final_[next_level(model, final_, s)];
    }
    constexpr double kRounding = 1e-9;
    const std::size_t leader = label(model), classes = model.classes();
    double open_votes = 0.0;
    std::vector<double> lowest(classes, 0.0);
    for (std::size_t l = 0; l < model.size(); ++l) {
        if (final_[l] == 0) continue;
        const double each = model.weight(l) / static_cast<double>(final_[l]);
        open_votes += each * static_cast<double>(final_[l] - given_[l]);
        for (std::size_t c = 0; c < classes; ++c) {
            const double prior = model.level(l).size() == 0 ? 0.0 : model.level(l).prior(c);
            lowest[c] += each * (sum_[l * classes + c] + prior_sum_[l] * prior);
        }
    }
    for (std::size_t c = 0; c < classes; ++c)
        if (c != leader && !(lowest[leader] > lowest[c] + open_votes + kRounding)) return false;
    return true;
}

double LevelQuery::score(const Levels& model, std::size_t c) const {
    double score = 0.0;
    const std::size_t classes = model.classes();
    for (std::size_t l = 0; l < given_.size(); ++l) {
        if (model.weight(l) == 0.0 || model.level(l).size() == 0) continue;
        const double prior = model.level(l).prior(c);
        if (steps_ == 0)
            score += model.weight(l) * prior;
        else if (given_[l] > 0)
            score += model.weight(l) * (sum_[l * classes + c] + prior_sum_[l] * prior) / static_cast<double>(given_[l]);
    }
    return score;
}

void LevelQuery::posterior(const Levels& model, std::span<double> out) const {
    double all = 0.0;
    for (std::size_t c = 0; c < out.size(); ++c) all += out[c] = score(model, c);
    for (double& each : out) each = all > 0.0 ? each / all : 1.0 / static_cast<double>(out.size());
}

std::size_t LevelQuery::label(const Levels& model) const {
    std::size_t best = 0;
    double highest = -1.0;
    for (std::size_t c = 0; c < model.classes(); ++c) {
        const double each = score(model, c);
        if (each > highest) highest = each, best = c;
    }
    return best;
}

namespace {
constexpr std::uint32_t kStateVersion = 1;
constexpr std::int64_t kMaxSamples = 1'000'000'000;
constexpr double kRounding = 1e-6;
}  // namespace

std::vector<std::byte> LevelQuery::suspend() const {
    StateWriter out;
    out.value(kStateVersion);
    out.value(settings_.max_samples);
    out.value(settings_.error);
    out.value(steps_);
    out.value(static_cast<std::uint8_t>(exhausted_));
    out.array(x_);
    out.array(given_);
    out.array(sum_);
    out.array(prior_sum_);
    if (settings_.error > 0.0) out.array(test_.wealth());
    return out.take();
}

void LevelQuery::resume(const Levels& model, std::span<const std::byte> state) {
    StateReader in(state);
    LevelQuery next;
    in.require(in.value<std::uint32_t>() == kStateVersion, "it was written by another version");
    next.settings_.max_samples = in.value<std::int64_t>();
    next.settings_.error = in.value<double>();
    in.require(next.settings_.max_samples >= 1 && next.settings_.max_samples <= kMaxSamples &&
                   next.settings_.error >= 0.0 && next.settings_.error < 1.0,
               "its settings are damaged");
    next.steps_ = in.value<std::int64_t>();
    next.exhausted_ = in.flag();
    in.array(next.x_, round_up(model.dimensions(), kLimitBlock), "the number of features differs");
    in.array(next.given_, model.size(), "the number of levels differs");
    in.array(next.sum_, model.size() * model.classes(), "the number of classes differs");
    in.array(next.prior_sum_, model.size(), "the number of levels differs");
    if (next.settings_.error > 0.0) {
        next.test_.begin(model.classes());
        const std::size_t size = next.test_.wealth().size();
        in.array(next.test_.wealth(), size, "the number of classes differs");
    }
    in.end();
    in.require(next.steps_ >= 0 && next.steps_ <= next.settings_.max_samples, "its steps are damaged");
    in.require(next.exhausted_ || (next.steps_ < next.settings_.max_samples && model.only_class() < 0),
               "its steps are damaged");
    std::int64_t given = 0;
    for (const std::int64_t n : next.given_) {
        in.require(n >= 0 && n <= next.steps_, "its samples are damaged");
        given += n;
    }
    in.require(given == next.steps_, "its samples are damaged");
    in.require_record(next.x_);
    in.require_sums(next.sum_);
    in.require_sums(next.prior_sum_);
    for (std::size_t l = 0; l < model.size(); ++l) {  // a sample adds at most 1
        double votes = next.prior_sum_[l];
        for (std::size_t c = 0; c < model.classes(); ++c) votes += next.sum_[l * model.classes() + c];
        in.require(votes <= static_cast<double>(next.given_[l]) * (1.0 + kRounding), "its votes are damaged");
    }
    for (const double wealth : next.test_.wealth()) in.require(wealth >= 0.0, "its test is damaged");
    next.prepare(model);
    *this = std::move(next);
}

}  // namespace anystream::subspace
