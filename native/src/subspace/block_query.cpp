#include "anystream/subspace/block_query.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace anystream::subspace {

namespace {

constexpr std::uint32_t kStateVersion = 2;
constexpr std::int64_t kProportionalBelow = 3, kUnbiasedAbove = 50;  // n_s, section III.B of the paper
constexpr double kMaxVote = 1e9;

}  // namespace

void BlockQuery::open(const Blocks& model, const BlockSampling& settings, std::span<const double> x) {
    settings_ = settings;
    x_.resize(round_up(model.dimensions(), kLimitBlock));
    to_floats(x.data(), model.dimensions(), x_.data());
    steps_ = 0;
    succeeded_ = failed_ = 0.0;
    vote_.assign(model.classes(), 0.0);
    fallback_.assign(model.classes(), 0.0);
    if (settings.error > 0.0) test_.begin(model.classes());
    prepare(model);
    exhausted_ = model.only_class() >= 0 || model.size() == 0;
}

void BlockQuery::prepare(const Blocks& model) {
    seed_ = record_seed(model.settings().seed, x_.data(), model.dimensions());
    view_.resize(model.size());
    for (View& view : view_) view.open = false;
}

double BlockQuery::power() const noexcept {
    if (!settings_.adaptive) return settings_.power;
    const std::int64_t number = steps_ + 1;  // of the sample to be taken
    return number < kProportionalBelow ? 1.0 : number <= kUnbiasedAbove ? 0.5 : 0.0;
}

const BlockQuery::View& BlockQuery::look(const Blocks& model, std::size_t b) {
    const Block& block = model.block(b);
    View& view = view_[b];
    if (!view.open) {
        view.code.assign(block.ranges().code_stride(), kMissing);
        block.ranges().encode(x_.data(), view.code.data());
        view.open = true;
        view.power = -1.0;
    }
    if (const double wanted = power(); view.power != wanted) {
        const Lists& lists = block.lists();
        view.weights.clear(model.dimensions());
        for (std::size_t j = 0; j < model.dimensions(); ++j) {
            const bool drawable = view.code[j] != kMissing && lists.lists_of(j) > 0 &&
                                  lists.count(lists.first_list(j) + view.code[j]) > 0;
            if (!drawable) {
                view.weights.push(0.0);
                continue;
            }
            const double gini = block.gini(lists.first_list(j) + view.code[j]);
            view.weights.push(wanted == 0.0   ? 1.0
                              : wanted == 0.5 ? std::sqrt(gini)
                              : wanted == 1.0 ? gini
                                              : std::pow(gini, wanted));
        }
        view.power = wanted;
    }
    return view;
}

/// Eq. 6 for the class that dominates the points counted in count_.
BlockQuery::Sampled BlockQuery::judge(const Blocks& model, const Block& block, std::size_t size) const {
    const auto class_of = [&](std::size_t slot) { return static_cast<std::size_t>(block.present()[slot]); };
    std::size_t best = 0;  // a slot
    double highest = -1.0;
    for (std::size_t s = 0; s < count_.size(); ++s) {
        if (count_[s] == 0) continue;
        const double strength = settings_.dominant == Dominant::count ? count_[s] : count_[s] / block.prior(s);
        const bool earlier = strength == highest && model.first_seen(class_of(s)) < model.first_seen(class_of(best));
        if (strength > highest || earlier) highest = strength, best = s;
    }
    const double here = count_[best] / static_cast<double>(size), overall = block.prior(best);
    if (overall == 1.0) return {class_of(best), 0.0, false};  // the block has no other class: no class can dominate
    const double gamma = (here - overall) / std::sqrt(overall * (1.0 - overall) / static_cast<double>(size));
    return {class_of(best), gamma, gamma > settings_.significance};
}

