// Shared by several orderings.
#include "anystream/neighbors/orderings.hpp"

#include "votes.hpp"

namespace anystream::neighbors {

std::vector<double> own_class_powers(const Space& space, std::span<const std::int32_t> labels, std::size_t classes,
                                     int threads) {
    std::vector<double> result(space.size(), std::numeric_limits<double>::infinity());
    std::vector<std::vector<std::int64_t>> members(classes);
    for (std::size_t i = 0; i < labels.size(); ++i)
        members[static_cast<std::size_t>(labels[i])].push_back(static_cast<std::int64_t>(i));
    for (const auto& own : members) {
        if (own.size() < 2) continue;
        const auto part = space.permuted(own);
        std::vector<std::int64_t> position(own.size());
        std::vector<double> power(own.size());
        part->all_nearest(1, own, threads, position, power, nullptr, nullptr);
        for (std::size_t i = 0; i < own.size(); ++i) result[static_cast<std::size_t>(own[i])] = power[i];
    }
    return result;
}

std::vector<bool> suspected_noise(const Space& space, std::span<const std::int32_t> labels, std::size_t classes,
                                  const OrderWork& work) {
    constexpr std::size_t kNear = 3;
    std::vector<std::int64_t> position(space.size() * kNear);
    std::vector<double> power(space.size() * kNear);
    space.all_nearest(kNear, {}, work.threads, position, power, work.done, work.stop);
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
