// Many queries at once, on all cores: the same for every model that answers step by step.
//
// A Query offers open(model, settings, x), step(model) (false when nothing is left), steps(), finished(), certified(),
// posterior(out); `open` reuses the memory of the query before it.
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

/// Steps of one query until the limits end it. Returns the number of steps taken.
template <typename Query, typename Model>
std::int64_t refine(Query& query, const Model& model, const Limits& limits) {
    std::int64_t taken = 0;
    if (!limits.interruptible()) {
        while (taken < limits.steps && query.step(model)) ++taken;
        return taken;
    }
    StopWatch watch(limits);
    while (taken < limits.steps && !watch.due() && query.step(model)) ++taken;
    return taken;
}

namespace batch {

inline constexpr std::size_t kChunk = 64;       // records that one thread takes at a time
inline constexpr std::size_t kGroup = 256;      // records that are refined in rounds together
inline constexpr std::int64_t kRoundSteps = 4;  // steps that each of them takes in a round

template <typename Query>
void write(const Query& query, std::size_t i, std::size_t classes, const AnswerRows& out) {
    query.posterior(out.proba.subspan(i * classes, classes));
    out.steps[i] = query.steps();
    out.certified[i] = query.certified();
}

/// Records first..last - 1 on one thread, within the limits: equal shares of the time for all.
template <typename Query, typename Model, typename Settings>
void in_rounds(const Model& model, const Settings& settings, const RecordRows& records, const Limits& limits,
               std::size_t first, std::size_t last, const AnswerRows& out) {
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
        for (std::size_t i = 0; i < size; ++i) group[i].open(model, settings, records.row(start + i));
        for (bool going = true; going && !watch.due();) {
            going = false;
            for (std::size_t i = 0; i < size; ++i) {
                for (std::int64_t s = 0; s < kRoundSteps && group[i].steps() < limits.steps && !watch.due(); ++s)
                    if (!group[i].step(model)) break;
                going |= !group[i].finished() && group[i].steps() < limits.steps;
            }
        }
        for (std::size_t i = 0; i < size; ++i) write(group[i], start + i, model.classes(), out);
    }
}

}  // namespace batch

/// Answers every record within the limits. Steps are per record; a deadline and a flag bound the whole call: each
/// thread gives its records equal shares of the time left, group by group, and within a group refines them in rounds.
template <typename Query, typename Model, typename Settings>
void answer_batch(const Model& model, const Settings& settings, const RecordRows& records, const Limits& limits,
                  int threads, const AnswerRows& out) {
    if (!limits.interruptible()) {
        parallel_for(records.size(), batch::kChunk, threads, [&](std::size_t first, std::size_t last) {
            Query query;
            for (std::size_t i = first; i < last; ++i) {
                query.open(model, settings, records.row(i));
                refine(query, model, limits);
                batch::write(query, i, model.classes(), out);
            }
        });
        return;
    }
    const auto workers = static_cast<std::size_t>(thread_count(threads));
    const std::size_t part = (records.size() + workers - 1) / workers;
    parallel_for(records.size(), part, threads, [&](std::size_t first, std::size_t last) {
        batch::in_rounds<Query>(model, settings, records, limits, first, last, out);
    });
}

/// The probabilities of every record after each of `stages` steps (ascending): out is (size, stages, classes).
template <typename Query, typename Model, typename Settings>
void answer_batch_in_stages(const Model& model, const Settings& settings, const RecordRows& records,
                            std::span<const std::int64_t> stages, int threads, std::span<double> out) {
    const std::size_t classes = model.classes();
    parallel_for(records.size(), batch::kChunk, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        for (std::size_t i = first; i < last; ++i) {
            query.open(model, settings, records.row(i));
            for (std::size_t s = 0; s < stages.size(); ++s) {
                refine(query, model, {.steps = stages[s] - query.steps()});
                query.posterior(out.subspan((i * stages.size() + s) * classes, classes));
            }
        }
    });
}

}  // namespace anystream
