// How far the bits of approximate instructions (isa/type/approximation.h) are known to be those of
// an architecture.
#pragma once

#include <string_view>

#include "isa/numeric/mma_rules.h"
#include "isa/numeric/target.h"

namespace tilevm::isa {

struct ApproximationEvidence {
  Evidence evidence;
  std::string_view source;  ///< a part of a sentence
};

/// The evidence of functions.
[[nodiscard]] constexpr ApproximationEvidence approximation_evidence(const Target& target) {
  if (target.sm == 90) {
    return {Evidence::measured,
            "block hashes of all 2^32 arguments of each instruction of f32, all 65,536 of 16 bits, "
            "all upper words of f64, on an H100 and an H200"};
  }
  return {
      Evidence::claimed,
      "the model of an H100; its tables for rcp, rsqrt, ex2, lg2 and sin are those that envytools "
      "published of GPUs of 2006, so that other generations may share them"};
}

/// The evidence of quotients, which are IEEE products around the unit's reciprocal.
[[nodiscard]] constexpr ApproximationEvidence quotient_evidence(const Target& target) {
  if (target.sm == 90) {
    return {Evidence::measured,
            "the machine code that ptxas 13.0 makes of them; 8.6e9 pairs of each form on an H100 "
            "and an H200"};
  }
  return {Evidence::claimed,
          "the machine code that ptxas 13.0 makes of them, with the reciprocal of an H100"};
}

}  // namespace tilevm::isa
