// The entries of one class that can be refined, by priority.
//
// The children of a node arrive together. They form groups of up to eight. The best entries of the groups compete in
// pairs, then the winners, up to the first of all. A refinement changes two groups and repeats the matches above them,
// without a branch: how far an entry moves in a heap cannot be predicted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "anystream/bayes_tree/kernels.hpp"

namespace anystream::bayes_tree {

class Frontier {
  public:
    static constexpr std::size_t kLanes = EntryGroup::kLanes;

    struct Entry {
        std::int64_t key;  // grows with its priority; among equal ones the lower node is first
        double value;      // 2^(v - origin)
        float log2_value;  // v
        std::int32_t node;
    };

    [[nodiscard]] bool empty() const noexcept { return winners_.empty() || first().key == EntryGroup::kNoKey; }
    /// The node of the entry that `take` returns.
    [[nodiscard]] std::int32_t next_node() const noexcept { return first().node(); }
    /// Fetches what `take` reads and writes.
    void prefetch() const noexcept {
        const EntryGroup& group = groups_[first().group()];
        __builtin_prefetch(group.key, 1);
        __builtin_prefetch(group.value, 1);
        __builtin_prefetch(group.log2_value, 1);
    }
    /// All groups in the order in which they were added. Lanes may be gone; keys, nodes and which are gone stay.
    [[nodiscard]] std::vector<EntryGroup>& groups() noexcept { return groups_; }
    [[nodiscard]] const std::vector<EntryGroup>& groups() const noexcept { return groups_; }

    void clear() noexcept {
        groups_.clear();
        winners_.clear();
    }

    /// Adds the group that `fill` writes; `fill` returns whether it has any entry.
    template <typename Fill>
    void add(const Fill& fill) {
        if (groups_.size() == places()) widen();
        EntryGroup& group = groups_.emplace_back();
        if (!fill(group)) return groups_.pop_back();
        const std::size_t index = groups_.size() - 1;
        enter(Best(group, index, kernels().take_key(group, kLanes)), index);
    }

    /// Adds entries in this order, eight to a group.
    void add(const std::vector<Entry>& entries);

    /// Removes the entry of highest priority; there must be one.
    Entry take() {
        const std::size_t index = first().group(), lane = first().lane();
        EntryGroup& group = groups_[index];
        const Entry entry{group.key[lane], group.value[lane], group.log2_value[lane], group.node[lane]};
        group.value[lane] = 0.0;
        group.log2_value[lane] = EntryGroup::kGone;
        enter(Best(group, index, kernels().take_key(group, lane)), index);
        return entry;
    }

    /// The entries in the order in which they were added.
    [[nodiscard]] std::vector<Entry> entries() const;

  private:
    static constexpr std::size_t kSomePlaces = 8;

    /// The first entry of a group, or none.
    struct Best {
        std::int64_t key = EntryGroup::kNoKey;
        std::uint64_t place = 0;  // ~node, then 8 * group + lane: among equal keys the lower node has the larger place

        Best() = default;
        Best(const EntryGroup& of, std::size_t index, std::size_t lane) noexcept
            : key(of.key[lane]),
              place(std::uint64_t{~static_cast<std::uint32_t>(of.node[lane])} << 32 | (index * kLanes + lane)) {}
        [[nodiscard]] std::int32_t node() const noexcept { return static_cast<std::int32_t>(~(place >> 32)); }
        [[nodiscard]] std::size_t group() const noexcept { return (place & 0xffffffffU) / kLanes; }
        [[nodiscard]] std::size_t lane() const noexcept { return place % kLanes; }

        /// The first of two. Compared as one number: that takes no branch.
        [[nodiscard]] Best or_before(const Best& other) const noexcept {
            __extension__ typedef __int128 Wide;
            const Wide one = static_cast<Wide>(key) << 64 | place;
            const Wide two = static_cast<Wide>(other.key) << 64 | other.place;
            const Wide first = one < two ? two : one;
            return {static_cast<std::int64_t>(first >> 64), static_cast<std::uint64_t>(first)};
        }

      private:
        Best(std::int64_t with_key, std::uint64_t at) noexcept : key(with_key), place(at) {}
    };

    [[nodiscard]] const Best& first() const noexcept { return winners_[1]; }
    /// Groups that there is room for.
    [[nodiscard]] std::size_t places() const noexcept { return winners_.size() / 2; }

    /// Sets the best entry of a group.
    void enter(Best best, std::size_t index) noexcept {
        Best* const winners = winners_.data();
        for (std::size_t at = places() + index; at > 1; at /= 2) {
            winners[at] = best;
            best = best.or_before(winners[at ^ 1]);
        }
        winners[1] = best;
    }

    /// Makes room for more groups. Many classes have only one, the others soon have some.
    void widen() {
        const std::size_t before = places();
        if (before == 0) return winners_.resize(2);
        const std::size_t after = std::max(kSomePlaces, 2 * before);
        winners_.resize(2 * after);
        if (before == 1) return enter(first(), 0);
        std::copy_n(winners_.data() + before, before, winners_.data() + after);
        for (std::size_t at = after; at-- > 1;) winners_[at] = winners_[2 * at].or_before(winners_[2 * at + 1]);
    }

    std::vector<EntryGroup> groups_;
    std::vector<Best> winners_;  // the groups from places() on, and at i the first of those at 2 i and 2 i + 1
};

}  // namespace anystream::bayes_tree