BlockQuery::Sampled BlockQuery::sample(const Blocks& model, std::size_t b, const View& view, Generator& random) {
    const Block& block = model.block(b);
    const Kernels& kernel = kernels();
    const Lists& lists = block.lists();
    const std::size_t words = lists.words(), slots = block.present().size();
    for (auto& buffer : narrowed_)
        if (buffer.size() < words) buffer.resize(words);
    count_.resize(slots);
    next_count_.resize(slots);
    for (std::size_t s = 0; s < slots; ++s) count_[s] = block.class_size(s);
    std::size_t size = block.size();
    const std::uint64_t* points = nullptr;  // all of them
    std::uint64_t* spare = narrowed_[0].data();
    Sampled found = judge(model, block, size);
    draw_.begin(view.weights);
    const bool pure = slots == 1;  // every sample has the same result
    while (!pure && !found.success && static_cast<std::int64_t>(size) > settings_.min_points) {
        const std::size_t j = draw_.next(view.weights, random);
        if (j == DimensionDraw::kNone) break;
        const std::size_t list = lists.first_list(j) + view.code[j];
        if (points == nullptr) {
            points = lists.bits(list);
            size = lists.count(list);
            std::copy_n(lists.class_count(list), slots, count_.begin());
        } else {
            std::size_t left = 0;
            for (std::size_t s = 0; s < slots; ++s) {
                const std::size_t from = block.first_word(s), to = block.first_word(s + 1);
                next_count_[s] =
                    count_[s] == 0 ? 0
                                   : kernel.intersect(points + from, lists.bits(list) + from, spare + from, to - from);
                left += next_count_[s];
            }
            if (left == 0 && settings_.empty == Empty::end) return {kNoClass, 0.0, false};
            if (left == 0 || left == size) continue;  // an empty subspace is undone
            points = spare;
            spare = points == narrowed_[0].data() ? narrowed_[1].data() : narrowed_[0].data();
            size = left;
            count_.swap(next_count_);
        }
        found = judge(model, block, size);
    }
    return found;
}

bool BlockQuery::step(const Blocks& model) {
    if (exhausted_) return false;
    const auto turn = static_cast<std::size_t>(steps_) % model.size();
    const std::size_t b = model.size() - 1 - turn;
    Generator random(seed_, static_cast<std::uint64_t>(steps_));
    const Sampled found = sample(model, b, look(model, b), random);
    const double amount = settings_.votes == Votes::plain ? 1.0 : std::clamp(found.gamma, 1e-9, kMaxVote);
    const bool some = found.dominant != kNoClass;
    const bool counts = found.success || (some && settings_.failed == Failed::vote);
    if (counts) {
        vote_[found.dominant] += amount;
        succeeded_ += amount;
    } else if (some && settings_.failed == Failed::fallback) {
        fallback_[found.dominant] += amount;
        failed_ += amount;
    }
    ++steps_;
    if (settings_.error > 0.0) {
        std::fill(test_.votes().begin(), test_.votes().end(), 0.0);
        if (counts) test_.votes()[found.dominant] = 1.0;
        test_.update(1.0);
    }
    check_exhausted(model);
    return true;
}

void BlockQuery::check_exhausted(const Blocks& model) {
    exhausted_ = steps_ >= settings_.max_samples;
    if (exhausted_ || settings_.votes != Votes::plain || succeeded_ == 0.0) return;
    const std::size_t leader = label(model);
    double second = 0.0;
    for (std::size_t c = 0; c < vote_.size(); ++c)
        if (c != leader) second = std::max(second, vote_[c]);
    exhausted_ = vote_[leader] > second + static_cast<double>(settings_.max_samples - steps_);
    if (!exhausted_ && settings_.error > 0.0) {
        // Blocks that had their turn in this round against those that had not.
        const auto blocks = static_cast<double>(model.size());
        const double ahead = std::fmod(static_cast<double>(steps_), blocks);
        exhausted_ = test_.decided(leader, settings_.error, 2.0 * ahead * (1.0 - ahead / blocks));
    }
}

const std::vector<double>* BlockQuery::deciding() const noexcept {
    return succeeded_ > 0.0 ? &vote_ : failed_ > 0.0 ? &fallback_ : nullptr;
}

void BlockQuery::posterior(const Blocks& model, std::span<double> out) const {
    double all = 0.0;
    const auto* votes = deciding();
    std::fill(out.begin(), out.end(), 0.0);
    if (votes != nullptr) std::copy(votes->begin(), votes->end(), out.begin());
    for (std::size_t b = 0; votes == nullptr && b < model.size(); ++b) {
        const Block& block = model.block(b);
        for (std::size_t s = 0; s < block.present().size(); ++s)
            out[static_cast<std::size_t>(block.present()[s])] += block.prior(s);
    }
    for (const double each : out) all += each;
    for (double& each : out) each = all > 0.0 ? each / all : 1.0 / static_cast<double>(out.size());
}

