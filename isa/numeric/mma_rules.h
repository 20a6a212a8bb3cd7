// How a tensor core adds: the parameters of its arithmetic, per target, instruction and types.
//
// Every floating class but f64 works in blocks. One block takes the accumulator and up to `block`
// products, aligns them at the greatest exponent among them (at least `min_exponent`), truncates
// each magnitude `fraction_bits` below it, adds the rest exactly, and rounds once to `output`.
// Common to all:
//   products are not normalised before alignment (a product is in [0, 4) * 2^exponent), neither
//   are subnormal operands; terms that are zero take no part in the greatest exponent;
//   a NaN operand, 0 * Inf, or Infs of both signs give the canonical NaN, another Inf wins;
//   a zero result is +0, whatever was added or truncated.
// A sparse instruction multiplies the stored elements of a alone; a block counts those.
// Scales of block-scaled operands are two more factors of their products, which no block rounds.
//
// Every rule names its source. sim/mma/mma_model.h computes by these rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/numeric/target.h"
#include "isa/type/dtype.h"

namespace tilevm::isa {

/// The shape of the computation.
enum class MmaMethod : std::uint8_t {
  blocks,     ///< blocks of consecutive k in ascending order, the accumulator in the first one
  fp8_split,  ///< compiled to f16 instructions: operands become f16, where subnormals of f8e4m3 are
              ///< normal; from +0, one block of the products with k % 4 in {0, 1} and one of the
              ///< others; then an IEEE addition of the accumulator. In a sparse instruction k
              ///< numbers the stored products
  integer,    ///< exact sum, wraps modulo 2^32
  f64_chain,  ///< acc = fma(a[k], b[k], acc), k ascending, IEEE
};

/// How a block rounds its sum.
enum class MmaRounding : std::uint8_t {
  f32_toward_zero,    ///< overflow gives Inf, as everywhere here
  e8m13_toward_zero,  ///< f32, but 13 fraction bits: the low ten of the f32 are zero
  f16_nearest_even,   ///< nearest even, of f16; 65520 and more gives Inf
  none,               ///< integer and f64
};

/// How far a rule is known to be what the hardware does.
enum class Evidence : std::uint8_t {
  by_definition,  ///< exact arithmetic: nothing to find out
  measured,       ///< compared with hardware by us
  published,      ///< agrees with published hardware results
  claimed,        ///< taken from the literature
};

/// The instructions that multiply matrices.
enum class MmaFamily : std::uint8_t {
  mma,      ///< `mma.sync`, of a warp
  wgmma,    ///< `wgmma.mma_async`, of a warp group (sm_90a)
  tcgen05,  ///< `tcgen05.mma`, on tensor memory (sm_100a, sm_103a, sm_107a, sm_110a)
};

/// Block scaling, by the names of PTX: products side by side along k share a scale of a and one of
/// b. ue8m0 is 2^(code - 127), 0xff is NaN; ue4m3 is f8e4m3 whose sign is ignored.
enum class MmaScaling : std::uint8_t {
  none,
  mxf8f6f4,        ///< ue8m0 for 32 products of floats of 4, 6 and 8 bits in any mix
  mxf4,            ///< ue8m0 for 32 products of f4e2m1
  mxf4nvf4_ue8m0,  ///< ue8m0 for 16 of them
  mxf4nvf4_ue4m3,  ///< ue4m3 for 16 of them
};

/// How many products share a scale; 0 without scales.
[[nodiscard]] int products_per_scale(MmaScaling scaling);

/// Instructions that share a rule, whatever their extents.
struct MmaClass {
  Target target;
  DType a, b, accumulator;  ///< the result has the accumulator's type
  MmaFamily family = MmaFamily::mma;
  bool sparse = false;  ///< half of a is stored
  MmaScaling scaling = MmaScaling::none;
};

/// The name of the instructions: "mma", "wgmma.sp", "tcgen05.mma kind::mxf4".
[[nodiscard]] std::string instruction_name(const MmaClass& each);

struct MmaRule {
  MmaMethod method = MmaMethod::blocks;
  int block = 0;          ///< most products in a block
  int fraction_bits = 0;  ///< kept below the greatest exponent
  int min_exponent = 0;   ///< the least alignment exponent
  /// Not 0: so many products, added exactly, times their scales are one term of a block. It has the
  /// exponent of its two scales, even where it is zero.
  int group = 0;
  MmaRounding output = MmaRounding::none;
  MmaScaling scaling = MmaScaling::none;
  Evidence evidence = Evidence::claimed;
  std::string_view source = {};  ///< description of the evidence

  friend bool operator==(const MmaRule&, const MmaRule&) = default;
};

/// The rule of a class; nothing where the target has no such instruction, or where nobody says how
/// it adds (sparse block-scaled operands).
[[nodiscard]] std::optional<MmaRule> mma_rule(const MmaClass& each);

/// The rule of dense `mma.sync` without scales. From sm_80 on: f16 f16 -> f32 or f16; bf16 bf16 ->
/// f32; tf32 tf32 -> f32; f8e4m3 and f8e5m2 in any mix -> f32 or f16; i8 and u8, i4 and u4 in any
/// mix, u1 u1 -> i32; f64 f64 -> f64.
[[nodiscard]] inline std::optional<MmaRule> mma_rule(const Target& target, const DType& a,
                                                     const DType& b, const DType& accumulator) {
  return mma_rule(MmaClass{target, a, b, accumulator});
}

/// Every class that has a rule: those of sm_70, sm_75 and of each architecture that programs may
/// name.
[[nodiscard]] std::vector<MmaClass> mma_classes();

}  // namespace tilevm::isa
