// Many queries at once, on all cores.
#pragma once

#include <cstdint>
#include <span>

#include "anystream/answer_batch.hpp"
#include "anystream/neighbors/query.hpp"

namespace anystream::neighbors {

/// Answers every record within the limits, as `answer_batch` does.
void answer(const Gallery& gallery, const Records& records, std::size_t k, const Limits& limits, int threads,
            const AnswerRows& out);

/// The probabilities of every record after each of `stages` steps (ascending): out is (size, stages, classes).
void answer_in_stages(const Gallery& gallery, const Records& records, std::size_t k,
                      std::span<const std::int64_t> stages, int threads, std::span<double> out);

/// The labels of the exemplars themselves after each of `stages` steps, each left out of its own query:
/// out is (size, stages).
void leave_one_out(const Gallery& gallery, std::size_t k, std::span<const std::int64_t> stages, int threads,
                   std::span<std::int32_t> out);

}  // namespace anystream::neighbors
