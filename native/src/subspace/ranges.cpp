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

/// Bits that rise with the value; both zeros have the same. NaN may not occur.
std::uint32_t key_of(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);
    return (bits & 0x8000'0000U) != 0 ? ~bits : bits | 0x8000'0000U;
}

float value_of(std::uint32_t key) noexcept {
    return std::bit_cast<float>((key & 0x8000'0000U) != 0 ? key & 0x7fff'ffffU : ~key);
}

/// Sorts without comparing, by as few digits as the bits need in which keys differ.
void sort_keys(std::span<std::uint32_t> keys, std::vector<std::uint32_t>& scratch) {
    const std::size_t n = keys.size();
    if (n < 96) return std::sort(keys.begin(), keys.end());
    std::uint32_t lowest = keys[0], highest = keys[0], differing = 0;
    for (const std::uint32_t key : keys) {
        lowest = std::min(lowest, key);
        highest = std::max(highest, key);
        differing |= key ^ keys[0];
    }
    if (differing == 0) return;
    constexpr int kMaxBits = 11;                    // of a digit
    const int shift = std::countr_zero(differing);  // the lower bits are the same in all keys
    const int bits = std::bit_width((highest - lowest) >> shift), max_bits = n < 8192 ? kMaxBits - 1 : kMaxBits;
    const int passes = (bits + max_bits - 1) / max_bits, each = (bits + passes - 1) / passes;
    const std::uint32_t mask = (std::uint32_t{1} << each) - 1;
    scratch.resize(n);
    std::uint32_t *from = keys.data(), *to = scratch.data();
    std::array<std::uint32_t, std::size_t{1} << kMaxBits> place;
    for (int pass = 0; pass < passes; ++pass) {
        const int down = shift + pass * each;
        std::fill_n(place.begin(), mask + 1, 0U);
        for (std::size_t i = 0; i < n; ++i) ++place[(from[i] - lowest) >> down & mask];
        std::uint32_t sum = 0;
        for (std::uint32_t bucket = 0; bucket <= mask; ++bucket) sum += std::exchange(place[bucket], sum);
        for (std::size_t i = 0; i < n; ++i) to[place[(from[i] - lowest) >> down & mask]++] = from[i];
        std::swap(from, to);
    }
    if (from != keys.data()) std::copy_n(from, n, keys.data());
}

/// Past the run of keys equal to the one at `from`.
std::size_t run_end(std::span<const std::uint32_t> sorted, std::size_t from) noexcept {
    const std::uint32_t key = sorted[from];
    std::size_t step = 1;
    while (from + step < sorted.size() && sorted[from + step] == key) step *= 2;
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(from + step, sorted.size()));
    const auto first = sorted.begin() + static_cast<std::ptrdiff_t>(from + step / 2);
    return static_cast<std::size_t>(std::upper_bound(first, last, key) - sorted.begin());
}

void cut_equi_depth(std::span<const std::uint32_t> sorted, std::size_t ranges, std::vector<float>& limits) {
    limits.clear();
    std::size_t i = 0;
    for (std::size_t left = ranges; i < sorted.size(); --left) {
        if (left == 1) break;  // the last range takes the rest
        const double target = static_cast<double>(sorted.size() - i) / static_cast<double>(left);
        // Whole runs that end at most `target` keys after i bring the range nearer to it, each of them.
        const std::size_t within = i + static_cast<std::size_t>(target);
        const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(i);
        std::size_t end = static_cast<std::size_t>(
            std::lower_bound(begin, sorted.begin() + static_cast<std::ptrdiff_t>(within), sorted[within]) -
            sorted.begin());
        if (end == i) end = run_end(sorted, i);
        while (end < sorted.size()) {
            const std::size_t next = run_end(sorted, end);
            const double now = std::abs(static_cast<double>(end - i) - target);
            const double then = std::abs(static_cast<double>(next - i) - target);
            if (then >= now) break;
            end = next;
        }
        if (end < sorted.size()) limits.push_back(value_of(sorted[end - 1]));
        i = end;
    }
}

std::vector<float> choose_categories(std::span<const std::uint32_t> sorted, std::size_t max_ranges) {
    std::vector<std::pair<std::size_t, float>> found;  // size of the run, value
    for (std::size_t i = 0; i < sorted.size();) {
        const std::size_t end = run_end(sorted, i);
        found.emplace_back(end - i, value_of(sorted[i]));
        i = end;
    }
    if (found.size() > max_ranges) {
        std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        found.resize(max_ranges);
    }
    std::vector<float> categories;
    for (const auto& [size, value] : found) categories.push_back(value);
    std::sort(categories.begin(), categories.end());
    return categories;
}

}  // namespace

bool to_floats(const double* x, std::size_t dimensions, float* out) noexcept {
    for (std::size_t j = dimensions; j < round_up(dimensions, kLimitBlock); ++j)
        out[j] = std::numeric_limits<float>::quiet_NaN();
    return kernels().floats(x, dimensions, out);
}

