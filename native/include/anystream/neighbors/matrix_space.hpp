// Records of which only the distances are known.
#pragma once

#include "anystream/neighbors/space.hpp"

namespace anystream::neighbors {

/// Record i stands at position i; `distances` is (size, size), row-major, borrowed.
[[nodiscard]] std::unique_ptr<Space> make_matrix_space(std::span<const double> distances, std::size_t size);

}  // namespace anystream::neighbors
