// Many records at once, on all cores.
#pragma once

#include <cstdint>
#include <span>

#include "anystream/answer_batch.hpp"
#include "anystream/graph/graph.hpp"

namespace anystream::graph {

/// Answers every row of `records` within the limits, as `answer_batch` does.
void answer(const Graph& graph, std::span<const double> records, const Limits& limits, int threads,
            const AnswerRows& out);

/// The probabilities of every record after each of `stages` steps (ascending): out is (records, stages, classes).
void answer_in_stages(const Graph& graph, std::span<const double> records, std::span<const std::int64_t> stages,
                      int threads, std::span<double> out);

/// The `k` nearest of `points` to every row of `queries`, nearest first: (queries, k) positions. k is at most the
/// number of points.
void nearest_points(std::span<const double> points, std::span<const double> queries, std::size_t dimensions,
                    std::size_t k, int threads, std::span<std::int64_t> out);

}  // namespace anystream::graph
