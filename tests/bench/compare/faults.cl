// One planted fault a kernel; with FIXED it is mended. 64 work-items in a group, x and y of 64 ints,
// x[i] = i.
#ifdef FIXED
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
#define MENDED 1
#else
#define SYNC
#define MENDED 0
#endif

__kernel void missing_barrier(__global int* x, __global int* y) {
  __local int s[64];
  int i = get_local_id(0);
  s[i] = x[i];
  SYNC;
  y[i] = s[63 - i];
}

__kernel void missing_barrier_before_reuse(__global int* x, __global int* y) {
  __local int s[64];
  int i = get_local_id(0), sum = 0;
  for (int round = 0; round < 2; ++round) {
    s[i] = x[i] + round;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += s[63 - i];
    SYNC;
  }
  y[i] = sum;
}

__kernel void out_of_bounds(__global int* x, __global int* y) {
  int i = get_local_id(0);
  if (i < 63 || !MENDED) y[i + 1] = x[i];
}

__kernel void out_of_bounds_shared(__global int* x, __global int* y) {
  __local int s[64];
  int i = get_local_id(0);
  s[MENDED ? i : i + 1] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = s[MENDED || i > 0 ? i : 1];
}

__kernel void uninitialized_shared(__global int* x, __global int* y) {
  __local int s[64];
  int i = get_local_id(0);
  if (i < 63 || MENDED) s[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = s[63 - i];
}

__kernel void uninitialized_register(__global int* x, __global int* y) {
  int i = get_local_id(0);
  int v[2];
  if (i < 63 || MENDED) v[0] = x[i];
  v[1] = i;
  y[i] = v[x[0]];
}

__kernel void inter_block_race(__global int* x, __global int* y) {
  int group = get_group_id(0), i = get_local_id(0);
  if (group == 0 || !MENDED) y[i] = x[i] + group;
}

__kernel void missing_wait(__global int* x, __global int* y) {
  __local int s[64];
  int i = get_local_id(0);
  event_t copy = async_work_group_copy(s, x, 64, 0);
  if (MENDED) wait_group_events(1, &copy);
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = s[63 - i];
  if (!MENDED) wait_group_events(1, &copy);
}

__kernel void copy_source_overwritten(__global int* x, __global int* y) {
  __local int s[64];
  int i = get_local_id(0);
  event_t copy = async_work_group_copy(s, x, 64, 0);
  if (!MENDED) x[i] = 0;
  wait_group_events(1, &copy);
  if (MENDED) x[i] = 0;
  y[i] = s[63 - i];
}

__kernel void division_by_zero(__global int* x, __global int* y) {
  int i = get_local_id(0);
  y[i] = 7 / x[MENDED ? 1 : i];
}

__kernel void endless_loop(__global int* x, __global int* y) {
  int i = get_local_id(0);
  int steps = 0;
  while (x[0] == steps) {
    y[i] += 1;
    if (MENDED) ++steps;
  }
}

__kernel void sub_byte_neighbours(__global int* x, __global int* y) {
  __local uchar s[32];
  int i = get_local_id(0);
  if (i < 32) s[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i % 2 == 0) s[i / 2] = (s[i / 2] & 0xf0) | (x[i] & 15);
  SYNC;
  if (i % 2 == 1) s[i / 2] = (s[i / 2] & 0x0f) | ((x[i] & 15) << 4);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < 32) y[i] = s[i];
}
