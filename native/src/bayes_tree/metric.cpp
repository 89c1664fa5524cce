#include "anystream/bayes_tree/metric.hpp"

#include <algorithm>
#include <cmath>

namespace anystream::bayes_tree {

namespace {

/// The curve of one feature at `value`; NaN stays NaN, and without a curve (all knots equal) everything stays.
double along(const double* knots, const double* levels, std::size_t count, double value) noexcept {
    if (std::isnan(value) || knots[0] == knots[count - 1]) return value;
    const double* const above = std::upper_bound(knots, knots + count, value);
    if (above == knots) return levels[0];
    if (above == knots + count) return levels[count - 1];
    const auto k = static_cast<std::size_t>(above - knots);
    const double share = (value - knots[k - 1]) / (knots[k] - knots[k - 1]);
    return levels[k - 1] + share * (levels[k] - levels[k - 1]);
}

}  // namespace

void apply_metric(const Metric& metric, const double* x, double* y) noexcept {
    const std::size_t d = metric.dimensions;
    const std::size_t knots = metric.knots.size() / d;
    const auto centred = [&](std::size_t j) {
        const double value =
            knots == 0 ? x[j] : along(metric.knots.data() + j * knots, metric.levels.data() + j * knots, knots, x[j]);
        return value - metric.shift[j];
    };
    if (metric.matrix.empty()) {
        for (std::size_t j = 0; j < d; ++j) y[j] = centred(j) * (metric.factor.empty() ? 1.0 : metric.factor[j]);
        return;
    }
    std::fill_n(y, d, 0.0);
    for (std::size_t j = 0; j < d; ++j) {  // the matrix is stored by columns: row j holds what feature j adds
        const double value = centred(j);
        if (std::isnan(value) || value == 0.0) continue;
        const double* const column = metric.matrix.data() + j * d;
        for (std::size_t i = 0; i < d; ++i) y[i] += value * column[i];
    }
}

}  // namespace anystream::bayes_tree
