#include "anystream/bayes_tree/learning_kernels.hpp"
#include "anystream/isa.hpp"

namespace anystream::bayes_tree {

extern const LearningKernels learning_kernels_baseline;
#if defined(ANYSTREAM_X86_LEVELS)
extern const LearningKernels learning_kernels_avx2, learning_kernels_avx512;
#endif

const LearningKernels& learning_kernels() {
#if defined(ANYSTREAM_X86_LEVELS)
    static const LearningKernels& table =
        by_level(learning_kernels_baseline, learning_kernels_avx2, learning_kernels_avx512);
    return table;
#else
    return learning_kernels_baseline;
#endif
}

}  // namespace anystream::bayes_tree
