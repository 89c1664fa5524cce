#include "anystream/subspace/level_sampler.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "anystream/portable_math.hpp"

namespace anystream::subspace {

namespace {

constexpr std::int32_t kMixed = -1;

std::size_t first_point(const std::uint64_t* points) noexcept {
    std::size_t w = 0;
    while (points[w] == 0) ++w;
    return w * 64 + static_cast<std::size_t>(std::countr_zero(points[w]));
}

}  // namespace

Fading::Fading(double rate) : rate_(rate) {
    constexpr std::uint32_t kCommon = 1024;
    table_.reserve(kCommon);
    for (std::uint32_t distance = 0; distance < kCommon; ++distance) table_.push_back(compute(distance));
}

double Fading::compute(std::uint32_t distance) const {
    constexpr double kFaintest = 1e-200;
    return std::max(kFaintest, portable_exp(-rate_ * static_cast<double>(distance)));
}

void LevelView::look(const Level& level, const float* x) {
    const Lists& all = level.lists();
    code.assign(level.ranges().code_stride(), kMissing);
    level.ranges().encode(x, code.data());
    lists.clear();
    unknown_.clear();
    for (const std::uint32_t j : all.split()) {
        if (code[j] == kMissing) continue;
        const auto list = static_cast<std::uint32_t>(all.first_list(j) + code[j]);
        lists.push_back(list);
        if (all.weights.get(list) < 0.0F) unknown_.push_back(list);
    }
    if (!unknown_.empty()) {
        weight_.resize(unknown_.size());
        level.weigh(unknown_, scratch_, weight_.data());
        for (std::size_t i = 0; i < unknown_.size(); ++i) all.weights.set(unknown_[i], weight_[i]);
    }
    weights.clear(lists.size());
    for (const std::uint32_t list : lists) weights.push(all.weights.get(list));
    open = true;
}

void LevelView::reserve(const Level& level) {
    code.reserve(level.ranges().code_stride());
    lists.reserve(level.dimensions());
    unknown_.reserve(level.dimensions());
    weight_.reserve(level.dimensions());
    weights.clear(level.dimensions());
    scratch_.reserve(level.lists().slots());
}

void LevelSampler::reserve(const Level& level) {
    for (auto& buffer : narrowed_)
        if (buffer.size() < level.lists().words()) buffer.resize(level.lists().words());
    draw_.reserve(level.dimensions());
}

void Vote::reserve(std::size_t classes, std::size_t points) {
    clear(classes);
    touched.reserve(std::min(classes, points));
}

void Vote::clear(std::size_t classes) {
    if (value.size() != classes) {
        value.assign(classes, 0.0);
    } else {
        for (const std::int32_t c : touched) value[static_cast<std::size_t>(c)] = 0.0;
    }
    touched.clear();
    prior = 0.0;
}

void LevelSampler::sample(const Level& level, const LevelView& view, const VoteRule& rule, Generator& random,
                          Vote& vote) {
    const Kernels& kernel = kernels();
    const Lists& lists = level.lists();
    const std::size_t words = lists.words();
    for (auto& buffer : narrowed_)
        if (buffer.size() < words) buffer.resize(words);
    const std::uint64_t* points = nullptr;
    std::uint64_t* spare = narrowed_[0].data();
    std::uint32_t size = 0;
    std::int32_t pure_class = kMixed;
    draw_.begin(view.weights);
    for (std::size_t k; (k = draw_.next(view.weights, random)) != DimensionDraw::kNone;) {
        const std::size_t list = view.lists[k];
        if (points == nullptr) {
            points = lists.bits(list);
            size = lists.count(list);
        } else {
            const std::uint32_t left = kernel.intersect(points, lists.bits(list), spare, words);
            if (left == 0 || left == size) continue;
            points = spare;
            spare = points == narrowed_[0].data() ? narrowed_[1].data() : narrowed_[0].data();
            size = left;
        }
        const std::int32_t c = level.point_class(first_point(points));
        if (!kernel.exceeds(points, lists.class_bits(level.slot(c)), words)) {
            pure_class = c;
            break;
        }
        if (size <= rule.support) break;
    }
    if (points == nullptr) {
        vote.prior = rule.affinity.at(rule.apart);  // no point found: the level's class shares, with low weight
    } else if (pure_class == kMixed && size <= kMaxWeighed) {
        vote_weighed(level, view, rule, points, vote);
    } else {
        vote_counted(level, view, rule, points, size, pure_class, random, vote);
    }
}

void LevelSampler::vote_weighed(const Level& level, const LevelView& view, const VoteRule& rule,
                                const std::uint64_t* points, Vote& vote) {
    const std::size_t members = kernels().distances(level.codes(view.code.data()), points, level.lists().words(), 0,
                                                    kMaxWeighed, place_, distance_);
    const std::uint32_t best = *std::min_element(distance_, distance_ + members);
    double sum = 0.0;
    for (std::size_t i = 0; i < members; ++i) sum += amount_[i] = rule.kernel.at(distance_[i] - best);
    const double scale = rule.affinity.at(best) / (sum + rule.smoothing);
    for (std::size_t i = 0; i < members; ++i) vote.add(level.point_class(place_[i]), amount_[i] * scale);
    vote.prior = rule.smoothing * scale;
}

void LevelSampler::vote_counted(const Level& level, const LevelView& view, const VoteRule& rule,
                                const std::uint64_t* points, std::uint32_t size, std::int32_t pure_class,
                                Generator& random, Vote& vote) {
    const Kernels& kernel = kernels();
    const std::size_t words = level.lists().words();
    const std::size_t looked_at = kernel.distances(level.codes(view.code.data()), points, words, random.next() % words,
                                                   kMaxCompared, place_, distance_);
    const std::uint32_t best = *std::min_element(distance_, distance_ + looked_at);
    const double scale = rule.affinity.at(best) / (size + rule.smoothing);
    vote.prior = rule.smoothing * scale;
    if (pure_class != kMixed) {
        vote.add(pure_class, size * scale);
        return;
    }
    for (const std::int32_t c : level.present()) {
        const std::uint32_t members = kernel.count_common(points, level.lists().class_bits(level.slot(c)), words);
        if (members > 0) vote.add(c, members * scale);
    }
}

}  // namespace anystream::subspace
