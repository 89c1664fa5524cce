// The exemplars in the order in which queries compare them.
//
//     position   0 .. setup       one exemplar of each class: compared when a query is opened
//                setup .. head    (lists only) prototypes: each is the centre of a list
//                head .. listed   (lists only) list after list; in a list by distance to its centre
//                .. size          the order; with lists: those learned later
//
// Positions are physical: a scan reads memory front to back. Without lists the order is cut into levels that end at
// setup + 16, 32, 64, ...: an exemplar that enters a level pushes its last one to the end of the next level, and so on,
// so that learning moves O(log n) exemplars and keeps the order up to its level.
//
// With lists, an exemplar that is learned later stays behind them, and an evicted one keeps its position; queries skip
// it. Fronts are late exemplars that are compared when a query is opened: the first of a class that was new, or one
// that takes the place of an evicted first one. When a sixteenth of the exemplars is late or evicted, new lists are
// built beside the old ones, a portion with every exemplar that is learned, and replace them before it is an eighth.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "anystream/column.hpp"
#include "anystream/neighbors/list_renewal.hpp"
#include "anystream/neighbors/space.hpp"

namespace anystream::neighbors {

/// Const members may run concurrently; members that change it may not run concurrently with any other.
class Gallery {
  public:
    /// Empty. At most `capacity` exemplars (0: no limit): the oldest is evicted.
    Gallery(std::unique_ptr<Space> space, std::size_t classes, std::size_t capacity);
    Gallery(const Gallery& other);
    Gallery& operator=(const Gallery&) = delete;

    /// Exemplars in the order of visits; ties in distance go to the lower serial. The first of each class moves to the
    /// front.
    void assign(std::unique_ptr<Space> space, std::vector<std::int32_t> labels, std::vector<std::int64_t> serials,
                std::size_t classes);
    /// Turns the first exemplars into prototypes, as many as balance the lengths of head and lists, and the others into
    /// their lists.
    void make_lists(int threads);

    /// Whether inserting these records needs no more than `reserve` allocates: the exemplars are vectors that stay in
    /// their frame, and with lists they are few.
    [[nodiscard]] bool learns_in_place(const Records& records, std::span<const std::int32_t> labels) const;
    /// Allocates what inserting the records can need; if this throws, nothing has changed that can be observed.
    void reserve(const Records& records);
    /// Learns one exemplar: places it in the order, or behind the lists. At capacity the oldest is evicted.
    void insert(Row row, std::int32_t label);
    void declare_classes(std::size_t classes) { classes_ = std::max(classes_, classes); }
    void add_features(std::size_t width);

