#include "anystream/drift/best_split.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "anystream/portable_math.hpp"

namespace anystream {

namespace {

/// Bits that rise with the value; both zeros have the same. NaN may not occur.
std::uint64_t key_of(double value) noexcept {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

struct Entry {
    std::uint64_t key;
    std::uint32_t row;
};

/// Sorts by key: short lists by comparing, others in passes over digits, those in which all keys agree left out.
void sort_entries(std::vector<Entry>& entries, std::vector<Entry>& scratch) {
    constexpr std::size_t kBits = 11, kPasses = 6, kBuckets = std::size_t{1} << kBits, kShort = 300;
    if (entries.size() < kShort) {
        std::ranges::sort(entries, {}, &Entry::key);
        return;
    }
    const auto digit = [](const Entry& entry, std::size_t pass) {
        return entry.key >> (pass * kBits) & (kBuckets - 1);
    };
    scratch.resize(entries.size());
    std::array<std::array<std::uint32_t, kBuckets>, kPasses> first{};
    for (const Entry& entry : entries)
        for (std::size_t pass = 0; pass < kPasses; ++pass) ++first[pass][digit(entry, pass)];
    for (std::size_t pass = 0; pass < kPasses; ++pass) {
        auto& place = first[pass];
        if (place[digit(entries[0], pass)] == entries.size()) continue;
        std::uint32_t sum = 0;
        for (std::uint32_t& bucket : place) sum += std::exchange(bucket, sum);
        for (const Entry& entry : entries) scratch[place[digit(entry, pass)]++] = entry;
        std::swap(entries, scratch);
    }
}

double middle(double low, double high) noexcept {
    const double between = low + (high - low) / 2.0;
    return between < high ? between : low;
}

}  // namespace

SplitFound best_split(std::span<const double> rows, std::size_t features, std::span<const std::int32_t> labels,
                      std::size_t min_records) {
    const std::size_t n = labels.size();
    if (n < 2 * min_records || n < 2) return {};
    std::vector<std::int32_t> present(labels.begin(), labels.end());
    std::ranges::sort(present);
    present.erase(std::unique(present.begin(), present.end()), present.end());
    std::vector<std::uint32_t> slot(n);
    std::vector<std::int64_t> whole(present.size(), 0), left(present.size());
    for (std::size_t i = 0; i < n; ++i) {
        slot[i] = static_cast<std::uint32_t>(std::ranges::lower_bound(present, labels[i]) - present.begin());
        ++whole[slot[i]];
    }
    const auto n_times_log = [](std::size_t k) {
        return static_cast<double>(k) * portable_log(static_cast<double>(k));
    };
    // Sums of n log n are whole numbers of 1 / unit, so that their order does not matter.
    const double unit = std::ldexp(1.0, 60 - std::bit_width(static_cast<std::uint64_t>(n_times_log(n))));
    std::vector<std::int64_t> n_log_n(n + 1, 0);
    for (std::size_t k = 2; k <= n; ++k) n_log_n[k] = std::llround(n_times_log(k) * unit);
    const auto at = [&](std::int64_t count) { return n_log_n[static_cast<std::size_t>(count)]; };
    std::int64_t of_whole = 0;
    for (const std::int64_t count : whole) of_whole += at(count);
    std::int64_t best = std::numeric_limits<std::int64_t>::min();
    std::size_t best_left = n;
    SplitFound found;
    std::vector<Entry> entries, scratch;
    for (std::size_t feature = 0; feature < features; ++feature) {
        entries.clear();
        for (std::size_t i = 0; i < n; ++i)
            if (const double value = rows[i * features + feature]; value == value)
                entries.push_back({key_of(value), static_cast<std::uint32_t>(i)});
        if (entries.size() < 2) continue;
        sort_entries(entries, scratch);
        std::ranges::fill(left, 0);
        std::int64_t of_sides = of_whole;  // the sum of n log n over the classes on the left and on the right
        for (std::size_t cut = 1; cut < entries.size(); ++cut) {
            const std::uint32_t c = slot[entries[cut - 1].row];
            const std::int64_t before = left[c]++, behind = whole[c] - before;
            of_sides += at(before + 1) - at(before) + at(behind - 1) - at(behind);
            if (entries[cut].key == entries[cut - 1].key || cut < min_records || n - cut < min_records) continue;
            const std::int64_t gain = n_log_n[n] - of_whole + of_sides - n_log_n[cut] - n_log_n[n - cut];
            if (gain < best || (gain == best && cut >= best_left)) continue;
            best = gain;
            best_left = cut;
            const double low = rows[entries[cut - 1].row * features + feature];
            const double high = rows[entries[cut].row * features + feature];
            found = {static_cast<double>(gain) / unit, static_cast<std::int64_t>(feature), middle(low, high)};
        }
    }
    return found;
}

}  // namespace anystream
