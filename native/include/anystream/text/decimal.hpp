// Decimal numbers at the beginning of a text.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace anystream::text {

inline constexpr double kExactLimit = 0x1p53;  // whole numbers below this are doubles

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

/// The value or its opposite, without a branch: signs of data cannot be predicted.
[[nodiscard]] inline double with_sign(double value, bool negative) noexcept {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ (std::uint64_t{negative} << 63));
}

inline constexpr int kShortDigits = 15;  // any 15 digits are a whole number below 2^53
inline constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/// Reads a decimal of few digits without an exponent, which is most of them: the quotient of two doubles that are exact
/// is rounded once, as it must be (Clinger's fast path). Returns nullptr if it is none.
[[nodiscard]] inline const char* read_short(const char* at, const char* end, double& value) noexcept {
    const bool negative = at < end && *at == '-';
    at += negative;
    std::uint64_t digits = 0;
    const char* first = at;
    while (at < end && is_digit(*at)) digits = 10 * digits + static_cast<std::uint64_t>(*at++ - '0');
    std::ptrdiff_t count = at - first, decimals = 0;
    if (at < end && *at == '.') {
        first = ++at;
        while (at < end && is_digit(*at)) digits = 10 * digits + static_cast<std::uint64_t>(*at++ - '0');
        decimals = at - first;
    }
    count += decimals;
    if (count == 0 || count > kShortDigits || (at < end && (*at == 'e' || *at == 'E'))) return nullptr;
    value = with_sign(static_cast<double>(digits) / kPowers[decimals], negative);
    return at;
}

/// Reads any decimal, as `read_decimal` does.
[[nodiscard]] const char* read_long_decimal(const char* at, const char* end, double& value) noexcept;

/// Reads a decimal, rounded to the nearest double; returns where it ends, nullptr if there is none or it is no finite
/// number. The first character is a digit, a point or a minus.
[[nodiscard]] inline const char* read_decimal(const char* at, const char* end, double& value) noexcept {
    const char* stop = read_short(at, end, value);
    return stop != nullptr ? stop : read_long_decimal(at, end, value);
}

}  // namespace anystream::text
