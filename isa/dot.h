// How a Dot becomes tensor-core instructions.
//
// An mma instruction is described by data (MmaShape): extents, operand types and the layouts of its
// fragments over one warp of 32 threads. plan_dot tiles a Dot's operands by a shape's fragments;
// the plan tells both engines which instruction runs, in which order, on which registers. Since the
// result of a tensor core depends on where a long sum is cut, the plan is part of the meaning of
// Dot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/layout/register_layout.h"
#include "isa/numeric/target.h"
#include "isa/tensor_type.h"

namespace tilevm::isa {

/// A tensor-core instruction, PTX `mma.sync.aligned.<name>`: D[m, n] = A[m, k] * B[k, n] + C[m, n].
struct MmaShape {
  std::string_view name;  ///< "m16n8k16"
  std::int64_t m, n, k;
  DType a, b, accumulator;
  RegisterLayout a_layout, b_layout, c_layout;  ///< fragments over one warp
  int min_sm;                                   ///< 80 for sm_80 and later
};

/// Every instruction known, larger k first.
[[nodiscard]] const std::vector<MmaShape>& mma_shapes();

/// The local places, in one thread, of the elements of one fragment, in the fragment's own local
/// order. The same in every thread.
using Fragment = std::vector<std::int32_t>;

struct DotPlan {
  const MmaShape* shape = nullptr;
  std::vector<Fragment> a, b, c;
  /// One mma: c += a * b, by indices into the lists of fragments.
  struct Step {
    std::int32_t a, b, c;
  };
  /// In order of execution; the steps of one c fragment have ascending k.
  std::vector<Step> steps;
};

/// Why no plan exists, and layouts that would fit (with c's, or a's and b's, as they are).
struct DotMismatch {
  std::string reason;
  std::vector<std::string> suggestions;  ///< e.g. "a: column_local(2, 2).spatial(8, 4).local(1, 2)"
};

/// Plans a Dot of register tiles a [m, k], b [k, n], c [m, n]; shapes must agree already. Gives the
/// plan, or says in `mismatch` why there is none.
[[nodiscard]] std::optional<DotPlan> plan_dot(const RegisterType& a, const RegisterType& b,
                                              const RegisterType& c, const Target& target,
                                              DotMismatch* mismatch);

}  // namespace tilevm::isa
