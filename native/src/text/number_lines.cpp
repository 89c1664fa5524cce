#include "anystream/text/number_lines.hpp"

#include <cstring>
#include <limits>
#include <string_view>

#include "anystream/text/decimal.hpp"
#include "anystream/text/plain_lines.hpp"
#include "anystream/text/utf8.hpp"

namespace anystream::text {

namespace {

constexpr std::size_t kMaxLine = 1 << 16;  // Python's parser has a limit for cells above this

[[nodiscard]] bool is_space(char c, char delimiter) noexcept {
    return (c == ' ' || c == '\t') && c != delimiter;
}

/// Reads a cell that is a plain number or empty; returns its end, the delimiter or the end of the line, or nullptr.
[[nodiscard]] const char* read_number(const char* at, const char* end, char delimiter, double& value) noexcept {
    while (at < end && is_space(*at, delimiter)) ++at;
    if (at == end || *at == delimiter) {
        value = std::numeric_limits<double>::quiet_NaN();
        return at;
    }
    const bool negative = *at == '-';
    const char* first = at + (negative | (*at == '+'));
    const bool plain = first < end && (is_digit(*first) || (*first == '.' && first + 1 < end && is_digit(first[1])));
    if (!plain) return nullptr;
    at = read_decimal(first, end, value);
    if (at == nullptr || !(value < kExactLimit)) return nullptr;
    value = with_sign(value, negative);
    while (at < end && is_space(*at, delimiter)) ++at;
    return at == end || *at == delimiter ? at : nullptr;
}

[[nodiscard]] const char* find(const char* at, const char* end, char wanted) noexcept {
    const void* found = std::memchr(at, wanted, static_cast<std::size_t>(end - at));
    return found == nullptr ? end : static_cast<const char*>(found);
}

/// Whether a line has neither quotes nor carriage returns, and is well-formed text of a moderate length.
[[nodiscard]] bool is_plain(std::string_view line) noexcept {
    if (line.size() > kMaxLine) return false;
    unsigned char special = 0, all = 0;  // bytes, so that the compiler looks at many at once
    for (const char c : line) {
        special |= static_cast<unsigned char>(c == '"') | static_cast<unsigned char>(c == '\r');
        all |= static_cast<unsigned char>(c);
    }
    return special == 0 && (all < 0x80 || is_utf8(line));
}

}  // namespace

std::size_t read_number_lines(const TextLines& lines, const LineLayout& layout, std::span<double> numbers,
                              std::span<std::int64_t> text_starts, std::span<std::int64_t> text_ends) {
    const char* text = lines.text.data();
    return count_plain(lines.starts.size(), [&](std::size_t i) {
        const char *at = text + lines.starts[i], *end = text + lines.ends[i];
        if (!is_plain({at, static_cast<std::size_t>(end - at)})) return false;
        double* number = numbers.data() + i * layout.numbers.size();
        std::int64_t* text_start = text_starts.data() + i * layout.texts.size();
        std::int64_t* text_end = text_ends.data() + i * layout.texts.size();
        std::size_t next_number = 0, next_text = 0;
        for (std::size_t place = 0; place < layout.columns; ++place) {
            const auto here = static_cast<std::int32_t>(place);
            const char* cell = at;
            if (next_number < layout.numbers.size() && layout.numbers[next_number] == here) {
                at = read_number(at, end, layout.delimiter, number[next_number++]);
                if (at == nullptr) return false;
            } else {
                at = find(at, end, layout.delimiter);
            }
            if (next_text < layout.texts.size() && layout.texts[next_text] == here) {
                text_start[next_text] = cell - text;
                text_end[next_text++] = at - text;
            }
            const bool last = place + 1 == layout.columns;
            if (last != (at == end)) return false;  // too few or too many cells
            ++at;
        }
        return true;
    });
}

}  // namespace anystream::text
