#include "scan.inc"

extern const ScanKernels scan_kernels_avx2;
const ScanKernels scan_kernels_avx2 = kTable;

}  // namespace anystream
