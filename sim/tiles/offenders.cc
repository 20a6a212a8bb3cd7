#include "sim/tiles/offenders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilevm::sim {

std::string elements_text(std::size_t count, std::string_view tensor) {
  return fmt::format("{} element{} of `{}`", count, count == 1 ? "" : "s", tensor);
}

std::string element_text(std::string_view tensor, const isa::Index& index) {
  return fmt::format("`{}[{}]`", tensor, fmt::join(index, ", "));
}

}  // namespace tilevm::sim
