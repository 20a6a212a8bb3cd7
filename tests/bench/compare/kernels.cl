// The cases in OpenCL C: tiles of BM x BN x BK through local memory, TY x TX work-items, each with
// RM x RN elements of c. Oclgrind has no half arithmetic, so halves are widened when they are read.
#ifdef BM
#define RM (BM / TY)
#define RN (BN / TX)

float weight(__global const uchar* b, int index) {
  int bit = index * 6;
  int two = b[bit / 8] | (b[bit / 8 + 1] << 8);
  return (float)((((two >> (bit % 8)) & 63) ^ 32) - 32);
}

__kernel void matmul(__global const half* a, __global const void* b, __global void* c, int M, int N,
                     int K) {
  __local ushort a_bits[BM * BK];
  __local ushort b_bits[BK * BN];
  __local half* sa = (__local half*)a_bits;  // arrays of half are an extension
  __local half* sb = (__local half*)b_bits;
  int tx = get_local_id(1), ty = get_local_id(0);
  int i0 = get_group_id(0) * BM, j0 = get_group_id(1) * BN;
  float acc[RM][RN];
  for (int r = 0; r < RM; ++r)
    for (int s = 0; s < RN; ++s) acc[r][s] = 0;
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int e = ty * TX + tx; e < BM * BK; e += TX * TY) {
      int i = i0 + e / BK, k = k0 + e % BK;
      vstore_half(i < M && k < K ? vload_half(i * K + k, a) : 0.0f, e, sa);
    }
    for (int e = ty * TX + tx; e < BK * BN; e += TX * TY) {
      int k = k0 + e / BN, j = j0 + e % BN;
      float value = 0;
#ifdef QUANTIZED
      if (k < K && j < N) value = weight((__global const uchar*)b, k * N + j);
#else
      if (k < K && j < N) value = vload_half(k * N + j, (__global const half*)b);
#endif
      vstore_half(value, e, sb);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < BK; ++k)
      for (int r = 0; r < RM; ++r)
        for (int s = 0; s < RN; ++s)
          acc[r][s] += vload_half((ty + r * TY) * BK + k, sa) * vload_half(k * BN + tx + s * TX, sb);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int r = 0; r < RM; ++r)
    for (int s = 0; s < RN; ++s) {
      int i = i0 + ty + r * TY, j = j0 + tx + s * TX;
      if (i >= M || j >= N) continue;
#ifdef QUANTIZED
      vstore_half(acc[r][s], i * N + j, (__global half*)c);
#else
      ((__global float*)c)[i * N + j] = acc[r][s];
#endif
    }
}
#endif

__kernel void vadd(__global const float* a, __global const float* b, __global float* c, int N) {
  int i = get_global_id(0);
  if (i < N) c[i] = a[i] + b[i];
}
