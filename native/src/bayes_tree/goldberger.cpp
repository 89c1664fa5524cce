#include "anystream/bayes_tree/goldberger.hpp"

#include <algorithm>
#include <cmath>

#include "anystream/bayes_tree/mixture_reduction.hpp"
#include "anystream/parallel.hpp"

namespace anystream::bayes_tree {
namespace {

constexpr int kMaxRounds = 100;
constexpr double kNoLess = 1e-9;  // a smaller relative decrease of the distance counts as none

Groups reduce(const Level& level, const BuildOptions& options) {
    auto group_of = first_mapping(level, options);
    const auto groups = static_cast<std::size_t>(*std::max_element(group_of.begin(), group_of.end())) + 1;
    GroupGaussians gaussians(level, groups, options);
    std::vector<double> density(level.size());  // of each entry under its group
    double distance = 0.0;
    for (int round = 0; round < kMaxRounds; ++round) {
        gaussians.refit(group_of, groups);
        parallel_for(level.size(), 256, options.threads, [&](std::size_t first, std::size_t last) {
            throw_if_stopped(options);
            std::vector<double> densities;
            for (std::size_t i = first; i < last; ++i) {
                const auto blocks = gaussians.near(static_cast<std::size_t>(group_of[i]));
                densities.resize(blocks.lanes());
                gaussians.compare(i, blocks, densities.data());
                const auto best = std::max_element(densities.begin(), densities.end());
                density[i] = *best;
                group_of[i] = static_cast<std::int32_t>(blocks.first * GaussianLanes::kLanes) +
                              static_cast<std::int32_t>(best - densities.begin());
            }
        });
        double now = 0.0;  // d(f, g), up to a constant of f
        for (std::size_t i = 0; i < level.size(); ++i) now -= level.weight[i] * density[i];
        if (round > 0 && !(distance - now > kNoLess * std::abs(distance))) break;
        distance = now;
    }
    return keep_fanout(level, group_of, Closeness::kDivergence, options);
}

}  // namespace

TreeShape goldberger(const Points& points, const BuildOptions& options) {
    require_buildable(points, options);
    require_kernel_variance(options);
    return build_bottom_up(points, options.kernel_variance, options,
                           [&](const Level& level) { return reduce(level, options); });
}

}  // namespace anystream::bayes_tree
