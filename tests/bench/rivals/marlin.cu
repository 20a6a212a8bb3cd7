// MARLIN (github.com/IST-DASLab/marlin) as a C function. build.sh puts its source, with the changes
// that it makes, on the path of included files.
#include "marlin_cuda_kernel.cu"

// c[m, n] = a[m, k] x weights in MARLIN's order, `group` weights of a column a scale; `locks` are
// zeros, and are zeros again afterwards. Returns 0, or MARLIN's number of what does not fit.
extern "C" int rival_marlin(const void* a, const void* weights, void* c, void* scales, int m, int n,
                            int k, void* locks, int group, int device, void* stream) {
  return marlin_cuda(a, weights, c, scales, m, n, k, locks, group, device,
                     static_cast<cudaStream_t>(stream));
}
