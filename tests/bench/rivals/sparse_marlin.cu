// Sparse-MARLIN (github.com/IST-DASLab/Sparse-Marlin) as a C function. build.sh puts its source,
// with the changes that it makes, on the path of included files.
#include "marlin_cuda_kernel_nm.cu"

// c[m, n] = a[m, k] x 2:4 sparse weights in Sparse-MARLIN's order; `group` is counted in stored
// weights, half of those of a column. `locks` are zeros, and are zeros again afterwards. Returns 0,
// or its number of what does not fit.
extern "C" int rival_sparse_marlin(const void* a, const void* weights, const void* places, void* c,
                                   void* scales, int m, int n, int k, void* locks, int group,
                                   int device, void* stream) {
  // Its own names are those of the transposed product: its m is n here.
  return marlin::marlin_cuda_2_4(a, weights, places, c, scales, n, m, k, locks, group, device,
                                 static_cast<cudaStream_t>(stream));
}
