// Many records at once, on all cores: the same for every model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/anytime_query.hpp"
#include "anystream/parallel.hpp"
#include "anystream/stop.hpp"

namespace anystream {

/// Row-major records to classify, borrowed.
struct RecordRows {
    std::span<const double> values;  // (size, dimensions)
    std::size_t dimensions;

    [[nodiscard]] std::size_t size() const noexcept { return dimensions == 0 ? 0 : values.size() / dimensions; }
    [[nodiscard]] std::span<const double> row(std::size_t i) const noexcept {
        return {values.data() + i * dimensions, dimensions};
    }
};

/// The arrays that receive the answers; one row per record.
struct AnswerRows {
    std::span<double> proba;            // (size, classes)
    std::span<std::int64_t> steps;      // (size,)
    std::span<std::uint8_t> certified;  // (size,)
};

/// Records that one model classifies with the same settings. Records has size() and row(i).
template <AnytimeQuery QueryType, typename Records = RecordRows>
struct Batch {
    using Query = QueryType;

    const typename Query::Model& model;
    const typename Query::Settings& settings;
    Records records;

    [[nodiscard]] std::size_t size() const noexcept { return records.size(); }
    [[nodiscard]] std::size_t classes() const noexcept { return model.classes(); }
    void open(Query& query, std::size_t i) const { query.open(model, settings, records.row(i)); }
    /// Writes the present answer of record i.
    void write(Query& query, std::size_t i, const AnswerRows& out) const {
        query.posterior(model, out.proba.subspan(i * classes(), classes()));
        out.steps[i] = query.steps();
        out.certified[i] = query.certified();
    }
};

/// Takes at most `steps` steps on each record.
template <typename Batch>
void answer_by_steps(const Batch& batch, std::int64_t steps, int threads, const AnswerRows& out) {
    using Query = typename Batch::Query;
    parallel_for(batch.size(), Query::kRecordsPerTask, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        for (std::size_t i = first; i < last; ++i) {
            batch.open(query, i);
            query.advance(batch.model, steps, nullptr);
            batch.write(query, i, out);
        }
    });
}

/// Answers records first..last - 1 on one thread: group by group, each with its share of the time left; within a group
/// all records advance in rounds.
template <typename Batch>
void answer_in_rounds(const Batch& batch, const Limits& limits, std::size_t first, std::size_t last,
                      const AnswerRows& out) {
    using Query = typename Batch::Query;
    constexpr std::size_t kGroup = 256;
    std::vector<Query> group(std::min(kGroup, last - first));
    StopWatch watch(limits);
    for (std::size_t start = first; start < last; start += kGroup) {
        const std::size_t size = std::min(kGroup, last - start);
        if (limits.timed()) {
            const auto now = Clock::now();
            const auto left = std::max(Clock::duration::zero(), limits.until - now);
            const auto share = static_cast<double>(size) / static_cast<double>(last - start);
            watch.restart(now + std::chrono::duration_cast<Clock::duration>(left * share));
        }
        for (std::size_t i = 0; i < size; ++i) batch.open(group[i], start + i);
        for (bool going = true; going && !watch.due();) {
            going = false;
            for (std::size_t i = 0; i < size && !watch.due(); ++i) {
                group[i].advance(batch.model,
                                 std::min<std::int64_t>(Query::kRoundSteps, limits.steps - group[i].steps()), &watch);
                going |= !group[i].certified() && group[i].steps() < limits.steps;
            }
        }
        for (std::size_t i = 0; i < size; ++i) batch.write(group[i], start + i, out);
    }
}

/// Answers every record within the limits. Steps are per record; a deadline and a flag bound the whole call: each
/// thread gives its records equal shares of the time left, group by group, and within a group refines them in rounds.
template <typename Batch>
void answer_batch(const Batch& batch, const Limits& limits, int threads, const AnswerRows& out) {
    if (!limits.interruptible()) return answer_by_steps(batch, limits.steps, threads, out);
    const auto workers = static_cast<std::size_t>(thread_count(threads));
    const std::size_t part = (batch.size() + workers - 1) / workers;
    parallel_for(batch.size(), part, threads,
                 [&](std::size_t first, std::size_t last) { answer_in_rounds(batch, limits, first, last, out); });
}

/// Calls visit(query, record, stage) after each of `stages` steps (ascending) on each record.
template <typename Batch, typename Visit>
void visit_stages(const Batch& batch, std::span<const std::int64_t> stages, int threads, Visit&& visit) {
    using Query = typename Batch::Query;
    parallel_for(batch.size(), Query::kRecordsPerTask, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        for (std::size_t i = first; i < last; ++i) {
            batch.open(query, i);
            for (std::size_t s = 0; s < stages.size(); ++s) {
                query.advance(batch.model, stages[s] - query.steps(), nullptr);
                visit(query, i, s);
            }
        }
    });
}

/// The probabilities of every record after each of `stages` steps (ascending): out is (size, stages, classes).
template <typename Batch>
void answer_batch_in_stages(const Batch& batch, std::span<const std::int64_t> stages, int threads,
                            std::span<double> out) {
    const std::size_t classes = batch.classes();
    visit_stages(batch, stages, threads, [&](typename Batch::Query& query, std::size_t i, std::size_t s) {
        query.posterior(batch.model, out.subspan((i * stages.size() + s) * classes, classes));
    });
}

/// The labels (class numbers) of every record after each of `stages` steps (ascending): out is (size, stages).
template <typename Batch>
void label_batch_in_stages(const Batch& batch, std::span<const std::int64_t> stages, int threads,
                           std::span<std::int32_t> out) {
    visit_stages(batch, stages, threads, [&](typename Batch::Query& query, std::size_t i, std::size_t s) {
        out[i * stages.size() + s] = static_cast<std::int32_t>(query.label(batch.model));
    });
}

}  // namespace anystream
