// Lists around prototypes, built in portions beside those in use.
//
//     heads    the rows of the prototypes are copied
//     assign   every other exemplar finds its nearest prototype: the centre of its list
//     sort     by list, in a list by the distance to the centre
//     lists    the rows are copied in that order
//     late     exemplars that were learned meanwhile are copied behind the lists
//
// A portion is a fixed amount of work, counted, never timed: the same calls give the same lists everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "anystream/growing_array.hpp"
#include "anystream/neighbors/space.hpp"

namespace anystream::neighbors {

/// The number of prototypes among n exemplars that balances the lengths of head and lists; at least `setup`.
[[nodiscard]] std::size_t balanced_head(std::size_t n, std::size_t setup);

/// One thread at a time.
class ListRenewal {
  public:
    /// The exemplars that take part, and those learned since: positions `begun` to the end.
    struct Source {
        const Space& space;
        std::span<const std::int32_t> label;
        std::span<const std::int64_t> serial;
        std::span<const std::int64_t> order;  // positions that take part; the first become prototypes
        std::size_t begun;                    // positions when the work began
    };

    explicit ListRenewal(const Space& like);
    ListRenewal(const ListRenewal& other);
    ListRenewal& operator=(const ListRenewal&) = delete;

    /// Allocates what the work on a gallery of so many positions needs, of which so many can be compared first.
    void reserve(const Space& space, std::size_t positions, std::size_t max_setup);
    /// Starts; the first `setup` of the order are compared first by every query.
    void begin(const Source& source, std::size_t setup);
    /// One portion. True once all is done. Allocates nothing that was reserved.
    bool advance(const Source& source);
    /// Marks an exemplar as evicted if it was copied already.
    void forget(std::int64_t serial);

    [[nodiscard]] std::size_t head() const noexcept { return head_; }
    /// Whether this portion or one soon after it can be the last.
    [[nodiscard]] bool nearly_done() const noexcept { return phase_ >= Phase::lists; }
    [[nodiscard]] std::size_t own_bytes() const;

    /// Frees the next `bytes` of memory of lists that were exchanged for the results, which are no longer used; true
    /// once all large arrays were visited. Freeing many pages at once takes milliseconds.
    bool free_portion(std::size_t bytes) noexcept;

    /// The results, to be taken when all is done.
    [[nodiscard]] std::unique_ptr<Space>& space() noexcept { return next_; }
    [[nodiscard]] Column<std::int32_t>& label() noexcept { return label_; }
    [[nodiscard]] Column<std::int64_t>& serial() noexcept { return serial_; }
    [[nodiscard]] Column<std::int64_t>& list() noexcept { return list_; }
    [[nodiscard]] Column<double>& centre_distance() noexcept { return distance_; }

  private:
    enum class Phase { heads, assign, sort, lists, late };

    void copy(const Source& source, std::size_t position);
    void assign(const Source& source, std::size_t i);
    [[nodiscard]] bool merge_one();
    void enter(Phase phase);

    std::unique_ptr<Space> next_;
    std::unique_ptr<Probe> probe_;
    NearestSet best_;
    Phase phase_ = Phase::heads;
    std::size_t head_ = 0;
    std::size_t n_ = 0;         // exemplars that take part
    std::int64_t portion_ = 1;  // units of work in a call
    std::size_t done_ = 0;      // exemplars that the phase has finished
    Column<std::int32_t> label_;
    Column<std::int64_t> serial_, list_;
    Column<double> distance_;
    GrowingArray<std::int32_t> centre_;           // of the exemplars behind the head
    GrowingArray<double> away_;                   // their distances to it
    GrowingArray<std::int32_t> sorted_, merged_;  // them in the order of the lists, and the merge of two runs of it
    std::size_t run_ = 1, start_ = 0, left_ = 0, right_ = 0;  // of the merge: length of runs, cursors
    std::size_t freed_ = 0;                                   // bytes of large arrays that free_portion has visited
};

}  // namespace anystream::neighbors
