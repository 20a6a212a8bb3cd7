#line 1 "definitions"

// def accesses<8>(f16* p, u8* q, f16* r):
#line 2 "test.tile"
TV_KERNEL(32) accesses_kernel(tv::u8* p, tv::u8* q, tv::u8* r) {
  TV_SHARED(shared_);
  // t = BlockIndices()
#line 3
  tv::i32 t = tv::block_x();
  // gp = ViewGlobal(p, shape=[256, 64])
#line 4
  tv::View<2> gp = {p, {256, 64}, {64, 1}};
  // gq = ViewGlobal(q, shape=[16, 1024])
#line 5
  tv::View<2> gq = {q, {16, 1024}, {1024, 1}};
  // gr = ViewGlobal(r, shape=[256, 64])
#line 6
  tv::View<2> gr = {r, {256, 64}, {64, 1}};
  // s = AllocateShared(f16, shape=[2, 16, 64], layout=row_major(2, 16, 64).swizzle(3, 3, 3))
  tv::u8* const s = shared_ + 0;
  // w = AllocateShared(u8, shape=[2, 1024])
  tv::u8* const w = shared_ + 4096;
  // CopyAsync(s, gp, offset=[t * 16:, 0:], shared_offset=[t % 2, 0:, 0:])
  {
#line 9
    const tv::u32 base0_ = tv::short_index(tv::mul(t, 16)) + tv::thread() / 8,
        base1_ = tv::thread() % 8 * 8;
#line 9
    tv::u8* const at_ = gp.data + tv::bytes<16>(base0_ * 64 + base1_);
#line 9
    const tv::u32 to_base0_ = tv::short_index(tv::mod(t, 2)), to_base1_ = tv::thread() / 8,
        to_base2_ = tv::thread() % 8 * 8;
#line 9
    const tv::i32 to_at_ = tv::bytes<16>(tv::swizzle<3, 3,
        3>(to_base2_ + to_base1_ * 64 + to_base0_ * 1024));
    TV_UNROLL for (int l_ = 0; l_ < 4; ++l_) {
#line 9
      const tv::u32 i0_ = l_ * 4, i1_ = 0;
#line 9
      const tv::u32 to_i0_ = 0, to_i1_ = 0, to_i2_ = 0;
#line 9
      const tv::u32 to_x0_ = 0, to_x1_ = l_ * 4, to_x2_ = 0;
#line 9
      tv::cp_async<16>(s + (to_at_ ^ tv::bytes<16>(tv::swizzle<3, 3,
          3>(to_x2_ + to_x1_ * 64 + to_x0_ * 1024))) + tv::bytes<16>(tv::swizzle<3, 3,
          3>(to_i2_ + to_i1_ * 64 + to_i0_ * 1024)), at_ + tv::bytes<16>(i0_ * 64 + i1_), 16);
    }
  }
  // CopyAsync(w, gq, offset=[t, 0:], shared_offset=[t % 2, 0:])
  {
#line 10
    const tv::u32 base0_ = tv::short_index(t), base1_ = tv::thread() * 16;
#line 10
    tv::u8* const at_ = gq.data + tv::bytes<8>(base0_ * 1024 + base1_);
#line 10
    const tv::u32 to_base0_ = tv::short_index(tv::mod(t, 2)), to_base1_ = tv::thread() * 16;
#line 10
    tv::u8* const to_at_ = w + tv::bytes<8>(to_base1_ + to_base0_ * 1024);
    TV_UNROLL for (int l_ = 0; l_ < 2; ++l_) {
#line 10
      const tv::u32 i0_ = 0, i1_ = l_ * 512;
#line 10
      const tv::u32 to_i0_ = 0, to_i1_ = l_ * 512;
#line 10
      tv::cp_async<16>(to_at_ + tv::bytes<8>(to_i1_ + to_i0_ * 1024),
          at_ + tv::bytes<8>(i0_ * 1024 + i1_), 16);
    }
  }
  // CopyAsyncCommitGroup()
#line 11
  tv::cp_async_commit_group();
  // CopyAsyncWaitGroup(0)
#line 12
  tv::cp_async_wait_group<0>();
  // Synchronize()
#line 13
  tv::synchronize();
  // a = LoadShared(s, layout=local(1, 4).column_local(2, 2).spatial(8, 4).local(1, 2), offset=[t % 2, 0:, 0:])
#line 14
  tv::u32 a[16] = {};
#line 14
  tv::synchronize_warp();
  {
#line 14
    const tv::u32 base0_ = tv::short_index(tv::mod(t, 2)), base1_ = tv::thread() % 16,
        base2_ = tv::thread() / 16 * 8;
#line 14
    const tv::i32 at_ = tv::bytes<16>(tv::swizzle<3, 3, 3>(base2_ + base1_ * 64 + base0_ * 1024));
    TV_UNROLL for (int l_ = 0; l_ < 4; ++l_) {
#line 14
      const tv::u32 i0_ = 0, i1_ = 0, i2_ = 0;
#line 14
      const tv::u32 x0_ = 0, x1_ = 0, x2_ = l_ * 16;
#line 14
      tv::ldmatrix<4,
          false>(a + l_ * 4,
          s + (at_ ^ tv::bytes<16>(tv::swizzle<3, 3,
          3>(x2_ + x1_ * 64 + x0_ * 1024))) + tv::bytes<16>(tv::swizzle<3, 3,
          3>(i2_ + i1_ * 64 + i0_ * 1024)));
    }
  }
#line 14
  tv::synchronize_warp();
  // b = LoadShared(s, layout=local(1, 8).local(2, 1).column_spatial(4, 8).local(2, 1), offset=[t % 2, 0:, 0:])
#line 15
  tv::u32 b[16] = {};
#line 15
  tv::synchronize_warp();
  {
#line 15
    const tv::u32 base0_ = tv::short_index(tv::mod(t, 2)), base1_ = tv::thread() % 16,
        base2_ = tv::thread() / 16 * 8;
#line 15
    const tv::i32 at_ = tv::bytes<16>(tv::swizzle<3, 3, 3>(base2_ + base1_ * 64 + base0_ * 1024));
    TV_UNROLL for (int l_ = 0; l_ < 4; ++l_) {
#line 15
      const tv::u32 i0_ = 0, i1_ = 0, i2_ = 0;
#line 15
      const tv::u32 x0_ = 0, x1_ = 0, x2_ = l_ * 16;
#line 15
      tv::ldmatrix<4,
          true>(b + l_ * 4,
          s + (at_ ^ tv::bytes<16>(tv::swizzle<3, 3,
          3>(x2_ + x1_ * 64 + x0_ * 1024))) + tv::bytes<16>(tv::swizzle<3, 3,
          3>(i2_ + i1_ * 64 + i0_ * 1024)));
    }
  }
#line 15
  tv::synchronize_warp();
  // c = LoadShared(w, layout=local(2).spatial(32).local(16), offset=[t % 2, 0:])
#line 16
  tv::u32 c[8] = {};
  {
#line 16
    const tv::u32 base0_ = tv::short_index(tv::mod(t, 2)), base1_ = tv::thread() * 16;
#line 16
    tv::u8* const at_ = w + tv::bytes<8>(base1_ + base0_ * 1024);
    TV_UNROLL for (int l_ = 0; l_ < 2; ++l_) {
#line 16
      const tv::u32 i0_ = 0, i1_ = l_ * 512;
#line 16
      tv::load_bytes<16>(c, l_ * 16, at_ + tv::bytes<8>(i1_ + i0_ * 1024), true);
    }
  }
  // Synchronize()
#line 17
  tv::synchronize();
  // StoreShared(a, s, offset=[0, 0:, 0:])
#line 18
  tv::synchronize_warp();
  {
#line 18
    const tv::u32 base0_ = 0, base1_ = tv::thread() % 16, base2_ = tv::thread() / 16 * 8;
#line 18
    const tv::i32 at_ = tv::bytes<16>(tv::swizzle<3, 3, 3>(base2_ + base1_ * 64 + base0_ * 1024));
    TV_UNROLL for (int l_ = 0; l_ < 4; ++l_) {
#line 18
      const tv::u32 i0_ = 0, i1_ = 0, i2_ = 0;
#line 18
      const tv::u32 x0_ = 0, x1_ = 0, x2_ = l_ * 16;
#line 18
      tv::stmatrix<4,
          false>(s + (at_ ^ tv::bytes<16>(tv::swizzle<3, 3,
          3>(x2_ + x1_ * 64 + x0_ * 1024))) + tv::bytes<16>(tv::swizzle<3, 3,
          3>(i2_ + i1_ * 64 + i0_ * 1024)), a + l_ * 4);
    }
  }
#line 18
  tv::synchronize_warp();
  // Synchronize()
#line 19
  tv::synchronize();
  // StoreGlobal(b, gr, offset=[t * 16:, 0:])
  {
#line 20
    const tv::u32 base0_ = tv::short_index(tv::mul(t, 16)) + tv::thread() % 4 * 2,
        base1_ = tv::thread() / 4;
#line 20
    tv::u8* const at_ = gr.data + tv::bytes<16>(base0_ * 64 + base1_);
    TV_UNROLL for (int l_ = 0; l_ < 32; ++l_) {
#line 20
      const tv::u32 i0_ = l_ % 2 + l_ / 2 % 2 * 8, i1_ = l_ / 4 * 8;
#line 20
      tv::store_bytes<2>(at_ + tv::bytes<16>(i0_ * 64 + i1_), b, l_ * 2);
    }
  }
  // StoreGlobal(c, gq, offset=[t, 0:])
  {
#line 21
    const tv::u32 base0_ = tv::short_index(t), base1_ = tv::thread() * 16;
#line 21
    tv::u8* const at_ = gq.data + tv::bytes<8>(base0_ * 1024 + base1_);
    TV_UNROLL for (int l_ = 0; l_ < 2; ++l_) {
#line 21
      const tv::u32 i0_ = 0, i1_ = l_ * 512;
#line 21
      tv::store_bytes<16>(at_ + tv::bytes<8>(i0_ * 1024 + i1_), c, l_ * 16);
    }
  }
  // StoreGlobal(LoadShared(s, layout=local(2, 2).spatial(8, 4).local(1, 8), offset=[0, 0:, 0:]), gr, offset=[t * 16 + 128:, 0:])
#line 22
  tv::u32 LoadShared_s[16] = {};
  {
#line 22
    const tv::u32 base0_ = 0, base1_ = tv::thread() / 4, base2_ = tv::thread() % 4 * 8;
#line 22
    const tv::i32 at_ = tv::bytes<16>(tv::swizzle<3, 3, 3>(base2_ + base1_ * 64 + base0_ * 1024));
    TV_UNROLL for (int l_ = 0; l_ < 4; ++l_) {
#line 22
      const tv::u32 i0_ = 0, i1_ = l_ / 2 * 8, i2_ = 0;
#line 22
      const tv::u32 x0_ = 0, x1_ = 0, x2_ = l_ % 2 * 32;
#line 22
      tv::load_bytes<16>(LoadShared_s, l_ * 16,
          s + (at_ ^ tv::bytes<16>(tv::swizzle<3, 3,
          3>(x2_ + x1_ * 64 + x0_ * 1024))) + tv::bytes<16>(tv::swizzle<3, 3,
          3>(i2_ + i1_ * 64 + i0_ * 1024)), true);
    }
  }
  // StoreGlobal(LoadShared(s, layout=local(2, 2).spatial(8, 4).local(1, 8), offset=[0, 0:, 0:]), gr, offset=[t * 16 + 128:, 0:])
  {
#line 22
    const tv::u32 base0_ = tv::short_index(tv::add(tv::mul(t, 16), 128)) + tv::thread() / 4,
        base1_ = tv::thread() % 4 * 8;
#line 22
    tv::u8* const at_ = gr.data + tv::bytes<16>(base0_ * 64 + base1_);
    TV_UNROLL for (int l_ = 0; l_ < 4; ++l_) {
#line 22
      const tv::u32 i0_ = l_ / 2 * 8, i1_ = l_ % 2 * 32;
#line 22
      tv::store_bytes<16>(at_ + tv::bytes<16>(i0_ * 64 + i1_), LoadShared_s, l_ * 16);
    }
  }
}
