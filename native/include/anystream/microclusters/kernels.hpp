// The distance from a record to a centroid; one table per ISA level, all with the same bits.
#pragma once

#include <cstddef>
#include <utility>

namespace anystream::microclusters {

inline constexpr std::size_t kLanes = 16;  // rows of floats are padded with NaN to a multiple of this

struct Kernels {
    /// The sum of squared differences over the places in which both are numbers; `size` is a multiple of kLanes.
    float (*squared_distance)(const float* x, const float* centroid, std::size_t size);
    /// Of `n` centroids, one behind the other, the first of the closest and its squared distance; (n, infinity) if
    /// there is none at a finite distance.
    std::pair<std::size_t, float> (*nearest)(const float* x, const float* centroids, std::size_t n, std::size_t size);
};

const Kernels& kernels();

}  // namespace anystream::microclusters
