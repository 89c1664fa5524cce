// Shared by several orderings.
#include "anystream/neighbors/orderings.hpp"

#include <stdexcept>

#include "anystream/parallel.hpp"
#include "votes.hpp"

namespace anystream::neighbors {

void throw_if_stopped(const OrderWork& work) {
    if (work.stop != nullptr && work.stop->is_set()) throw std::runtime_error("the ordering was stopped");
    check_interrupts();
}

std::vector<bool> suspected_noise(const Space& space, std::span<const std::int32_t> labels, std::size_t classes,
                                  const OrderWork& work) {
    constexpr std::size_t kNear = 3;
    std::vector<std::int64_t> position(space.size() * kNear);
    std::vector<double> power(space.size() * kNear);
    space.all_nearest(kNear, {}, work.threads, position, power, work.done, work.stop);
    throw_if_stopped(work);
    std::vector<bool> noise(space.size());
    Votes votes(classes);
    for (std::size_t i = 0; i < space.size(); ++i) {
        votes.clear();
        for (std::size_t r = 0; r < kNear; ++r)
            if (position[i * kNear + r] >= 0) votes.add(labels[static_cast<std::size_t>(position[i * kNear + r])]);
        noise[i] = !votes.empty() && votes.winner() != labels[i];
    }
    return noise;
}

}  // namespace anystream::neighbors