std::size_t BlockQuery::label(const Blocks& model) const {
    std::vector<double> proba(model.classes());
    posterior(model, proba);
    return static_cast<std::size_t>(std::max_element(proba.begin(), proba.end()) - proba.begin());
}

std::vector<std::byte> BlockQuery::suspend() const {
    StateWriter out;
    out.value(kStateVersion);
    out.value(settings_.power);
    out.value(static_cast<std::uint8_t>(settings_.adaptive));
    out.value(settings_.significance);
    out.value(settings_.min_points);
    out.value(static_cast<std::int32_t>(settings_.dominant));
    out.value(static_cast<std::int32_t>(settings_.votes));
    out.value(static_cast<std::int32_t>(settings_.failed));
    out.value(static_cast<std::int32_t>(settings_.empty));
    out.value(settings_.max_samples);
    out.value(settings_.error);
    out.value(steps_);
    out.value(static_cast<std::uint8_t>(exhausted_));
    out.value(succeeded_);
    out.value(failed_);
    out.array(x_);
    out.array(vote_);
    out.array(fallback_);
    if (settings_.error > 0.0) out.array(test_.wealth());
    return out.take();
}

void BlockQuery::resume(const Blocks& model, std::span<const std::byte> state) {
    StateReader in(state);
    BlockQuery next;
    in.require(in.value<std::uint32_t>() == kStateVersion, "it was written by another version");
    BlockSampling& s = next.settings_;
    s.power = in.value<double>();
    s.adaptive = in.flag();
    s.significance = in.value<double>();
    s.min_points = in.value<std::int64_t>();
    s.dominant = in.choice(Dominant::lift);
    s.votes = in.choice(Votes::gamma);
    s.failed = in.choice(Failed::silent);
    s.empty = in.choice(Empty::end);
    s.max_samples = in.value<std::int64_t>();
    s.error = in.value<double>();
    constexpr std::int64_t kMaxCount = 1'000'000'000;
    const auto between = [](auto value, auto min, auto max) { return value >= min && value <= max; };
    in.require(between(s.max_samples, 1, kMaxCount) && s.error >= 0.0 && s.error < 1.0 &&
                   between(s.min_points, 0, kMaxCount) && between(s.power, 0.0, 100.0) &&
                   between(s.significance, 0.0, 1e6),
               "its settings are damaged");
    next.steps_ = in.value<std::int64_t>();
    next.exhausted_ = in.flag();
    next.succeeded_ = in.value<double>();
    next.failed_ = in.value<double>();
    in.array(next.x_, round_up(model.dimensions(), kLimitBlock), "the number of features differs");
    in.array(next.vote_, model.classes(), "the number of classes differs");
    in.array(next.fallback_, model.classes(), "the number of classes differs");
    if (s.error > 0.0) {
        next.test_.begin(model.classes());
        const std::size_t size = next.test_.wealth().size();
        in.array(next.test_.wealth(), size, "the number of classes differs");
    }
    in.end();
    in.require(next.steps_ >= 0 && next.steps_ <= s.max_samples, "its steps are damaged");
    in.require(next.exhausted_ || (next.steps_ < s.max_samples && model.size() > 0 && model.only_class() < 0),
               "its steps are damaged");
    in.require_sums(next.vote_);
    in.require_sums(next.fallback_);
    const auto adds_up = [](const std::vector<double>& votes, double sum) {
        constexpr double kRounding = 1e-6;
        const double all = std::accumulate(votes.begin(), votes.end(), 0.0);
        return std::abs(sum - all) <= kRounding * all;
    };
    const double most = static_cast<double>(next.steps_) * (s.votes == Votes::plain ? 1.0 : kMaxVote);
    in.require(adds_up(next.vote_, next.succeeded_) && adds_up(next.fallback_, next.failed_) &&
                   next.succeeded_ + next.failed_ <= most * (1.0 + 1e-6),
               "its votes are damaged");
    in.require_record(next.x_);
    for (const double wealth : next.test_.wealth()) in.require(wealth >= 0.0, "its test is damaged");
    next.prepare(model);
    *this = std::move(next);
}

}  // namespace anystream::subspace
