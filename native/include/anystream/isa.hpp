// Which instructions the machine offers: found once, or forced by ANYSTREAM_ISA (baseline, avx2, avx512).
//
// A room that needs machine-dependent kernels writes them once in native/src/isa/<room>.inc, includes that text in one
// file per level (<room>_baseline.cpp, _avx2.cpp, _avx512.cpp) and chooses with `by_level`. The files are compiled with
// their own flags, so they must not instantiate inline functions with external linkage (nothing from std that is not a
// builtin). Contraction is off everywhere: all levels give the same bits.
#pragma once

namespace anystream {

enum class IsaLevel { baseline, avx2, avx512 };

/// The level in use. Throws std::runtime_error if ANYSTREAM_ISA names no level, or one that this machine lacks.
IsaLevel isa_level();

const char* isa_name(IsaLevel level) noexcept;

template <typename Table>
const Table& by_level(const Table& baseline, const Table& avx2, const Table& avx512) {
    switch (isa_level()) {
        case IsaLevel::avx512:
            return avx512;
        case IsaLevel::avx2:
            return avx2;
        default:
            return baseline;
    }
}

}  // namespace anystream
