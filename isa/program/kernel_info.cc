#include "isa/program/kernel_info.h"

#include <algorithm>

#include "isa/base/check.h"

namespace tilevm::isa {

const KernelInfo::SharedTile& KernelInfo::shared_tile(VarId var) const {
  const auto found =
      std::find_if(shared.begin(), shared.end(), [&](const auto& tile) { return tile.var == var; });
  TILEVM_CHECK(found != shared.end(), "a shared tensor that the verifier did not list");
  return *found;
}

std::uint32_t KernelInfo::print_site(const InstStmt& stmt) const {
  const auto found = print_sites.find(&stmt);
  TILEVM_CHECK(found != print_sites.end(), "a Print of another program");
  return found->second;
}

}  // namespace tilevm::isa
