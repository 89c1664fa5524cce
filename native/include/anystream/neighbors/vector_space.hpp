// Vectors under a norm, scanned in blocks.
#pragma once

#include "anystream/neighbors/space.hpp"

namespace anystream::neighbors {

[[nodiscard]] std::unique_ptr<Space> make_vector_space(BlockStore store);

}  // namespace anystream::neighbors
