// The entries of one class that can be refined, by priority.
//
// The children of a node arrive together. They form groups of up to eight, and a heap holds the best entry of each
// group: a refinement moves two entries of the heap, where a heap of all entries would take up every child.
#pragma once

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

    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    /// The node of the entry that `take` returns.
    [[nodiscard]] std::int32_t next_node() const noexcept { return heap_.front().node(); }
    /// Fetches what `take` reads and writes.
    void prefetch() const noexcept {
        const EntryGroup& group = groups_[heap_.front().group()];
        __builtin_prefetch(group.key, 1);
        __builtin_prefetch(group.value, 1);
        __builtin_prefetch(group.log2_value, 1);
    }
    /// All groups in the order in which they were added. Lanes may be gone; keys, nodes and which are gone stay.
    [[nodiscard]] std::vector<EntryGroup>& groups() noexcept { return groups_; }
    [[nodiscard]] const std::vector<EntryGroup>& groups() const noexcept { return groups_; }

    void clear() noexcept {
        groups_.clear();
        heap_.clear();
    }

    /// Adds the group that `fill` writes; `fill` returns whether it has any entry.
    template <typename Fill>
    void add(const Fill& fill) {
        EntryGroup& group = groups_.emplace_back();
        if (!fill(group)) return groups_.pop_back();
        push(Best(group, groups_.size() - 1, kernels().take_key(group, kLanes)));
    }

    /// Adds entries in this order, eight to a group.
    void add(const std::vector<Entry>& entries);

    /// Removes the entry of highest priority; there must be one.
    Entry take() {
        const std::size_t index = heap_.front().group(), lane = heap_.front().lane();
        EntryGroup& group = groups_[index];
        const Entry entry{group.key[lane], group.value[lane], group.log2_value[lane], group.node[lane]};
        group.value[lane] = 0.0;
        group.log2_value[lane] = EntryGroup::kGone;
        Best next(group, index, kernels().take_key(group, lane));
        if (next.key == EntryGroup::kNoKey) {
            next = heap_.back();
            heap_.pop_back();
            if (heap_.empty()) return entry;
        }
        replace_first(next);
        return entry;
    }

    /// The entries in the order in which they were added.
    [[nodiscard]] std::vector<Entry> entries() const;

  private:
    /// The first entry of a group.
    struct Best {
        std::int64_t key;
        std::uint64_t place;  // ~node, then 8 * group + lane: among equal keys the lower node has the larger place

        Best(const EntryGroup& of, std::size_t index, std::size_t lane) noexcept
            : key(of.key[lane]),
              place(std::uint64_t{~static_cast<std::uint32_t>(of.node[lane])} << 32 | (index * kLanes + lane)) {}
        [[nodiscard]] std::int32_t node() const noexcept { return static_cast<std::int32_t>(~(place >> 32)); }
        [[nodiscard]] std::size_t group() const noexcept { return (place & 0xffffffffU) / kLanes; }
        [[nodiscard]] std::size_t lane() const noexcept { return place % kLanes; }

        bool operator<(const Best& other) const noexcept {  // without a branch that nobody could predict
            return (key < other.key) | ((key == other.key) & (place < other.place));
        }
    };

    void push(const Best& best) {
        heap_.push_back(best);
        std::size_t at = heap_.size() - 1;
        for (; at > 0 && heap_[(at - 1) / 2] < best; at = (at - 1) / 2) heap_[at] = heap_[(at - 1) / 2];
        heap_[at] = best;
    }

    /// Puts an entry in place of the first of the heap.
    void replace_first(const Best& best) noexcept {
        const std::size_t count = heap_.size();
        Best* const heap = heap_.data();
        std::size_t at = 0, child = 1;
        for (; child + 1 < count; child = 2 * at + 1) {
            child += heap[child] < heap[child + 1];
            if (!(best < heap[child])) break;
            heap[at] = heap[child];
            at = child;
        }
        if (child + 1 == count && best < heap[child]) {
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = best;
    }

    std::vector<EntryGroup> groups_;
    std::vector<Best> heap_;
};

}  // namespace anystream::bayes_tree
