// The instruction set in use: detected once, or forced by ANYSTREAM_ISA (baseline, avx2, avx512).
//
// A package with machine-dependent kernels has them once in native/src/isa/<name>.inc, includes that text in one file
// per level (<name>_baseline.cpp, _avx2.cpp, _avx512.cpp) and chooses with `by_level`. The files are compiled with
// their own flags, so they must not instantiate inline functions with external linkage (nothing from std that is not a
// builtin). Contraction is off everywhere: all levels give the same bits.
#pragma once

namespace anystream {

enum class IsaLevel { baseline, avx2, avx512 };

/// The level in use. Throws std::runtime_error if ANYSTREAM_ISA is not a level, or one that this machine lacks.
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
