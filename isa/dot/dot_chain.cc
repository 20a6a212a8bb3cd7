#include "isa/dot/dot_chain.h"

#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

/// Whether `to`, a float type, holds every number of `from` but for NaN's payload.
bool holds(const DType& to, const DType& from) {
  const int digits = to.mantissa_bits + 1;
  // The least exponents are far below 0 in all accumulators, so integers need digits only.
  if (!from.is_float()) return from.bits <= digits;
  // Without an infinity, the greatest exponent has numbers that the wider type does not have there,
  // unless its only code is NaN.
  const bool greatest_fits = from.exponent_bits < to.exponent_bits ||
                             from.specials() == Specials::ieee || from.mantissa_bits == 0;
  return from.mantissa_bits <= to.mantissa_bits && from.exponent_bits <= to.exponent_bits &&
         greatest_fits;
}

bool is_accumulator(const DType& type) {
  return type == f64 || type == f32 || type == f16 || type == bf16;
}

}  // namespace

bool chain_takes(const DType& a, const DType& b, const DType& accumulator) {
  if (is_accumulator(accumulator)) return holds(accumulator, a) && holds(accumulator, b);
  if (!accumulator.is_integer() || accumulator.bits < 32) return false;
  return !a.is_float() && !b.is_float() && a.bits <= accumulator.bits && b.bits <= accumulator.bits;
}

std::optional<ChainPlaces> chain_places(const RegisterLayout& a, const RegisterLayout& b,
                                        const RegisterLayout& c) {
  if (a.num_threads() != c.num_threads() || b.num_threads() != c.num_threads()) return std::nullopt;
  for (std::int64_t t = 0; t < c.num_threads(); ++t) {
    const Index part = c.thread_part(t);
    if (a.thread_part(t) != Index{part[0], part[1], 0}) return std::nullopt;
    if (b.thread_part(t) != Index{part[0], 0, part[2]}) return std::nullopt;
  }
  // A thread's places hold the digits that the thread index does not; so its elements of a are its
  // rows of c by all of k, at places whose shares add up.
  ChainPlaces places;
  for (std::int64_t i = 0; i < c.num_locals(); ++i) {
    const Index index = c.local_part(i);
    places.a_row.push_back(static_cast<std::int32_t>(a.local_of({index[0], index[1], 0})));
    places.b_column.push_back(static_cast<std::int32_t>(b.local_of({index[0], 0, index[2]})));
  }
  for (std::int64_t k = 0; k < a.shape()[2]; ++k) {
    places.a_depth.push_back(static_cast<std::int32_t>(a.local_of({0, 0, k})));
    places.b_depth.push_back(static_cast<std::int32_t>(b.local_of({0, k, 0})));
  }
  return places;
}

std::optional<ChainLayouts> chain_layouts(const RegisterLayout& c, std::int64_t k) {
  const auto rows = reduce(c, {2}, true), columns = reduce(c, {1}, true);
  const auto wide = local({1, 1, k}), tall = local({1, k, 1});
  if (!rows || !columns || !wide || !tall) return std::nullopt;
  const auto a = compose(*rows, *wide), b = compose(*columns, *tall);
  if (!a || !b) return std::nullopt;
  return ChainLayouts{*a, *b};
}

}  // namespace tilevm::isa
