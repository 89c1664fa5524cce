#include "anystream/graph/answer.hpp"

#include "anystream/graph/query.hpp"
#include "anystream/parallel.hpp"

namespace anystream::graph {

namespace {

constexpr std::size_t kRecordsAtOnce = 32;

struct GraphBatch {
    using Query = graph::Query;
    static constexpr std::size_t kChunk = kRecordsAtOnce;
    static constexpr std::int64_t kRoundSteps = kBlockLanes;

    const Graph& graph;
    RecordRows records;

    [[nodiscard]] std::size_t size() const noexcept { return records.size(); }
    [[nodiscard]] std::size_t classes() const noexcept { return graph.classes; }
    void open(Query& query, std::size_t i) const { query.open(graph, records.row(i)); }
    void advance(Query& query, std::int64_t steps, StopWatch*) const { query.advance(graph, steps); }
    [[nodiscard]] bool finished(const Query& query) const noexcept { return query.exhausted(); }
    void posterior(Query& query, std::span<double> out) const { query.posterior(graph, out); }
};

}  // namespace

void answer(const Graph& graph, std::span<const double> records, const Limits& limits, int threads,
            const AnswerRows& out) {
    answer_batch(GraphBatch{graph, {records, graph.dimensions()}}, limits, threads, out);
}

void answer_in_stages(const Graph& graph, std::span<const double> records, std::span<const std::int64_t> stages,
                      int threads, std::span<double> out) {
    answer_batch_in_stages(GraphBatch{graph, {records, graph.dimensions()}}, stages, threads, out);
}

void nearest_points(std::span<const double> points, std::span<const double> queries, std::size_t dimensions,
                    std::size_t k, int threads, std::span<std::int64_t> out) {
    if (k == 0) return;
    BlockStore store(dimensions);
    store.assign(points);
    parallel_for(queries.size() / dimensions, kRecordsAtOnce, threads, [&](std::size_t first, std::size_t last) {
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
