// Exemplars under one distance: vectors, series or strings.
//
// A record is a row of numbers: features, values in time, or the code points of a text. Rows of vectors and series have
// one length; those of texts differ. Orders, queries and lists access exemplars only through this interface. Powers
// have the same order as distances: Euclidean ones are squares.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "anystream/column.hpp"
#include "anystream/scan.hpp"

namespace anystream::neighbors {

using Row = std::span<const double>;

/// Rows of numbers, borrowed: row i is values[first[i] .. first[i + 1]).
struct Records {
    std::span<const double> values;
    std::span<const std::int64_t> first;

    [[nodiscard]] std::size_t size() const noexcept { return first.empty() ? 0 : first.size() - 1; }
    [[nodiscard]] Row row(std::size_t i) const noexcept {
        return values.subspan(static_cast<std::size_t>(first[i]), static_cast<std::size_t>(first[i + 1] - first[i]));
    }
};

class Space;

/// One record against the exemplars of a space. Reusable, one thread at a time.
class Probe {
  public:
    virtual ~Probe() = default;
    virtual void open(const Space& space, Row x) = 0;
    /// Offers the exemplars at positions [first, last) that can be among the nearest, `skip` left out; ids decide ties.
    virtual void nearest(const Space& space, std::size_t first, std::size_t last, std::span<const std::int64_t> ids,
                         NearestSet& best, std::size_t skip) = 0;
    /// The powers of the exemplars at positions [first, last).
    virtual void powers(const Space& space, std::size_t first, std::size_t last, std::span<double> out) = 0;
    /// The powers of all exemplars up to a common factor, for heuristics; those that cannot be compared are infinite.
    /// The size of `out` is a multiple of kBlockLanes.
    virtual void rough_powers(const Space& space, std::span<float> out) = 0;
};

inline constexpr std::size_t kNothingSkipped = std::numeric_limits<std::size_t>::max();

/// Const members may run concurrently; members that change it may not run concurrently with any other.
class Space {
  public:
    virtual ~Space() = default;
    [[nodiscard]] virtual std::size_t size() const noexcept = 0;
    /// The length of every record, or 0 if lengths may differ.
    [[nodiscard]] virtual std::size_t width() const noexcept = 0;
    [[nodiscard]] virtual Row row(std::size_t i) const noexcept = 0;
    [[nodiscard]] virtual double distance(double power) const noexcept = 0;
    /// Whether the triangle inequality holds between these exemplars and a record `complete` (without missing values).
    [[nodiscard]] virtual bool triangle(bool complete) const noexcept = 0;
    /// How many exemplars take about a microsecond to compare: the interval between two reads of the clock.
    [[nodiscard]] virtual std::size_t stride() const noexcept = 0;
    [[nodiscard]] virtual std::unique_ptr<Probe> probe() const = 0;

    /// Whether appending these records, comparing them and removing others needs no more than `reserve` allocates.
    [[nodiscard]] virtual bool appends_in_place(const Records&) const noexcept { return false; }
    /// Allocates what appending this many records needs; if that fails, nothing has changed that can be observed.
    virtual void reserve(std::size_t) {}
    virtual void append(Row row) = 0;
    virtual void swap(std::size_t i, std::size_t j) = 0;
    /// The last exemplar takes the place of exemplar i.
    virtual void swap_remove(std::size_t i) = 0;
    virtual void add_features(std::size_t width) = 0;
    [[nodiscard]] virtual std::unique_ptr<Space> clone() const = 0;
    /// Exemplar i of the result is exemplar order[i] of this.
    [[nodiscard]] virtual std::unique_ptr<Space> permuted(std::span<const std::int64_t> order) const = 0;

    /// A space of the same kind without exemplars; what can be appended to this one without another allocation, can to
    /// it.
    [[nodiscard]] virtual std::unique_ptr<Space> empty_copy() const { return permuted({}); }

    /// Every array, by name.
    [[nodiscard]] virtual NamedColumns columns() = 0;
    /// Drops the values of evicted exemplars, so that the columns hold no more than the exemplars.
    virtual void compact() {}
    /// Adopts columns that were set from outside. Throws DamagedModel if they do not fit each other.
    virtual void adopt_columns() = 0;

    /// The k nearest others of every exemplar, as anystream::all_nearest.
    virtual void all_nearest(std::size_t k, std::span<const std::int64_t> ids, int threads,
                             std::span<std::int64_t> out_position, std::span<double> out_power,
                             std::atomic<std::int64_t>* done, const StopFlag* stop) const;
    /// Throws std::invalid_argument if a row of this length or with these values cannot be compared.
    virtual void require(Row row) const = 0;
};

/// A distance by name, and its parameters.
struct Metric {
    std::string name;             // euclidean, manhattan, chebyshev, mixed, dtw, rotation, edit
    std::size_t width = 0;        // of vectors and series
    std::size_t categorical = 0;  // the first columns of mixed records
    std::size_t band = 0;         // of dtw: the largest shift in time
};

/// An empty space. Throws std::invalid_argument if the metric has no such name.
[[nodiscard]] std::unique_ptr<Space> make_space(const Metric& metric);

}  // namespace anystream::neighbors
