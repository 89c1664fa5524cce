// Many records at once, on all cores.
//
// Records are raw: with a metric each is mapped to the space of the trees when a thread begins with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "anystream/answer_batch.hpp"
#include "anystream/bayes_tree/first_look.hpp"
#include "anystream/bayes_tree/metric.hpp"
#include "anystream/bayes_tree/query.hpp"

namespace anystream::bayes_tree {

/// A record in the space of the trees; with a metric it is valid until this thread's next call.
[[nodiscard]] TreeRecord in_tree_space(const Metric* metric, std::span<const double> record);

/// Raw records, the metric that the trees were built in and the first look at them (nullptr: none).
struct MappedRows {
    RecordRows raw;
    const Metric* metric;
    const FirstLook* look = nullptr;
    bool past_look = false;  // queries begin one step later, behind the first look

    [[nodiscard]] std::size_t size() const noexcept { return raw.size(); }
    /// Record i in the space of the trees, as `in_tree_space`.
    [[nodiscard]] TreeRecord row(std::size_t i) const {
        TreeRecord record = in_tree_space(metric, raw.row(i));
        record.look = look;
        if (!past_look) record.raw = raw.row(i);
        return record;
    }
};

using ForestBatch = Batch<Query, MappedRows>;

/// Answers every record within the limits. Steps are per record; a deadline and a flag bound the whole call.
///
/// With a first look, that is all of the work if no step is allowed; within a deadline or a flag it comes first, for
/// all records, and whatever ends the work later finds every record answered.
///
/// Without a deadline and a flag every record takes its steps in one go. With one of them:
///   - up to 64 records (32 if there is one thread) of at most 2,048 classes are open all at once, each thread's half
///   of them advances together
///     in rounds, and rounds grow longer as the queries get deeper;
///   - more records are answered in passes over all of them: a shallow pass first, so that every record has an answer,
///     then deeper ones that start each record from scratch, as deep as the time left allows.
void answer(const ForestBatch& batch, const Limits& limits, int threads, const AnswerRows& out);

/// The class of a raw record before its first step, if that can be told without opening a query.
[[nodiscard]] std::optional<std::size_t> label_at_once(const Forest& forest, const QuerySettings& settings,
                                                       const Metric* metric, const FirstLook* look,
                                                       std::span<const double> record);

/// What `log2_scores_in_stages` writes.
struct ScoreRows {
    std::span<double> scores;           // (size, stages, classes) of the trees alone; -1e30: no record
    std::span<double> votes;            // (size, classes) of the root model; all 0: it has no vote
    std::span<std::uint8_t> exhausted;  // (size, stages)
};
/// The two parts of every decision, before they are weighted, after each of `stages` steps (ascending).
void log2_scores_in_stages(const ForestBatch& batch, std::span<const std::int64_t> stages, int threads,
                           const ScoreRows& out);

}  // namespace anystream::bayes_tree
