// What reading lines of numbers does with every character; one table per ISA level, all with the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anystream::text {

/// What `find_cells` may write behind the last cell.
inline constexpr std::size_t kSpareCells = 8;

struct Kernels {
    /// Where the cells of a line begin, counted from its first character: cell i ends before starts[i + 1] - 1, also
    /// the last one. Returns whether there are `columns` cells. Memory can be read up to `limit`; `starts` has columns
    /// + 1 + kSpareCells places.
    bool (*find_cells)(const char* line, const char* end, const char* limit, char delimiter, std::size_t columns,
                       std::uint32_t* starts);
    /// Reads cells that are short decimals, perhaps with a minus: digits and at most one point, together at most 8
    /// characters, or 16 where the machine has vectors for it. Returns how many cells are, up to the first that is not;
    /// that one may be a number all the same. Values are rounded as they must be. Memory can be read from `begin` on.
    std::size_t (*read_decimals)(const char* begin, const char* line, const std::uint32_t* starts, std::size_t cells,
                                 double* values);
};

const Kernels& kernels();

}  // namespace anystream::text
