#include "anystream/bayes_tree/answer.hpp"

#include <algorithm>
#include <vector>

#include "anystream/parallel.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr std::size_t kChunk = 32;       // records that one thread takes at a time
constexpr std::size_t kGroup = 32;       // records that are refined in rounds together: their frontiers fit a cache
constexpr std::int64_t kRoundSteps = 8;  // steps that each of them takes in the first rounds

void write(const Query& query, std::size_t i, std::size_t classes, const Answers& out) {
    query.posterior(out.proba.subspan(i * classes, classes));
    out.steps[i] = query.steps();
    out.exhausted[i] = query.exhausted();
}

/// Records first..last - 1 on one thread, within the limits: equal shares of the time for all.
void answer_in_rounds(const Forest& forest, const QuerySettings& settings, const Records& records, const Limits& limits,
                      std::size_t first, std::size_t last, const Answers& out) {
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
        for (std::size_t i = 0; i < size; ++i) group[i].open(forest, settings, records.row(start + i));
        // Later rounds are longer, a quarter of what was done: fewer changes from record to record, and still even.
        std::int64_t goal = 0;
        for (bool going = true; going && goal < limits.steps && !watch.due();) {
            goal = std::min(limits.steps, goal + std::max(kRoundSteps, goal / 4));
            going = false;
            for (std::size_t i = 0; i < size; ++i) {
                while (group[i].steps() < goal && !watch.due() && group[i].step(forest)) {}
                going |= !group[i].exhausted();
            }
        }
        for (std::size_t i = 0; i < size; ++i) write(group[i], start + i, forest.classes(), out);
    }
}

/// Calls visit(query, record, stage) after each stage of each record.
template <typename Visit>
void in_stages(const Forest& forest, const QuerySettings& settings, const Records& records,
               std::span<const std::int64_t> stages, int threads, Visit visit) {
    parallel_for(records.size(), kChunk, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        for (std::size_t i = first; i < last; ++i) {
            query.open(forest, settings, records.row(i));
            for (std::size_t s = 0; s < stages.size(); ++s) {
                query.refine(forest, {.steps = stages[s] - query.steps()});
                visit(query, i, s);
            }
        }
    });
}

}  // namespace

void answer(const Forest& forest, const QuerySettings& settings, const Records& records, const Limits& limits,
            int threads, const Answers& out) {
    if (!limits.interruptible()) {
        parallel_for(records.size(), kChunk, threads, [&](std::size_t first, std::size_t last) {
            Query query;
            for (std::size_t i = first; i < last; ++i) {
                query.open(forest, settings, records.row(i));
                query.refine(forest, limits);
                write(query, i, forest.classes(), out);
            }
        });
        return;
    }
    const auto workers = static_cast<std::size_t>(thread_count(threads));
    const std::size_t part = (records.size() + workers - 1) / workers;
    parallel_for(records.size(), part, threads, [&](std::size_t first, std::size_t last) {
        answer_in_rounds(forest, settings, records, limits, first, last, out);
    });
}

void answer_in_stages(const Forest& forest, const QuerySettings& settings, const Records& records,
                      std::span<const std::int64_t> stages, int threads, std::span<double> out) {
    const std::size_t classes = forest.classes();
    in_stages(forest, settings, records, stages, threads, [&](const Query& query, std::size_t i, std::size_t s) {
        query.posterior(out.subspan((i * stages.size() + s) * classes, classes));
    });
}

void label_in_stages(const Forest& forest, const QuerySettings& settings, const Records& records,
                     std::span<const std::int64_t> stages, int threads, std::span<std::int32_t> out) {
    in_stages(forest, settings, records, stages, threads, [&](const Query& query, std::size_t i, std::size_t s) {
        out[i * stages.size() + s] = static_cast<std::int32_t>(query.label());
    });
}

}  // namespace anystream::bayes_tree
