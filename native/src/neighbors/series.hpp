// Checks of series before they are compared.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "anystream/neighbors/space.hpp"

namespace anystream::neighbors {

inline void require_series(Row row, std::size_t width) {
    if (row.size() != width)
        throw std::invalid_argument("a series has " + std::to_string(row.size()) + " values, fit saw " +
                                    std::to_string(width) + "; bring all series to one length");
    for (const double value : row)
        if (!std::isfinite(value))
            throw std::invalid_argument("a series holds a missing or infinite value; fill the gaps first");
}

}  // namespace anystream::neighbors
