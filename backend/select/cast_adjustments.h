// Casts whose values are multiplied by a power of two, or to which a constant is added, as zero
// points are: the multiply-add at the end of a cast's recipe does it at no cost, and rounds once
// where the Add or Sub would have rounded. Some products need no multiply-add at all. The constants
// may differ from place to place of a thread's share.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "backend/select/bit_chains.h"
#include "backend/select/cast_recipe.h"

namespace tilevm::backend {

/// What a Mul, Add or Sub becomes: the cast whose result is its operand, adjusted.
struct AdjustedCast {
  isa::VarId source;
  std::vector<Adjustment> adjustments{1};  ///< those that there are
  std::vector<int> of_word{};              ///< by word of the result; all the first if empty
};

class CastAdjustments {
 public:
  CastAdjustments(const isa::VerifiedProgram& program, int kernel, const BitChains& chains);

  /// What a Mul, Add or Sub stands for; null if it is just that.
  [[nodiscard]] const AdjustedCast* find(const isa::InstStmt& stmt) const;
  /// Whether a Cast is emitted with the adjustment that is its only reader.
  [[nodiscard]] bool is_deferred(const isa::InstStmt& cast) const {
    return deferred_.contains(&cast);
  }

 private:
  struct Scan;
  void scan(const isa::Block& block, Scan& seen);
  void scan_apart(const isa::Block& block, Scan& seen);  ///< it may run more or less often
  void consider(const isa::InstStmt& stmt, const Scan& seen);
  [[nodiscard]] bool has_forms(const AdjustedCast& cast, const isa::RegisterType& result) const;

  const isa::VerifiedProgram& program_;
  const isa::Kernel& kernel_;
  const BitChains& chains_;
  std::map<const isa::InstStmt*, AdjustedCast> adjusted_;
  std::set<const isa::InstStmt*> deferred_;
};

}  // namespace tilevm::backend
