#line 1 "definitions"

namespace tile {
typedef tv::Float<32, 8, 23> f32;
typedef tv::Int<32> i32;
}  // namespace tile

// def scalars<2>(i32* p, i32 n, f32 scale):
#line 2 "test.tile"
TV_KERNEL(32) scalars_kernel(tv::u8* p, tv::i32 n, float scale) {
  // t = BlockIndices()
#line 3
  tv::i32 t = tv::block_x();
  // g = ViewGlobal(p, dtype=i32, shape=[n, 32])
#line 4
  tv::View<2> g = {p, {tv::extent(n), 32}, {32, 1}};
  // total = 0
#line 5
  tv::i32 total = 0;
  // for i in range(n, unroll=4):
#line 6
  TV_UNROLL_BY(4) for (tv::i32 i = 0, end_ = n; i < end_; i += 1) {
    // if i == 3:
#line 7
    if (i == 3) {
      // continue
#line 8
      continue;
    } else if (i > tv::mul(t, 10)) {
      // break
#line 10
      break;
#line 10
    } else {
      // total = total + i / 3
      total = tv::add(total, tv::div(i, 3));
    }
  }
  // for j in range(n, 0, -n, unroll=1):
  {
#line 13
    const tv::i32 begin_ = n, step_ = tv::neg(n);
#line 13
    TV_UNROLL_BY(1) for (tv::u64 k_ = 0, trips_ = tv::trips(begin_, 0, step_); k_ < trips_; ++k_) {
#line 13
      tv::i32 j = tv::range_value(begin_, k_, step_);
      // j = j + 1
#line 14
      j = tv::add(j, 1);
      // total = total - j
#line 15
      total = tv::sub(total, j);
    }
  }
  // while total > 100:
#line 16
  while (total > 100) {
    // total = total >> 1
#line 17
    total = tv::shr(total, 1);
  }
  // x = AllocateRegister(i32, layout=spatial(32), init=total)
#line 18
  tv::u32 x[1] = {};
#line 18
  tv::fill_tile<tile::i32, 1>(x, tv::cast<tile::i32, tile::i32>(static_cast<tv::u32>(total)));
  // y = AllocateRegister(f32, layout=spatial(32), init=scale * 2.0)
#line 19
  tv::u32 y[1] = {};
#line 19
  tv::fill_tile<tile::f32,
      1>(y, tv::cast<tile::f32,
      tile::f32>(tv::f32_bits(tv::mul(scale, tv::f32_value(0x40000000u)))));
  // z = Add(x, Cast(y, i32))
#line 20
  tv::u32 Cast_y_i32[1] = {};
#line 20
  tv::cast_tile<tile::f32, tile::i32, 1>(Cast_y_i32, y);
  // z = Add(x, Cast(y, i32))
#line 20
  tv::u32 z[1] = {};
#line 20
  tv::binary_tile<tv::Add, tile::i32, 1>(z, x, Cast_y_i32);
  // StoreGlobal(z, g, offset=[t, 0:])
  {
#line 21
    const tv::u64 base0_ = tv::index(t), base1_ = tv::thread();
#line 21
    tv::u8* const at_ = g.data + tv::bytes<32>(base0_ * 32 + base1_);
#line 21
    const bool inside_ = base0_ < g.extent[0];
#line 21
    if (inside_) tv::store_bytes<4>(at_, z, 0);
  }
}
