// Dot without tensor cores: each element is a chain of multiply-adds in its own thread.
//
//   acc = c;  for k ascending: acc = fma(a, b, acc)
//
// in the type of the accumulator. f64, f32, bf16, f16: one IEEE rounding to nearest even a step,
// subnormals kept, NaN canonical. Integers: exact, modulo 2^n. Operands are converted first, and
// only types are taken whose every value the accumulator's type holds (integers: at most its
// width).
#pragma once

#include <optional>

#include "isa/dot/dot_plan.h"

namespace tilevm::isa {

/// Whether a chain may compute a x b + accumulator.
[[nodiscard]] bool chain_takes(const DType& a, const DType& b, const DType& accumulator);

/// The places, for layouts of rank 3 (as_batch), if each thread holds all of k for its elements of
/// c.
[[nodiscard]] std::optional<ChainPlaces> chain_places(const RegisterLayout& a,
                                                      const RegisterLayout& b,
                                                      const RegisterLayout& c);

/// Operand layouts of rank 3 with which each thread could compute its elements of c.
struct ChainLayouts {
  RegisterLayout a, b;
};
[[nodiscard]] std::optional<ChainLayouts> chain_layouts(const RegisterLayout& c, std::int64_t k);

}  // namespace tilevm::isa
