#include "anystream/neighbors/answer.hpp"

#include <algorithm>
#include <vector>

#include "anystream/parallel.hpp"

namespace anystream::neighbors {

namespace {

constexpr std::size_t kChunk = 16;        // records that one thread takes at a time
constexpr std::size_t kGroup = 256;       // records that are refined in rounds together
constexpr std::int64_t kRoundSteps = 16;  // exemplars that each of them is compared with in a round

void write(const Gallery& gallery, const Query& query, std::size_t i, const Answers& out) {
    query.posterior(gallery, out.proba.subspan(i * gallery.classes(), gallery.classes()));
    out.steps[i] = query.steps();
    out.exhausted[i] = query.exhausted();
}

/// Records first..last - 1 on one thread, within the limits: equal shares of the time for all.
void answer_in_rounds(const Gallery& gallery, const Records& records, std::size_t k, const Limits& limits,
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
        for (std::size_t i = 0; i < size; ++i) group[i].open(gallery, records.row(start + i), k);
        for (bool going = true; going && !watch.due();) {
            going = false;
            for (std::size_t i = 0; i < size; ++i) {
                group[i].advance(gallery, std::min(kRoundSteps, limits.steps - group[i].steps()), &watch);
                going |= !group[i].exhausted() && group[i].steps() < limits.steps;
            }
        }
        for (std::size_t i = 0; i < size; ++i) write(gallery, group[i], start + i, out);
    }
}

}  // namespace

void answer(const Gallery& gallery, const Records& records, std::size_t k, const Limits& limits, int threads,
            const Answers& out) {
    if (!limits.interruptible()) {
        parallel_for(records.size(), kChunk, threads, [&](std::size_t first, std::size_t last) {
            Query query;
            for (std::size_t i = first; i < last; ++i) {
                query.open(gallery, records.row(i), k);
                query.refine(gallery, limits);
                write(gallery, query, i, out);
            }
        });
        return;
    }
    const auto workers = static_cast<std::size_t>(thread_count(threads));
    const std::size_t part = (records.size() + workers - 1) / workers;
    parallel_for(records.size(), part, threads, [&](std::size_t first, std::size_t last) {
        answer_in_rounds(gallery, records, k, limits, first, last, out);
    });
}

void answer_in_stages(const Gallery& gallery, const Records& records, std::size_t k,
                      std::span<const std::int64_t> stages, int threads, std::span<double> out) {
    const std::size_t classes = gallery.classes();
    parallel_for(records.size(), kChunk, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        for (std::size_t i = first; i < last; ++i) {
            query.open(gallery, records.row(i), k);
            for (std::size_t s = 0; s < stages.size(); ++s) {
                query.refine(gallery, {.steps = stages[s] - query.steps()});
                query.posterior(gallery, out.subspan((i * stages.size() + s) * classes, classes));
            }
        }
    });
}

void leave_one_out(const Gallery& gallery, std::size_t k, std::span<const std::int64_t> stages, int threads,
                   std::span<std::int32_t> out) {
    parallel_for(gallery.size(), kChunk, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        for (std::size_t i = first; i < last; ++i) {
            query.leave_out(i);
            query.open(gallery, gallery.space().row(i), k);
            for (std::size_t s = 0; s < stages.size(); ++s) {
                query.refine(gallery, {.steps = stages[s] - query.steps()});
                out[i * stages.size() + s] = static_cast<std::int32_t>(query.label(gallery));
            }
        }
    });
}

}  // namespace anystream::neighbors
