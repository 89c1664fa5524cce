// The entries of one class that can be refined, by priority.
//
// The children of a node arrive together. They form groups of up to eight, and a heap holds the best entry of each
// group: a refinement moves two entries of the heap, where a heap of all entries would take up every child.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anystream::bayes_tree {

class Frontier {
  public:
    static constexpr std::size_t kLanes = 8;
    static constexpr float kGone = -2e30F;  // log2 value of a lane without an entry, below that of any density

    struct Entry {
        std::uint64_t key;  // grows with its priority, above 0; among equal ones the lower node is first
        double value;       // 2^(v - origin)
        float log2_value;   // v
        std::int32_t node;
    };

    /// Entries side by side; a lane without one has key 0, value 0 and the log2 value kGone.
    struct Group {
        std::uint64_t key[kLanes];
        double value[kLanes];
        float log2_value[kLanes];
        std::int32_t node[kLanes];
    };

    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    /// The node of the entry that `take` returns.
    [[nodiscard]] std::int32_t next_node() const noexcept { return heap_.front().node; }
    /// All groups in the order in which they were added. Lanes may be gone; keys, nodes and which are gone stay.
    [[nodiscard]] std::vector<Group>& groups() noexcept { return groups_; }
    [[nodiscard]] const std::vector<Group>& groups() const noexcept { return groups_; }

    void clear() noexcept {
        groups_.clear();
        heap_.clear();
    }

    void add(const Group& group) {
        const Best best = best_of(group, groups_.size());
        if (best.key == 0) return;
        groups_.push_back(group);
        heap_.push_back(best);
        std::size_t at = heap_.size() - 1;
        for (; at > 0 && heap_[(at - 1) / 2] < best; at = (at - 1) / 2) heap_[at] = heap_[(at - 1) / 2];
        heap_[at] = best;
    }

    /// Adds entries in this order, eight to a group.
    void add(const std::vector<Entry>& entries);

    /// Removes the entry of highest priority; there must be one.
    Entry take() {
        const std::size_t index = heap_.front().slot / kLanes, lane = heap_.front().slot % kLanes;
        Group& group = groups_[index];
        const Entry entry{group.key[lane], group.value[lane], group.log2_value[lane], group.node[lane]};
        group.key[lane] = 0;
        group.value[lane] = 0.0;
        group.log2_value[lane] = kGone;
        Best best = best_of(group, index);
        if (best.key == 0) {
            best = heap_.back();
            heap_.pop_back();
        }
        if (!heap_.empty()) replace_first(best);
        return entry;
    }

    /// The entries in the order in which they were added.
    [[nodiscard]] std::vector<Entry> entries() const;

  private:
    struct Best {
        std::uint64_t key;
        std::uint32_t slot;  // kLanes * group + lane
        std::int32_t node;

        bool operator<(const Best& other) const noexcept {
            return key != other.key ? key < other.key : node > other.node;
        }
    };

    static Best best_of(const Group& group, std::size_t index) noexcept {
        std::size_t best = 0;
        for (std::size_t l = 1; l < kLanes; ++l) {
            const bool higher = group.key[l] > group.key[best];
            const bool tied = group.key[l] == group.key[best];
            best = higher | (tied & (group.node[l] < group.node[best])) ? l : best;
        }
        return {group.key[best], static_cast<std::uint32_t>(index * kLanes + best), group.node[best]};
    }

    /// Puts an entry in place of the first of the heap.
    void replace_first(const Best& best) noexcept {
        const std::size_t count = heap_.size();
        std::size_t at = 0;
        for (std::size_t child = 1; child < count; child = 2 * at + 1) {
            if (child + 1 < count) child += heap_[child] < heap_[child + 1];
            if (!(best < heap_[child])) break;
            heap_[at] = heap_[child];
            at = child;
        }
        heap_[at] = best;
    }

    std::vector<Group> groups_;
    std::vector<Best> heap_;
};

}  // namespace anystream::bayes_tree
