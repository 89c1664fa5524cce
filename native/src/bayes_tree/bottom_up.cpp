#include "anystream/bayes_tree/bottom_up.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace anystream::bayes_tree {
namespace {

Level records_of(const Points& points, std::span<const double> kernel_variance) {
    Level level{points.dimensions, {}, {}, {}, {}};
    level.entry.resize(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) level.entry[i] = ~static_cast<std::int32_t>(i);
    level.weight.assign(points.size(), 1.0);
    level.mean.assign(points.values.begin(), points.values.end());
    if (!kernel_variance.empty()) {
        level.variance.reserve(level.mean.size());
        for (std::size_t i = 0; i < points.size(); ++i) {
            level.variance.insert(level.variance.end(), kernel_variance.begin(), kernel_variance.end());
        }
    }
    return level;
}

}  // namespace

void Moments::of(const Level& level, std::span<const std::int32_t> members) {
    weight = 0.0;
    std::fill(mean.begin(), mean.end(), 0.0);
    std::fill(variance.begin(), variance.end(), 0.0);
    for (const auto m : members) {
        const auto i = static_cast<std::size_t>(m);
        weight += level.weight[i];
        for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += level.weight[i] * level.mean_of(i)[j];
    }
    for (double& m : mean) m /= weight;
    for (const auto m : members) {
        const auto i = static_cast<std::size_t>(m);
        for (std::size_t j = 0; j < mean.size(); ++j) {
            const double t = level.mean_of(i)[j] - mean[j];
            const double within = level.variance.empty() ? 0.0 : level.variance_of(i)[j];
            variance[j] += level.weight[i] * (t * t + within);
        }
    }
    for (double& v : variance) v /= weight;
}

Groups runs_of(std::vector<std::int32_t> order, std::size_t length) {
    Groups groups{std::move(order), {}};
    for (std::size_t first = 0; first < groups.member.size(); first += length) {
        groups.size.push_back(std::min(length, groups.member.size() - first));
    }
    return groups;
}

TreeShape build_bottom_up(const Points& points, std::span<const double> kernel_variance, const BuildOptions& options,
                          const std::function<Groups(const Level&)>& group) {
    TreeShape made;  // nodes in the order of creation, children before parents
    Level level = records_of(points, kernel_variance);
    Moments moments(points.dimensions);
    const auto add_node = [&](std::span<const std::int32_t> members) {
        for (const auto m : members) made.entry.push_back(level.entry[static_cast<std::size_t>(m)]);
        made.first_entry.push_back(static_cast<std::int32_t>(made.entry.size()));
        return static_cast<std::int32_t>(made.nodes() - 1);
    };

    std::size_t unplaced = points.size();
    while (level.size() > options.fanout) {
        throw_if_stopped(options);
        const Groups groups = group(level);
        Level above{points.dimensions, {}, {}, {}, {}};
        std::size_t first = 0;
        for (const std::size_t size : groups.size) {
            const auto members = std::span(groups.member).subspan(first, size);
            first += size;
            moments.of(level, members);
            above.entry.push_back(size == 1 ? level.entry[static_cast<std::size_t>(members[0])] : add_node(members));
            above.weight.push_back(moments.weight);
            above.mean.insert(above.mean.end(), moments.mean.begin(), moments.mean.end());
            if (!level.variance.empty()) {
                above.variance.insert(above.variance.end(), moments.variance.begin(), moments.variance.end());
            }
        }
        level = std::move(above);
        report_placed(options, std::exchange(unplaced, 0));
    }
    report_placed(options, unplaced);
    if (level.size() < 2) return {};  // one record
    std::vector<std::int32_t> all(level.size());
    std::iota(all.begin(), all.end(), 0);
    return breadth_first(made, add_node(all));
}

}  // namespace anystream::bayes_tree
