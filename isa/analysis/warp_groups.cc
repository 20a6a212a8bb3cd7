#include "isa/analysis/warp_groups.h"

#include <variant>

#include "isa/inst/instruction_set.h"

namespace tilevm::isa {

bool tells_warps_apart(const Kernel& kernel) {
  bool found = !kernel.cluster.empty();
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    found = found || std::holds_alternative<ForkStmt>(stmt.node) ||
            (inst != nullptr && description(inst->inst).orders_groups());
  });
  return found;
}

}  // namespace tilevm::isa
