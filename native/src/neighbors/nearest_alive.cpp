#include "anystream/neighbors/nearest_alive.hpp"

#include <algorithm>
#include <numeric>

namespace anystream::neighbors {

namespace {
constexpr std::size_t kSpare = 9;  // entries beyond the visible ones
}

NearestAlive::NearestAlive(const Space& space, std::size_t visible, int threads, std::atomic<std::int64_t>* done,
                           const StopFlag* stop, ListsOf lists_of)
    : visible_(visible),
      length_(visible + kSpare),
      lists_of_(lists_of),
      left_(space.clone()),
      living_(space.size()),
      place_(space.size()),
      list_(space.size() * length_, -1),
      count_(space.size(), 0),
      tail_(space.size()),
      holders_(space.size()),
      probe_(space.probe()),
      all_(space) {
    const std::size_t n = space.size();
    std::iota(living_.begin(), living_.end(), 0);
    std::iota(place_.begin(), place_.end(), 0);
    std::vector<std::int64_t> position(n * length_, -1);
    std::vector<double> power(n * length_);
    space.all_nearest(length_, {}, threads, position, power, done, stop);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t begin = i * length_, last = begin + length_ - 1;
        for (std::size_t r = begin; r <= last && position[r] >= 0; ++r)
            append(i, static_cast<std::int32_t>(position[r]));
        tail_[i] = {power[last], static_cast<std::int32_t>(position[last]),
                    position[last] >= 0 && power[begin] == power[last]};
    }
}

void NearestAlive::append(std::size_t i, std::int32_t x) {
    list_[i * length_ + count_[i]++] = x;
    holders_[static_cast<std::size_t>(x)].push_back(static_cast<std::int32_t>(i));
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
    if (lists_of_ == ListsOf::remaining) count_[x] = 0;  // found in no list from now on, so never filled again
    for (const std::int32_t holder : std::exchange(holders_[x], {})) {
        const auto i = static_cast<std::size_t>(holder);
        const std::size_t at = place_in_list(i, x);
        if (at == count_[i]) continue;
        std::int32_t* const list = list_.data() + i * length_;
        std::copy(list + at + 1, list + count_[i], list + at);
        if (--count_[i] < visible_ && count_[i] + static_cast<std::size_t>(alive(i)) < living_.size()) fill(i);
    }
}

void NearestAlive::append_tied(std::size_t i) {
    Tail& tail = tail_[i];
    probe_->open(all_, all_.row(i));
    for (auto x = static_cast<std::size_t>(tail.id) + 1; x < place_.size() && count_[i] < length_; ++x) {
        ++compared_;
        if (x == i || !alive(x)) continue;
        double power = 0.0;
        probe_->powers(all_, x, x + 1, {&power, 1});
        if (power != tail.power) continue;
        append(i, static_cast<std::int32_t>(x));
        tail.id = static_cast<std::int32_t>(x);
    }
    tail.tied = count_[i] == length_;
}

void NearestAlive::fill(std::size_t i) {
    if (tail_[i].tied) append_tied(i);
    if (count_[i] >= visible_) return;
    probe_->open(*left_, all_.row(i));
    best_.reset(length_);
    compared_ += static_cast<std::int64_t>(left_->size());
    probe_->nearest(*left_, 0, left_->size(), living_, best_,
                    alive(i) ? static_cast<std::size_t>(place_[i]) : kNothingSkipped);
    const std::uint32_t known = count_[i];
    count_[i] = 0;
    const auto found = best_.found();
    for (const Neighbor& each : found) {
        const auto x = static_cast<std::int32_t>(each.id);
        if (count_[i] < known) {
            list_[i * length_ + count_[i]++] = x;
        } else {
            append(i, x);
        }
    }
    if (!found.empty())
        tail_[i] = {found.back().power, static_cast<std::int32_t>(found.back().id),
                    found.size() == length_ && found.front().power == found.back().power};
}

}  // namespace anystream::neighbors
