#include "anystream/bayes_tree/metric.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "anystream/bayes_tree/kernels.hpp"

namespace anystream::bayes_tree {

namespace {

/// The curve of one feature at `value`; NaN stays NaN, and without a curve (all knots equal) everything stays.
double along(const double* knots, const double* levels, std::size_t count, double value) noexcept {
    if (std::isnan(value) || knots[0] == knots[count - 1]) return value;
    std::size_t k = 0;  // the first knot above the value; no branch that a processor would have to guess
    for (std::size_t left = count; left > 1;) {
        const std::size_t half = left / 2;
        k += knots[k + half - 1] <= value ? half : 0;
        left -= half;
    }
    k += knots[k] <= value;
    if (k == 0) return levels[0];
    if (k == count) return levels[count - 1];
    const double share = (value - knots[k - 1]) / (knots[k] - knots[k - 1]);
    return levels[k - 1] + share * (levels[k] - levels[k - 1]);
}

}  // namespace

void Metric::apply(const double* x, double* y) const {
    const std::size_t d = dimensions(), count = knots.size() / d;
    const auto centred = [&](std::size_t j) {
        return (count == 0 ? x[j] : along(knots.data() + j * count, levels.data() + j * count, count, x[j])) - shift[j];
    };
    if (matrix.empty()) {
        for (std::size_t j = 0; j < d; ++j) y[j] = centred(j) * (factor.empty() ? 1.0 : factor[j]);
        return;
    }
    thread_local std::vector<double> known;
    known.resize(d);
    for (std::size_t j = 0; j < d; ++j) {
        const double value = centred(j);
        known[j] = std::isnan(value) ? 0.0 : value;
    }
    kernels().linear_map(known.data(), matrix.data(), d, y);  // row j holds what feature j adds
}

}  // namespace anystream::bayes_tree
