// One split of EMTopDown: a mixture of at most k diagonal Gaussians for a set of rows, and the best component of a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "anystream/bayes_tree/gaussian_lanes.hpp"

namespace anystream::bayes_tree {

/// A reusable buffer of rows, each padded with zeros to a multiple of eight values.
class Rows {
  public:
    explicit Rows(std::size_t dimensions) : dimensions_(dimensions), stride_((dimensions + 7) / 8 * 8) {}

    void resize(std::size_t size) {
        size_ = size;
        if (values_.size() < size * stride_) values_.resize(size * stride_);
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
    [[nodiscard]] double* row(std::size_t i) noexcept { return values_.data() + i * stride_; }
    [[nodiscard]] const double* row(std::size_t i) const noexcept { return values_.data() + i * stride_; }

  private:
    std::size_t dimensions_;
    std::size_t stride_;
    std::size_t size_ = 0;
    std::vector<double> values_;
};

/// Fits mixtures, one after the other, in the same memory. One thread at a time; `best` may be shared.
///
/// No component is narrower than half the variance of a cell of an even tiling: if k equal cells tile the rows, each
/// has k^(-2/d) of their variance. Narrower components make spikes where values repeat and deep, lopsided trees where
/// they are skewed; on eight data sets this floor gives better classifiers than small fixed ones.
class DiagonalEm {
  public:
    DiagonalEm(std::size_t dimensions, std::size_t components);

    /// Fits the mixture to the rows and writes each row's component, in [0, k), to `component`. The rows should be
    /// centred: moments are taken from the origin. `poll` is called once per iteration and may throw.
    void fit(const Rows& rows, std::span<std::int32_t> component, const std::function<void()>& poll);

    /// The result of `fit`: the rows that component j stands for, their mean and their variance in dimension i, no
    /// floor.
    [[nodiscard]] double occupancy(std::size_t j) const noexcept { return n_[j]; }
    [[nodiscard]] double mean(std::size_t j, std::size_t i) const noexcept { return sum_[j * stride_ + i] / n_[j]; }
    [[nodiscard]] double variance(std::size_t j, std::size_t i) const noexcept {
        return square_[j * stride_ + i] / n_[j] - mean(j, i) * mean(j, i);
    }

    /// Moves the mixture by `offset`, (dimensions,): undoes a shift of the rows it was fitted to.
    void move(std::span<const double> offset) noexcept { lanes_.move(offset.data()); }

    /// The most probable component of each row.
    void best(std::span<const double* const> rows, std::int32_t* component) const;

  private:
    std::size_t start(const Rows& rows);
    void measure_floor(std::size_t rows);
    double expect(const Rows& rows, std::span<std::int32_t> component);
    void maximise(std::size_t rows);

    std::size_t dimensions_;
    std::size_t stride_;
    std::size_t components_;
    double relative_floor_;  // of the variance of all rows
    std::vector<double> floor_;
    const LaneKernels& kernels_ = lane_kernels();
    GaussianLanes lanes_;
    std::vector<double> joints_, shares_;       // of the present rows, with every component
    std::vector<double> n_, sum_, square_;      // of every component: n, LS, SS (stride)
    std::vector<std::int32_t> member_, moved_;  // Var-Part: rows by cluster
};

}  // namespace anystream::bayes_tree
