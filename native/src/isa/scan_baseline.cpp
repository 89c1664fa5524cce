#include "scan.inc"

extern const ScanKernels scan_kernels_baseline;
const ScanKernels scan_kernels_baseline = kTable;

}  // namespace anystream
