#include "anystream/subspace/lists.hpp"

#include <algorithm>
#include <bit>

namespace anystream::subspace {

Lists::Lists(std::size_t capacity, std::size_t slots, bool class_bits)
    : words_((capacity + 63) / 64),
      class_stride_(std::bit_ceil(std::max<std::size_t>(slots, 4))),
      has_class_bits_(class_bits) {}

void Lists::lay_out(const Ranges& ranges) {
    first_.resize(ranges.dimensions() + 1);
    std::uint32_t lists = 0;
    for (std::size_t j = 0; j < ranges.dimensions(); ++j) {
        first_[j] = lists;
        if (ranges.ranges(j) > 1) lists += static_cast<std::uint32_t>(ranges.ranges(j));
    }
    first_.back() = lists;
    bits_.assign(lists * words_, 0);
    class_bits_.assign(has_class_bits_ ? class_stride_ * words_ : 0, 0);
    count_.assign(lists, 0);
    class_count_.assign(lists * class_stride_, 0);
    weights.resize(lists);
}

void Lists::add(std::size_t point, const std::uint8_t* code, std::size_t slot) noexcept {
    const std::size_t word = point / 64;
    const std::uint64_t bit = std::uint64_t{1} << (point % 64);
    if (has_class_bits_) class_bits_[slot * words_ + word] |= bit;
    for (std::size_t j = 0; j + 1 < first_.size(); ++j) {
        if (code[j] == kMissing || first_[j + 1] == first_[j]) continue;
        const std::size_t list = first_[j] + code[j];
        bits_[list * words_ + word] |= bit;
        ++count_[list];
        ++class_count_[list * class_stride_ + slot];
    }
}

void Lists::replace(std::size_t point, const std::uint8_t* old_code, std::size_t old_slot, const std::uint8_t* code,
                    std::size_t slot) noexcept {
    const std::size_t word = point / 64;
    const std::uint64_t bit = std::uint64_t{1} << (point % 64);
    class_bits_[old_slot * words_ + word] &= ~bit;
    class_bits_[slot * words_ + word] |= bit;
    for (std::size_t j = 0; j + 1 < first_.size(); ++j) {
        if ((code[j] == old_code[j] && slot == old_slot) || first_[j + 1] == first_[j]) continue;
        if (old_code[j] != kMissing) {
            const std::size_t list = first_[j] + old_code[j];
            bits_[list * words_ + word] &= ~bit;
            --count_[list];
            --class_count_[list * class_stride_ + old_slot];
        }
        if (code[j] != kMissing) {
            const std::size_t list = first_[j] + code[j];
            bits_[list * words_ + word] |= bit;
            ++count_[list];
            ++class_count_[list * class_stride_ + slot];
        }
    }
}

std::size_t Lists::own_bytes() const noexcept {
    return first_.capacity() * sizeof(std::uint32_t) +
           (bits_.capacity() + class_bits_.capacity()) * sizeof(std::uint64_t) +
           (count_.capacity() + class_count_.capacity()) * sizeof(std::uint16_t) + weights.own_bytes();
}

}  // namespace anystream::subspace
