#include "anystream/bayes_tree/learned_metric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "anystream/bayes_tree/kernels.hpp"
#include "anystream/portable_math.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr double kInvisible = -30.0;  // log of a kernel, relative to the nearest, that no longer counts
constexpr double kNegligible = 1e-9;  // of a probability

}  // namespace

double neighbour_gradient(std::span<const double> z, std::span<const std::int32_t> label,
                          std::span<const double> weight, std::span<double> gradient) {
    const std::size_t n = label.size(), d = weight.size(), lanes = (n + 7) / 8 * 8;
    std::vector<float> column(d * lanes, 0.0F), root(d);  // the rows as lanes
    for (std::size_t k = 0; k < d; ++k) {
        root[k] = static_cast<float>(std::sqrt(weight[k]));
        for (std::size_t i = 0; i < n; ++i) column[k * lanes + i] = static_cast<float>(z[i * d + k]);
    }
    double objective = 0.0;
    std::fill(gradient.begin(), gradient.end(), 0.0);
    std::vector<float> x(d), distance(lanes);
    std::vector<double> kernel(n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < d; ++k) x[k] = column[k * lanes + i];
        kernels().shared_exponents(x.data(), column.data(), root.data(), d, lanes, distance.data());
        float nearest = std::numeric_limits<float>::infinity();
        for (std::size_t j = 0; j < n; ++j)
            if (j != i) nearest = std::min(nearest, distance[j]);
        double all = 0.0, right = 0.0;
        for (std::size_t j = 0; j < n; ++j) {
            const double apart = static_cast<double>(nearest) - static_cast<double>(distance[j]);
            kernel[j] = j != i && apart > kInvisible ? portable_exp(apart) : 0.0;
            all += kernel[j];
            if (label[j] == label[i]) right += kernel[j];
        }
        if (!(right > 0.0)) continue;
        objective += portable_log(right / all);
        for (std::size_t j = 0; j < n; ++j) {
            if (kernel[j] == 0.0) continue;
            const double pull = (label[j] == label[i] ? kernel[j] / right : 0.0) - kernel[j] / all;
            if (std::abs(pull) < kNegligible) continue;
            for (std::size_t k = 0; k < d; ++k) {
                const double apart = z[j * d + k] - z[i * d + k];
                gradient[k] -= pull * weight[k] * apart * apart;
            }
        }
    }
    const auto rows = static_cast<double>(std::max<std::size_t>(n, 1));
    for (double& value : gradient) value /= rows;
    return objective / rows;
}

}  // namespace anystream::bayes_tree
