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
    split_.clear();
    split_.reserve(ranges.dimensions());
    split_bits_.assign(ranges.code_stride() / 64, 0);
    std::uint32_t lists = 0;
    for (std::size_t j = 0; j < ranges.dimensions(); ++j) {
        first_[j] = lists;
        if (ranges.ranges(j) == 1) continue;
        split_.push_back(static_cast<std::uint32_t>(j));
        split_bits_[j / 64] |= std::uint64_t{1} << (j % 64);
        lists += static_cast<std::uint32_t>(ranges.ranges(j));
    }
    first_.back() = lists;
    bits_.assign(lists * words_, 0);
    class_bits_.assign(has_class_bits_ ? class_stride_ * words_ : 0, 0);
    count_.assign(lists, 0);
    class_count_.assign(lists * class_stride_, 0);
    weights.resize(lists);
}

void Lists::add(std::size_t point, const std::uint8_t* code, std::size_t slot) noexcept {
    const std::size_t words = words_, stride = class_stride_;
    const std::uint64_t bit = std::uint64_t{1} << (point % 64);
    const std::uint32_t* const first = first_.data();
    std::uint64_t* const bits = bits_.data() + point / 64;
    std::uint16_t *const count = count_.data(), *const class_count = class_count_.data() + slot;
    if (has_class_bits_) class_bits_[slot * words + point / 64] |= bit;
    for (const std::uint32_t j : split_) {
        if (code[j] == kMissing) continue;
        const std::size_t list = first[j] + code[j];
        bits[list * words] |= bit;
        ++count[list];
        ++class_count[list * stride];
    }
}

void Lists::replace(std::size_t point, const std::uint8_t* old_code, std::size_t old_slot, const std::uint8_t* code,
                    std::size_t slot) noexcept {
    const std::size_t words = words_, stride = class_stride_;
    const std::uint64_t bit = std::uint64_t{1} << (point % 64);
    const std::uint32_t* const first = first_.data();
    std::uint64_t* const bits = bits_.data() + point / 64;
    std::uint16_t *const count = count_.data(), *const class_count = class_count_.data();
    class_bits_[old_slot * words + point / 64] &= ~bit;
    class_bits_[slot * words + point / 64] |= bit;
    for (std::size_t block = 0; block < split_bits_.size(); ++block) {
        const std::uint64_t differ = kernels().differing(code + block * 64, old_code + block * 64);
        for (std::uint64_t left = differ & split_bits_[block]; left != 0; left &= left - 1) {
            const std::size_t j = block * 64 + static_cast<std::size_t>(std::countr_zero(left));
            if (old_code[j] != kMissing) {
                const std::size_t list = first[j] + old_code[j];
                bits[list * words] &= ~bit;
                --count[list];
                --class_count[list * stride + old_slot];
            }
            if (code[j] != kMissing) {
                const std::size_t list = first[j] + code[j];
                bits[list * words] |= bit;
                ++count[list];
                ++class_count[list * stride + slot];
            }
        }
        if (slot == old_slot) continue;
        for (std::uint64_t left = ~differ & split_bits_[block]; left != 0; left &= left - 1) {
            const std::size_t j = block * 64 + static_cast<std::size_t>(std::countr_zero(left));
            if (code[j] == kMissing) continue;
            std::uint16_t* const of_slot = class_count + (first[j] + code[j]) * stride;
            --of_slot[old_slot];
            ++of_slot[slot];
        }
    }
}

void Lists::renew(std::size_t word, const std::uint8_t* rows, std::size_t places, std::size_t stride,
                  std::span<const ClassPlaces> classes) noexcept {
    for (const ClassPlaces& each : classes) {
        std::uint64_t& members = class_bits_[each.slot * words_ + word];
        members = (members & ~each.before) | each.after;
    }
    const ListWords lists{bits_.data() + word, words_,        count_.data(),    class_count_.data(),
                          class_stride_,       first_.data(), first_.size() - 1};
    kernels().renew_word(lists, rows, places, stride, classes.data(), classes.size());
}

std::size_t Lists::own_bytes() const noexcept {
    return (first_.capacity() + split_.capacity()) * sizeof(std::uint32_t) +
           (split_bits_.capacity() + bits_.capacity() + class_bits_.capacity()) * sizeof(std::uint64_t) +
           (count_.capacity() + class_count_.capacity()) * sizeof(std::uint16_t) + weights.own_bytes();
}

}  // namespace anystream::subspace
