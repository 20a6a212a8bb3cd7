#include "vm/diff/record_comparison.h"

#include <algorithm>
#include <cstddef>

namespace tilevm::vm {

namespace {

bool may_compare(const isa::ProbeRecord& a, const isa::ProbeRecord& b) {
  return !a.undefined && !b.undefined;
}

std::optional<RecordDifference> first_difference(const isa::BlockProbes& mine,
                                                 const isa::BlockProbes& theirs, bool cut) {
  const std::size_t common = std::min(mine.records.size(), theirs.records.size());
  for (std::size_t i = 0; i < common; ++i) {
    const isa::ProbeRecord &a = mine.records[i], &b = theirs.records[i];
    const auto number = static_cast<std::uint32_t>(i);
    if (a.statement != b.statement) return RecordDifference{number, true};
    if (a.sum != b.sum && may_compare(a, b)) return RecordDifference{number, false};
  }
  if (cut || mine.records.size() == theirs.records.size()) return std::nullopt;
  return RecordDifference{static_cast<std::uint32_t>(common), true};
}

}  // namespace

BlockComparison compare_records(const isa::BlockProbes& a, const isa::BlockProbes& b, bool cut) {
  using Rest = BlockComparison::Rest;
  BlockComparison compared{first_difference(a, b, cut), Rest::equal};
  if (a.count == b.count && a.rest == b.rest) return compared;
  const bool sure = !cut && (a.count != b.count || (!a.rest_undefined && !b.rest_undefined));
  compared.rest = sure ? Rest::differs : Rest::unsure;
  return compared;
}

}  // namespace tilevm::vm
