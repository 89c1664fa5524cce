#include "anystream/neighbors/nearest_alive.hpp"

#include <algorithm>
#include <numeric>

namespace anystream::neighbors {

namespace {
constexpr std::size_t kSpare = 9;  // entries beyond the visible ones
}

NearestAlive::NearestAlive(const Space& space, std::size_t visible, int threads, std::atomic<std::int64_t>* done,
                           const StopFlag* stop)
    : visible_(visible),
      length_(visible + kSpare),
      left_(space.clone()),
      living_(space.size()),
      place_(space.size()),
      list_(space.size() * length_, -1),
      count_(space.size(), 0),
      holders_(space.size()),
      probe_(space.probe()),
      all_(space) {
    const std::size_t n = space.size();
    std::iota(living_.begin(), living_.end(), 0);
    std::iota(place_.begin(), place_.end(), 0);
    std::vector<std::int64_t> position(n * length_, -1);
    std::vector<double> power(n * length_);
    space.all_nearest(length_, {}, threads, position, power, done, stop);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t r = 0; r < length_ && position[i * length_ + r] >= 0; ++r) {
            const auto x = static_cast<std::int32_t>(position[i * length_ + r]);
            list_[i * length_ + count_[i]++] = x;
            holders_[static_cast<std::size_t>(x)].push_back(static_cast<std::int32_t>(i));
        }
}

std::size_t NearestAlive::place_in_list(std::size_t i, std::size_t x) const noexcept {
    const std::int32_t* const list = list_.data() + i * length_;
    return static_cast<std::size_t>(std::find(list, list + count_[i], static_cast<std::int32_t>(x)) - list);
}

std::vector<std::int32_t> NearestAlive::seen_by(std::size_t x) const {
    std::vector<std::int32_t> seers;
    for (const std::int32_t i : holders_[x])
        if (place_in_list(static_cast<std::size_t>(i), x) < nearest(static_cast<std::size_t>(i)).size())
            seers.push_back(i);
    std::sort(seers.begin(), seers.end());
    seers.erase(std::unique(seers.begin(), seers.end()), seers.end());
    return seers;
}

void NearestAlive::remove(std::size_t x) {
    const auto place = static_cast<std::size_t>(place_[x]);
    left_->swap_remove(place);
    living_[place] = living_.back();
    place_[static_cast<std::size_t>(living_[place])] = static_cast<std::int64_t>(place);
    living_.pop_back();
    place_[x] = -1;
    for (const std::int32_t holder : std::exchange(holders_[x], {})) {
        const auto i = static_cast<std::size_t>(holder);
        const std::size_t at = place_in_list(i, x);
        if (at == count_[i]) continue;
        std::int32_t* const list = list_.data() + i * length_;
        std::copy(list + at + 1, list + count_[i], list + at);
        if (--count_[i] < visible_ && count_[i] + static_cast<std::size_t>(alive(i)) < living_.size()) fill(i);
    }
}

void NearestAlive::fill(std::size_t i) {
    probe_->open(*left_, all_.row(i));
    best_.reset(length_);
    probe_->nearest(*left_, 0, left_->size(), living_, best_,
                    alive(i) ? static_cast<std::size_t>(place_[i]) : kNothingSkipped);
    const std::uint32_t known = count_[i];
    count_[i] = 0;
    for (const Neighbor& found : best_.found()) {
        list_[i * length_ + count_[i]] = static_cast<std::int32_t>(found.id);
        if (count_[i]++ >= known) holders_[static_cast<std::size_t>(found.id)].push_back(static_cast<std::int32_t>(i));
    }
}

}  // namespace anystream::neighbors
