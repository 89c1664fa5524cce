#include "anystream/graph/answer.hpp"

#include <algorithm>
#include <vector>

#include "anystream/graph/query.hpp"
#include "anystream/parallel.hpp"

namespace anystream::graph {

namespace {

constexpr std::size_t kChunk = 32;                 // records that one thread takes at a time
constexpr std::size_t kGroup = 256;                // records that are refined in rounds together
constexpr std::int64_t kRoundSteps = kBlockLanes;  // steps that each of them takes in a round

void write(Query& query, const Graph& graph, std::size_t i, const Answers& out) {
    query.posterior(graph, out.proba.subspan(i * graph.classes, graph.classes));
    out.steps[i] = query.steps();
    out.exhausted[i] = query.exhausted();
}

/// Records first..last - 1 on one thread, within the limits: equal shares of the time for all.
void answer_in_rounds(const Graph& graph, const double* records, const Limits& limits, std::size_t first,
                      std::size_t last, const Answers& out) {
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
        for (std::size_t i = 0; i < size; ++i) group[i].open(graph, records + (start + i) * graph.dimensions());
        for (bool going = true; going && !watch.due();) {
            going = false;
            for (std::size_t i = 0; i < size && !watch.due(); ++i) {
                group[i].advance(graph, std::min(kRoundSteps, limits.steps - group[i].steps()));
                going |= !group[i].exhausted() && group[i].steps() < limits.steps;
            }
        }
        for (std::size_t i = 0; i < size; ++i) write(group[i], graph, start + i, out);
    }
}

}  // namespace

void answer(const Graph& graph, std::span<const double> records, const Limits& limits, int threads,
            const Answers& out) {
    const std::size_t size = out.steps.size();
    if (!limits.interruptible()) {
        parallel_for(size, kChunk, threads, [&](std::size_t first, std::size_t last) {
            Query query;
            for (std::size_t i = first; i < last; ++i) {
                query.open(graph, records.data() + i * graph.dimensions());
                query.advance(graph, limits.steps);
                write(query, graph, i, out);
            }
        });
        return;
    }
    const auto workers = static_cast<std::size_t>(thread_count(threads));
    parallel_for(size, (size + workers - 1) / workers, threads, [&](std::size_t first, std::size_t last) {
        answer_in_rounds(graph, records.data(), limits, first, last, out);
    });
}

void answer_in_stages(const Graph& graph, std::span<const double> records, std::span<const std::int64_t> stages,
                      int threads, std::span<double> out) {
    const std::size_t row = stages.size() * graph.classes;
    parallel_for(out.size() / row, kChunk, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        for (std::size_t i = first; i < last; ++i) {
            query.open(graph, records.data() + i * graph.dimensions());
            for (std::size_t s = 0; s < stages.size(); ++s) {
                query.advance(graph, stages[s] - query.steps());
                query.posterior(graph, out.subspan(i * row + s * graph.classes, graph.classes));
            }
        }
    });
}

void nearest_points(std::span<const double> points, std::span<const double> queries, std::size_t dimensions,
                    std::size_t k, int threads, std::span<std::int64_t> out) {
    if (k == 0) return;
    BlockStore store(dimensions);
    store.assign(points);
    parallel_for(queries.size() / dimensions, kChunk, threads, [&](std::size_t first, std::size_t last) {
        Scan scan;
        NearestSet best;
        for (std::size_t i = first; i < last; ++i) {
            best.reset(k);
            scan.open(store, queries.data() + i * dimensions);
            scan.nearest(store, 0, store.size(), {}, best);
            for (std::size_t r = 0; r < k; ++r) out[i * k + r] = best.found()[r].position;
        }
    });
}

}  // namespace anystream::graph
