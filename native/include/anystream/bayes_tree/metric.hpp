// A map from the features to a space in which Euclidean distance separates the classes: each feature along its own
// monotone curve (quantiles), then a linear map.
#pragma once

#include <cstddef>
#include <vector>

namespace anystream::bayes_tree {

/// An empty array means that the step is left out.
struct Metric {
    std::vector<double> knots;   // (d, k) ascending values of each feature, all equal: the feature is not changed
    std::vector<double> levels;  // (d, k) what they become; linear in between, constant outside
    std::vector<double> shift;   // (d,) subtracted
    std::vector<double> factor;  // (d,) diagonal map, or
    std::vector<double> matrix;  // (d, d) full map; a missing value counts as `shift` here, and the record is unknown
                                 // along its row

    [[nodiscard]] std::size_t dimensions() const noexcept { return shift.size(); }
    /// y = map(curve(x) - shift) for one record. x and y must not overlap; `centred` is scratch.
    void apply(const double* x, double* y, std::vector<double>& centred) const;
    void apply(const double* x, double* y) const {
        thread_local std::vector<double> centred;
        apply(x, y, centred);
    }
};

}  // namespace anystream::bayes_tree
