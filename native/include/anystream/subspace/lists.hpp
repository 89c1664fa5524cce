// Inverted lists as bit sets: which points lie in each range of each dimension, and of which classes they are.
//
//   bits        [list][words]    point p of list v: bit p % 64 of word p / 64
//   class_bits  [slot][words]    the same for the classes, if they are kept
//   count       [list]           points of the list, |V_i^j|
//   class_count [list][stride]   points of each class in it, |W_ir^j|
//
// Classes have slots, which the owner numbers: only classes that have points take memory, however many there are.
//
// The lists of dimension j are first_list(j) .. first_list(j + 1) - 1, one per range. A dimension with a single range
// has none: it does not separate points.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/subspace/ranges.hpp"

namespace anystream::subspace {

inline constexpr std::size_t kMaxPoints = 65535;  // of one bit set: counts have 16 bits

/// One float per list, computed on first use. Threads that race compute the same value. A copy starts empty.
class WeightCache {
  public:
    WeightCache() = default;
    WeightCache(const WeightCache& other) : values_(other.values_.size(), kUnknown) {}
    WeightCache(WeightCache&& other) noexcept : values_(std::move(other.values_)) {}
    WeightCache& operator=(const WeightCache& other) {
        values_.assign(other.values_.size(), kUnknown);
        used_.store(false, std::memory_order_relaxed);
        return *this;
    }
    WeightCache& operator=(WeightCache&& other) noexcept {
        values_ = std::move(other.values_);
        used_.store(true, std::memory_order_relaxed);
        return *this;
    }
    ~WeightCache() = default;

    void resize(std::size_t size) {
        values_.assign(size, kUnknown);
        used_.store(false, std::memory_order_relaxed);
    }
    /// Clears all values. Not concurrently with any other member.
    void clear() {
        if (used_.load(std::memory_order_relaxed)) resize(values_.size());
    }
    /// The value of a list, negative if it is unknown.
    [[nodiscard]] float get(std::size_t list) const noexcept {
        return std::atomic_ref<float>(values_[list]).load(std::memory_order_relaxed);
    }
    void set(std::size_t list, float value) const noexcept {
        std::atomic_ref<float>(values_[list]).store(value, std::memory_order_relaxed);
        if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
    }
    [[nodiscard]] std::size_t own_bytes() const noexcept { return values_.capacity() * sizeof(float); }

  private:
    static constexpr float kUnknown = -1.0F;
    mutable std::vector<float> values_;
    mutable std::atomic<bool> used_{false};
};

/// Const members may run on any number of threads.
class Lists {
  public:
    Lists() = default;
    /// For `capacity` points of up to `slots` classes. Without `class_bits` points must lie sorted by class.
    Lists(std::size_t capacity, std::size_t slots, bool class_bits);

    [[nodiscard]] std::size_t words() const noexcept { return words_; }
    [[nodiscard]] std::size_t lists() const noexcept { return count_.size(); }
    [[nodiscard]] std::size_t first_list(std::size_t j) const noexcept { return first_[j]; }
    [[nodiscard]] std::size_t lists_of(std::size_t j) const noexcept { return first_[j + 1] - first_[j]; }
    [[nodiscard]] const std::uint64_t* bits(std::size_t list) const noexcept { return bits_.data() + list * words_; }
    [[nodiscard]] const std::uint64_t* class_bits(std::size_t slot) const noexcept {
        return class_bits_.data() + slot * words_;
    }
    /// The dimensions that have lists.
    [[nodiscard]] std::span<const std::uint32_t> split() const noexcept { return split_; }
    [[nodiscard]] std::uint32_t count(std::size_t list) const noexcept { return count_[list]; }
    [[nodiscard]] const std::uint16_t* counts() const noexcept { return count_.data(); }
    [[nodiscard]] const std::uint16_t* class_count(std::size_t list) const noexcept {
        return class_count_.data() + list * class_stride_;
    }

    /// Empties the lists and lays them out for `ranges`.
    void lay_out(const Ranges& ranges);
    /// Puts a point of the class with this slot into an empty place.
    void add(std::size_t point, const std::uint8_t* code, std::size_t slot) noexcept;
    /// Replaces a point by another in its place. The two rows of codes may not be the same memory.
    void replace(std::size_t point, const std::uint8_t* old_code, std::size_t old_slot, const std::uint8_t* code,
                 std::size_t slot) noexcept;
    /// Brings the lists up to date with the codes of the points in places 64 * word .. , rows of `stride`, `places` of
    /// them. `classes` holds every class of a replaced point, before or after.
    void renew(std::size_t word, const std::uint8_t* rows, std::size_t places, std::size_t stride,
               std::span<const ClassPlaces> classes) noexcept;
    /// How many classes fit.
    [[nodiscard]] std::size_t slots() const noexcept { return class_stride_; }

    WeightCache weights;  // the weights of dimensions in draws; the owner defines how they are computed

    [[nodiscard]] std::size_t own_bytes() const noexcept;

  private:
    std::size_t words_ = 0;
    std::size_t class_stride_ = 0;
    bool has_class_bits_ = false;
    std::vector<std::uint32_t> first_;  // (dimensions + 1,)
    std::vector<std::uint32_t> split_;
    std::vector<std::uint64_t> split_bits_;  // the same as a bit set
    std::vector<std::uint64_t> bits_;
    std::vector<std::uint64_t> class_bits_;
    std::vector<std::uint16_t> count_;
    std::vector<std::uint16_t> class_count_;
};

}  // namespace anystream::subspace
