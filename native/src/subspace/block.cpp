#include "anystream/subspace/block.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace anystream::subspace {

void Block::count_classes(std::span<const std::int32_t> point_class) {
    const std::int32_t highest = point_class.empty() ? -1 : *std::max_element(point_class.begin(), point_class.end());
    const auto append = [&](std::int32_t c, std::uint32_t size) {
        present_.push_back(c);
        class_size_.push_back(size);
    };
    if (static_cast<std::size_t>(highest + 1) <= point_class.size()) {
        std::vector<std::uint32_t> sizes(static_cast<std::size_t>(highest + 1), 0);
        for (const std::int32_t c : point_class) ++sizes[static_cast<std::size_t>(c)];
        for (std::size_t c = 0; c < sizes.size(); ++c)
            if (sizes[c] > 0) append(static_cast<std::int32_t>(c), sizes[c]);
    } else {
        std::vector<std::int32_t> sorted(point_class.begin(), point_class.end());
        std::sort(sorted.begin(), sorted.end());
        for (const std::int32_t c : sorted) {
            if (present_.empty() || present_.back() != c) append(c, 0);
            ++class_size_.back();
        }
    }
    first_word_.assign(1, 0);
    for (const std::uint32_t size : class_size_) first_word_.push_back(first_word_.back() + (size + 63) / 64);
}

Block::Block(std::span<const std::int32_t> point_class, Ranges ranges)
    : size_(point_class.size()), ranges_(std::move(ranges)) {
    count_classes(point_class);
}

Block::Block(Ranges ranges, std::vector<float> middles, std::span<const std::uint8_t> codes,
             std::span<const std::int32_t> point_class)
    : size_(point_class.size()), ranges_(std::move(ranges)), middles_(std::move(middles)) {
    count_classes(point_class);
    std::vector<std::size_t> next = lay_out();
    for (std::size_t p = 0; p < size_; ++p) {
        const std::size_t slot = this->slot(point_class[p]);
        lists_.add(next[slot]++, codes.data() + p * ranges_.dimensions(), slot);
    }
    find_gini();
}

std::size_t Block::slot(std::int32_t c) const noexcept {
    return static_cast<std::size_t>(std::lower_bound(present_.begin(), present_.end(), c) - present_.begin());
}

std::vector<float> Block::remembered_values() const {
    const std::size_t dimensions = ranges_.dimensions();
    const auto all = codes();
    std::vector<float> values(all.size(), std::numeric_limits<float>::quiet_NaN());
    std::size_t first = 0;
    for (std::size_t j = 0; j < dimensions; first += ranges_.ranges(j), ++j)
        for (std::size_t p = 0; p < size_; ++p)
            if (all[p * dimensions + j] != kMissing)
                values[p * dimensions + j] = middles_[first + all[p * dimensions + j]];
    return values;
}

std::vector<std::size_t> Block::lay_out() {
    lists_ = Lists(std::size_t{64} * first_word_.back(), present_.size(), false);
    lists_.lay_out(ranges_);
    std::vector<std::size_t> first(present_.size());
    for (std::size_t s = 0; s < first.size(); ++s) first[s] = std::size_t{64} * first_word_[s];
    return first;
}

void Block::find_gini() {
    gini_.assign(lists_.lists(), 0.0F);
    for (std::size_t list = 0; list < gini_.size(); ++list) {
        if (lists_.count(list) == 0) continue;
        double sum = 0.0, squares = 0.0;
        for (std::size_t slot = 0; slot < present_.size(); ++slot) {
            const double presence = lists_.class_count(list)[slot] / prior(slot);
            sum += presence;
            squares += presence * presence;
        }
        gini_[list] = static_cast<float>(squares / (sum * sum));
    }
}

std::vector<std::uint8_t> Block::codes() const {
    const std::size_t dimensions = ranges_.dimensions();
    std::vector<std::uint8_t> all(size_ * dimensions, 0);
    std::size_t p = 0;
    for (std::size_t slot = 0; slot < class_size_.size(); ++slot) {
        for (std::size_t i = 0; i < class_size_[slot]; ++i, ++p) {
            const std::size_t place = std::size_t{64} * first_word_[slot] + i;
            for (std::size_t j = 0; j < dimensions; ++j) {
                if (lists_.lists_of(j) == 0) continue;  // one range: that of all points, known or missing
                all[p * dimensions + j] = kMissing;
                for (std::size_t r = 0; r < lists_.lists_of(j); ++r)
                    if ((lists_.bits(lists_.first_list(j) + r)[place / 64] >> (place % 64) & 1) != 0)
                        all[p * dimensions + j] = static_cast<std::uint8_t>(r);
            }
        }
    }
    return all;
}

std::vector<std::int32_t> Block::point_classes() const {
    std::vector<std::int32_t> all;
    for (std::size_t slot = 0; slot < class_size_.size(); ++slot)
        all.insert(all.end(), class_size_[slot], present_[slot]);
    return all;
}

Block Block::with_features(std::size_t dimensions, std::size_t max_ranges,
                           const std::vector<std::uint32_t>& categorical) const {
    Ranges wider(dimensions, max_ranges, categorical);
    const std::size_t before = ranges_.dimensions();
    for (std::size_t j = 0; j < before; ++j) wider.set(j, ranges_.cuts(j));
    const auto narrow = codes();
    std::vector<std::uint8_t> wide(size_ * dimensions, kMissing);
    for (std::size_t p = 0; p < size_; ++p)
        std::copy_n(narrow.begin() + static_cast<std::ptrdiff_t>(p * before), before,
                    wide.begin() + static_cast<std::ptrdiff_t>(p * dimensions));
    auto middles = middles_;
    middles.resize(middles.size() + dimensions - before, std::numeric_limits<float>::quiet_NaN());
    return {std::move(wider), std::move(middles), wide, point_classes()};
}

std::size_t Block::own_bytes() const noexcept {
    return ranges_.own_bytes() + lists_.own_bytes() + (gini_.capacity() + middles_.capacity()) * sizeof(float) +
           (present_.capacity() + class_size_.capacity() + first_word_.capacity()) * sizeof(std::uint32_t);
}

std::size_t Block::max_bytes(std::size_t points, std::size_t dimensions, std::size_t classes, std::size_t ranges,
                             std::size_t categorical) {
    const std::size_t slots = std::min(classes, points);
    const std::size_t words = (points + 63) / 64 + slots, stride = std::bit_ceil(std::max<std::size_t>(slots, 4));
    const std::size_t lists = (dimensions - categorical) * ranges + categorical * kMaxRanges;
    return lists * (words * 8 + (1 + stride) * 2 + 12) + ranges * round_up(dimensions, kLimitBlock) * 4 +
           dimensions * 16 + stride * 12;
}

}  // namespace anystream::subspace
