#include "learning.inc"

extern const LearningKernels learning_kernels_avx512;
const LearningKernels learning_kernels_avx512 = kTable;

}  // namespace anystream::bayes_tree
