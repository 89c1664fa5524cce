#include "text.inc"

extern const Kernels kernels_avx512;
const Kernels kernels_avx512 = kTable;

}  // namespace anystream::text
