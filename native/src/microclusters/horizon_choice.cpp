#include "anystream/microclusters/horizon_choice.hpp"

#include <algorithm>
#include <utility>

#include "anystream/microclusters/clusters.hpp"
#include "anystream/microclusters/kernels.hpp"

namespace anystream::microclusters {

HorizonChoice::HorizonChoice(std::shared_ptr<const Clusters> then, std::size_t first_held)
    : then_(std::move(then)), first_held_(first_held), row_(then_->stride()) {}

std::size_t HorizonChoice::work() const noexcept {
    return (then_->snapshots().size() + 1) * (then_->held_classes().size() - first_held_);
}

std::uint64_t HorizonChoice::advance(std::size_t target) {
    const std::size_t held = then_->held_classes().size() - first_held_;
    std::uint64_t distances = 0;
    for (target = std::min(target, work()); done_ < target; ++done_) {
        const std::size_t s = done_ / held, i = first_held_ + done_ % held;  // the longest horizon first: it wins ties
        const Snapshot* snapshot = s == 0 ? nullptr : &then_->snapshots()[s - 1];
        if (done_ % held == 0 || !horizon_) horizon_ = std::make_shared<const Horizon>(then_->since(snapshot));
        if (done_ % held == 0) right_ = 0;
        then_->standardise(then_->held_values().data() + i * then_->dimensions(), row_.data());
        const std::size_t nearest =
            kernels().nearest(row_.data(), horizon_->centroid.data(), horizon_->size(), row_.size()).first;
        const std::int32_t label = nearest < horizon_->size() ? horizon_->point_class[nearest] : -1;
        distances += horizon_->size();
        right_ += label == then_->held_classes()[i];
        if (done_ % held == held - 1 && right_ > best_right_) {
            best_right_ = right_;
            best_time_ = snapshot == nullptr ? -1 : snapshot->time;
        }
    }
    return distances;
}

std::size_t HorizonChoice::own_bytes() const noexcept {
    std::size_t bytes = then_->own_bytes();
    for (const Snapshot& snapshot : then_->snapshots())  // counted with the model: only the ids are copies
        bytes -= snapshot.size() * (1 + 2 * then_->dimensions()) * sizeof(double);
    return bytes;
}

}  // namespace anystream::microclusters
