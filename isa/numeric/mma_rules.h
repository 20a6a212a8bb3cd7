// How a tensor core adds: the parameters of its arithmetic, per target and operand types.
//
// Every floating class but f64 works in blocks. One block takes the accumulator and up to `block`
// products, aligns them at the greatest exponent among them (at least `min_exponent`), truncates
// each magnitude `fraction_bits` below it, adds the rest exactly, and rounds once to `output`.
// Common to all:
//   products are not normalised before alignment (a product lies in [0, 4) * 2^exponent), neither
//   are subnormal operands; terms that are zero take no part in the greatest exponent;
//   a NaN operand, 0 * Inf, or Infs of both signs give the canonical NaN, another Inf wins;
//   a zero result is +0, whatever was added or truncated.
//
// Every rule names its source. sim/mma_model.h computes by these rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "isa/numeric/target.h"
#include "isa/type/dtype.h"

namespace tilevm::isa {

/// The shape of the computation.
enum class MmaMethod : std::uint8_t {
  blocks,     ///< blocks of consecutive k in ascending order, the accumulator in the first one
  fp8_split,  ///< compiled to f16 instructions: operands become f16, where subnormals of f8e4m3 are
              ///< normal; from +0, one block of the products with k % 4 in {0, 1} and one of the
              ///< others; then an IEEE addition of the accumulator
  integer,    ///< exact sum, wraps modulo 2^32
  f64_chain,  ///< acc = fma(a[k], b[k], acc), k ascending, IEEE
};

/// How a block rounds its sum.
enum class MmaRounding : std::uint8_t {
  f32_toward_zero,    ///< overflow gives Inf, as everywhere here
  e8m13_toward_zero,  ///< as f32, but 13 fraction bits: the low ten of the f32 are zero
  f16_nearest_even,   ///< of f16; 65520 and more gives Inf
  none,               ///< integer and f64
};

/// How far a rule is known to be what the hardware does.
enum class Evidence : std::uint8_t {
  by_definition,  ///< exact arithmetic: nothing to find out
  measured,       ///< compared with hardware by us
  published,      ///< agrees with published hardware results
  claimed,        ///< taken from the literature
};

struct MmaRule {
  MmaMethod method = MmaMethod::blocks;
  int block = 0;          ///< most products in a block
  int fraction_bits = 0;  ///< kept below the greatest exponent
  int min_exponent = 0;   ///< the least alignment exponent
  MmaRounding output = MmaRounding::none;
  Evidence evidence = Evidence::claimed;
  std::string_view source = {};  ///< whose evidence, in words

  friend bool operator==(const MmaRule&, const MmaRule&) = default;
};

/// The rule of `mma.sync` with operands of types a and b and accumulator and result of type
/// `accumulator`; nothing where the target has no such instruction. Types: f16 f16 -> f32 or f16;
/// bf16 bf16 -> f32; tf32 tf32 -> f32; f8e4m3 and f8e5m2 in any mix -> f32 or f16; i8 and u8, i4
/// and u4 in any mix, u1 u1 -> i32; f64 f64 -> f64.
[[nodiscard]] std::optional<MmaRule> mma_rule(const Target& target, const DType& a, const DType& b,
                                              const DType& accumulator);

}  // namespace tilevm::isa
