#include "anystream/bayes_tree/rtree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace anystream::bayes_tree {

double union_volume(const Box& a, const Box& b, std::size_t dimensions) noexcept {
    double volume = 1.0;
    for (std::size_t j = 0; j < dimensions; ++j)
        volume *= std::max(0.0, std::max(a.high[j], b.high[j]) - std::min(a.low[j], b.low[j]));
    return volume;
}

std::size_t least_enlargement(std::span<const Box> boxes, const Box& added, std::size_t dimensions) noexcept {
    std::size_t chosen = 0;
    double least_growth = 0.0;
    for (std::size_t e = 0; e < boxes.size(); ++e) {
        const double growth = union_volume(boxes[e], added, dimensions) - boxes[e].volume;
        if (e == 0 || growth < least_growth || (growth == least_growth && boxes[e].volume < boxes[chosen].volume))
            chosen = e, least_growth = growth;
    }
    return chosen;
}

void QuadraticSplit::reserve(std::size_t entries, std::size_t dimensions) {
    for (auto* each : {&side_[0], &side_[1], &rest_}) each->reserve(entries);
    corners_.reserve(4 * dimensions);
}

Box QuadraticSplit::box(int which, std::size_t dimensions) const noexcept {
    const double* const low = corners_.data() + static_cast<std::size_t>(2 * which) * dimensions;
    return {low, low + dimensions, volume_[which]};
}

/// Assigns the entry at this position of the rest to a side.
void QuadraticSplit::take(int which, std::size_t at, std::span<const Box> boxes, std::size_t dimensions) {
    const Box& added = boxes[rest_[at]];
    double* const low = corners_.data() + static_cast<std::size_t>(2 * which) * dimensions;
    double* const high = low + dimensions;
    for (std::size_t j = 0; j < dimensions; ++j) {
        low[j] = std::min(low[j], added.low[j]);
        high[j] = std::max(high[j], added.high[j]);
    }
    side_[which].push_back(rest_[at]);
    rest_.erase(rest_.begin() + static_cast<std::ptrdiff_t>(at));
    const Box grown = box(which, dimensions);
    volume_[which] = union_volume(grown, grown, dimensions);
}

void QuadraticSplit::run(std::span<const Box> boxes, std::size_t dimensions) {
    rest_.resize(boxes.size());
    std::iota(rest_.begin(), rest_.end(), std::size_t{0});
    corners_.resize(4 * dimensions);
    for (int s = 0; s < 2; ++s) {
        side_[s].clear();
        const auto low = corners_.begin() + static_cast<std::ptrdiff_t>(2 * static_cast<std::size_t>(s) * dimensions);
        std::fill_n(low, dimensions, std::numeric_limits<double>::infinity());
        std::fill_n(low + static_cast<std::ptrdiff_t>(dimensions), dimensions,
                    -std::numeric_limits<double>::infinity());
    }
    std::size_t seed[2] = {0, 1};
    double worst = -std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < boxes.size(); ++a) {
        for (std::size_t b = a + 1; b < boxes.size(); ++b) {
            const double waste = union_volume(boxes[a], boxes[b], dimensions) - boxes[a].volume - boxes[b].volume;
            if (waste > worst) worst = waste, seed[0] = a, seed[1] = b;
        }
    }
    take(1, seed[1], boxes, dimensions);  // first, so that seed[0] keeps its place
    take(0, seed[0], boxes, dimensions);
    while (!rest_.empty()) {
        for (int s = 0; s < 2; ++s) {
            while (!rest_.empty() && side_[s].size() + rest_.size() <= kMinFill)
                take(s, 0, boxes, dimensions);  // this side needs all remaining entries
        }
        if (rest_.empty()) break;
        std::size_t next = 0;
        double strongest = -1.0, growth[2] = {0.0, 0.0};
        for (std::size_t r = 0; r < rest_.size(); ++r) {
            double g[2];
            for (int s = 0; s < 2; ++s)
                g[s] = union_volume(box(s, dimensions), boxes[rest_[r]], dimensions) - volume_[s];
            const double preference = std::abs(g[0] - g[1]);
            if (preference > strongest) strongest = preference, next = r, growth[0] = g[0], growth[1] = g[1];
        }
        int winner = side_[1].size() < side_[0].size() ? 1 : 0;
        if (volume_[0] != volume_[1]) winner = volume_[1] < volume_[0] ? 1 : 0;
        if (growth[0] != growth[1]) winner = growth[1] < growth[0] ? 1 : 0;
        take(winner, next, boxes, dimensions);
    }
}

}  // namespace anystream::bayes_tree
