// Many queries at once, on all cores.
#pragma once

#include <cstdint>
#include <span>

#include "anystream/neighbors/query.hpp"

namespace anystream::neighbors {

/// Where the answers go; one row per record.
struct Answers {
    std::span<double> proba;            // (size, classes)
    std::span<std::int64_t> steps;      // (size,)
    std::span<std::uint8_t> exhausted;  // (size,)
};

/// Answers every record within the limits. Steps are per record; a deadline and a flag bound the whole call: each
/// thread gives its records equal shares of the time left, group by group, and within a group in rounds.
void answer(const Gallery& gallery, const Records& records, std::size_t k, const Limits& limits, int threads,
            const Answers& out);

/// The probabilities of every record after each of `stages` steps (ascending): out is (size, stages, classes).
void answer_in_stages(const Gallery& gallery, const Records& records, std::size_t k,
                      std::span<const std::int64_t> stages, int threads, std::span<double> out);

/// The labels of the exemplars themselves after each of `stages` steps, each left out of its own query:
/// out is (size, stages).
void leave_one_out(const Gallery& gallery, std::size_t k, std::span<const std::int64_t> stages, int threads,
                   std::span<std::int32_t> out);

}  // namespace anystream::neighbors
