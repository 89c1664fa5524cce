// Many diagonal Gaussians against a vector, eight of them side by side:
//
//     mean      [block of 8 Gaussians][dimension][8]
//     precision [block of 8 Gaussians][dimension][8]   1 / (2 variance)
//     constant  [block of 8 Gaussians][8]              offset - 1/2 log |variance|; -inf in lanes without Gaussian
//
// Only additions and multiplications of lanes, in a fixed order: the same bits at any vector width.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "anystream/bayes_tree/lane_kernels.hpp"
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

    /// log density + offset + d/2 log 2 pi of some vectors under the Gaussians of blocks [first, last): those of row r
    /// go to out[r * row_distance ..], eight for each block.
    void log_density(std::size_t first, std::size_t last, std::span<const double* const> rows, double* out,
                     std::size_t row_distance) const noexcept {
        kernels_.log_density(view(), first, last, rows.data(), rows.size(), out, row_distance);
    }

    /// The same in expectation over a diagonal Gaussian around the vector with the given variances.
    void expected_log_density(std::size_t first, std::size_t last, const double* row, const double* variance,
                              double* out) const noexcept {
        kernels_.expected_log_density(view(), first, last, &row, &variance, 1, out, 0);
    }

  private:
    [[nodiscard]] LaneView view() const noexcept {
        return {mean_.data(), precision_.data(), constant_.data(), dimensions_};
    }

    const LaneKernels& kernels_ = lane_kernels();
    std::size_t dimensions_;
    std::size_t blocks_;
    std::vector<double> mean_, precision_, constant_;
};

}  // namespace anystream::bayes_tree
