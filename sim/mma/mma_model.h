// One output element of a tensor-core instruction, bit for bit: the exact model.
//
// It follows isa/numeric/mma_rules.h word by word in integers, for every class and any codes. It is
// the reference for the fast kernel (mma_tile.h), which leaves NaN and Inf to it.
#pragma once

#include <cstdint>
#include <span>

#include "isa/numeric/mma_rules.h"
#include "isa/type/dtype.h"

namespace tilevm::sim {

/// Scales of a row of a and of a column of b: one for each isa::products_per_scale(rule.scaling)
/// products. For a block they are the scales of the block's products.
struct MmaScales {
  std::span<const std::uint8_t> a, b;
};

/// One block: rounds c + sum of a[k] * b[k]. a and b hold as many codes, of types `a_type` and
/// `b_type`, at most 64; the c and the result are codes of f16 or f32, as rule.output says.
[[nodiscard]] std::uint64_t mma_block(const isa::MmaRule& rule, const isa::DType& a_type,
                                      const isa::DType& b_type, std::span<const std::uint64_t> a,
                                      std::span<const std::uint64_t> b, std::uint64_t c,
                                      const MmaScales& scales = {});

/// One instruction: a.size() is its k (fp8_split: at most 2 * rule.block). For a sparse
/// instruction, a and b are the stored elements of a and the matching elements of b. A chain of
/// instructions is a chain of calls, each with the previous result as c. Codes of the accumulator:
/// f32, f16, i32 or f64, as the rule says.
[[nodiscard]] std::uint64_t mma_reference(const isa::MmaRule& rule, const isa::DType& a_type,
                                          const isa::DType& b_type,
                                          std::span<const std::uint64_t> a,
                                          std::span<const std::uint64_t> b, std::uint64_t c,
                                          const MmaScales& scales = {});

/// Rounds value to `output`; the value is the exact sum of a block, whose bits a double can hold.
[[nodiscard]] std::uint32_t round_block_sum(isa::MmaRounding output, double value);

}  // namespace tilevm::sim
