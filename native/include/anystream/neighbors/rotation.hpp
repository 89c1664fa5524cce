// Euclidean distance of closed contours, the minimum over all circular shifts of one of them.
#pragma once

#include "anystream/neighbors/space.hpp"

namespace anystream::neighbors {

/// RED(x, e) = min over s of ||x - e shifted by s||.
[[nodiscard]] std::unique_ptr<Space> make_rotation_space(std::size_t width);

}  // namespace anystream::neighbors
