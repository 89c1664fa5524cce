// Drawing dimensions by weight, each at most once: shared by both variants of LOCUST.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "anystream/subspace/kernels.hpp"
#include "anystream/subspace/random.hpp"

namespace anystream::subspace {

/// The weights of one query in one bit set. Const once filled.
class DimensionWeights {
  public:
    /// Prepares for up to this many dimensions.
    void clear(std::size_t max_dimensions) {
        constexpr std::size_t kBlock = kRankBlock;
        cumulative_.assign((max_dimensions + kBlock - 1) / kBlock * kBlock, std::numeric_limits<double>::infinity());
        size_ = drawable_ = 0;
        total_ = 0.0;
    }
    /// The next dimension; weight 0 is never drawn.
    void push(double weight) noexcept {
        total_ += weight;
        cumulative_[size_++] = total_;
        drawable_ += weight > 0.0;
    }
    [[nodiscard]] double total() const noexcept { return total_; }
    [[nodiscard]] double weight(std::size_t j) const noexcept {
        return j == 0 ? cumulative_[0] : cumulative_[j] - cumulative_[j - 1];
    }
    [[nodiscard]] std::size_t dimensions() const noexcept { return size_; }
    [[nodiscard]] std::size_t drawable() const noexcept { return drawable_; }
    /// The dimension in whose share of [0, total) `at` lies.
    [[nodiscard]] std::size_t find(double at) const noexcept {
        constexpr std::size_t kFew = 128;  // that are faster compared all than searched
        if (size_ <= kFew)
            return kernels().rank(cumulative_.data(), (size_ + kRankBlock - 1) / kRankBlock * kRankBlock, at);
        const double* from = cumulative_.data();  // a binary search without branches: they could not be predicted
        for (std::size_t size = size_; size > 1;) {
            const std::size_t half = size / 2;
            from += half & (std::size_t{0} - static_cast<std::size_t>(from[half - 1] <= at));
            size -= half;
        }
        return static_cast<std::size_t>(from - cumulative_.data()) + (*from <= at ? 1 : 0);
    }

  private:
    std::vector<double> cumulative_;  // of the first size_ dimensions, then +inf
    std::size_t size_ = 0;
    std::size_t drawable_ = 0;
    double total_ = 0.0;
};

/// The dimensions of one sample, one after another. Draws again what was drawn before while less than half of the
/// weight is used up, then adds up what is left.
class DimensionDraw {
  public:
    static constexpr std::size_t kNone = ~std::size_t{0};

    void reserve(std::size_t dimensions) {
        if (drawn_at_.size() < dimensions) drawn_at_.resize(dimensions, 0);
    }
    void begin(const DimensionWeights& weights) {
        reserve(weights.dimensions());
        if (++now_ == 0) {  // the stamps have wrapped around
            std::fill(drawn_at_.begin(), drawn_at_.end(), 0);
            now_ = 1;
        }
        drawn_ = 0;
        used_ = 0.0;
    }

    /// The next dimension, or kNone when all were drawn.
    [[nodiscard]] std::size_t next(const DimensionWeights& weights, Generator& random) {
        if (drawn_ == weights.drawable()) return kNone;
        std::size_t j = kNone;
        while (used_ * 2.0 < weights.total()) {
            j = weights.find(random.uniform() * weights.total());
            if (j < weights.dimensions() && drawn_at_[j] != now_) break;
            j = kNone;
        }
        if (j == kNone) j = among_the_rest(weights, random);
        drawn_at_[j] = now_;
        used_ += weights.weight(j);
        ++drawn_;
        return j;
    }

  private:
    [[nodiscard]] std::size_t among_the_rest(const DimensionWeights& weights, Generator& random) const {
        const auto open = [&](std::size_t j) { return drawn_at_[j] != now_ && weights.weight(j) > 0.0; };
        double rest = 0.0;
        for (std::size_t j = 0; j < weights.dimensions(); ++j)
            if (open(j)) rest += weights.weight(j);
        const double at = random.uniform() * rest;
        double sum = 0.0;
        std::size_t last = 0;
        for (std::size_t j = 0; j < weights.dimensions(); ++j) {
            if (!open(j)) continue;
            last = j;
            sum += weights.weight(j);
            if (sum > at) break;
        }
        return last;
    }

    std::vector<std::uint32_t> drawn_at_;  // the sample in which a dimension was drawn last
    std::uint32_t now_ = 0;
    std::size_t drawn_ = 0;
    double used_ = 0.0;
};

}  // namespace anystream::subspace
