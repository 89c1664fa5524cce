// DROP1, DROP2 and DROP3 (Wilson and Martinez, "Reduction techniques for instance-based learning algorithms", Machine
// Learning 38, 2000), read as orders.
//
// The associates of P are the records that have P among their k = 3 nearest. P's score is how many more of them are
// right without P than with it; the exemplar of highest score is removed first. DROP1 counts only associates that
// remain, DROP2 and DROP3 all; these two break ties by the distance to the nearest enemy, the farthest removed first;
// DROP3 removes noise (Wilson's editing rule) before all others.
#include <set>
#include <tuple>

#include "anystream/neighbors/nearest_alive.hpp"
#include "anystream/neighbors/orderings.hpp"
#include "votes.hpp"

namespace anystream::neighbors {

namespace {

constexpr std::size_t kNear = 3;

/// Powers to the nearest exemplar of another class; infinite where there is none.
std::vector<double> enemy_powers(const Space& space, std::span<const std::int32_t> labels, std::size_t classes,
                                 const OrderWork& work) {
    std::vector<double> result(space.size(), std::numeric_limits<double>::infinity());
    for (std::size_t c = 0; c < classes; ++c) {
        std::vector<std::int64_t> others;
        for (std::size_t i = 0; i < labels.size(); ++i)
            if (static_cast<std::size_t>(labels[i]) != c) others.push_back(static_cast<std::int64_t>(i));
        if (others.empty() || others.size() == labels.size()) continue;
        const auto enemies = space.permuted(others);
        const auto probe = enemies->probe();
        NearestSet best;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            if (static_cast<std::size_t>(labels[i]) != c) continue;
            throw_if_stopped(work);
            probe->open(*enemies, space.row(i));
            best.reset(1);
            probe->nearest(*enemies, 0, enemies->size(), {}, best, kNothingSkipped);
            result[i] = best.found()[0].power;
        }
    }
    return result;
}

}  // namespace

Order drop_order(const Space& space, std::span<const std::int32_t> labels, std::size_t classes, int variant,
                 const OrderWork& work) {
    const std::size_t n = space.size();
    NearestAlive nearest(space, kNear + 1, work.threads, work.done, work.stop);
    throw_if_stopped(work);
    std::vector<double> tie(n, 0.0);
    std::vector<bool> noise(n, false);
    if (variant >= 2) tie = enemy_powers(space, labels, classes, work);
    if (variant == 3) noise = suspected_noise(space, labels, classes, {.threads = work.threads, .stop = work.stop});

    Votes votes(classes);
    const auto right_without = [&](std::size_t i, std::size_t left_out) {
        votes.clear();
        std::size_t counted = 0;
        for (const std::int32_t each : nearest.nearest(i)) {
            if (static_cast<std::size_t>(each) == left_out || counted == kNear) continue;
            votes.add(labels[static_cast<std::size_t>(each)]);
            ++counted;
        }
        return !votes.empty() && votes.winner() == labels[i];
    };

    using Key = std::tuple<bool, std::int64_t, double, std::int64_t>;  // the greatest is removed first
    std::vector<std::int64_t> score(n, 0);
    const auto key = [&](std::size_t i) { return Key(noise[i], score[i], tie[i], static_cast<std::int64_t>(i)); };
    std::set<Key> leaving;
    /// Adds the vote of associate i on its nearest, or subtracts it.
    const auto judge = [&](std::size_t i, std::int64_t sign) {
        const bool right = right_without(i, n);
        const auto near = nearest.nearest(i);
        for (std::size_t r = 0; r < std::min(kNear, near.size()); ++r) {
            const auto x = static_cast<std::size_t>(near[r]);
            const auto gain = static_cast<std::int64_t>(right_without(i, x)) - static_cast<std::int64_t>(right);
            if (gain == 0) continue;
            const bool listed = leaving.erase(key(x)) > 0;
            score[x] += sign * gain;
            if (listed) leaving.insert(key(x));
        }
    };
    for (std::size_t i = 0; i < n; ++i) judge(i, 1);
    for (std::size_t i = 0; i < n; ++i) leaving.insert(key(i));

    Order order(n);
    for (std::size_t place = n; place-- > 0;) {
        throw_if_stopped(work);
        const auto x = static_cast<std::size_t>(std::get<3>(*leaving.rbegin()));
        leaving.erase(std::prev(leaving.end()));
        order[place] = static_cast<std::int64_t>(x);
        auto affected = nearest.seen_by(x);
        if (variant == 1)
            std::erase_if(affected, [&](std::int32_t i) { return !nearest.alive(static_cast<std::size_t>(i)); });
        for (const std::int32_t i : affected) judge(static_cast<std::size_t>(i), -1);
        if (variant == 1) judge(x, -1);  // it no longer counts as an associate
        nearest.remove(x);
        for (const std::int32_t i : affected) judge(static_cast<std::size_t>(i), 1);
        if (work.done != nullptr) work.done->fetch_add(1, std::memory_order_relaxed);
    }
    if (work.compared != nullptr) work.compared->fetch_add(nearest.compared(), std::memory_order_relaxed);
    return order;
}

}  // namespace anystream::neighbors
