// The machine-dependent part of a scan: which blocks hold a lane that may lie within a bound.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anystream {

/// Blocks of 16 lanes, dimension-major, and the largest error of each.
struct ScanBlocks {
    const std::uint32_t* values;  // [block][pair of dimensions][16]: two bfloat16, the even dimension in the low half
    const float* slack;           // [block]
    std::size_t dimensions;
    std::size_t categorical;  // of Norm::mixed
};

struct ScanKernels {
    /// The first block of [first, last) with a lane that may lie within bound + slack of it (a distance, scaled), and
    /// those lanes as bits in `lanes`; `last` if there is none. Work on a block ends when no lane can. Where values are
    /// missing the bound holds for the distance weighted up, the slack for what is present.
    using Next = std::size_t (*)(const ScanBlocks& blocks, const float* x, std::size_t first, std::size_t last,
                                 float bound, unsigned* lanes);
    /// The same for four queries side by side; lanes[q] of each. Returns when one of them has a lane.
    using NextOfFour = std::size_t (*)(const ScanBlocks& blocks, const float* const* x, std::size_t first,
                                       std::size_t last, const float* bound, unsigned* lanes);

    /// The powers of all lanes of the blocks [first, last), scaled and in float32.
    using Powers = void (*)(const ScanBlocks& blocks, const float* x, std::size_t first, std::size_t last, float* out);

    Next next[4];         // by Norm
    Next next_masked[4];  // where values may be missing
    NextOfFour next_of_four[4];
    Powers powers[4];
    Powers powers_masked[4];
};

/// The table for this machine, chosen once.
const ScanKernels& scan_kernels();

}  // namespace anystream
