#define ANYSTREAM_VECTOR_BYTES 16
#include "gaussian_lanes.inc"

extern const LaneKernels lane_kernels_baseline;
const LaneKernels lane_kernels_baseline = kTable;

}  // namespace anystream::bayes_tree
