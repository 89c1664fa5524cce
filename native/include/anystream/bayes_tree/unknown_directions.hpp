// Records that are known only up to multiples of some directions.
//
// A linear metric mixes the features: where some of them are missing, the mapped record y is not missing in some
// dimensions, but unknown along the columns of the matrix that belong to the missing features. Everything known about
// it is its projection onto the complement of these directions, in which the trees are evaluated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace anystream::bayes_tree {

struct FirstLook;

/// A record in the space of the trees, borrowed.
struct TreeRecord {
    std::span<const double> x;                        // (d,) NaN: missing
    std::span<const double> directions = {};          // (missing, d) along which x is unknown
    std::span<const std::int32_t> missing_axes = {};  // (missing,) an axis per direction, best the one nearest to it
    const FirstLook* look = nullptr;                  // what gives the first answer; nullptr: nothing does
    std::span<const double> raw = {};                 // (d,) the record before the metric, for the first look; empty:
                                                      // the look lies behind, and the step that leads past it is taken

    TreeRecord(std::span<const double> record) noexcept : x(record) {}
    TreeRecord(std::span<const double> record, std::span<const double> along,
               std::span<const std::int32_t> axes) noexcept
        : x(record), directions(along), missing_axes(axes) {}
};

/// Orthonormal rows that span the complement of the directions (missing, d): one for each axis that is not in
/// `missing_axes`, in ascending order and near to it. By Householder reflections, each direction to its axis;
/// `directions` is overwritten.
[[nodiscard]] std::vector<double> complement_basis(std::span<double> directions,
                                                   std::span<const std::int32_t> missing_axes, std::size_t dimensions);

}  // namespace anystream::bayes_tree
