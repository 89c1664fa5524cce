#include "anystream/isa.hpp"
#include "anystream/text/kernels.hpp"

namespace anystream::text {

extern const Kernels kernels_baseline;
#if defined(ANYSTREAM_X86_LEVELS)
extern const Kernels kernels_avx2, kernels_avx512;
#endif

const Kernels& kernels() {
#if defined(ANYSTREAM_X86_LEVELS)
    static const Kernels& table = by_level(kernels_baseline, kernels_avx2, kernels_avx512);
    return table;
#else
    return kernels_baseline;
#endif
}

}  // namespace anystream::text
