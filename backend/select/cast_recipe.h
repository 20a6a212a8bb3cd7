// Casts of whole tiles from types of 8 bits or fewer, as bit recipes.
//
// A register of the result holds two elements of f16 or bf16, or four of 8 bits. Source bits are
// put where they make a float that is known up to a scale and an offset, and one multiply-add
// corrects both. Every step is exact for every code, so the result is that of isa::cast:
//
//   integers    0x6400 | q << s is 1024 + q 2^s in f16, s + n <= 10; 0x4300 | q << s is 128 + q 2^s
//               in bf16, s + n <= 7. Without the constant, q << s is q 2^(s - 133) in bf16,
//               s + n <= 8; 2^(133 - s) takes two steps. A signed code with its sign inverted is
//               the unsigned code of the value + 2^(n - 1); a bipolar value is twice its code -
//               (2^n - 1). Where q 2^s, a subnormal number of f16 or bf16, is wanted itself,
//               nothing follows; nor where q is wanted in the mantissa of a power of two, as 0x5400
//               | q << 4 is 64 + q.
//   floats      the sign at bit 15, exponent and mantissa at the lower end of the result's
//               exponent, times 2^(difference of the biases), which subnormals survive. Inf and NaN
//               of f8e5m2 are f16's; a NaN of f8e4m3 gets the exponent bit that is missing.
//   to 8 bits   the bits of the code; the sign is spread by adding 0x80 - 2^(n - 1) to the code
//               with its sign inverted, and 0x80, which no byte carries out of.
#pragma once

#include <optional>
#include <vector>

#include "backend/select/bit_recipe.h"
#include "isa/numeric/target.h"
#include "isa/type/dtype.h"

namespace tilevm::backend {

/// What follows a cast, of every element: a multiplication or an addition.
struct Adjustment {
  double factor = 1;  ///< a power of two, with which every value of the type stays exact
  double offset = 0;  ///< offset of integers; the sum is rounded
};

/// How words of the type are made of codes, and adjusted; nothing for pairs of types that have no
/// recipe, or none with this adjustment.
[[nodiscard]] std::optional<WordForm> cast_form(const isa::DType& from, const isa::DType& to,
                                                const isa::Target& target,
                                                const Adjustment& adjustment = {});

/// Words of the bits at `source_bits`, in that order.
[[nodiscard]] BitRecipe gather_recipe(const std::vector<SourceBit>& source_bits);

}  // namespace tilevm::backend
