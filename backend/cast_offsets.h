// Casts of integers to which a constant is added, as zero points are: the multiply-add at the end
// of a cast's recipe adds it at no cost, and rounds once where the Add or Sub would have rounded.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "backend/bit_chains.h"

namespace tilevm::backend {

/// What an Add or Sub becomes: the cast whose result is its operand, plus the offset.
struct OffsetCast {
  isa::VarId source;
  double offset = 0;
};

class CastOffsets {
 public:
  CastOffsets(const isa::VerifiedProgram& program, int kernel, const BitChains& chains);

  /// What an Add or Sub stands for; null if it is just that.
  [[nodiscard]] const OffsetCast* find(const isa::InstStmt& sum) const;
  /// Whether a Cast is emitted with the sum that is its only reader.
  [[nodiscard]] bool is_deferred(const isa::InstStmt& cast) const {
    return deferred_.contains(&cast);
  }

 private:
  struct Scan;
  void scan(const isa::Block& block, Scan& seen);
  void consider(const isa::InstStmt& sum, const Scan& seen);

  const isa::VerifiedProgram& program_;
  const isa::Kernel& kernel_;
  const BitChains& chains_;
  std::map<const isa::InstStmt*, OffsetCast> sums_;
  std::set<const isa::InstStmt*> deferred_;
};

}  // namespace tilevm::backend
