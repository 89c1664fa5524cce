#include "anystream/bayes_tree/str_packing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "anystream/bayes_tree/bottom_up.hpp"
#include "anystream/portable_math.hpp"

namespace anystream::bayes_tree {
namespace {

/// ceil(tiles^((left - 1) / left)), safe from rounding where the root is a whole number.
std::size_t tiles_per_slab(std::size_t tiles, std::size_t left) {
    const auto p = static_cast<double>(tiles);
    const double exact = p * portable_exp(-portable_log(p) / static_cast<double>(left));
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(exact - 1e-9 * p)));
}

Groups tile(const Level& level, const BuildOptions& options) {
    struct Slab {
        std::size_t first, last, dimension;
    };
    const std::size_t fanout = options.fanout;
    std::vector<std::int32_t> order(level.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<Slab> open{{0, order.size(), 0}};
    std::vector<std::size_t> starts;  // of tiles
    while (!open.empty()) {
        throw_if_stopped(options);
        const Slab slab = open.back();  // no structured binding: clang 14 cannot capture one in a lambda
        const auto first = slab.first, last = slab.last, dimension = slab.dimension;
        open.pop_back();
        const std::size_t tiles = (last - first + fanout - 1) / fanout;
        if (tiles == 1) {
            starts.push_back(first);
            continue;
        }
        const std::size_t length = fanout * tiles_per_slab(tiles, level.dimensions - dimension);
        if (length >= last - first) {  // no cut in this dimension
            open.push_back({first, last, dimension + 1});
            continue;
        }
        std::sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(last),
                  [&](std::int32_t a, std::int32_t b) {
                      const double x = level.mean_of(static_cast<std::size_t>(a))[dimension];
                      const double y = level.mean_of(static_cast<std::size_t>(b))[dimension];
                      return x != y ? x < y : a < b;
                  });
        for (std::size_t at = first; at < last; at += length)
            open.push_back({at, std::min(last, at + length), dimension + 1});
    }
    std::sort(starts.begin(), starts.end());
    Groups groups{std::move(order), {}};
    for (std::size_t t = 0; t < starts.size(); ++t) {
        groups.size.push_back((t + 1 < starts.size() ? starts[t + 1] : groups.member.size()) - starts[t]);
    }
    return groups;
}

}  // namespace

TreeShape str_packing(const Points& points, const BuildOptions& options) {
    require_buildable(points, options);
    return build_bottom_up(points, {}, options, [&](const Level& level) { return tile(level, options); });
}

}  // namespace anystream::bayes_tree
