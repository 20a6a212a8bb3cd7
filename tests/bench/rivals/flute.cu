// FLUTE (github.com/HanGuo97/flute, with the headers of CUTLASS 3.4.1) for weights of BITS bits as
// a C function, with those of its configurations that its own tables choose most often for groups
// of 128 and up to 16 rows, and one for more rows.
#include <cute/tensor.hpp>

#include "qgemm_kernel.hpp"

namespace {

struct Arguments {
  int m, n, k, p;
  const cute::half_t* a;
  const cute::uint16_t* weights;
  cute::half_t* c;
  const cute::half_t* scales;
  const cute::half_t* table;
  const __half2* pairs;
  void* workspace;
  int blocks;
  cudaStream_t stream;
};

template <int Threads, int TileM, int Stages>
void launch(const Arguments& x) {
  using cute::Int;
  qgemm_host<cute::half_t, cute::uint16_t, __half2, Int<Threads>, Int<TileM>, Int<64>, Int<32>,
             Int<Stages>, Int<BITS>, Int<128>, config::QuantMapModeEnum::Vectorized,
             config::AccumulationModeEnum::Mixed, config::DecompositionModeEnum::StreamK, Int<2>,
             Int<1>>(x.m, x.n, x.k, x.p, x.a, x.weights, x.c, x.scales, x.table, x.pairs,
                     x.workspace, x.blocks, x.stream);
}

}  // namespace

// c[m, n] = a[m, k] x (table[code] scale), a scale for 128 weights; `pairs` are all pairs of the
// table. `stages` and `rows` choose the configuration. Returns 0, 1 for a configuration that is not
// here, or CUDA's error.
extern "C" int rival_flute(const void* a, const void* weights, void* c, const void* scales,
                           const void* table, const void* pairs, void* workspace, int m, int n,
                           int k, int p, int rows, int stages, int blocks, void* stream) {
  const Arguments x{m,
                    n,
                    k,
                    p,
                    static_cast<const cute::half_t*>(a),
                    static_cast<const cute::uint16_t*>(weights),
                    static_cast<cute::half_t*>(c),
                    static_cast<const cute::half_t*>(scales),
                    static_cast<const cute::half_t*>(table),
                    static_cast<const __half2*>(pairs),
                    workspace,
                    blocks,
                    static_cast<cudaStream_t>(stream)};
  if (rows == 16 && stages == 3) launch<128, 16, 3>(x);
#if BITS == 3
  else if (rows == 16 && stages == 2)
    launch<128, 16, 2>(x);
#else
  else if (rows == 16 && stages == 4)
    launch<128, 16, 4>(x);
#endif
  else if (rows == 32 && stages == 3)
    launch<256, 32, 3>(x);
  else
    return 1;
  return static_cast<int>(cudaGetLastError());
}
