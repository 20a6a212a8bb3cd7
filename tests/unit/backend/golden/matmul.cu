#line 1 "definitions"

namespace tile {
typedef tv::Float<16, 5, 10> f16;
typedef tv::Float<32, 8, 23> f32;
}  // namespace tile

namespace tv {
TV_FN void mma_m16n8k16_f32_f16_f16_f32(u32& c0, u32& c1, u32& c2, u32& c3,
    u32 a0, u32 a1, u32 a2, u32 a3,
    u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3),
        "r"(b0), "r"(b1));
}
}  // namespace tv

// def matmul<16, 8>(f16* a_ptr, u8* b_ptr, f16* c_ptr):
#line 2 "test.tile"
TV_KERNEL(32) matmul_kernel(tv::u8* a_ptr, tv::u8* b_ptr, tv::u8* c_ptr) {
  // bi, bj = BlockIndices()
#line 3
  tv::i32 bi = tv::block_x();
#line 3
  tv::i32 bj = tv::block_y();
  // ga = ViewGlobal(a_ptr, shape=[256, 512])
#line 4
  tv::View<2> ga = {a_ptr, {256, 512}, {512, 1}};
  // gb = ViewGlobal(b_ptr, shape=[32, 8, 96])
#line 5
  tv::View<3> gb = {b_ptr, {32, 8, 96}, {768, 96, 1}};
  // gc = ViewGlobal(c_ptr, shape=[256, 64])
#line 6
  tv::View<2> gc = {c_ptr, {256, 64}, {64, 1}};
  // acc = AllocateRegister(f32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0.0)
#line 7
  tv::u32 acc[4] = {};
#line 7
  tv::fill_tile<tile::f32, 4>(acc, 0x0u);
  // for bk in range(32):
#line 8
  for (tv::i32 bk = 0; bk < 32; bk += 1) {
    // a = LoadGlobal(ga, layout=column_local(2, 2).spatial(8, 4).local(1, 2),
    // offset=[bi * 16:, bk * 16:])
#line 9
    tv::u32 a[4] = {};
    {
#line 9
      const tv::u32 base0_ = tv::short_index(tv::mul(bi, 16)) + tv::thread() / 4,
          base1_ = tv::short_index(tv::mul(bk, 16)) + tv::thread() % 4 * 2;
#line 9
      tv::u8* const at_ = ga.data + tv::bytes<16>(base0_ * 512 + base1_);
      TV_UNROLL for (int l_ = 0; l_ < 4; ++l_) {
#line 9
        const tv::u32 i0_ = l_ % 2 * 8, i1_ = l_ / 2 * 8;
#line 9
        tv::load_bytes<4>(a, l_ * 4, at_ + tv::bytes<16>(i0_ * 512 + i1_), true);
      }
    }
    // b = LoadGlobal(gb, layout=local(3).spatial(32), offset=[bk, bj, 0:])
#line 11
    tv::u32 b[1] = {};
    {
#line 11
      const tv::u32 base0_ = tv::short_index(bk), base1_ = tv::short_index(bj),
          base2_ = tv::thread();
#line 11
      tv::u8* const at_ = gb.data + tv::bytes<8>(base0_ * 768 + base1_ * 96 + base2_);
      TV_UNROLL for (int l_ = 0; l_ < 3; ++l_) {
#line 11
        const tv::u32 i0_ = 0, i1_ = 0, i2_ = l_ * 32;
#line 11
        tv::load_bytes<1>(b, l_ * 1, at_ + tv::bytes<8>(i0_ * 768 + i1_ * 96 + i2_), true);
      }
    }
    // b1 = View(b, dtype=i6, layout=local(2, 1).column_spatial(4, 8).local(2, 1))
    // Dot(a, Cast(b1, f16), acc, out=acc)
#line 13
    tv::u32 Cast_b1_f16[2] = {};
    {
#line 13
      Cast_b1_f16[0] = tv::f16x2_add(tv::and_xor((b[0] << 10), 0x3f0000u,
          tv::and_xor(b[0], 0x3fu, 0x64206420u)), 0xe420e420u);
#line 13
      Cast_b1_f16[1] = tv::f16x2_fma(tv::and_xor((b[0] >> 12), 0x3fu,
          tv::and_xor(b[0], 0xfc0000u, 0x64806420u)), 0x34003c00u, 0xdc80e420u);
    }
    // Dot(a, Cast(b1, f16), acc, out=acc)
#line 13
    tv::mma_m16n8k16_f32_f16_f16_f32(acc[0], acc[1], acc[2], acc[3], a[0], a[1], a[2], a[3],
        Cast_b1_f16[0], Cast_b1_f16[1]);
  }
  // StoreGlobal(Cast(acc, f16), gc, offset=[bi * 16:, bj * 8:])
#line 14
  tv::u32 Cast_acc_f16[2] = {};
#line 14
  tv::cast_tile<tile::f32, tile::f16, 4>(Cast_acc_f16, acc);
  // StoreGlobal(Cast(acc, f16), gc, offset=[bi * 16:, bj * 8:])
  {
#line 14
    const tv::u32 base0_ = tv::short_index(tv::mul(bi, 16)) + tv::thread() / 4,
        base1_ = tv::short_index(tv::mul(bj, 8)) + tv::thread() % 4 * 2;
#line 14
    tv::u8* const at_ = gc.data + tv::bytes<16>(base0_ * 64 + base1_);
    TV_UNROLL for (int l_ = 0; l_ < 2; ++l_) {
#line 14
      const tv::u32 i0_ = l_ * 8, i1_ = 0;
#line 14
      tv::store_bytes<4>(at_ + tv::bytes<16>(i0_ * 64 + i1_), Cast_acc_f16, l_ * 4);
    }
  }
}
