// Numbers and short texts in lines that are JSON objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "anystream/text/number_lines.hpp"

namespace anystream::text {

/// A member of objects that is read: as a number, as a text, or as both.
struct JsonMember {
    std::string name;
    std::int32_t number;  // its column among the numbers; -1: none
    std::int32_t text;    // its column among the texts; -1: none
    bool required;        // a line without it is not plain
};

/// What a text is: bytes of a string, digits of a whole number, or nothing (null, or no such member).
enum class TextKind : std::uint8_t { string, whole, none };

struct JsonColumns {
    std::size_t numbers, texts;                    // columns
    std::span<double> number;                      // (lines, numbers); NaN for null and for members that are not there
    std::span<std::int64_t> text_start, text_end;  // (lines, texts)
    std::span<std::uint8_t> text_kind;             // (lines, texts)
    std::span<std::uint8_t> found;                 // (lines, members): whether a line has the member
};

/// Reads lines until one is not plain, and returns how many were. A plain line is an object in UTF-8 without nested
/// values, escapes or members of the same name; its numbers are below 2^53 in magnitude, or null.
std::size_t read_json_lines(const TextLines& lines, std::span<const JsonMember> members, const JsonColumns& out);

}  // namespace anystream::text
