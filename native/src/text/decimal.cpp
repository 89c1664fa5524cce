#include "anystream/text/decimal.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <version>

namespace anystream::text {

const char* read_long_decimal(const char* at, const char* end, double& value) noexcept {
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

}  // namespace anystream::text
