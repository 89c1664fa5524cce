#include "text.inc"

extern const Kernels kernels_avx2;
const Kernels kernels_avx2 = kTable;

}  // namespace anystream::text
