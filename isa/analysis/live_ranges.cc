#include "isa/analysis/live_ranges.h"

namespace tilevm::isa {

std::optional<LiveRange> find_live_range(const Statements& statements,
                                         const Definitions& definitions, const Uses& uses,
                                         VarId var) {
  const auto used = uses.of(var), defined = definitions.of(var);
  if (used.empty()) return std::nullopt;
  const auto in_block = [&](StmtId id) {
    return defined.empty() ? statements.in_body(id) : statements.in_block_of(defined.front(), id);
  };
  const LiveRange range{in_block(used.front()), in_block(used.back())};
  return range.first.valid() && range.last.valid() ? std::optional(range) : std::nullopt;
}

}  // namespace tilevm::isa
