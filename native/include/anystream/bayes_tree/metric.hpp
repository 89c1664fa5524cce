// From the space of the features to one in which Euclidean distance tells classes apart: first each feature for itself
// along a monotone curve (quantiles), then a linear map.
#pragma once

#include <cstddef>
#include <span>

namespace anystream::bayes_tree {

/// Borrowed arrays; an empty one stands for a step that is left out.
struct Metric {
    std::size_t dimensions;
    std::span<const double> knots;   // (d, k) ascending values of each feature, all equal: it stays as it is
    std::span<const double> levels;  // (d, k) what they become; linear in between, constant outside
    std::span<const double> shift;   // (d,) subtracted
    std::span<const double> factor;  // (d,) diagonal map, or
    std::span<const double> matrix;  // (d, d) full map; a missing value counts as `shift` here
};

/// y = map(curve(x) - shift) for one record. x and y must not overlap.
void apply_metric(const Metric& metric, const double* x, double* y) noexcept;

}  // namespace anystream::bayes_tree
