#include "anystream/drift/gaussian_moments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace anystream {

namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

/// Parameters of the classes' Gaussians; v = 0 marks a feature without information.
struct Expected {
    std::vector<double> mean, half_precision;  // (classes, features)
    std::vector<double> log_norm;              // (classes, features): -log sqrt(2 pi v)
    std::vector<double> log_prior;             // (classes,)
};

Expected expect(const MomentsView& moments, double smoothing) {
    const auto size = moments.classes * moments.features;
    Expected e{std::vector<double>(size), std::vector<double>(size), std::vector<double>(size),
               std::vector<double>(moments.classes)};
    double records = 0.0;
    for (const double n : moments.count) records += n;
    for (std::size_t c = 0; c < moments.classes; ++c) e.log_prior[c] = std::log(moments.count[c] / records);
    for (std::size_t j = 0; j < moments.features; ++j) {
        double n = 0.0, sum = 0.0;
        for (std::size_t c = 0; c < moments.classes; ++c) {
            const auto at = c * moments.features + j;
            n += moments.observed[at];
            sum += moments.observed[at] * moments.mean[at];
        }
        if (n == 0.0) continue;
        const double centre = sum / n;
        double scatter = 0.0;
        for (std::size_t c = 0; c < moments.classes; ++c) {
            const auto at = c * moments.features + j;
            const double apart = moments.mean[at] - centre;
            scatter += moments.scatter[at] + moments.observed[at] * apart * apart;
        }
        const double overall = scatter / n;
        if (!(overall > std::numeric_limits<double>::min())) continue;
        for (std::size_t c = 0; c < moments.classes; ++c) {
            const auto at = c * moments.features + j;
            const double variance = (moments.scatter[at] + smoothing * overall) / (moments.observed[at] + smoothing);
            e.mean[at] = moments.observed[at] > 0.0 ? moments.mean[at] : centre;
            e.half_precision[at] = 0.5 / variance;
            e.log_norm[at] = -0.5 * std::log(2.0 * std::numbers::pi * variance);
        }
    }
    return e;
}

/// exp and normalise in place; where all densities are 0, the priors decide.
void normalise(std::span<double> log_joint, std::span<const double> log_prior) noexcept {
    double peak = *std::max_element(log_joint.begin(), log_joint.end());
    if (!std::isfinite(peak)) {
        std::copy(log_prior.begin(), log_prior.end(), log_joint.begin());
        peak = *std::max_element(log_joint.begin(), log_joint.end());
    }
    double total = 0.0;
    for (double& value : log_joint) total += value = std::exp(value - peak);
    for (double& value : log_joint) value /= total;
}

/// P(c | x) of one row; where all densities are 0, the priors decide.
void proba_of(const Expected& e, std::span<const double> x, std::span<double> out) noexcept {
    for (std::size_t c = 0; c < out.size(); ++c) {
        double sum = e.log_prior[c];
        if (sum == kNothing) {
            out[c] = kNothing;
            continue;
        }
        for (std::size_t j = 0; j < x.size(); ++j) {
            const auto at = c * x.size() + j;
            if (std::isnan(x[j]) || e.half_precision[at] == 0.0) continue;
            const double apart = x[j] - e.mean[at];
            sum += e.log_norm[at] - e.half_precision[at] * apart * apart;
        }
        out[c] = sum;
    }
    normalise(out, e.log_prior);
}

}  // namespace

void learn_moments(const MomentsRef& moments, std::span<const double> rows,
                   std::span<const std::int32_t> labels) noexcept {
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto c = static_cast<std::size_t>(labels[i]);
        const auto x = rows.subspan(i * moments.features, moments.features);
        moments.count[c] += 1.0;
        for (std::size_t j = 0; j < moments.features; ++j) {
            if (std::isnan(x[j])) continue;
            const auto at = c * moments.features + j;
            const double n = moments.observed[at] += 1.0;
            const double before = x[j] - moments.mean[at];
            moments.mean[at] += before / n;
            moments.scatter[at] += before * (x[j] - moments.mean[at]);
        }
    }
}

void moments_proba(const MomentsView& moments, double smoothing, std::span<const double> rows, std::span<double> out) {
    const Expected e = expect(moments, smoothing);
    const auto n = out.size() / moments.classes;
    for (std::size_t i = 0; i < n; ++i)
        proba_of(e, rows.subspan(i * moments.features, moments.features),
                 out.subspan(i * moments.classes, moments.classes));
}

void predict_moments(const MomentsView& moments, double smoothing, std::span<const double> rows,
                     std::span<std::int64_t> out) {
    const Expected e = expect(moments, smoothing);
    std::vector<double> proba(moments.classes);
    for (std::size_t i = 0; i < out.size(); ++i) {
        proba_of(e, rows.subspan(i * moments.features, moments.features), proba);
        out[i] = std::max_element(proba.begin(), proba.end()) - proba.begin();
    }
}

}  // namespace anystream
