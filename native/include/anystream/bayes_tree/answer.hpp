// Many queries at once, on all cores.
#pragma once

#include <cstdint>
#include <span>

#include "anystream/bayes_tree/query.hpp"

namespace anystream::bayes_tree {

/// Row-major records to classify, borrowed.
struct Records {
    std::span<const double> values;  // (size, dimensions)
    std::size_t dimensions;

    [[nodiscard]] std::size_t size() const noexcept { return dimensions == 0 ? 0 : values.size() / dimensions; }
    [[nodiscard]] const double* row(std::size_t i) const noexcept { return values.data() + i * dimensions; }
};

/// Where the answers go; one row per record.
struct Answers {
    std::span<double> proba;            // (size, classes)
    std::span<std::int64_t> steps;      // (size,)
    std::span<std::uint8_t> certified;  // (size,)
};

/// Answers every record within the limits. Steps are per record; a deadline and a flag bound the whole call: each
/// thread gives its records equal shares of the time left, group by group, and within a group refines them in rounds.
void answer(const Forest& forest, const QuerySettings& settings, const Records& records, const Limits& limits,
            int threads, const Answers& out);

/// The probabilities of every record after each of `stages` steps (ascending): out is (size, stages, classes).
void answer_in_stages(const Forest& forest, const QuerySettings& settings, const Records& records,
                      std::span<const std::int64_t> stages, int threads, std::span<double> out);

/// The labels (class numbers) of every record after each of `stages` steps (ascending): out is (size, stages).
void label_in_stages(const Forest& forest, const QuerySettings& settings, const Records& records,
                     std::span<const std::int64_t> stages, int threads, std::span<std::int32_t> out);

}  // namespace anystream::bayes_tree
