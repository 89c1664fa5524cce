#include "learning.inc"

extern const LearningKernels learning_kernels_baseline;
const LearningKernels learning_kernels_baseline = kTable;

}  // namespace anystream::bayes_tree
