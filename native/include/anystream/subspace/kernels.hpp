// What is done to bit sets and codes in the inner loops; one table per ISA level, all with the same results.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anystream::subspace {

inline constexpr std::uint8_t kMissing = 255;   // the code of a missing value
inline constexpr std::size_t kCodeBlock = 64;   // rows of codes are padded with kMissing to a multiple of this
inline constexpr std::size_t kLimitBlock = 16;  // rows of limits to a multiple of this

struct Kernels {
    /// out = a & b; the number of its bits.
    std::uint32_t (*intersect)(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* out, std::size_t words);
    /// The number of bits of a & b.
    std::uint32_t (*count_common)(const std::uint64_t* a, const std::uint64_t* b, std::size_t words);
    std::uint32_t (*count)(const std::uint64_t* a, std::size_t words);
    /// Whether a has a bit that b lacks.
    bool (*exceeds)(const std::uint64_t* a, const std::uint64_t* b, std::size_t words);
    /// In how many places both codes are known and differ; `size` is a multiple of kCodeBlock.
    std::uint32_t (*mismatch)(const std::uint8_t* a, const std::uint8_t* b, std::size_t size);
    /// code[j] = number of limits below x[j], kMissing for NaN. limits is (rows, size); size a multiple of kLimitBlock.
    void (*codes)(const float* x, const float* limits, std::size_t rows, std::size_t size, std::uint8_t* code);
};

const Kernels& kernels();

}  // namespace anystream::subspace
