#include "anystream/bayes_tree/kernels.hpp"
#include "anystream/isa.hpp"

namespace anystream::bayes_tree {

extern const Kernels kernels_baseline;
#if defined(ANYSTREAM_X86_LEVELS)
extern const Kernels kernels_avx2, kernels_avx512;
#endif

const Kernels& kernels_of_this_machine() {
#if defined(ANYSTREAM_X86_LEVELS)
    return by_level(kernels_baseline, kernels_avx2, kernels_avx512);
#else
    return kernels_baseline;
#endif
}

}  // namespace anystream::bayes_tree
