// Where the lines of a text begin and end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace anystream::text {

/// Writes where the first lines of a text begin and end, as many as `starts` and `ends` hold, and returns the length of
/// the longest. A line ends before `line_end`, and before a carriage return that precedes it, which is part of its
/// length. Returns nothing if the text has fewer lines that end.
std::optional<std::size_t> find_lines(std::span<const char> text, char line_end, std::span<std::int64_t> starts,
                                      std::span<std::int64_t> ends) noexcept;

}  // namespace anystream::text
