#include "anystream/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace anystream {

Calibration::Point Calibration::at(std::int64_t taken) const noexcept {
    const auto above = static_cast<std::size_t>(std::upper_bound(steps.begin(), steps.end(), taken) - steps.begin());
    const auto between = [&](const std::vector<double>& values) {
        if (above == 0) return values.front();
        if (above == steps.size()) return values.back();
        const double share =
            static_cast<double>(taken - steps[above - 1]) / static_cast<double>(steps[above] - steps[above - 1]);
        return values[above - 1] + share * (values[above] - values[above - 1]);
    };
    return {std::exp(between(log_sharpness)), between(floor)};
}

void Calibration::apply(std::span<double> proba, const Point& point) noexcept {
    if (proba.empty()) return;
    const auto [sharpness, mixed] = point;
    const auto best = static_cast<std::size_t>(std::max_element(proba.begin(), proba.end()) - proba.begin());
    const double highest = proba[best], uniform = mixed / static_cast<double>(proba.size());
    if (!(highest > 0.0)) return;
    double sum = 0.0;
    for (double& p : proba) {
        p = p > 0.0 ? std::exp2(sharpness * std::log2(p / highest)) : 0.0;
        sum += p;
    }
    for (double& p : proba) p = (1.0 - mixed) * (p / sum) + uniform;
    for (std::size_t c = 0; c < proba.size(); ++c)  // rounding must not change the label
        if (c < best ? proba[c] >= proba[best] : proba[c] > proba[best])
            proba[best] = std::nextafter(proba[c], std::numeric_limits<double>::infinity());
}

}  // namespace anystream
