#include "anystream/bayes_tree/static_mixture.hpp"

#include <algorithm>

#include "anystream/bayes_tree/diagonal_em.hpp"
#include "anystream/parallel.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr double kVarianceFloor = 1e-3;  // share of the variance of all rows
constexpr double kMinOccupancy = 1e-6;

std::vector<double> variance_floor(const LabelledRows& rows) {
    const std::size_t d = rows.dimensions;
    const auto n = static_cast<double>(rows.size());
    std::vector<double> mean(d, 0.0), floor(d, 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = 0; j < d; ++j) mean[j] += rows.row(i)[j] / n;
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = 0; j < d; ++j) floor[j] += (rows.row(i)[j] - mean[j]) * (rows.row(i)[j] - mean[j]) / n;
    for (double& value : floor)
        value = value > 0.0 ? kVarianceFloor * value : 1.0;  // a constant carries no information
    return floor;
}

}  // namespace

std::vector<Component> fit_static_mixture(const LabelledRows& rows, std::size_t classes, std::size_t components,
                                          int threads) {
    const std::size_t d = rows.dimensions;
    const auto floor = variance_floor(rows);
    std::vector<std::vector<Component>> by_class(classes);
    parallel_for(classes, 1, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t c = begin; c < end; ++c) {
            Rows own(d);
            std::size_t n = 0;
            for (const std::int32_t label : rows.label) n += static_cast<std::size_t>(label) == c;
            if (n == 0) continue;
            own.resize(n);
            std::vector<double> mean(d, 0.0);  // EM sums squares: shifted rows do not cancel
            for (std::size_t i = 0; i < rows.size(); ++i)
                if (static_cast<std::size_t>(rows.label[i]) == c)
                    for (std::size_t j = 0; j < d; ++j) mean[j] += rows.row(i)[j] / static_cast<double>(n);
            std::size_t at = 0;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                if (static_cast<std::size_t>(rows.label[i]) != c) continue;
                for (std::size_t j = 0; j < own.stride(); ++j) own.row(at)[j] = j < d ? rows.row(i)[j] - mean[j] : 0.0;
                ++at;
            }
            DiagonalEm em(d, components);
            std::vector<std::int32_t> nearest(n);
            em.fit(own, nearest, [] {});
            for (std::size_t k = 0; k < components; ++k) {
                if (!(em.occupancy(k) > kMinOccupancy)) continue;
                Component component;
                component.point_class = static_cast<std::int32_t>(c);
                component.occupancy = em.occupancy(k);
                component.weight = em.occupancy(k) / static_cast<double>(n);
                component.blocks = Blocks::single(d);
                component.floor = floor;
                for (std::size_t j = 0; j < d; ++j) {
                    component.mean.push_back(em.mean(k, j) + mean[j]);
                    component.covariance.push_back(std::max(floor[j], em.variance(k, j)));
                }
                by_class[c].push_back(std::move(component));
            }
        }
    });
    std::vector<Component> all;
    for (auto& own : by_class)
        for (auto& component : own) all.push_back(std::move(component));
    return all;
}

}  // namespace anystream::bayes_tree
