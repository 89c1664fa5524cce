// SimpleRank (Ueno, Xi, Keogh, Lee, "Anytime classification using the nearest neighbor algorithm", ICDM 2006).
//
//     rank(x) = sum over the x_j whose nearest neighbour is x of  1 if their classes agree, else -2 / (classes - 1)
//
// The exemplar of lowest rank is appended at the end of the order and removed; those that had it as their nearest get
// another; and so on. All training records keep voting, also the removed ones. Ties: the one closest to another of its
// class is removed first, because that one represents it. Ranks are kept as integers, times (classes - 1).
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "anystream/neighbors/nearest_alive.hpp"
#include "anystream/neighbors/orderings.hpp"

namespace anystream::neighbors {

Order simple_rank(const Space& space, std::span<const std::int32_t> labels, std::size_t classes,
                  const OrderWork& work) {
    const std::size_t n = space.size();
    const auto right = static_cast<std::int64_t>(std::max<std::size_t>(classes, 2) - 1);
    NearestAlive nearest(space, 1, work.threads, work.done, work.stop);
    const std::vector<double> own = own_class_powers(space, labels, classes, work.threads);
    const auto vote = [&](std::size_t voter, std::size_t x) { return labels[voter] == labels[x] ? right : -2; };

    std::vector<std::int64_t> rank(n, 0);
    for (std::size_t i = 0; i < n; ++i)
        for (const std::int32_t x : nearest.nearest(i))
            rank[static_cast<std::size_t>(x)] += vote(i, static_cast<std::size_t>(x));

    using Key = std::tuple<std::int64_t, double, std::int64_t>;  // among equal ones, the highest index is removed first
    const auto key = [&](std::size_t i) { return Key(rank[i], own[i], -static_cast<std::int64_t>(i)); };
    std::set<Key> worst;
    for (std::size_t i = 0; i < n; ++i) worst.insert(key(i));

    std::vector<std::int64_t> gained(n, 0);  // by the present removal
    std::vector<bool> touched(n, false);
    std::vector<std::size_t> moved;
    Order order(n);
    for (std::size_t place = n; place-- > 0;) {
        if (work.stop != nullptr && work.stop->is_set()) throw std::runtime_error("the ordering was stopped");
        const auto x = static_cast<std::size_t>(-std::get<2>(*worst.begin()));
        worst.erase(worst.begin());
        order[place] = static_cast<std::int64_t>(x);
        const auto voters = nearest.seen_by(x);
        nearest.remove(x);
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
        if (work.done != nullptr) work.done->fetch_add(1, std::memory_order_relaxed);
    }
    return order;
}

}  // namespace anystream::neighbors
