#include "anystream/text/utf8.hpp"

#include <cstddef>
#include <cstdint>

namespace anystream::text {

namespace {

struct Sequence {
    std::size_t length;
    std::uint32_t lowest;  // code point of this length
};

[[nodiscard]] constexpr Sequence sequence_of(unsigned char lead) noexcept {
    if (lead < 0xc0) return {0, 0};
    if (lead < 0xe0) return {2, 0x80};
    if (lead < 0xf0) return {3, 0x800};
    if (lead < 0xf8) return {4, 0x10000};
    return {0, 0};
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
    unsigned char any = 0;
    for (const char c : text) any |= static_cast<unsigned char>(c);
    if (any < 0x80) return true;
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        if (lead < 0x80) {
            ++i;
            continue;
        }
        const auto [length, lowest] = sequence_of(lead);
        if (length == 0 || length > text.size() - i) return false;
        std::uint32_t point = lead & (0xffu >> (length + 1));
        for (std::size_t k = 1; k < length; ++k) {
            const auto next = static_cast<unsigned char>(text[i + k]);
            if ((next & 0xc0) != 0x80) return false;
            point = point << 6 | (next & 0x3fu);
        }
        if (point < lowest || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return false;
        i += length;
    }
    return true;
}

}  // namespace anystream::text
