#include "text.inc"

extern const Kernels kernels_baseline;
const Kernels kernels_baseline = kTable;

}  // namespace anystream::text
