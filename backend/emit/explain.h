// What became of an instruction, in words, for `tilevm compile --explain`.
//
// The emitter says what it does where it does it (KernelEmission::chose), so that the report cannot
// differ from the code.
#pragma once

#include <cstdint>
#include <string>

#include "backend/select/bit_recipe.h"
#include "backend/select/bulk_copies.h"
#include "isa/access/access_plan.h"
#include "isa/dot/dot.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// "4 x 16 bytes", "2 x ldmatrix.x4.trans", "7 x cp.async 16, bounds tested".
[[nodiscard]] std::string explain_access(const isa::AccessPlan& plan, bool stores);

/// "16 x cp.async.bulk 512".
[[nodiscard]] std::string explain_bulk_copy(const BulkCopy& copy);

/// "warps 22 to 27 wait", of those of the block.
[[nodiscard]] std::string explain_gate(const BulkCopies& copies, std::int64_t threads);

/// Why accesses to a tensor are no wider, with the text and the place of what keeps them from it:
/// "the offset of dimension 1 is only known to be a multiple of 4: `k * 36` at 12:31". Empty if
/// nothing does.
[[nodiscard]] std::string explain_obstacle(const isa::AccessPlan& plan, const isa::Type& tensor,
                                           const SourceFile& source);

/// "56 x mma.sync.m16n8k16 f32.f16.f16.f32 a warp", "16 chains of 64 multiply-adds in f32".
[[nodiscard]] std::string explain_dot(const isa::DotPlan& plan, const isa::DType& accumulator);

/// "1.13 instructions an element".
[[nodiscard]] std::string explain_recipe(const BitRecipe& recipe, std::int64_t elements);

/// "8 x 2 elements", "16 x 1 element".
[[nodiscard]] std::string explain_elements(std::int64_t count, bool in_pairs);
/// The same of whole words: "16 x 32 bits".
[[nodiscard]] std::string explain_words(std::int64_t words);

}  // namespace tilevm::backend
