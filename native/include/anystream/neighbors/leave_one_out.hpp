// Classifying the exemplars themselves, to measure how good the order is.
#pragma once

#include <cstdint>
#include <span>

#include "anystream/neighbors/query.hpp"

namespace anystream::neighbors {

/// The labels of the exemplars themselves after each of `stages` steps, each left out of its own query:
/// out is (size, stages).
void leave_one_out(const Gallery& gallery, const QuerySettings& settings, std::span<const std::int64_t> stages,
                   int threads, std::span<std::int32_t> out);

}  // namespace anystream::neighbors
