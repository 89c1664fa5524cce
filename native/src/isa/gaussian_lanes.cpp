#include "anystream/bayes_tree/lane_kernels.hpp"
#include "anystream/isa.hpp"

namespace anystream::bayes_tree {

extern const LaneKernels lane_kernels_baseline;
#if defined(ANYSTREAM_X86_LEVELS)
extern const LaneKernels lane_kernels_avx2, lane_kernels_avx512;
#endif

const LaneKernels& lane_kernels() {
#if defined(ANYSTREAM_X86_LEVELS)
    static const LaneKernels& table = by_level(lane_kernels_baseline, lane_kernels_avx2, lane_kernels_avx512);
    return table;
#else
    return lane_kernels_baseline;
#endif
}

}  // namespace anystream::bayes_tree
