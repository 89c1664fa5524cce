// Vectors in blocks of 16, and the search for those nearest to a query, exact; used by neighbours and graphs.
//
//     blocks  [block][pair of dimensions][16 lanes]   moved to `origin` and scaled; +inf in lanes without vector
//     slack   [block]                                 the largest error of the block, in scaled units
//     rows    [vector][dimension]                     float64, unchanged
//
// A lane of a pair holds the upper halves of two float32 (bfloat16), the even dimension in the lower 16 bits: a scan is
// as fast as memory, so half of it is worth a shift and a mask. The blocks only exclude vectors: a kernel finds the
// lanes that may lie within a bound which is widened by all possible rounding errors, and those few are compared in
// float64 from the rows. The results are those of plain float64 arithmetic on every machine. Missing values (NaN) are
// left out, and the rest is weighted up by dimensions / present ones, as scikit-learn's nan_euclidean does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "anystream/column.hpp"
#include "anystream/stop.hpp"

namespace anystream {

inline constexpr std::size_t kBlockLanes = 16;

/// The kind of distance. Inside, powers stand for distances: they have the same order and need no root.
enum class Norm : std::int32_t {
    euclidean,  // power: sum of squares
    manhattan,  // power: sum of absolute differences
    chebyshev,  // power: largest absolute difference
    mixed,      // power: unequal ones of the first `categorical` dimensions plus absolute differences of the others
};

[[nodiscard]] double distance_of_power(Norm norm, double power) noexcept;

/// A vector of the store and its distance. Nearer is less; at equal distance the lower id is less.
struct Neighbor {
    double power = std::numeric_limits<double>::infinity();
    std::int64_t id = std::numeric_limits<std::int64_t>::max();
    std::int64_t position = -1;

    [[nodiscard]] bool operator<(const Neighbor& other) const noexcept {
        return power < other.power || (power == other.power && id < other.id);
    }
};

/// The k nearest seen so far, nearest first, of those whose id is not below `min_id`. `reset` keeps the memory.
class NearestSet {
  public:
    explicit NearestSet(std::size_t k = 1) { reset(k); }
    void reset(std::size_t k, std::int64_t min_id = std::numeric_limits<std::int64_t>::min()) {
        k_ = k;
        min_id_ = min_id;
        found_.clear();
        found_.reserve(k + 1);
    }
    /// The power that a further one must not exceed; infinity while there are fewer than k.
    [[nodiscard]] double bound() const noexcept {
        return found_.size() < k_ ? std::numeric_limits<double>::infinity() : found_.back().power;
    }
    void offer(const Neighbor& candidate) {
        if (candidate.id < min_id_ || (found_.size() == k_ && !(candidate < found_.back()))) return;
        if (found_.size() == k_) found_.pop_back();
        auto at = found_.end();
        while (at != found_.begin() && candidate < *(at - 1)) --at;
        found_.insert(at, candidate);
    }
    [[nodiscard]] std::span<const Neighbor> found() const noexcept { return found_; }
    [[nodiscard]] std::size_t k() const noexcept { return k_; }

  private:
    std::size_t k_ = 1;
    std::int64_t min_id_ = 0;
    std::vector<Neighbor> found_;
};

/// Const members may run concurrently; members that change it may not run concurrently with any other.
class BlockStore {
  public:
    explicit BlockStore(std::size_t dimensions, Norm norm = Norm::euclidean, std::size_t categorical = 0);

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] Norm norm() const noexcept { return norm_; }
    [[nodiscard]] std::size_t categorical() const noexcept { return categorical_; }
    /// Whether any vector lacks a value.
    [[nodiscard]] bool missing() const noexcept { return missing_[0] != 0; }
    [[nodiscard]] std::span<const double> row(std::size_t i) const noexcept {
        return {rows_.data() + i * dimensions_, dimensions_};
    }
    /// The plain float64 power between x and vector i, or any number above `bound` if it exceeds that.
    [[nodiscard]] double power(std::size_t i, const double* x,
                               double bound = std::numeric_limits<double>::infinity()) const noexcept;

