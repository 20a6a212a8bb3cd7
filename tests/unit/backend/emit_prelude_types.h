// Every element type as a type of the prelude, beside the value that describes it.
#pragma once

#include <tuple>
#include <utility>

#include "isa/type/dtype.h"
#include "tests/unit/backend/emit_host_prelude.h"

namespace tilevm::backend {

template <int first, int last>
struct Counted {
  template <template <int> class T>
  static auto types() {
    return []<int... i>(std::integer_sequence<int, i...>) {
      return std::tuple<T<first + i>...>{};
    }(std::make_integer_sequence<int, last - first + 1>{});
  }
};

/// Floats of n bits with every split into exponent and mantissa.
template <int n>
auto small_floats() {
  return []<int... i>(std::integer_sequence<int, i...>) {
    return std::tuple<tv::Float<n, 1 + i, n - 2 - i,
                                n == 8 && i == 3   ? tv::nan_only
                                : n == 8 && i == 4 ? tv::ieee
                                                   : tv::all_finite>...>{};
  }(std::make_integer_sequence<int, n - 2>{});
}

/// Types of at most 8 bits. Under sanitizers every pair of them costs minutes of compilation, so
/// one of each sort stands for all.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool every_type = false;
using NarrowTypes =
    std::tuple<tv::Int<1>, tv::Int<6>, tv::Int<8>, tv::Uint<1>, tv::Uint<5>, tv::Uint<8>,
               tv::Bipolar<1>, tv::Bipolar<4>, tv::Float<3, 1, 1, tv::all_finite>,
               tv::Float<6, 3, 2, tv::all_finite>, tv::Float<8, 4, 3, tv::nan_only>,
               tv::Float<8, 5, 2, tv::ieee>, tv::Float<8, 8, 0, tv::nan_only>,
               tv::Float<7, 4, 3, tv::nan_only>>;
#else
inline constexpr bool every_type = true;
using NarrowTypes = decltype(std::tuple_cat(
    Counted<1, 8>::types<tv::Int>(), Counted<1, 8>::types<tv::Uint>(),
    Counted<1, 8>::types<tv::Bipolar>(), small_floats<3>(), small_floats<4>(), small_floats<5>(),
    small_floats<6>(), small_floats<7>(), small_floats<8>(),
    std::tuple<tv::Float<8, 8, 0, tv::nan_only>, tv::Float<7, 4, 3, tv::nan_only>>{}));
#endif
using WideTypes = std::tuple<tv::Int<16>, tv::Int<32>, tv::Int<64>, tv::Uint<16>, tv::Uint<32>,
                             tv::Uint<64>, tv::Float<16, 5, 10>, tv::Float<16, 8, 7>,
                             tv::Float<32, 8, 10>, tv::Float<32, 8, 23>, tv::Float<64, 11, 52>>;
using AllTypes = decltype(std::tuple_cat(NarrowTypes{}, WideTypes{}));

/// The value that describes a type of the prelude.
template <class T>
constexpr isa::DType dtype_of() {
  constexpr isa::TypeKind kind = T::kind == tv::signed_int     ? isa::TypeKind::signed_int
                                 : T::kind == tv::unsigned_int ? isa::TypeKind::unsigned_int
                                 : T::kind == tv::floating     ? isa::TypeKind::floating
                                                               : isa::TypeKind::bipolar;
  return {kind, static_cast<std::uint8_t>(T::bits), static_cast<std::uint8_t>(T::exponent),
          static_cast<std::uint8_t>(T::mantissa)};
}

/// Calls f.template operator()<T>() for every type of a tuple.
template <class Types, class F>
void for_each_type(F&& f) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (f.template operator()<std::tuple_element_t<i, Types>>(), ...);
  }(std::make_index_sequence<std::tuple_size_v<Types>>{});
}

}  // namespace tilevm::backend
