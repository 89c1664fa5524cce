// From the space of the features to one in which Euclidean distance tells classes apart: first each feature for itself
// along a monotone curve (quantiles), then a linear map.
#pragma once

#include <cstddef>
#include <vector>

namespace anystream::bayes_tree {

/// An empty array stands for a step that is left out.
struct Metric {
    std::vector<double> knots;   // (d, k) ascending values of each feature, all equal: it stays as it is
    std::vector<double> levels;  // (d, k) what they become; linear in between, constant outside
    std::vector<double> shift;   // (d,) subtracted
    std::vector<double> factor;  // (d,) diagonal map, or
    std::vector<double> matrix;  // (d, d) full map; a missing value counts as `shift` here

    [[nodiscard]] std::size_t dimensions() const noexcept { return shift.size(); }
    /// y = map(curve(x) - shift) for one record. x and y must not overlap.
    void apply(const double* x, double* y) const noexcept;
};

}  // namespace anystream::bayes_tree
