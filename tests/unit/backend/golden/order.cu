#line 1 "definitions"

// def order<4, 2>(u32* p, i32 n):
#line 2 "test.tile"
TV_KERNEL(1) order_kernel(tv::u8* p, tv::i32 n, tv::u8* turn_memory, tv::u8* swizzled_memory) {
  // b, c = BlockIndices()
#line 3
  tv::i32 b = tv::block_x();
#line 3
  tv::i32 c = tv::block_y();
  // g = ViewGlobal(p, shape=[n, 2])
#line 4
  tv::View<2> g = {p, {tv::extent(n), 2}, {2, 1}};
  // turn = AllocateGlobal(i32, shape=[2], init=0)
#line 5
  tv::View<1> turn = {turn_memory, {2}, {1}};
  // swizzled = AllocateGlobal(i32, shape=[8, 4], layout=row_major(8, 4).swizzle(0, 2, 2), init=0)
#line 6
  tv::View<2> swizzled = {swizzled_memory, {8, 4}, {}};
  // LockSemaphore(turn, b, offset=[c])
  {
#line 7
    const tv::u64 at0_ = tv::index(c);
#line 7
    if (!(at0_ < turn.extent[0])) tv::fault();
#line 7
    tv::lock_semaphore(turn.data + tv::bytes<32>(at0_ * turn.stride[0]), static_cast<tv::u32>(b));
  }
  // ReleaseSemaphore(swizzled, -1, offset=[b, 0])
  {
#line 8
    const tv::u64 at0_ = tv::index(b);
#line 8
    const tv::u64 at1_ = 0;
#line 8
    if (!(at0_ < swizzled.extent[0] && at1_ < swizzled.extent[1])) tv::fault();
#line 8
    tv::release_semaphore(swizzled.data + tv::bytes<32>(tv::swizzle<0, 2, 2>(at1_ + at0_ * 4)),
        static_cast<tv::u32>(-1));
  }
  // count = AtomicAdd(g, 5, offset=[n - 1, c])
#line 9
  tv::u32 count;
  {
#line 9
    const tv::u64 at0_ = tv::index(tv::sub(n, 1));
#line 9
    const tv::u64 at1_ = tv::index(c);
#line 9
    if (!(at0_ < g.extent[0] && at1_ < g.extent[1])) tv::fault();
#line 9
    count = static_cast<tv::u32>(tv::atomic_add(g.data + tv::bytes<32>(at0_ * g.stride[0] + at1_ * g.stride[1]),
        static_cast<tv::u32>(5)));
  }
  // while count < 3:
#line 10
  while (count < 3u) {
    // count = AtomicAdd(g, count, offset=[n - 1, c])
    {
#line 11
      const tv::u64 at0_ = tv::index(tv::sub(n, 1));
#line 11
      const tv::u64 at1_ = tv::index(c);
#line 11
      if (!(at0_ < g.extent[0] && at1_ < g.extent[1])) tv::fault();
#line 11
      count = static_cast<tv::u32>(tv::atomic_add(g.data + tv::bytes<32>(at0_ * g.stride[0] + at1_ * g.stride[1]),
          static_cast<tv::u32>(count)));
    }
  }
  // ReleaseSemaphore(turn, b + 1, offset=[c])
  {
#line 12
    const tv::u64 at0_ = tv::index(c);
#line 12
    if (!(at0_ < turn.extent[0])) tv::fault();
#line 12
    tv::release_semaphore(turn.data + tv::bytes<32>(at0_ * turn.stride[0]),
        static_cast<tv::u32>(tv::add(b, 1)));
  }
}
