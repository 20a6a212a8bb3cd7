// Why a Dot has no plan, and layouts of its operands with which it would have one.
#pragma once

#include <string>
#include <vector>

#include "isa/inst/tensor_type.h"
#include "isa/numeric/target.h"

namespace tilevm::isa {

/// Why no plan exists, and layouts that would fit (with c's, or a's and b's, as they are).
struct DotMismatch {
  std::string reason;
  std::vector<std::string> suggestions;  ///< e.g. "a: column_local(2, 2).spatial(8, 4).local(1, 2)"
};

/// Says why no plan exists.
[[nodiscard]] DotMismatch explain_mismatch(const RegisterType& a, const RegisterType& b,
                                           const RegisterType& c, const Target& target);

/// Says why no plan exists for a sparse product of the stored elements a at their places.
[[nodiscard]] DotMismatch explain_sparse_mismatch(const RegisterType& a, const RegisterType& places,
                                                  const RegisterType& b, const RegisterType& c,
                                                  const Target& target);

/// The operands of a block-scaled product: a [.., m, k], b [.., k, n] and c [.., m, n] with the
/// scales
/// [.., m, k / G] of a and [.., k / G, n] of b.
struct ScaledOperands {
  RegisterType a, a_scales, b, b_scales, c;
};

/// Says why no plan exists for a block-scaled product.
[[nodiscard]] DotMismatch explain_scaled_mismatch(const ScaledOperands& operands,
                                                  const Target& target);

}  // namespace tilevm::isa
