// The ranges of several levels or blocks as two flat arrays: the cuts, and where those of each dimension end.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "anystream/damaged_model.hpp"
#include "anystream/growing_array.hpp"
#include "anystream/subspace/ranges.hpp"

namespace anystream::subspace {

/// Points that a stored model may have seen: sums of many such counts do not overflow.
inline constexpr std::int64_t kMaxSeen = std::int64_t{1} << 48;

inline void append_cuts(const Ranges& ranges, GrowingArray<float>& cut, GrowingArray<std::int64_t>& cut_end) {
    for (std::size_t j = 0; j < ranges.dimensions(); ++j) {
        const std::vector<float> cuts = ranges.cuts(j);
        cut.append(cuts.begin(), cuts.end());
        cut_end.push_back(static_cast<std::int64_t>(cut.size()));
    }
}

/// Throws DamagedModel if the arrays do not fit each other.
class CutReader {
  public:
    CutReader(std::span<const float> cut, std::span<const std::int64_t> cut_end) : cut_(cut), cut_end_(cut_end) {}

    [[nodiscard]] Ranges next(std::size_t dimensions, std::size_t max_ranges,
                              const std::vector<std::uint32_t>& categorical) {
        Ranges ranges(dimensions, max_ranges, categorical);
        require(memory_ + dimensions <= cut_end_.size(), "not every feature has ranges");
        for (std::size_t j = 0; j < dimensions; ++j) {
            const std::int64_t end = cut_end_[memory_++];
            const std::size_t max_cuts = (ranges.is_categorical(j) ? kMaxRanges : max_ranges) - 1;
            require(end >= static_cast<std::int64_t>(read_) && static_cast<std::size_t>(end) <= cut_.size() &&
                        static_cast<std::size_t>(end) - read_ <= max_cuts,
                    "a feature has too many ranges");
            const auto cuts = cut_.subspan(read_, static_cast<std::size_t>(end) - read_);
            for (std::size_t i = 0; i < cuts.size(); ++i)
                require(std::isfinite(cuts[i]) && (i == 0 || cuts[i - 1] < cuts[i]),
                        "the limits of a feature do not rise");
            ranges.set(j, cuts);
            read_ += cuts.size();
        }
        return ranges;
    }

    void end() const {
        require(read_ == cut_.size() && memory_ == cut_end_.size(), "there are more limits than the features have");
    }

  private:
    static void require(bool holds, const char* fault) { require_intact(holds, "the ranges", fault); }

    std::span<const float> cut_;
    std::span<const std::int64_t> cut_end_;
    std::size_t read_ = 0;    // cuts
    std::size_t memory_ = 0;  // ends
};

}  // namespace anystream::subspace
