// Many queries at once, on all cores: the same for every model that answers step by step.
//
// What is asked is a Batch. It offers
//   Query                         one query in progress; the next one uses its memory
//   kChunk, kRoundSteps           records that one thread takes at a time, steps that each of them takes in a round
//   size(), classes()
//   open(query, i)                begins with record i: after this there is an answer
//   advance(query, steps, watch)  takes at most so many steps, fewer when the watch, if there is one, is due
//   finished(query)               nothing is left to do: no further step can change the label
//   posterior(query, out)         the probabilities at present
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/parallel.hpp"
#include "anystream/stop.hpp"

namespace anystream {

/// Row-major records to classify, borrowed.
struct RecordRows {
    std::span<const double> values;  // (size, dimensions)
    std::size_t dimensions;

    [[nodiscard]] std::size_t size() const noexcept { return dimensions == 0 ? 0 : values.size() / dimensions; }
    [[nodiscard]] const double* row(std::size_t i) const noexcept { return values.data() + i * dimensions; }
};

/// Where the answers go; one row per record.
struct AnswerRows {
    std::span<double> proba;            // (size, classes)
    std::span<std::int64_t> steps;      // (size,)
    std::span<std::uint8_t> certified;  // (size,)
};

namespace batch {

inline constexpr std::size_t kGroup = 256;  // records that are refined in rounds together

template <typename Batch>
void write(const Batch& batch, typename Batch::Query& query, std::size_t i, const AnswerRows& out) {
    batch.posterior(query, out.proba.subspan(i * batch.classes(), batch.classes()));
    out.steps[i] = query.steps();
    out.certified[i] = batch.finished(query);
}

/// Records first..last - 1 on one thread, within the limits: equal shares of the time for all.
template <typename Batch>
void in_rounds(const Batch& batch, const Limits& limits, std::size_t first, std::size_t last, const AnswerRows& out) {
    std::vector<typename Batch::Query> group(std::min(kGroup, last - first));
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
                batch.advance(group[i], std::min(Batch::kRoundSteps, limits.steps - group[i].steps()), &watch);
                going |= !batch.finished(group[i]) && group[i].steps() < limits.steps;
            }
        }
        for (std::size_t i = 0; i < size; ++i) write(batch, group[i], start + i, out);
    }
}

}  // namespace batch

/// Answers every record within the limits. Steps are per record; a deadline and a flag bound the whole call: each
/// thread gives its records equal shares of the time left, group by group, and within a group refines them in rounds.
template <typename Batch>
void answer_batch(const Batch& batch, const Limits& limits, int threads, const AnswerRows& out) {
    if (!limits.interruptible()) {
        parallel_for(batch.size(), Batch::kChunk, threads, [&](std::size_t first, std::size_t last) {
            typename Batch::Query query;
            for (std::size_t i = first; i < last; ++i) {
                batch.open(query, i);
                batch.advance(query, limits.steps, nullptr);
                batch::write(batch, query, i, out);
            }
        });
        return;
    }
    const auto workers = static_cast<std::size_t>(thread_count(threads));
    const std::size_t part = (batch.size() + workers - 1) / workers;
    parallel_for(batch.size(), part, threads,
                 [&](std::size_t first, std::size_t last) { batch::in_rounds(batch, limits, first, last, out); });
}

/// The probabilities of every record after each of `stages` steps (ascending): out is (size, stages, classes).
template <typename Batch>
void answer_batch_in_stages(const Batch& batch, std::span<const std::int64_t> stages, int threads,
                            std::span<double> out) {
    const std::size_t classes = batch.classes();
    parallel_for(batch.size(), Batch::kChunk, threads, [&](std::size_t first, std::size_t last) {
        typename Batch::Query query;
        for (std::size_t i = first; i < last; ++i) {
            batch.open(query, i);
            for (std::size_t s = 0; s < stages.size(); ++s) {
                batch.advance(query, stages[s] - query.steps(), nullptr);
                batch.posterior(query, out.subspan((i * stages.size() + s) * classes, classes));
            }
        }
    });
}

}  // namespace anystream
