#include "anystream/text/decimal.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <version>

namespace anystream::text {

namespace {

constexpr int kShortDigits = 15;  // any 15 digits are a whole number below 2^53
constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/// Reads a decimal of few digits without an exponent, which is most of them: the quotient of two doubles that are exact
/// is rounded once, as it must be (Clinger's fast path). Returns nullptr if it is none.
[[nodiscard]] const char* read_short(const char* at, const char* end, double& value) noexcept {
    const bool negative = at < end && *at == '-';
    if (negative) ++at;
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
    const double whole = static_cast<double>(digits) / kPowers[decimals];
    value = negative ? -whole : whole;
    return at;
}

[[nodiscard]] const char* read_any(const char* at, const char* end, double& value) noexcept {
#if defined(__cpp_lib_to_chars)
    const auto found = std::from_chars(at, end, value);
    return found.ec == std::errc() ? found.ptr : nullptr;
#else
    char copy[64];
    std::size_t length = 0;
    for (; at + length < end && length < sizeof copy - 1; ++length) {
        const char c = at[length];
        if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+') break;
        copy[length] = c;
    }
    if (length == sizeof copy - 1) return nullptr;
    copy[length] = 0;
    char* stop = nullptr;
    value = std::strtod(copy, &stop);
    return stop == copy || std::isinf(value) ? nullptr : at + (stop - copy);
#endif
}

}  // namespace

const char* read_decimal(const char* at, const char* end, double& value) noexcept {
    const char* stop = read_short(at, end, value);
    return stop != nullptr ? stop : read_any(at, end, value);
}

}  // namespace anystream::text
