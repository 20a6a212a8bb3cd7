#include "sim/checks/granules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilevm::sim {

GranuleRange granules_of(const FoundTable& runs, const Context& context) {
  const unsigned shift = context.settings.granule_shift + 3;
  return {(runs.base_bits + runs.table->low) >> shift,
          ((runs.base_bits + runs.table->high - 1) >> shift) + 1};
}

std::string elements(const Found& found, std::string_view tensor) {
  const std::size_t count = found.offsets.size();
  return fmt::format("{} element{} of `{}`", count, count == 1 ? "" : "s", tensor);
}

std::string first_element(const Found& found, std::string_view tensor) {
  return fmt::format("first `{}[{}]`", tensor, fmt::join(found.first, ", "));
}

}  // namespace tilevm::sim
