#define ANYSTREAM_VECTOR_BYTES 64
#include "gaussian_lanes.inc"

extern const LaneKernels lane_kernels_avx512;
const LaneKernels lane_kernels_avx512 = kTable;

}  // namespace anystream::bayes_tree
