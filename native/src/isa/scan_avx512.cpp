#include "scan.inc"

extern const ScanKernels scan_kernels_avx512;
const ScanKernels scan_kernels_avx512 = kTable;

}  // namespace anystream