    [[nodiscard]] const Space& space() const noexcept { return *space_; }
    /// The number of positions.
    [[nodiscard]] std::size_t size() const noexcept { return label_.size(); }
    /// The number of exemplars that were not evicted.
    [[nodiscard]] std::size_t present() const noexcept { return size() - left_; }
    /// The serial before which all exemplars were evicted.
    [[nodiscard]] std::int64_t oldest() const noexcept { return layout_[4]; }
    [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
    [[nodiscard]] std::size_t setup() const noexcept { return static_cast<std::size_t>(layout_[0]); }
    [[nodiscard]] std::size_t head() const noexcept { return static_cast<std::size_t>(layout_[1]); }
    [[nodiscard]] std::size_t listed() const noexcept { return static_cast<std::size_t>(layout_[2]); }
    [[nodiscard]] bool has_lists() const noexcept { return head() > 0; }
    [[nodiscard]] std::int32_t label(std::size_t position) const noexcept { return label_[position]; }
    [[nodiscard]] std::span<const std::int32_t> labels() const noexcept { return label_.view(); }
    [[nodiscard]] std::span<const std::int64_t> serials() const noexcept { return serial_.view(); }

    /// List l: its positions, its exemplars' distances to the centre (ascending), the centre at position l.
    [[nodiscard]] std::size_t list_begin(std::size_t l) const noexcept { return static_cast<std::size_t>(list_[l]); }
    [[nodiscard]] std::size_t list_end(std::size_t l) const noexcept { return static_cast<std::size_t>(list_[l + 1]); }
    [[nodiscard]] double centre_distance(std::size_t position) const noexcept {
        return centre_distance_[position - head()];
    }

    /// Positions behind the lists that are compared when a query is opened, ascending.
    [[nodiscard]] std::span<const std::int64_t> fronts() const noexcept { return fronts_.view(); }
    /// Segment s of the exemplars behind the lists: fronts divide them into fronts().size() + 1 segments.
    [[nodiscard]] std::size_t segment_begin(std::size_t s) const noexcept {
        return s == 0 ? listed() : static_cast<std::size_t>(fronts_[s - 1]) + 1;
    }
    [[nodiscard]] std::size_t segment_end(std::size_t s) const noexcept {
        return s < fronts_.size() ? static_cast<std::size_t>(fronts_[s]) : size();
    }
    /// The number of exemplars, one of each class, that are compared when a query is opened.
    [[nodiscard]] std::size_t compared_first() const;

    /// Every array, by name.
    [[nodiscard]] NamedColumns columns();
    /// Drops the values of evicted exemplars from the columns.
    void compact() { space_->compact(); }
    /// Adopts columns that were set from outside. Throws DamagedModel if they do not fit each other.
    void adopt_columns();
    [[nodiscard]] std::size_t own_bytes() const;
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  private:
    [[nodiscard]] bool present_at(std::size_t position) const noexcept { return serial_[position] >= oldest(); }
    [[nodiscard]] bool has_front(std::int32_t label) const noexcept;
    [[nodiscard]] std::size_t level_for(Row row, std::int32_t label);
    [[nodiscard]] std::size_t level_end(std::size_t level) const noexcept {
        return setup() + (std::size_t{16} << level);
    }
    void append(Row row, std::int32_t label, std::int64_t serial);
    void swap(std::size_t i, std::size_t j);
    void lift(std::size_t target);
    void remove(std::size_t position);
    [[nodiscard]] std::size_t find_oldest() const;
    void insert_late(Row row, std::int32_t label, bool first_of_class);
    void evict_oldest();
    void make_front(std::size_t position);
    [[nodiscard]] bool useful(Row row, std::int32_t label);
    void open_scratch();

    /// Late or evicted exemplars beyond which new lists are begun.
    [[nodiscard]] std::size_t few() const noexcept { return 32 + size() / 16; }
    [[nodiscard]] bool renewing() const noexcept { return renewal_order_.size() > 0; }
    [[nodiscard]] bool gathered() const noexcept { return static_cast<std::size_t>(layout_[8]) == listed(); }
    [[nodiscard]] ListRenewal::Source renewal_source() const;
    [[nodiscard]] std::unique_ptr<ListRenewal> new_renewal(std::size_t more) const;
    void advance_renewal();
    void begin_renewal();
    void gather();
    void resume_renewal();
    void adopt_renewal();
    void cancel_renewal();

    std::unique_ptr<Space> space_;
    std::size_t classes_;
    std::size_t capacity_;
    Column<std::int32_t> label_;
    Column<std::int64_t> serial_;  // -1: moved to another position
    std::size_t left_ = 0;         // positions whose exemplar was evicted or moved
    Column<std::int64_t> layout_;  // setup, head, listed, next serial, oldest serial; of new lists: positions when they
                                   // were begun, their setup, portions done, positions of the lists gathered
    Column<std::int64_t> list_;    // head + 1 borders
    Column<double> centre_distance_;      // of positions head .. listed
    Column<std::uint8_t> useful_;         // of positions listed .. size: whether they should become prototypes
    Column<std::int64_t> fronts_;         // positions
    Column<std::int64_t> renewal_order_;  // positions that new lists are made of; empty if none are being built
    std::unique_ptr<ListRenewal> renewal_, spare_;  // new lists, if they were begun here; reserved for the next ones
    std::unique_ptr<ListRenewal> old_;              // lists that were replaced, whose memory is freed in portions

    struct Scratch {  // of level_for
        std::unique_ptr<Probe> record, neighbor;
        NearestSet near, best;
        std::vector<double> row;
    };
    Scratch scratch_;
};

}  // namespace anystream::neighbors
