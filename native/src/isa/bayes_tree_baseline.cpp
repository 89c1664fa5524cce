#include "bayes_tree.inc"

extern const Kernels kernels_baseline;
const Kernels kernels_baseline = kTable;

}  // namespace anystream::bayes_tree
