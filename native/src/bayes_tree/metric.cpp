#include "anystream/bayes_tree/metric.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "anystream/bayes_tree/kernels.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr std::size_t kCurves = 8;  // features whose searches run side by side: none waits for another

/// The curves of up to kCurves features at their values; NaN stays NaN, and without a curve (all knots equal)
/// everything stays.
void follow_curves(const double* knots, const double* levels, std::size_t count, std::span<double> values) noexcept {
    std::size_t above[kCurves] = {};  // the first knot above the value; no branch that a processor would have to guess
    for (std::size_t left = count; left > 1;) {
        const std::size_t half = left / 2;
        for (std::size_t j = 0; j < values.size(); ++j)
            above[j] += knots[j * count + above[j] + half - 1] <= values[j] ? half : 0;
        left -= half;
    }
    for (std::size_t j = 0; j < values.size(); ++j, knots += count, levels += count) {
        if (std::isnan(values[j]) || knots[0] == knots[count - 1]) continue;
        const std::size_t k = above[j] + (knots[above[j]] <= values[j]);
        if (k == 0 || k == count) {
            values[j] = levels[k == 0 ? 0 : count - 1];
            continue;
        }
        const double share = (values[j] - knots[k - 1]) / (knots[k] - knots[k - 1]);
        values[j] = levels[k - 1] + share * (levels[k] - levels[k - 1]);
    }
}

}  // namespace

void Metric::apply(const double* x, double* y, std::vector<double>& centred) const {
    const std::size_t d = dimensions(), count = knots.size() / d;
    centred.assign(x, x + d);
    for (std::size_t j = 0; count > 0 && j < d; j += kCurves)
        follow_curves(knots.data() + j * count, levels.data() + j * count, count,
                      std::span(centred).subspan(j, std::min(kCurves, d - j)));
    for (std::size_t j = 0; j < d; ++j) centred[j] -= shift[j];
    if (matrix.empty()) {
        for (std::size_t j = 0; j < d; ++j) y[j] = centred[j] * (factor.empty() ? 1.0 : factor[j]);
        return;
    }
    for (double& value : centred) value = std::isnan(value) ? 0.0 : value;
    kernels().linear_map(centred.data(), matrix.data(), d, y);  // row j holds what feature j adds
}

}  // namespace anystream::bayes_tree
