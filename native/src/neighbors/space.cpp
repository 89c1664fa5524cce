#include "anystream/neighbors/space.hpp"

#include <stdexcept>

#include "anystream/neighbors/dtw.hpp"
#include "anystream/neighbors/edit.hpp"
#include "anystream/neighbors/rotation.hpp"
#include "anystream/neighbors/vector_space.hpp"
#include "anystream/parallel.hpp"

namespace anystream::neighbors {

namespace {
constexpr std::size_t kDearPortion = 16;  // comparisons of series or texts, each of which may take a millisecond
}

void Space::all_nearest(std::size_t k, std::span<const std::int64_t> ids, int threads,
                        std::span<std::int64_t> out_position, std::span<double> out_power,
                        std::atomic<std::int64_t>* done, const StopFlag* stop) const {
    parallel_for(size(), 16, threads, [&](std::size_t first, std::size_t last) {
        const std::size_t portion = stride() < kBlockLanes ? kDearPortion : size();
        const auto mine = probe();
        NearestSet best(k);
        for (std::size_t i = first; i < last; ++i) {
            if (stop != nullptr && stop->is_set()) return;
            mine->open(*this, row(i));
            best.reset(k);
            for (std::size_t from = 0; from < size(); from += portion) {
                mine->nearest(*this, from, std::min(from + portion, size()), ids, best, i);
                check_interrupts();
                if (stop != nullptr && stop->is_set()) return;
            }
            const auto found = best.found();
            for (std::size_t r = 0; r < k; ++r) {
                out_position[i * k + r] = r < found.size() ? found[r].position : -1;
                out_power[i * k + r] = r < found.size() ? found[r].power : std::numeric_limits<double>::infinity();
            }
            if (done != nullptr) done->fetch_add(1, std::memory_order_relaxed);
        }
    });
}

std::unique_ptr<Space> make_space(const Metric& metric) {
    if (metric.name == "euclidean") return make_vector_space(BlockStore(metric.width, Norm::euclidean));
    if (metric.name == "manhattan") return make_vector_space(BlockStore(metric.width, Norm::manhattan));
    if (metric.name == "chebyshev") return make_vector_space(BlockStore(metric.width, Norm::chebyshev));
    if (metric.name == "mixed") return make_vector_space(BlockStore(metric.width, Norm::mixed, metric.categorical));
    if (metric.name == "dtw") return make_dtw_space(metric.width, metric.band);
    if (metric.name == "rotation") return make_rotation_space(metric.width);
    if (metric.name == "edit") return make_edit_space();
    throw std::invalid_argument("the native core has no distance '" + metric.name + "'");
}

}  // namespace anystream::neighbors
