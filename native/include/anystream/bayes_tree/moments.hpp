// Running moments of one set of records by dimension: the number, the mean and the scatter (the sum of squared
// deviations) of the values that are present.
#pragma once

#include <cmath>
#include <cstddef>

namespace anystream::bayes_tree {

inline void add_moments(const double* x, std::size_t dimensions, double* observed, double* mean,
                        double* scatter) noexcept {
    for (std::size_t j = 0; j < dimensions; ++j) {
        if (std::isnan(x[j])) continue;
        const double apart = x[j] - mean[j];
        observed[j] += 1.0;
        mean[j] += apart / observed[j];
        scatter[j] += apart * (x[j] - mean[j]);
    }
}

/// Takes a record away that was added before. A scatter of which only rounding errors are left becomes 0.
inline void subtract_moments(const double* x, std::size_t dimensions, double* observed, double* mean,
                             double* scatter) noexcept {
    constexpr double kRounding = 1e-13;
    for (std::size_t j = 0; j < dimensions; ++j) {
        if (std::isnan(x[j])) continue;
        observed[j] -= 1.0;
        if (!(observed[j] >= 1.0)) {
            observed[j] = mean[j] = scatter[j] = 0.0;
            continue;
        }
        const double apart = x[j] - mean[j], before = scatter[j];
        mean[j] -= apart / observed[j];
        scatter[j] -= apart * (x[j] - mean[j]);
        if (observed[j] == 1.0 || !(scatter[j] > kRounding * before)) scatter[j] = 0.0;
    }
}

}  // namespace anystream::bayes_tree
