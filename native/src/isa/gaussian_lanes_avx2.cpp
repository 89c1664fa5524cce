#define ANYSTREAM_VECTOR_BYTES 32
#include "gaussian_lanes.inc"

extern const LaneKernels lane_kernels_avx2;
const LaneKernels lane_kernels_avx2 = kTable;

}  // namespace anystream::bayes_tree
