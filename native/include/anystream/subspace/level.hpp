// One level of the default LOCUST: a bounded memory of points, searchable as soon as they are learned.
//
// Level l receives one point in stride^l of the stream, at random, so levels of equal size reach further and further
// back: that is the time decay. Points lie in order of arrival, and a slot is reused when its point is evicted. The
// oldest point is evicted, except that
//   - the last `floor` points of a class stay,
//   - the oldest point of a class that holds more slots than its share of the stream is evicted before it; long
//     runs of one class then cannot flush the points of the others.
// Ranges are computed again when the points have doubled, and then after four times as many insertions as there are
// places; sooner if a dimension that had one value gets another, which no list could find.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/subspace/lists.hpp"
#include "anystream/subspace/pending_points.hpp"

namespace anystream::subspace {

struct LevelShape {
    std::size_t capacity = 1024;  // points, at most kMaxPoints
    std::size_t ranges = 8;       // Phi
    std::size_t floor = 2;        // points of a class that cannot be displaced by other classes
    std::vector<std::uint32_t> categorical;
};

/// The points of each class in the stream, and of all classes; if empty, no class has a share.
struct StreamShares {
    std::span<const std::int64_t> points_of_class;
    std::int64_t points = 0;

    /// Whether `size` of `capacity` slots are more than class c's share.
    [[nodiscard]] bool exceeded(std::size_t c, std::size_t size, std::size_t capacity) const noexcept {
        return points > 0 &&
               static_cast<std::int64_t>(size) * points > points_of_class[c] * static_cast<std::int64_t>(capacity);
    }
};

/// Memory for weighing lists.
struct WeighingScratch {
    std::vector<double> share, terms;  // by slot
    std::vector<std::uint32_t> slots;  // in the order of their classes

    void reserve(std::size_t n_slots) {
        share.reserve(std::max(n_slots, kSlotBlock));
        terms.reserve(std::max(n_slots, kSlotBlock));
        slots.reserve(n_slots);
    }
};

/// Const members may run on any number of threads; other members may not run concurrently with any.
class Level {
  public:
    Level(const LevelShape& shape, std::size_t dimensions, std::size_t classes);

