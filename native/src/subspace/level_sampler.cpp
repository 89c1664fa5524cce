#include "anystream/subspace/level_sampler.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "anystream/portable_math.hpp"

namespace anystream::subspace {

namespace {

constexpr std::int32_t kMixed = -1;

/// Calls visit(point) for the set bits of word w.
template <typename Visit>
void each_bit(std::uint64_t word, std::size_t w, Visit&& visit) {
    for (; word != 0; word &= word - 1) visit(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
}

std::size_t first_point(const std::uint64_t* points) noexcept {
    std::size_t w = 0;
    while (points[w] == 0) ++w;
    return w * 64 + static_cast<std::size_t>(std::countr_zero(points[w]));
}

}  // namespace

VoteRule::VoteRule(std::size_t support_, double smoothing_, double kernel_, double affinity_, std::size_t dimensions)
    : support(support_), smoothing(smoothing_), kernel(dimensions + 1), affinity(dimensions + 1) {
    for (std::size_t m = 0; m <= dimensions; ++m) {
        kernel[m] = portable_exp(-kernel_ * static_cast<double>(m));
        affinity[m] = portable_exp(-affinity_ * static_cast<double>(m));
    }
}

void LevelView::look(const Level& level, const float* x) {
    const Lists& lists = level.lists();
    const std::size_t dimensions = level.dimensions();
    code.assign(level.ranges().code_stride(), kMissing);
    level.ranges().encode(x, code.data());
    weights.clear(dimensions);
    for (std::size_t j = 0; j < dimensions; ++j) {
        if (code[j] == kMissing || lists.lists_of(j) == 0) {
            weights.push(0.0);
            continue;
        }
        const std::size_t list = lists.first_list(j) + code[j];
        weights.push(lists.weights.get(list, [&] { return static_cast<float>(level.weight(list)); }));
    }
    open = true;
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
    for (std::size_t j; (j = draw_.next(view.weights, random)) != DimensionDraw::kNone;) {
        const std::size_t list = lists.first_list(j) + view.code[j];
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
        if (!kernel.exceeds(points, lists.class_bits(static_cast<std::size_t>(c)), words)) {
            pure_class = c;
            break;
        }
        if (size <= rule.support) break;
    }
    if (points == nullptr) {
        vote.prior = rule.affinity.back();  // nothing to go by: the level's class shares, softly
    } else if (pure_class == kMixed && size <= kMostWeighed) {
        vote_weighed(level, view, rule, points, vote);
    } else {
        vote_counted(level, view, rule, points, size, pure_class, random, vote);
    }
}

void LevelSampler::vote_weighed(const Level& level, const LevelView& view, const VoteRule& rule,
                                const std::uint64_t* points, Vote& vote) {
    const Kernels& kernel = kernels();
    std::uint32_t mismatch[kMostWeighed];
    std::int32_t point_class[kMostWeighed];
    std::size_t members = 0;
    std::uint32_t best = ~0U;
    for (std::size_t w = 0; w < level.lists().words(); ++w) {
        each_bit(points[w], w, [&](std::size_t p) {
            mismatch[members] = kernel.mismatch(view.code.data(), level.code(p), view.code.size());
            point_class[members] = level.point_class(p);
            best = std::min(best, mismatch[members++]);
        });
    }
    double sum = 0.0;
    for (std::size_t i = 0; i < members; ++i) sum += rule.kernel[mismatch[i] - best];
    const double scale = rule.affinity[best] / (sum + rule.smoothing);
    for (std::size_t i = 0; i < members; ++i) vote.add(point_class[i], rule.kernel[mismatch[i] - best] * scale);
    vote.prior = rule.smoothing * scale;
}

void LevelSampler::vote_counted(const Level& level, const LevelView& view, const VoteRule& rule,
                                const std::uint64_t* points, std::uint32_t size, std::int32_t pure_class,
                                Generator& random, Vote& vote) {
    const Kernels& kernel = kernels();
    const std::size_t words = level.lists().words();
    std::size_t looked_at = 0;
    std::uint32_t best = ~0U;
    std::size_t w = random.next() % words;
    for (std::size_t turn = 0; turn < words && looked_at < kLookedAt; ++turn) {
        each_bit(points[w], w, [&](std::size_t p) {
            if (looked_at == kLookedAt) return;
            best = std::min(best, kernel.mismatch(view.code.data(), level.code(p), view.code.size()));
            ++looked_at;
        });
        w = w + 1 == words ? 0 : w + 1;
    }
    const double scale = rule.affinity[best] / (size + rule.smoothing);
    vote.prior = rule.smoothing * scale;
    if (pure_class != kMixed) {
        vote.add(pure_class, size * scale);
        return;
    }
    for (std::size_t c = 0; c < vote.value.size(); ++c) {
        if (level.class_size(c) == 0) continue;
        const std::uint32_t members = kernel.count_common(points, level.lists().class_bits(c), words);
        if (members > 0) vote.add(static_cast<std::int32_t>(c), members * scale);
    }
}

}  // namespace anystream::subspace