Ranges::Ranges(std::size_t dimensions, std::size_t max_ranges, std::vector<std::uint32_t> categorical)
    : dimensions_(dimensions),
      max_ranges_(max_ranges),
      limits_((max_ranges - 1) * float_stride(), kInfinity),
      limit_rows_(float_stride() / kLimitBlock, 0),
      ranges_(dimensions, 1),
      categorical_(std::move(categorical)),
      category_place_(dimensions, -1),
      categories_(categorical_.size()),
      unrelated_(code_stride(), 0) {
    for (std::size_t place = 0; place < categorical_.size(); ++place) {
        category_place_[categorical_[place]] = static_cast<std::int32_t>(place);
        unrelated_[categorical_[place]] = unrelated_ranges(max_ranges);
    }
}

void Ranges::encode(const float* x, std::uint8_t* code) const noexcept {
    kernels().codes(x, limits_.data(), limit_rows_.data(), float_stride(), code);
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
        for (std::size_t r = 0; r + 1 < max_ranges_; ++r)
            limits_[r * float_stride() + j] = r < cuts.size() ? cuts[r] : kInfinity;
    }
    ranges_[j] = static_cast<std::uint16_t>(cuts.size() + 1);
    const std::size_t block = j / kLimitBlock, end = std::min(dimensions_, (block + 1) * kLimitBlock);
    std::size_t rows = 0;
    for (std::size_t k = block * kLimitBlock; k < end; ++k)
        if (!is_categorical(k)) rows = std::max<std::size_t>(rows, ranges_[k] - 1U);
    limit_rows_[block] = static_cast<std::uint8_t>(rows);
}

void Ranges::fit(std::span<const float> values) {
    constexpr std::size_t kTogether = 16;  // columns that are read together
    const std::size_t rows = dimensions_ == 0 ? 0 : values.size() / dimensions_;
    std::vector<float> lowest(dimensions_, kInfinity), highest(dimensions_, -kInfinity);
    std::vector<std::int32_t> inner(dimensions_, 0);
    kernels().extremes(values.data(), rows, dimensions_, lowest.data(), highest.data());
    kernels().inner(values.data(), rows, dimensions_, lowest.data(), highest.data(), inner.data());
    std::vector<std::size_t> sorted;  // columns of more than two values
    for (std::size_t j = 0; j < dimensions_; ++j) {
        if (inner[j] != 0 || is_categorical(j)) {
            sorted.push_back(j);
        } else if (lowest[j] < highest[j]) {
            set(j, std::vector{lowest[j] + 0.0F});
        } else {
            set(j, {});
        }
    }
    std::array<std::vector<std::uint32_t>, kTogether> keys;
    ColumnScratch scratch;
    for (std::size_t first = 0; first < sorted.size(); first += kTogether) {
        const std::size_t columns = std::min(kTogether, sorted.size() - first);
        std::array<std::uint32_t*, kTogether> next;
        for (std::size_t k = 0; k < columns; ++k) {
            keys[k].resize(rows);
            next[k] = keys[k].data();
        }
        for (std::size_t row = 0; row < values.size(); row += dimensions_) {
            for (std::size_t k = 0; k < columns; ++k) {
                const float value = values[row + sorted[first + k]];
                *next[k] = key_of(value);
                next[k] += value == value;  // a missing value is overwritten; its place lies within the rows
            }
        }
        for (std::size_t k = 0; k < columns; ++k) {
            keys[k].resize(static_cast<std::size_t>(next[k] - keys[k].data()));
            fit_keys(sorted[first + k], keys[k], scratch);
        }
    }
}

void Ranges::fit_column(std::size_t j, std::span<const float> values, ColumnScratch& scratch) {
    scratch.keys.clear();
    for (std::size_t at = j; at < values.size(); at += dimensions_)
        if (values[at] == values[at]) scratch.keys.push_back(key_of(values[at]));
    std::vector<std::uint32_t> keys = std::move(scratch.keys);
    fit_keys(j, keys, scratch);
    keys.clear();
    scratch.keys = std::move(keys);
}

void Ranges::fit_keys(std::size_t j, std::vector<std::uint32_t>& keys, ColumnScratch& scratch) {
    if (keys.empty()) return set(j, {});
    sort_keys(keys, scratch.sorted);
    scratch.sorted.clear();
    if (is_categorical(j)) return set(j, choose_categories(keys, kMaxRanges - 1));
    cut_equi_depth(keys, max_ranges_, scratch.cuts);
    set(j, scratch.cuts);
}

std::vector<float> Ranges::cuts(std::size_t j) const {
    if (is_categorical(j)) return categories_[static_cast<std::size_t>(category_place_[j])];
    std::vector<float> cuts;
    for (std::size_t r = 0; r + 1 < ranges_[j]; ++r) cuts.push_back(limits_[r * float_stride() + j]);
    return cuts;
}

std::size_t Ranges::own_bytes() const noexcept {
    std::size_t bytes = limits_.capacity() * sizeof(float) + limit_rows_.capacity() +
                        ranges_.capacity() * sizeof(std::uint16_t) + category_place_.capacity() * sizeof(std::int32_t) +
                        unrelated_.capacity();
    for (const auto& table : categories_) bytes += table.capacity() * sizeof(float);
    return bytes;
}

}  // namespace anystream::subspace
