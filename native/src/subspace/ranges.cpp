#include "anystream/subspace/ranges.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace anystream::subspace {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Bits that rise with the value.
std::uint32_t rising(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return (bits & 0x8000'0000U) != 0 ? ~bits : bits | 0x8000'0000U;
}

float falling_back(std::uint32_t key) noexcept {
    return std::bit_cast<float>((key & 0x8000'0000U) != 0 ? key & 0x7fff'ffffU : ~key);
}

/// Past the run of values equal to the one at `from`.
std::size_t run_end(std::span<const float> sorted, std::size_t from) noexcept {
    std::size_t i = from + 1;
    while (i < sorted.size() && sorted[i] == sorted[from]) ++i;
    return i;
}

}  // namespace

void to_floats(const double* x, std::size_t dimensions, float* out) noexcept {
    constexpr double kMost = std::numeric_limits<float>::max();
    for (std::size_t j = 0; j < dimensions; ++j) {
        const double clamped = x[j] > kMost ? kMost : x[j] < -kMost ? -kMost : x[j];  // NaN stays
        out[j] = static_cast<float>(clamped) + 0.0F;                                  // one zero only
    }
    for (std::size_t j = dimensions; j < round_up(dimensions, kLimitBlock); ++j)
        out[j] = std::numeric_limits<float>::quiet_NaN();
}

void sort_floats(std::span<float> values, std::vector<std::uint32_t>& scratch) {
    const std::size_t n = values.size();
    if (n < 96) {
        std::sort(values.begin(), values.end());
        return;
    }
    constexpr int kBits = 11, kPasses = 3;
    constexpr std::size_t kBuckets = 1 << kBits;
    scratch.resize(2 * n);
    std::uint32_t* from = scratch.data();
    std::uint32_t* to = from + n;
    std::array<std::array<std::uint32_t, kBuckets>, kPasses> first{};
    for (std::size_t i = 0; i < n; ++i) {
        from[i] = rising(values[i]);
        for (int p = 0; p < kPasses; ++p) ++first[static_cast<std::size_t>(p)][from[i] >> (p * kBits) & (kBuckets - 1)];
    }
    for (int p = 0; p < kPasses; ++p) {
        auto& place = first[static_cast<std::size_t>(p)];
        if (place[from[0] >> (p * kBits) & (kBuckets - 1)] == n) continue;  // all alike here
        std::uint32_t sum = 0;
        for (std::uint32_t& bucket : place) sum += std::exchange(bucket, sum);
        for (std::size_t i = 0; i < n; ++i) to[place[from[i] >> (p * kBits) & (kBuckets - 1)]++] = from[i];
        std::swap(from, to);
    }
    for (std::size_t i = 0; i < n; ++i) values[i] = falling_back(from[i]);
}

void cut_equi_depth(std::span<const float> sorted, std::size_t ranges, std::vector<float>& limits) {
    std::size_t i = 0;
    for (std::size_t left = ranges; i < sorted.size(); --left) {
        const double target = static_cast<double>(sorted.size() - i) / static_cast<double>(left);
        std::size_t end = run_end(sorted, i);
        while (end < sorted.size()) {
            const std::size_t next = run_end(sorted, end);
            const double now = std::abs(static_cast<double>(end - i) - target);
            const double then = std::abs(static_cast<double>(next - i) - target);
            if (left > 1 && then >= now) break;
            end = next;
        }
        if (end < sorted.size()) limits.push_back(sorted[end - 1]);
        i = end;
    }
}

void choose_categories(std::span<const float> sorted, std::size_t most, std::vector<float>& categories) {
    std::vector<std::pair<std::size_t, float>> found;  // size of the run, value
    for (std::size_t i = 0; i < sorted.size();) {
        const std::size_t end = run_end(sorted, i);
        found.emplace_back(end - i, sorted[i]);
        i = end;
    }
    if (found.size() > most) {
        std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        found.resize(most);
    }
    for (const auto& [size, value] : found) categories.push_back(value);
    std::sort(categories.begin(), categories.end());
}

Ranges::Ranges(std::size_t dimensions, std::size_t most_ranges, std::vector<std::uint32_t> categorical)
    : dimensions_(dimensions),
      most_ranges_(most_ranges),
      limits_((most_ranges - 1) * float_stride(), kInfinity),
      ranges_(dimensions, 1),
      categorical_(std::move(categorical)),
      category_place_(dimensions, -1),
      categories_(categorical_.size()) {
    for (std::size_t place = 0; place < categorical_.size(); ++place)
        category_place_[categorical_[place]] = static_cast<std::int32_t>(place);
}

void Ranges::encode(const float* x, std::uint8_t* code) const noexcept {
    kernels().codes(x, limits_.data(), most_ranges_ - 1, float_stride(), code);
    for (std::size_t place = 0; place < categorical_.size(); ++place) {
        const std::size_t j = categorical_[place];
        if (x[j] != x[j]) continue;
        const auto& table = categories_[place];
        const auto found = std::lower_bound(table.begin(), table.end(), x[j]);
        const bool known = found != table.end() && *found == x[j];
        code[j] = static_cast<std::uint8_t>(known ? static_cast<std::size_t>(found - table.begin()) : table.size());
    }
}

void Ranges::set(std::size_t j, std::span<const float> cuts) {
    if (is_categorical(j)) {
        categories_[static_cast<std::size_t>(category_place_[j])].assign(cuts.begin(), cuts.end());
    } else {
        for (std::size_t r = 0; r + 1 < most_ranges_; ++r)
            limits_[r * float_stride() + j] = r < cuts.size() ? cuts[r] : kInfinity;
    }
    ranges_[j] = static_cast<std::uint16_t>(cuts.size() + 1);
}

void Ranges::fit(std::size_t j, std::span<float> values, std::vector<std::uint32_t>& scratch) {
    cuts_.clear();
    if (!is_categorical(j)) {
        float least = kInfinity, most = -kInfinity;
        for (const float v : values) least = v < least ? v : least, most = v > most ? v : most;
        std::size_t between = 0;
        for (const float v : values) between += v != least && v != most;
        if (between > 0) {
            sort_floats(values, scratch);
            cut_equi_depth(values, most_ranges_, cuts_);
        } else if (least < most) {
            cuts_.push_back(least);  // two values: nothing to sort
        }
    } else {
        sort_floats(values, scratch);
        choose_categories(values, kMostRanges - 1, cuts_);
    }
    set(j, cuts_);
}

std::vector<float> Ranges::cuts(std::size_t j) const {
    if (is_categorical(j)) return categories_[static_cast<std::size_t>(category_place_[j])];
    std::vector<float> cuts;
    for (std::size_t r = 0; r + 1 < ranges_[j]; ++r) cuts.push_back(limits_[r * float_stride() + j]);
    return cuts;
}

std::size_t Ranges::own_bytes() const noexcept {
    std::size_t bytes = limits_.capacity() * sizeof(float) + ranges_.capacity() * sizeof(std::uint16_t) +
                        category_place_.capacity() * sizeof(std::int32_t);
    for (const auto& table : categories_) bytes += table.capacity() * sizeof(float);
    return bytes;
}

}  // namespace anystream::subspace
