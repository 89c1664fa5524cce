#include "learning.inc"

extern const LearningKernels learning_kernels_avx2;
const LearningKernels learning_kernels_avx2 = kTable;

}  // namespace anystream::bayes_tree
