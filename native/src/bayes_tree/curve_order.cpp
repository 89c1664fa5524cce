#include "anystream/bayes_tree/curve_order.hpp"

#include <algorithm>
#include <span>

#include "anystream/parallel.hpp"

namespace anystream::bayes_tree {
namespace {

constexpr int kBits = 16;

/// Skilling's AxestoTranspose: cell numbers become the Hilbert index, its bits spread over the dimensions.
void to_hilbert(std::span<std::uint32_t> cell) noexcept {
    for (std::uint32_t bit = 1u << (kBits - 1); bit > 1; bit >>= 1) {
        const std::uint32_t lower = bit - 1;
        for (auto& c : cell) {
            if (c & bit) {
                cell[0] ^= lower;  // invert
            } else {
                const std::uint32_t swapped = (cell[0] ^ c) & lower;  // exchange
                cell[0] ^= swapped;
                c ^= swapped;
            }
        }
    }
    for (std::size_t i = 1; i < cell.size(); ++i) cell[i] ^= cell[i - 1];  // Gray code
    std::uint32_t flips = 0;
    for (std::uint32_t bit = 1u << (kBits - 1); bit > 1; bit >>= 1) {
        if (cell.back() & bit) flips ^= bit - 1;
    }
    for (auto& c : cell) c ^= flips;
}

void interleave(std::span<const std::uint32_t> cell, std::span<std::uint64_t> key) noexcept {
    std::size_t written = 0;
    for (int bit = kBits - 1; bit >= 0; --bit) {
        for (const auto c : cell) {
            key[written / 64] = (key[written / 64] << 1) | ((c >> bit) & 1u);
            ++written;
        }
    }
    if (written % 64 != 0) key.back() <<= 64 - written % 64;
}

}  // namespace

std::vector<std::int32_t> curve_order(const Level& level, Curve curve, const BuildOptions& options) {
    const std::size_t d = level.dimensions, n = level.size();
    std::vector<double> low(level.mean_of(0), level.mean_of(1)), high = low;
    for (std::size_t i = 1; i < n; ++i) {
        for (std::size_t j = 0; j < d; ++j) {
            low[j] = std::min(low[j], level.mean_of(i)[j]);
            high[j] = std::max(high[j], level.mean_of(i)[j]);
        }
    }

    const std::size_t words = (d * kBits + 63) / 64;
    std::vector<std::uint64_t> keys(n * words);
    parallel_for(n, 1024, options.threads, [&](std::size_t first, std::size_t last) {
        throw_if_stopped(options);
        constexpr double kCells = 1 << kBits;
        std::vector<std::uint32_t> cell(d);
        for (std::size_t i = first; i < last; ++i) {
            for (std::size_t j = 0; j < d; ++j) {
                const double range = high[j] - low[j];
                const double at = range > 0.0 ? (level.mean_of(i)[j] - low[j]) / range * kCells : 0.0;
                cell[j] = static_cast<std::uint32_t>(std::min(at, kCells - 1.0));
            }
            if (curve == Curve::kHilbert) to_hilbert(cell);
            interleave(cell, std::span(keys).subspan(i * words, words));
        }
    });

    struct Item {
        std::uint64_t head;  // the key's first word decides nearly always
        std::int32_t position;
    };
    std::vector<Item> items(n);
    for (std::size_t i = 0; i < n; ++i) items[i] = {keys[i * words], static_cast<std::int32_t>(i)};
    std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
        if (a.head != b.head) return a.head < b.head;
        const auto* const x = keys.data() + static_cast<std::size_t>(a.position) * words;
        const auto* const y = keys.data() + static_cast<std::size_t>(b.position) * words;
        for (std::size_t w = 1; w < words; ++w) {
            if (x[w] != y[w]) return x[w] < y[w];
        }
        return a.position < b.position;
    });
    std::vector<std::int32_t> order(n);
    std::transform(items.begin(), items.end(), order.begin(), [](const Item& item) { return item.position; });
    return order;
}

}  // namespace anystream::bayes_tree
