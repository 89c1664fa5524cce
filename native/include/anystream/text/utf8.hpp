#pragma once

#include <string_view>

namespace anystream::text {

/// Whether a text is well-formed UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace anystream::text
