#include "sim/checks/granules.h"

namespace tilevm::sim {

GranuleRange granules_of(const ResolvedAccess& resolved, const Context& context) {
  const TableLookup& runs = resolved.runs;
  const unsigned shift = context.settings.granule_shift + 3;
  return {(runs.base_bits + runs.table->low) >> shift,
          ((runs.base_bits + runs.table->high - 1) >> shift) + 1};
}

}  // namespace tilevm::sim
