#include "anystream/neighbors/leave_one_out.hpp"

#include "anystream/parallel.hpp"

namespace anystream::neighbors {

void leave_one_out(const Gallery& gallery, const QuerySettings& settings, std::span<const std::int64_t> stages,
                   int threads, std::span<std::int32_t> out) {
    parallel_for(gallery.size(), Query::kRecordsPerTask, threads, [&](std::size_t first, std::size_t last) {
        Query query;
        InterruptibleSteps steady;
        for (std::size_t i = first; i < last; ++i) {
            query.leave_out(i);
            query.open(gallery, settings, gallery.space().row(i));
            for (std::size_t s = 0; s < stages.size(); ++s) {
                steady.advance(query, gallery, stages[s] - query.steps(), nullptr);
                out[i * stages.size() + s] = static_cast<std::int32_t>(query.label(gallery));
            }
        }
    });
}

}  // namespace anystream::neighbors
