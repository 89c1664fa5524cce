// Numbers in lines of text, as in CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anystream::text {

/// Which cells of a line are read, by their places from 0, ascending.
struct LineLayout {
    char delimiter;
    std::size_t columns;                    // cells of a line
    std::span<const std::int32_t> numbers;  // cells that are numbers
    std::span<const std::int32_t> texts;    // cells whose bounds are wanted
};

/// Lines of a text: line i from starts[i] to before ends[i].
struct TextLines {
    std::span<const char> text;
    std::span<const std::int64_t> starts, ends;
};

/// Reads lines until one is not plain, and returns how many were. A plain line is UTF-8 of a moderate length, with as
/// many cells as the layout, without quotes and carriage returns; its numbers are decimals below 2^53 in magnitude,
/// perhaps with spaces around them, or empty, which is NaN. Writes numbers (lines, numbers) and the first and last
/// position of each text cell (lines, texts).
std::size_t read_number_lines(const TextLines& lines, const LineLayout& layout, std::span<double> numbers,
                              std::span<std::int64_t> text_starts, std::span<std::int64_t> text_ends);

}  // namespace anystream::text
