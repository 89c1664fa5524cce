#include "anystream/bayes_tree/frontier.hpp"

#include <algorithm>

namespace anystream::bayes_tree {

void Frontier::add(const std::vector<Entry>& entries) {
    constexpr Entry kNone{EntryGroup::kNoKey, 0.0, EntryGroup::kGone, -1};
    for (std::size_t first = 0; first < entries.size(); first += kLanes)
        add([&](EntryGroup& group) {
            for (std::size_t l = 0; l < kLanes; ++l) {
                const Entry& entry = first + l < entries.size() ? entries[first + l] : kNone;
                group.key[l] = entry.key;
                group.value[l] = entry.value;
                group.log2_value[l] = entry.log2_value;
                group.node[l] = entry.node;
            }
            return true;
        });
}

std::vector<Frontier::Entry> Frontier::entries() const {
    std::vector<Entry> all;
    for (const EntryGroup& group : groups_)
        for (std::size_t l = 0; l < kLanes; ++l)
            if (group.key[l] != EntryGroup::kNoKey)
                all.push_back({group.key[l], group.value[l], group.log2_value[l], group.node[l]});
    return all;
}

}  // namespace anystream::bayes_tree
