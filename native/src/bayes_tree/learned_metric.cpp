#include "anystream/bayes_tree/learned_metric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "anystream/bayes_tree/kernels.hpp"
#include "anystream/parallel.hpp"
#include "anystream/portable_math.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr std::size_t kRows = 40;  // that one thread takes at a time
// log2 of a kernel, relative to the nearest, that no longer counts: e^-30
constexpr auto kInvisible = static_cast<float>(-30.0 * std::numbers::log2e);
constexpr float kNothing = -2000.0F;  // log2 of 0, as far as powers_of_two goes

}  // namespace

double neighbour_gradient(std::span<const double> z, std::span<const std::int32_t> label,
                          std::span<const double> weight, int threads, std::span<double> gradient) {
    const std::size_t n = label.size(), d = weight.size(), lanes = (n + 7) / 8 * 8;
    std::vector<float> column(d * lanes, 0.0F), root(d);  // the rows as lanes
    for (std::size_t k = 0; k < d; ++k) {
        root[k] = static_cast<float>(std::sqrt(weight[k]));
        for (std::size_t i = 0; i < n; ++i) column[k * lanes + i] = static_cast<float>(z[i * d + k]);
    }
    std::vector<double> objective((n + kRows - 1) / kRows, 0.0);  // of every chunk of rows
    std::vector<double> slope(objective.size() * d, 0.0);
    parallel_for(n, kRows, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<float> x(d), log2_kernel(lanes), pull(lanes, 0.0F), square(d);
        std::vector<double> kernel(lanes);
        const std::size_t chunk = begin / kRows;
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t k = 0; k < d; ++k) x[k] = column[k * lanes + i];
            kernels().shared_exponents(x.data(), column.data(), root.data(), d, lanes, log2_kernel.data());
            float nearest = std::numeric_limits<float>::infinity();
            for (std::size_t j = 0; j < n; ++j)
                if (j != i) nearest = std::min(nearest, log2_kernel[j]);
            for (float& value : log2_kernel) {
                value = (nearest - value) * static_cast<float>(std::numbers::log2e);
                if (value < kInvisible) value = kNothing;  // numbers so small that processors are slow with them
            }
            kernels().powers_of_two(log2_kernel.data(), 0.0F, lanes, kernel.data());
            kernel[i] = 0.0;
            double wrong = 0.0, right = 0.0;
            for (std::size_t j = 0; j < n; ++j) (label[j] == label[i] ? right : wrong) += kernel[j];
            if (!(right > 0.0)) continue;
            const double all = right + wrong;
            objective[chunk] += portable_log(right / all);
            const double of_right = 1.0 / right - 1.0 / all, of_wrong = -1.0 / all;
            for (std::size_t j = 0; j < n; ++j)
                pull[j] = static_cast<float>(kernel[j] * (label[j] == label[i] ? of_right : of_wrong));
            kernels().weighted_squares(x.data(), column.data(), pull.data(), d, lanes, square.data());
            for (std::size_t k = 0; k < d; ++k) slope[chunk * d + k] -= weight[k] * static_cast<double>(square[k]);
        }
    });
    const auto rows = static_cast<double>(std::max<std::size_t>(n, 1));
    std::fill(gradient.begin(), gradient.end(), 0.0);
    double total = 0.0;
    for (std::size_t chunk = 0; chunk < objective.size(); ++chunk) {
        total += objective[chunk];
        for (std::size_t k = 0; k < d; ++k) gradient[k] += slope[chunk * d + k] / rows;
    }
    return total / rows;
}

}  // namespace anystream::bayes_tree
