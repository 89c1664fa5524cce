// Decimal numbers at the beginning of a text.
#pragma once

namespace anystream::text {

inline constexpr double kExactLimit = 0x1p53;  // whole numbers below this are doubles

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

/// Reads a decimal, rounded to the nearest double; returns where it ends, nullptr if there is none or it is no finite
/// number. The first character is a digit, a point or a minus.
[[nodiscard]] const char* read_decimal(const char* at, const char* end, double& value) noexcept;

}  // namespace anystream::text
