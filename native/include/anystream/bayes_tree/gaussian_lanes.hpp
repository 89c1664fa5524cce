// Many diagonal Gaussians against one or two vectors at a time, eight Gaussians side by side:
//
//     mean      [block of 8 Gaussians][dimension][8]
//     precision [block of 8 Gaussians][dimension][8]   1 / (2 variance)
//     constant  [block of 8 Gaussians][8]              offset - 1/2 log |variance|; -inf in lanes without Gaussian
//
// Only additions and multiplications of lanes, in a fixed order: the same bits at any vector width.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "anystream/portable_math.hpp"

namespace anystream::bayes_tree {

class GaussianLanes {
  public:
    static constexpr std::size_t kLanes = 8;
    static constexpr double kNothing = -std::numeric_limits<double>::infinity();

    GaussianLanes(std::size_t dimensions, std::size_t gaussians)
        : dimensions_(dimensions),
          blocks_((gaussians + kLanes - 1) / kLanes),
          mean_(blocks_ * dimensions * kLanes),
          precision_(blocks_ * dimensions * kLanes),
          constant_(blocks_ * kLanes, kNothing) {}

    [[nodiscard]] std::size_t blocks() const noexcept { return blocks_; }

    /// Sets Gaussian j from mean(i) and variance(i) > 0 of each dimension i; `offset` is added to its logarithms.
    template <typename Mean, typename Variance>
    void set(std::size_t j, const Mean& mean, const Variance& variance, double offset) noexcept {
        const std::size_t at = (j / kLanes) * dimensions_ * kLanes + j % kLanes;
        LogProduct determinant;
        for (std::size_t i = 0; i < dimensions_; ++i) {
            const double v = variance(i);
            mean_[at + i * kLanes] = mean(i);
            precision_[at + i * kLanes] = 0.5 / v;
            determinant.multiply(v);
        }
        constant_[j] = offset - 0.5 * determinant.log();
    }

    /// Takes Gaussian j out: its logarithms become -inf.
    void clear(std::size_t j) noexcept { constant_[j] = kNothing; }

    /// Moves every mean by offset[i].
    void move(const double* offset) noexcept {
        for (std::size_t at = 0; at < mean_.size(); ++at) mean_[at] += offset[at / kLanes % dimensions_];
    }

    /// log density + offset + d/2 log 2 pi of kRows vectors under the eight Gaussians of a block; row r goes to
    /// out[r * row_distance ..].
    template <std::size_t kRows>
    void log_density(std::size_t block, const double* const* rows, double* out,
                     std::size_t row_distance) const noexcept {
        compare<kRows, false>(block, rows, nullptr, out, row_distance);
    }

    /// The same in expectation over a diagonal Gaussian around each vector with the given variances.
    template <std::size_t kRows>
    void expected_log_density(std::size_t block, const double* const* rows, const double* const* variances, double* out,
                              std::size_t row_distance) const noexcept {
        compare<kRows, true>(block, rows, variances, out, row_distance);
    }

  private:
    using Pair = double __attribute__((vector_size(16)));  // the width that every 64-bit machine has
    static constexpr std::size_t kPairs = kLanes / 2;

    static Pair load(const double* from) noexcept {
        Pair pair;
        __builtin_memcpy(&pair, from, sizeof pair);
        return pair;
    }

    template <std::size_t kRows, bool kSpread>
    void compare(std::size_t block, const double* const* rows, [[maybe_unused]] const double* const* variances,
                 double* out, std::size_t row_distance) const noexcept {
        const double* const mean = mean_.data() + block * dimensions_ * kLanes;
        const double* const precision = precision_.data() + block * dimensions_ * kLanes;
        Pair distance[kRows][kPairs] = {};
        for (std::size_t i = 0; i < dimensions_; ++i) {
            for (std::size_t p = 0; p < kPairs; ++p) {
                const Pair m = load(mean + i * kLanes + p * 2);
                const Pair q = load(precision + i * kLanes + p * 2);
                for (std::size_t r = 0; r < kRows; ++r) {
                    const Pair t = rows[r][i] - m;
                    if constexpr (kSpread) {
                        distance[r][p] += (t * t + variances[r][i]) * q;
                    } else {
                        distance[r][p] += t * t * q;
                    }
                }
            }
        }
        for (std::size_t p = 0; p < kPairs; ++p) {
            const Pair c = load(constant_.data() + block * kLanes + p * 2);
            for (std::size_t r = 0; r < kRows; ++r) {
                const Pair joint = c - distance[r][p];
                __builtin_memcpy(out + r * row_distance + p * 2, &joint, sizeof joint);
            }
        }
    }

    std::size_t dimensions_;
    std::size_t blocks_;
    std::vector<double> mean_, precision_, constant_;
};

}  // namespace anystream::bayes_tree
