// The nearest remaining exemplars of every exemplar, while exemplars are removed one by one.
//
// Each exemplar keeps a list of its nearest remaining others, a few more than are used; when an exemplar is
// removed, it is deleted from the lists that contain it, and a list that gets too short is filled again by a scan of
// the remaining ones. A removal costs little, and all of them O(m^2 d) together.
//
// Where many exemplars are equally far (identical records, categories without order), all lists hold the same ones and
// run out together. Such a list goes on behind its last entry, by index, and stops as soon as it is full: an exemplar
// is then compared once with each other one per distance, not once per filling.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "anystream/neighbors/space.hpp"

namespace anystream::neighbors {

/// Whose lists are kept: those of all exemplars, or of the remaining ones only.
enum class ListsOf { all, remaining };

class NearestAlive {
  public:
    /// `visible`: how many of the nearest are used.
    NearestAlive(const Space& space, std::size_t visible, int threads, std::atomic<std::int64_t>* done,
                 const StopFlag* stop, ListsOf lists_of = ListsOf::all);

    /// The living nearest of exemplar i (living or not, if lists of all are kept), nearest first; fewer than `visible`
    /// only if fewer are left.
    [[nodiscard]] std::span<const std::int32_t> nearest(std::size_t i) const noexcept {
        return {list_.data() + i * length_, std::min<std::size_t>(count_[i], visible_)};
    }
    [[nodiscard]] bool alive(std::size_t i) const noexcept { return place_[i] >= 0; }
    [[nodiscard]] std::size_t living() const noexcept { return living_.size(); }

    /// The exemplars that have x among their visible nearest, in ascending order.
    [[nodiscard]] std::vector<std::int32_t> seen_by(std::size_t x) const;
    /// Removes exemplar x.
    void remove(std::size_t x);
    /// Pairs of exemplars that were compared to fill lists again.
    [[nodiscard]] std::int64_t compared() const noexcept { return compared_; }

  private:
    /// The last entry of a list when it was filled: every living exemplar behind it is at least as far away.
    struct Tail {
        double power = 0.0;
        std::int32_t id = -1;
        bool tied = false;  // all entries found were equally far
    };

    void fill(std::size_t i);
    /// Appends the exemplars that are as far from i as the last one of its list.
    void append_tied(std::size_t i);
    void append(std::size_t i, std::int32_t x);
    [[nodiscard]] std::size_t place_in_list(std::size_t i, std::size_t x) const noexcept;

    std::size_t visible_, length_;
    ListsOf lists_of_;
    std::unique_ptr<Space> left_;                     // the living, compact
    std::vector<std::int64_t> living_;                // exemplar at each place of `left_`
    std::vector<std::int64_t> place_;                 // and back; -1 when gone
    std::vector<std::int32_t> list_;                  // (exemplars, length)
    std::vector<std::uint32_t> count_;                // entries of each list
    std::vector<Tail> tail_;                          // of each list
    std::vector<std::vector<std::int32_t>> holders_;  // the exemplars whose lists contain it
    std::unique_ptr<Probe> probe_;
    NearestSet best_;
    std::int64_t compared_ = 0;
    const Space& all_;
};

}  // namespace anystream::neighbors
