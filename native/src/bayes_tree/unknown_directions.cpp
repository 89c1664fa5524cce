#include "anystream/bayes_tree/unknown_directions.hpp"

#include <cmath>
#include <numeric>

namespace anystream::bayes_tree {

namespace {

/// The reflection of `row` at the plane whose unit normal is `normal`.
void reflect(const double* normal, double* row, std::size_t size) noexcept {
    double along = 0.0;
    for (std::size_t j = 0; j < size; ++j) along += normal[j] * row[j];
    for (std::size_t j = 0; j < size; ++j) row[j] -= 2.0 * along * normal[j];
}

}  // namespace

std::vector<double> complement_basis(std::span<double> directions, std::span<const std::int32_t> missing_axes,
                                     std::size_t dimensions) {
    const std::size_t d = dimensions, missing = missing_axes.size();
    std::vector<bool> is_missing(d, false);
    for (std::size_t s = 0; s < missing; ++s) {  // direction s becomes the normal of its reflection
        double* const row = directions.data() + s * d;
        const auto axis = static_cast<std::size_t>(missing_axes[s]);
        for (std::size_t j = 0; j < d; ++j)
            if (is_missing[j]) row[j] = 0.0;
        is_missing[axis] = true;
        const double length = std::sqrt(std::inner_product(row, row + d, row, 0.0));
        row[axis] += row[axis] < 0.0 ? -length : length;
        const double normal = std::sqrt(std::inner_product(row, row + d, row, 0.0));
        for (std::size_t j = 0; j < d; ++j) row[j] = normal > 0.0 ? row[j] / normal : 0.0;
        for (std::size_t later = s + 1; later < missing; ++later) reflect(row, directions.data() + later * d, d);
    }
    std::vector<double> basis((d - missing) * d, 0.0);
    double* row = basis.data();
    for (std::size_t axis = 0; axis < d; ++axis) {
        if (is_missing[axis]) continue;
        row[axis] = 1.0;
        for (std::size_t s = missing; s-- > 0;) reflect(directions.data() + s * d, row, d);
        row += d;
    }
    return basis;
}

}  // namespace anystream::bayes_tree
