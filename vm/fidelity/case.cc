#include "vm/fidelity/case.h"

#include <algorithm>
#include <iterator>

#include "isa/dot/target_support.h"
#include "isa/inst/async_dot.h"

namespace tilevm::vm::fidelity {

const std::vector<std::string>& size_names() {
  static const std::vector<std::string> names = {"quick", "full", "exhaustive"};
  return names;
}

Size parse_size(const std::string& name) {
  const auto& names = size_names();
  return static_cast<Size>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::int64_t Case::blocks(Size size) const {
  switch (size) {
    case Size::quick:
      return kept;
    case Size::full:
      return std::max(kept, full);
    case Size::exhaustive:
      break;
  }
  return std::max(kept, exhaustive);
}

std::uint64_t Case::outputs(std::int64_t block_count) const {
  auto count = static_cast<std::uint64_t>(block_count);
  for (const std::int64_t extent : results.front().block) {
    count *= static_cast<std::uint64_t>(extent);
  }
  return count;
}

std::vector<Case> make_cases(const isa::Target& target) {
  std::vector<Case> cases = dot_cases();
  if (isa::exists_on<isa::DotAsync>(target)) {
    std::ranges::move(async_dot_cases(), std::back_inserter(cases));
  }
  std::ranges::move(element_cases(), std::back_inserter(cases));
  std::erase_if(cases, [&](const Case& each) { return each.min_sm > target.sm; });
  return cases;
}

}  // namespace tilevm::vm::fidelity
