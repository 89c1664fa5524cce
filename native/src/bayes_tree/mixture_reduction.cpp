#include "anystream/bayes_tree/mixture_reduction.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "anystream/bayes_tree/curve_order.hpp"

namespace anystream::bayes_tree {
namespace {

using Members = std::vector<std::int32_t>;

std::vector<Members> members_by_group(std::span<const std::int32_t> group_of, std::size_t groups) {
    std::vector<Members> members(groups);
    for (std::size_t i = 0; i < group_of.size(); ++i) {
        members[static_cast<std::size_t>(group_of[i])].push_back(static_cast<std::int32_t>(i));
    }
    return members;
}

std::size_t count_groups(std::span<const std::int32_t> group_of) {
    return static_cast<std::size_t>(*std::max_element(group_of.begin(), group_of.end())) + 1;
}

/// Two representatives, the mean moved by +- sigma_a / 2 along the dimension a of the highest variance, attract the
/// entries by divergence. They share their variances, so the nearer one in dimension a wins. Where all means agree in
/// a, the dimension in which they differ most decides; entries with equal means are halved by their order.
std::pair<Members, Members> halve(const Level& level, const Members& members, Moments& moments) {
    const auto cut_at_mean = [&](std::size_t a) {
        std::pair<Members, Members> halves;
        for (const auto m : members) {
            const bool low = level.mean_of(static_cast<std::size_t>(m))[a] <= moments.mean[a];
            (low ? halves.first : halves.second).push_back(m);
        }
        return halves;
    };
    const auto proper = [](const auto& halves) { return !halves.first.empty() && !halves.second.empty(); };
    const auto widest = [](const std::vector<double>& spread) {
        return static_cast<std::size_t>(std::max_element(spread.begin(), spread.end()) - spread.begin());
    };

    moments.of(level, members);
    auto halves = cut_at_mean(widest(moments.variance));
    if (proper(halves)) return halves;
    std::vector<double> spread(level.dimensions);
    for (std::size_t a = 0; a < level.dimensions; ++a) {
        for (const auto m : members) {
            const double t = level.mean_of(static_cast<std::size_t>(m))[a] - moments.mean[a];
            spread[a] += t * t;
        }
    }
    halves = cut_at_mean(widest(spread));
    if (proper(halves)) return halves;
    const auto middle = members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2);
    return {Members(members.begin(), middle), Members(middle, members.end())};
}

/// Pieces of at most `fanout` entries, in place of the group they come from: neighbours keep close numbers.
std::vector<Members> cut_full_groups(const Level& level, std::vector<Members> groups, const BuildOptions& options) {
    Moments moments(level.dimensions);
    std::vector<Members> cut, open;
    for (auto& group : groups) {
        open.push_back(std::move(group));
        while (!open.empty()) {
            Members piece = std::move(open.back());
            open.pop_back();
            if (piece.size() <= options.fanout) {
                if (!piece.empty()) cut.push_back(std::move(piece));
                continue;
            }
            throw_if_stopped(options);
            auto [low, high] = halve(level, piece, moments);
            open.push_back(std::move(high));
            open.push_back(std::move(low));
        }
    }
    return cut;
}

void merge_lone_entries(const Level& level, std::vector<Members>& groups, Closeness closeness,
                        const BuildOptions& options) {
    GroupGaussians gaussians(level, groups.size(), options);
    Moments moments(level.dimensions);
    const auto fit = [&](std::size_t j) {
        moments.of(level, groups[j]);
        gaussians.set(j, moments);
    };
    for (std::size_t j = 0; j < groups.size(); ++j) fit(j);
    const auto entries = static_cast<double>(level.size());
    std::vector<double> density;
    for (std::size_t j = 0; j < groups.size(); ++j) {
        if (groups[j].size() != 1) continue;
        throw_if_stopped(options);
        const auto lone = static_cast<std::size_t>(groups[j][0]);
        const auto blocks = gaussians.near(j);
        density.resize(blocks.lanes());
        gaussians.compare(lone, blocks, density.data());
        std::size_t closest = groups.size();
        double highest = GaussianLanes::kNothing;
        const std::size_t first = blocks.first * GaussianLanes::kLanes;
        for (std::size_t l = first; l < std::min(groups.size(), first + density.size()); ++l) {
            if (l == j || groups[l].empty() || groups[l].size() >= options.fanout) continue;
            double close = density[l - first];
            if (closeness == Closeness::kResponsibility) {
                close = close * level.weight[lone] + portable_log(static_cast<double>(groups[l].size()) / entries);
            }
            if (closest == groups.size() || close > highest) highest = close, closest = l;
        }
        if (closest == groups.size()) continue;
        groups[closest].push_back(groups[j][0]);
        groups[j].clear();
        gaussians.clear(j);
        fit(closest);
    }
}

}  // namespace

GroupGaussians::Blocks GroupGaussians::near(std::size_t group) const noexcept {
    if (all_) return {0, lanes_.blocks()};
    const std::size_t own = group / GaussianLanes::kLanes;
    return {own - std::min(own, kNearBlocks), std::min(lanes_.blocks(), own + kNearBlocks + 1)};
}

void GroupGaussians::compare(std::size_t entry, const Blocks& blocks, double* out) const noexcept {
    lanes_.expected_log_density(blocks.first, blocks.last, level_.mean_of(entry), level_.variance_of(entry), out);
}

void GroupGaussians::set(std::size_t group, const Moments& moments) noexcept {
    lanes_.set(
        group, [&](std::size_t i) { return moments.mean[i]; }, [&](std::size_t i) { return moments.variance[i]; }, 0.0);
}

void GroupGaussians::refit(std::span<const std::int32_t> group_of, std::size_t groups) {
    Moments moments(level_.dimensions);
    const auto members = members_by_group(group_of, groups);
    for (std::size_t j = 0; j < groups; ++j) {
        if (members[j].empty()) {
            lanes_.clear(j);
        } else {
            moments.of(level_, members[j]);
            set(j, moments);
        }
    }
}

std::vector<std::int32_t> first_mapping(const Level& level, const BuildOptions& options) {
    const auto order = curve_order(level, Curve::kZ, options);
    const std::size_t length = std::max<std::size_t>(2, options.fanout * 3 / 4);
    std::vector<std::int32_t> group_of(level.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        group_of[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i / length);
    }
    return group_of;
}

Groups keep_fanout(const Level& level, std::span<const std::int32_t> group_of, Closeness closeness,
                   const BuildOptions& options) {
    auto groups = cut_full_groups(level, members_by_group(group_of, count_groups(group_of)), options);
    merge_lone_entries(level, groups, closeness, options);
    Groups kept;
    for (const auto& group : groups) {
        if (group.empty()) continue;
        kept.member.insert(kept.member.end(), group.begin(), group.end());
        kept.size.push_back(group.size());
    }
    return kept;
}

}  // namespace anystream::bayes_tree
