// Points that a level has taken but not yet entered into its lists, which is cheaper for many points at once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace anystream::subspace {

/// Lives during one call of `learn`; allocates nothing.
class PendingPoints {
  public:
    static constexpr std::int32_t kNoSlot = -1;

    struct Point {
        std::uint32_t place;
        std::int32_t old_slot;  // of the class that the lists still have in its place, or kNoSlot
    };

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Whether rows of `stride` codes are short enough for points to wait.
    [[nodiscard]] static constexpr bool can_hold(std::size_t stride) noexcept {
        return max_points(stride) >= kMinPoints;
    }
    [[nodiscard]] bool full(std::size_t stride) const noexcept { return size_ == max_points(stride); }
    /// Whether a point that arrived then is among them.
    [[nodiscard]] bool holds(std::int64_t arrival) const noexcept { return size_ > 0 && arrival >= first_arrival_; }

    /// Notes that a place gets another point, and the codes that the lists still have in it.
    void add(std::size_t place, std::int64_t arrival, std::int32_t old_slot, const std::uint8_t* old_code,
             std::size_t stride) noexcept {
        if (size_ == 0) first_arrival_ = arrival;
        point_[size_] = {static_cast<std::uint32_t>(place), old_slot};
        if (old_slot != kNoSlot) std::copy_n(old_code, stride, old_code_ + size_ * stride);
        ++size_;
    }
    void clear() noexcept { size_ = 0; }

    /// Calls visit(word, members) for each 64 places; members are bits that number points, in the order they came.
    template <typename Visit>
    void by_word(Visit&& visit) const {
        std::uint64_t left = size_ == kMaxPoints ? ~std::uint64_t{0} : (std::uint64_t{1} << size_) - 1;
        while (left != 0) {
            const std::uint32_t word = point_[std::countr_zero(left)].place / 64;
            std::uint64_t members = 0;
            for (std::uint64_t rest = left; rest != 0; rest &= rest - 1) {
                const int i = std::countr_zero(rest);
                members |= static_cast<std::uint64_t>(point_[i].place / 64 == word) << i;
            }
            visit(static_cast<std::size_t>(word), members);
            left &= ~members;
        }
    }
    [[nodiscard]] const Point& point(std::size_t i) const noexcept { return point_[i]; }
    [[nodiscard]] const std::uint8_t* old_code(std::size_t i, std::size_t stride) const noexcept {
        return old_code_ + i * stride;
    }

  private:
    static constexpr std::size_t kMaxPoints = 64, kMinPoints = 8;
    static constexpr std::size_t kMaxBytes = 4096;  // of codes

    [[nodiscard]] static constexpr std::size_t max_points(std::size_t stride) noexcept {
        return stride == 0 ? kMaxPoints : std::min(kMaxPoints, kMaxBytes / stride);
    }

    std::size_t size_ = 0;
    std::int64_t first_arrival_ = 0;
    Point point_[kMaxPoints];
    std::uint8_t old_code_[kMaxBytes];
};

}  // namespace anystream::subspace
