#line 1 "definitions"

namespace tile {
typedef tv::Uint<3> u3;
}  // namespace tile

// def narrow<1>(u3* p, u3* q, i64 n):
#line 2 "test.tile"
TV_KERNEL(64) narrow_kernel(tv::u8* p, tv::u8* q, tv::i64 n, tv::u8* w_memory) {
  // g = ViewGlobal(p, shape=[n, 8], layout=column_major)
#line 3
  tv::View<2> g = {p, {tv::extent(n), 8}, {1, tv::index(tv::mul(1ll, n))}};
  // h = ViewGlobal(q, shape=[16, 8])
#line 4
  tv::View<2> h = {q, {16, 8}, {8, 1}};
  // w = AllocateGlobal(u3, shape=[16, 8])
#line 5
  tv::View<2> w = {w_memory, {16, 8}, {8, 1}};
  // a = LoadGlobal(g, layout=replicated(2).spatial(8, 4).local(2, 2), offset=[n - 16:, 0:])
#line 6
  tv::u32 a[1] = {};
  {
#line 6
    const tv::u64 base0_ = tv::index(tv::sub(n, 16ll)) + tv::thread() / 4 % 8 * 2,
        base1_ = tv::thread() % 4 * 2;
    TV_UNROLL for (int l_ = 0; l_ < 4; ++l_) {
#line 6
      const tv::u64 i0_ = base0_ + l_ / 2, i1_ = base1_ + l_ % 2;
#line 6
      const bool inside_ = i0_ < g.extent[0];
#line 6
      tv::put<3>(a, l_ % 2 + l_ / 2 * 2,
          inside_ ? tv::load<3>(g.data, i0_ + i1_ * g.stride[1]) : 0);
    }
  }
  // StoreGlobal(Neg(a), w)
#line 7
  tv::u32 Neg_a[1] = {};
#line 7
  tv::unary_tile<tv::Neg, tile::u3, 4>(Neg_a, a);
  // StoreGlobal(Neg(a), w)
  {
#line 7
    const tv::u32 base0_ = tv::thread() / 4 % 8 * 2, base1_ = tv::thread() % 4 * 2;
    TV_UNROLL for (int l_ = 0; l_ < 4; ++l_) {
#line 7
      const tv::u32 i0_ = base0_ + l_ / 2, i1_ = base1_ + l_ % 2;
#line 7
      tv::store<3>(w.data, i0_ * 8 + i1_, tv::get<3>(Neg_a, l_ % 2 + l_ / 2 * 2));
    }
  }
  // b = LoadGlobal(w, layout=replicated(2).spatial(8, 4).local(2, 2))
#line 8
  tv::u32 b[1] = {};
  {
#line 8
    const tv::u32 base0_ = tv::thread() / 4 % 8 * 2, base1_ = tv::thread() % 4 * 2;
    TV_UNROLL for (int l_ = 0; l_ < 4; ++l_) {
#line 8
      const tv::u32 i0_ = base0_ + l_ / 2, i1_ = base1_ + l_ % 2;
#line 8
      tv::put<3>(b, l_ % 2 + l_ / 2 * 2, true ? tv::load<3>(w.data, i0_ * 8 + i1_) : 0);
    }
  }
  // StoreGlobal(Mul(a, b), h)
#line 9
  tv::u32 Mul_a_b[1] = {};
#line 9
  tv::binary_tile<tv::Mul, tile::u3, 4>(Mul_a_b, a, b);
  // StoreGlobal(Mul(a, b), h)
  {
#line 9
    const tv::u32 base0_ = tv::thread() / 4 % 8 * 2, base1_ = tv::thread() % 4 * 2;
    TV_UNROLL for (int l_ = 0; l_ < 4; ++l_) {
#line 9
      const tv::u32 i0_ = base0_ + l_ / 2, i1_ = base1_ + l_ % 2;
#line 9
      tv::store<3>(h.data, i0_ * 8 + i1_, tv::get<3>(Mul_a_b, l_ % 2 + l_ / 2 * 2));
    }
  }
}
