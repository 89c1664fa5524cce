// The inner loops over bit sets and codes; one table per ISA level, all with the same results.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anystream::subspace {

inline constexpr std::uint8_t kMissing = 255;   // the code of a missing value
inline constexpr std::size_t kCodeBlock = 64;   // rows of codes are padded with kMissing to a multiple of this
inline constexpr std::size_t kLimitBlock = 16;  // rows of limits to a multiple of this

/// A query's codes among those of points; rows are `size` long, a multiple of kCodeBlock.
struct CodesView {
    const std::uint8_t* query;
    const std::uint8_t* rows;
    const std::uint8_t* unrelated;  // the distance of different codes at a categorical position; 0 at a numeric one
    std::size_t size;
};

struct Kernels {
    /// out = a & b; the number of its bits.
    std::uint32_t (*intersect)(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* out, std::size_t words);
    /// The number of bits of a & b.
    std::uint32_t (*count_common)(const std::uint64_t* a, const std::uint64_t* b, std::size_t words);
    std::uint32_t (*count)(const std::uint64_t* a, std::size_t words);
    /// Whether a has a bit that b lacks.
    bool (*exceeds)(const std::uint64_t* a, const std::uint64_t* b, std::size_t words);
    /// The first `max_points` points of a bit set, from word `first` on and cyclically, and the distance of each from
    /// the query: the sum of the differences of the codes that both have. Returns their number.
    std::size_t (*distances)(const CodesView& codes, const std::uint64_t* points, std::size_t words, std::size_t first,
                             std::size_t max_points, std::uint32_t* place, std::uint32_t* distance);
    /// code[j] = number of limits below x[j], kMissing for NaN. limits is (rows, size); size a multiple of kLimitBlock.
    /// rows[b] of them count for block b of kLimitBlock columns: the others are +inf.
    void (*codes)(const float* x, const float* limits, const std::uint8_t* rows, std::size_t size, std::uint8_t* code);
    /// out[j] = x[j] as a float: beyond its range the largest one, and one zero only. NaN stays.
    void (*floats)(const double* x, std::size_t size, float* out);
    /// The smallest and the largest value of each column of (rows, columns), those before included. NaN is left out.
    void (*extremes)(const float* values, std::size_t rows, std::size_t columns, float* lowest, float* highest);
    /// inner[j] != 0 if column j has a value strictly between its lowest and its highest one.
    void (*inner)(const float* values, std::size_t rows, std::size_t columns, const float* lowest, const float* highest,
                  std::int32_t* inner);
};

const Kernels& kernels();

}  // namespace anystream::subspace
