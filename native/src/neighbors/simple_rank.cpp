// SimpleRank (Ueno, Xi, Keogh, Lee, "Anytime classification using the nearest neighbor algorithm", ICDM 2006).
//
//     rank(x) = sum over the x_j whose nearest neighbour is x of  1 if their classes agree, else -2 / (classes - 1)
//
// The exemplar of lowest rank is appended at the end of the order and removed; those that had it as their nearest get
// another; and so on. All training records keep voting, also the removed ones. Ties: the one closest to another
// remaining one of its class is removed first, because that one represents it. Ranks are kept as integers, times
// (classes - 1).
#include <limits>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "anystream/neighbors/nearest_alive.hpp"
#include "anystream/neighbors/orderings.hpp"

namespace anystream::neighbors {

namespace {

/// Powers from each remaining exemplar to the nearest remaining other one of its class; infinite where there is none.
class NearestOfClass {
  public:
    NearestOfClass(const Space& space, std::span<const std::int32_t> labels, std::size_t classes, const OrderWork& work)
        : space_(space),
          labels_(labels),
          members_(classes),
          nearest_(classes),
          place_(space.size()),
          power_(space.size(), std::numeric_limits<double>::infinity()),
          probe_(space.probe()) {
        for (std::size_t i = 0; i < labels.size(); ++i) {
            auto& own = members_[class_of(i)];
            place_[i] = own.size();
            own.push_back(static_cast<std::int64_t>(i));
        }
        for (std::size_t c = 0; c < classes; ++c) {
            if (members_[c].empty()) continue;
            throw_if_stopped(work);
            parts_.push_back(space.permuted(members_[c]));  // a NearestAlive refers to the space that it was made of
            nearest_[c] =
                std::make_unique<NearestAlive>(*parts_.back(), 1, work.threads, nullptr, work.stop, ListsOf::remaining);
        }
        for (std::size_t i = 0; i < labels.size(); ++i) {
            throw_if_stopped(work);
            measure(i);
        }
    }

    [[nodiscard]] double power(std::size_t i) const noexcept { return power_[i]; }
    /// The remaining exemplars whose power changes when x is removed.
    [[nodiscard]] std::vector<std::size_t> changed_by(std::size_t x) const {
        const auto& own = members_[class_of(x)];
        std::vector<std::size_t> changed;
        for (const std::int32_t seer : nearest_[class_of(x)]->seen_by(place_[x]))
            changed.push_back(static_cast<std::size_t>(own[static_cast<std::size_t>(seer)]));
        return changed;
    }
    void remove(std::size_t x) { nearest_[class_of(x)]->remove(place_[x]); }
    [[nodiscard]] std::int64_t compared() const {
        std::int64_t pairs = 0;
        for (const auto& of_class : nearest_) pairs += of_class ? of_class->compared() : 0;
        return pairs;
    }
    void measure(std::size_t i) {
        const auto near = nearest_[class_of(i)]->nearest(place_[i]);
        power_[i] = std::numeric_limits<double>::infinity();
        if (near.empty()) return;
        const auto x = static_cast<std::size_t>(members_[class_of(i)][static_cast<std::size_t>(near.front())]);
        probe_->open(space_, space_.row(i));
        probe_->powers(space_, x, x + 1, {&power_[i], 1});
    }

  private:
    [[nodiscard]] std::size_t class_of(std::size_t i) const noexcept { return static_cast<std::size_t>(labels_[i]); }

    const Space& space_;
    std::span<const std::int32_t> labels_;
    std::vector<std::vector<std::int64_t>> members_;  // of each class
    std::vector<std::unique_ptr<Space>> parts_;
    std::vector<std::unique_ptr<NearestAlive>> nearest_;  // of each class; by places among its members
    std::vector<std::size_t> place_;                      // of each exemplar among the members of its class
    std::vector<double> power_;
    std::unique_ptr<Probe> probe_;
};

}  // namespace

Order simple_rank(const Space& space, std::span<const std::int32_t> labels, std::size_t classes,
                  const OrderWork& work) {
    const std::size_t n = space.size();
    const auto right = static_cast<std::int64_t>(std::max<std::size_t>(classes, 2) - 1);
    NearestAlive nearest(space, 1, work.threads, work.done, work.stop);
    throw_if_stopped(work);
    NearestOfClass own(space, labels, classes, work);
    throw_if_stopped(work);
    const auto vote = [&](std::size_t voter, std::size_t x) { return labels[voter] == labels[x] ? right : -2; };

    std::vector<std::int64_t> rank(n, 0);
    for (std::size_t i = 0; i < n; ++i)
        for (const std::int32_t x : nearest.nearest(i))
            rank[static_cast<std::size_t>(x)] += vote(i, static_cast<std::size_t>(x));

    using Key = std::tuple<std::int64_t, double, std::int64_t>;  // among equal ones, the highest index is removed first
    const auto key = [&](std::size_t i) { return Key(rank[i], own.power(i), -static_cast<std::int64_t>(i)); };
    std::set<Key> worst;
    for (std::size_t i = 0; i < n; ++i) worst.insert(key(i));

    std::vector<std::int64_t> gained(n, 0);  // by the present removal
    std::vector<bool> touched(n, false);
    std::vector<std::size_t> moved;
    Order order(n);
    for (std::size_t place = n; place-- > 0;) {
        throw_if_stopped(work);
        const auto x = static_cast<std::size_t>(-std::get<2>(*worst.begin()));
        worst.erase(worst.begin());
        order[place] = static_cast<std::int64_t>(x);
        const auto voters = nearest.seen_by(x);
        const auto neighbours = own.changed_by(x);
        nearest.remove(x);
        own.remove(x);
        moved.clear();
        for (const std::int32_t voter : voters) {
            const auto i = static_cast<std::size_t>(voter);
            for (const std::int32_t next : nearest.nearest(i)) {
                const auto y = static_cast<std::size_t>(next);
                if (!touched[y]) moved.push_back(y);
                touched[y] = true;
                gained[y] += vote(i, y);
            }
        }
        for (const std::size_t y : moved) {  // once each: many may have the same next one
            worst.erase(key(y));
            rank[y] += std::exchange(gained[y], 0);
            worst.insert(key(y));
            touched[y] = false;
        }
        for (const std::size_t y : neighbours) {
            worst.erase(key(y));
            own.measure(y);
            worst.insert(key(y));
        }
        if (work.done != nullptr) work.done->fetch_add(1, std::memory_order_relaxed);
    }
    if (work.compared != nullptr)
        work.compared->fetch_add(nearest.compared() + own.compared(), std::memory_order_relaxed);
    return order;
}

}  // namespace anystream::neighbors
