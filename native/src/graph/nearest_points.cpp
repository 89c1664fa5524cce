#include "anystream/graph/nearest_points.hpp"

#include "anystream/parallel.hpp"
#include "anystream/scan.hpp"

namespace anystream::graph {

void nearest_points(std::span<const double> points, std::span<const double> queries, std::size_t dimensions,
                    std::size_t k, int threads, std::span<std::int64_t> out) {
    constexpr std::size_t kRecordsPerTask = 32;
    if (k == 0) return;
    BlockStore store(dimensions);
    store.assign(points);
    parallel_for(queries.size() / dimensions, kRecordsPerTask, threads, [&](std::size_t first, std::size_t last) {
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