    /// Replaces all vectors, row-major.
    void assign(std::span<const double> rows);
    /// Whether `append` of these rows, row-major, needs no more than `reserve` allocates: it chooses no other frame.
    [[nodiscard]] bool appends_in_place(std::span<const double> rows) const noexcept;
    /// Allocates what appending this many rows needs; if that fails, nothing has changed that can be observed.
    void reserve(std::size_t rows);
    void append(const double* row);
    /// The last vector takes the place of vector i, and the store is one shorter.
    void swap_remove(std::size_t i);
    void swap(std::size_t i, std::size_t j);
    /// Vector i of the result is vector order[i] of this.
    [[nodiscard]] BlockStore permuted(std::span<const std::int64_t> order) const;
    /// A store without vectors in the frame of this one, which it keeps while vectors of this one are appended.
    [[nodiscard]] BlockStore empty_copy() const;
    /// Adds dimensions at the end, missing in all vectors so far. Not for mixed stores.
    void add_features(std::size_t dimensions);

    /// Every array, by name.
    [[nodiscard]] NamedColumns columns() {
        return {{"rows", &rows_},     {"blocks", &blocks_}, {"slack", &slack_},
                {"origin", &origin_}, {"scale", &scale_},   {"missing", &missing_}};
    }
    /// Adopts columns that were set from outside. Throws DamagedModel if their sizes do not fit.
    void adopt_columns();
    [[nodiscard]] std::size_t own_bytes() const { return column_bytes(*this); }

  private:
    friend class Scan;
    friend void all_nearest(const BlockStore&, std::size_t, std::span<const std::int64_t>, int, std::span<std::int64_t>,
                            std::span<double>, std::atomic<std::int64_t>*, const StopFlag*);

    [[nodiscard]] std::size_t pairs() const noexcept { return (dimensions_ + 1) / 2; }
    [[nodiscard]] double scaled(double value, std::size_t j) const noexcept { return (value - origin_[j]) * scale_[0]; }
    [[nodiscard]] std::uint32_t* lane(std::size_t i) {
        return blocks_.own().data() + i / kBlockLanes * pairs() * kBlockLanes + i % kBlockLanes;
    }
    [[nodiscard]] bool outside_frame(const double* row) const noexcept;
    void choose_frame();
    void write_lane(std::size_t i);
    void write_all();
    void resize_blocks();

    std::size_t dimensions_;
    Norm norm_;
    std::size_t categorical_;
    std::size_t size_ = 0;
    std::size_t framed_size_ = 0;  // vectors when origin and scale were last chosen
    std::vector<double> sums_;     // of choose_frame, reserved
    Column<double> rows_, origin_, scale_;
    Column<std::uint32_t> blocks_;
    Column<float> slack_;
    Column<std::uint8_t> missing_;
};

/// One query against a store. Reusable: `open` starts another query in the same memory. One thread at a time.
class Scan {
  public:
    void open(const BlockStore& store, const double* x);

    /// Offers all vectors at positions [first, last) that can be among the nearest. `ids` decides ties and is stored in
    /// the neighbours; without it the position does. `skip` is left out.
    void nearest(const BlockStore& store, std::size_t first, std::size_t last, std::span<const std::int64_t> ids,
                 NearestSet& best, std::size_t skip = std::numeric_limits<std::size_t>::max()) const;

    /// The plain powers of the vectors at [first, last).
    void powers(const BlockStore& store, std::size_t first, std::size_t last, std::span<double> out) const;

    /// The powers of all vectors up to a common factor, in float32, the same bits on every machine: for heuristics.
    /// `out` holds whole blocks; values behind the last vector are infinite or NaN.
    void rough_powers(const BlockStore& store, std::span<float> out) const;

  private:
    friend void all_nearest(const BlockStore&, std::size_t, std::span<const std::int64_t>, int, std::span<std::int64_t>,
                            std::span<double>, std::atomic<std::int64_t>*, const StopFlag*);
    [[nodiscard]] float narrow_bound(const BlockStore& store, double power) const noexcept;

    std::vector<double> x_;
    std::vector<float> narrow_;
    double slack_ = 0.0;
    bool missing_ = false;
};

/// The k nearest others of every vector, nearest first, on all cores: position and power to rows of `out_position` and
/// `out_power`, each (size, k); -1 and infinity where there are fewer than k others. `ids` decides ties (none: the
/// position). `done` counts finished vectors; if `stop` is set the rest is not computed.
void all_nearest(const BlockStore& store, std::size_t k, std::span<const std::int64_t> ids, int threads,
                 std::span<std::int64_t> out_position, std::span<double> out_power,
                 std::atomic<std::int64_t>* done = nullptr, const StopFlag* stop = nullptr);

}  // namespace anystream
