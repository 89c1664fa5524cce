// One split of EMTopDown: a mixture of at most k diagonal Gaussians for a set of rows, and the best component of a row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "anystream/bayes_tree/gaussian_lanes.hpp"

namespace anystream::bayes_tree {

/// Rows in one piece, each padded with zeros to a multiple of eight values. A buffer that is filled again and again.
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

struct EmSettings {
    int max_iterations = 20;
    double tolerance = 1e-2;  // end when the mean log likelihood rises by less
};

/// Fits mixtures, one after the other, in the same memory. One thread at a time; `best` may be shared.
class DiagonalEm {
  public:
    /// `variance_floor`, (dimensions,), > 0, is borrowed: no variance falls below it.
    DiagonalEm(std::size_t dimensions, std::size_t components, std::span<const double> variance_floor);

    /// Fits the mixture to the rows and writes each row's component, in [0, k), to `component`. `poll` is called once
    /// per iteration and may throw.
    void fit(const Rows& rows, std::span<std::int32_t> component, const EmSettings& settings,
             const std::function<void()>& poll);

    /// What `fit` found: the rows that component j stands for, their mean and their variance in dimension i.
    [[nodiscard]] double occupancy(std::size_t j) const noexcept { return n_[j]; }
    [[nodiscard]] double mean(std::size_t j, std::size_t i) const noexcept { return sum_[j * stride_ + i] / n_[j]; }
    [[nodiscard]] double variance(std::size_t j, std::size_t i) const noexcept {
        return std::max(floor_[i], square_[j * stride_ + i] / n_[j] - mean(j, i) * mean(j, i));
    }

    /// Moves the mixture by `offset`, (dimensions,): undoes a shift of the rows it was fitted to.
    void move(std::span<const double> offset) noexcept { lanes_.move(offset.data()); }

    /// The most probable component of a row with at least `dimensions` values.
    [[nodiscard]] std::int32_t best(const double* row) const noexcept;

  private:
    std::size_t start(const Rows& rows);
    double expect(const Rows& rows, std::span<std::int32_t> component);
    void maximise(std::size_t rows);

    std::size_t dimensions_;
    std::size_t stride_;
    std::size_t components_;
    std::span<const double> floor_;
    GaussianLanes lanes_;
    std::vector<double> joints_, share_;        // of the rows in hand, with every component
    std::vector<double> n_, sum_, square_;      // of every component: n, LS, SS (stride)
    std::vector<std::int32_t> member_, moved_;  // Var-Part: rows by cluster
};

}  // namespace anystream::bayes_tree
