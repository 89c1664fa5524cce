#include "anystream/isa.hpp"
#include "scan_kernels.hpp"

namespace anystream {

extern const ScanKernels scan_kernels_baseline;
#if defined(ANYSTREAM_X86_LEVELS)
extern const ScanKernels scan_kernels_avx2, scan_kernels_avx512;
#endif

const ScanKernels& scan_kernels() {
#if defined(ANYSTREAM_X86_LEVELS)
    static const ScanKernels& table = by_level(scan_kernels_baseline, scan_kernels_avx2, scan_kernels_avx512);
    return table;
#else
    return scan_kernels_baseline;
#endif
}

}  // namespace anystream