    // -- what queries read -----------------------------------------------------------------------------------------
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return shape_.capacity; }
    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] const Ranges& ranges() const noexcept { return ranges_; }
    [[nodiscard]] const Lists& lists() const noexcept { return lists_; }
    /// The classes that have points here, ascending.
    [[nodiscard]] std::span<const std::int32_t> present() const noexcept { return present_; }
    /// The slot of a class that has points here.
    [[nodiscard]] std::size_t slot(std::int32_t c) const noexcept {
        return static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(c)]);
    }
    [[nodiscard]] std::int32_t point_class(std::size_t p) const noexcept { return point_class_[p]; }
    /// A query's codes among those of the points.
    [[nodiscard]] CodesView codes(const std::uint8_t* query) const noexcept {
        return {query, codes_.data(), ranges_.unrelated(), ranges_.code_stride()};
    }
    /// The share of a class among the points.
    [[nodiscard]] double prior(std::size_t c) const noexcept {
        const std::int32_t slot = slot_of_[c];
        return slot < 0 ? 0.0
                        : static_cast<double>(class_size_[static_cast<std::size_t>(slot)]) / static_cast<double>(size_);
    }

    /// The weight of each of these lists in draws: the divergence of its classes from those of the level, times its
    /// selectivity.
    void weigh(std::span<const std::uint32_t> lists, WeighingScratch& scratch, float* out) const;

    // -- learning --------------------------------------------------------------------------------------------------
    [[nodiscard]] bool wants(std::int32_t point_class) const noexcept {
        const std::int32_t slot = slot_of_[static_cast<std::size_t>(point_class)];
        return (slot < 0 ? 0 : class_size_[static_cast<std::size_t>(slot)]) < shape_.floor;
    }
    /// Whether inserting `count` of these points may cut new ranges, which takes long and allocates.
    [[nodiscard]] bool may_cut(std::span<const double> values, std::size_t count) const noexcept;
    /// Allocates what declaring `classes` classes and inserting this many points of `point_classes` of them can need,
    /// except for new ranges. If that fails, nothing has changed that can be observed.
    void reserve(std::size_t points, std::size_t point_classes, std::size_t classes);
    /// Adds a point (a padded row of floats); arrivals ascend. With `pending` it may wait there: `settle` then comes
    /// before any query, and before the next call without it.
    void insert(const float* x, std::int32_t point_class, std::int64_t arrival, const StreamShares& shares,
                PendingPoints* pending = nullptr);
    /// Becomes a copy of `other`, of which it was one when the first point with `since` or a later arrival came: only
    /// rows that changed are copied.
    void follow(const Level& other, std::int64_t since);
    /// Enters pending points into the lists.
    void settle(PendingPoints& pending) noexcept;
    void declare_classes(std::size_t classes);
    /// Adds dimensions, missing in all points so far.
    void add_features(std::size_t dimensions, std::vector<std::uint32_t> categorical);

    // -- storage ---------------------------------------------------------------------------------------------------
    [[nodiscard]] const std::vector<float>& values() const noexcept { return values_; }
    [[nodiscard]] const std::vector<std::int32_t>& point_classes() const noexcept { return point_class_; }
    [[nodiscard]] const std::vector<std::int64_t>& arrivals() const noexcept { return arrival_; }
    [[nodiscard]] std::int64_t inserted_since_cut() const noexcept { return since_cut_; }
    [[nodiscard]] std::int64_t size_at_cut() const noexcept { return size_at_cut_; }
    [[nodiscard]] bool surprised() const noexcept { return surprised_; }
    [[nodiscard]] const std::vector<float>& constants() const noexcept { return constant_; }
    /// Restores points and ranges. The caller has checked all values.
    struct Memory {
        std::span<const float> values;
        std::span<const std::int32_t> point_class;
        std::span<const std::int64_t> arrival;
        std::span<const float> constants;
        std::int64_t since_cut, size_at_cut;
        bool surprised;
    };
    void restore(const Memory& memory, Ranges ranges);
    [[nodiscard]] std::size_t own_bytes() const noexcept;
    /// An upper bound of own_bytes for a full level.
    [[nodiscard]] static std::size_t max_bytes(const LevelShape& shape, std::size_t dimensions, std::size_t classes);

  private:
    [[nodiscard]] std::size_t place_for(std::int32_t point_class, const StreamShares& shares) const noexcept;
    [[nodiscard]] std::size_t take_slot(std::int32_t point_class);
    void unlink_oldest(std::int32_t point_class);
    void link_newest(std::size_t place, std::int32_t point_class);
    void cut_again();
    /// What `expected_` is, by the ranges and `constant_`.
    void expect_constants() noexcept;
    [[nodiscard]] bool expects(std::size_t j) const noexcept;
    void renew_word(std::size_t word, std::uint64_t members, const PendingPoints& pending) noexcept;
    [[nodiscard]] bool is_due() const noexcept;
    void rebuild_lists(const Ranges& ranges, std::size_t slots);

    LevelShape shape_;
    std::size_t dimensions_;
    std::size_t classes_;
    std::size_t size_ = 0;
    std::int64_t since_cut_ = 0;
    std::int64_t size_at_cut_ = 0;
    std::uint64_t cuts_ = 0;       // how often ranges were computed
    bool surprised_ = false;       // whether a dimension with one value got another
    std::vector<float> constant_;  // (dimensions,) the value of a dimension with one range at the last cut, or NaN
    std::vector<float> expected_;  // (float_stride,) the same, but -inf for a dimension with several ranges
    Ranges ranges_;
    Lists lists_;
    std::vector<float> values_;              // (size, dimensions)
    std::vector<std::uint8_t> codes_;        // (capacity, code_stride)
    std::vector<std::int32_t> point_class_;  // (size,)
    std::vector<std::int64_t> arrival_;      // (size,)
    std::vector<std::int32_t> slot_of_;      // (classes,) or -1: a class without points has none
    std::vector<std::int32_t> present_;      // the classes that have one, ascending: the order of all sums
    std::vector<std::int32_t> free_;         // slots without a class
    // A queue of places per class, oldest first.
    std::vector<std::int32_t> next_;             // (size,) the next younger point of the class, or -1
    std::vector<std::int32_t> oldest_, newest_;  // (slots,) or -1
    std::vector<std::uint32_t> class_size_;      // (slots,)
    std::vector<std::uint8_t> new_code_;         // scratch
};

}  // namespace anystream::subspace
