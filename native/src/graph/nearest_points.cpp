#include "anystream/graph/nearest_points.hpp"

#include "anystream/parallel.hpp"

namespace anystream::graph {

Points::Points(std::span<const double> rows, std::size_t dimensions) : store_(dimensions) {
    store_.assign(rows);
}

void Points::find_nearest(std::span<const double> queries, std::size_t k, int threads,
                          std::span<std::int64_t> out) const {
    constexpr std::size_t kRecordsPerTask = 32;
    if (k == 0) return;
    const std::size_t d = dimensions();
    parallel_for(queries.size() / d, kRecordsPerTask, threads, [&](std::size_t first, std::size_t last) {
        Scan scan;
        NearestSet best;
        for (std::size_t i = first; i < last; ++i) {
            best.reset(k);
            scan.open(store_, queries.data() + i * d);
            scan.nearest(store_, 0, store_.size(), {}, best);
            for (std::size_t r = 0; r < k; ++r) out[i * k + r] = best.found()[r].position;
        }
    });
}

}  // namespace anystream::graph
