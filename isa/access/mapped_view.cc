#include "isa/access/mapped_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

namespace tilevm::isa {

const ViewGlobal* mapped_view(const Kernel& kernel, const Statements& statements,
                              const Definitions& definitions, VarId view, NoTensorMap& why) {
  const StmtId made = definitions.sole(view);
  const InstStmt* const stmt = made.index < 0 ? nullptr : statements.instruction(made);
  const auto* made_by = stmt == nullptr ? nullptr : std::get_if<ViewGlobal>(&stmt->inst);
  const std::string advice = "copy by `CopyAsync`, which needs no map";
  if (made_by == nullptr) {
    why = {"it is not made by one `ViewGlobal`, of which the launch could make a map", advice};
    return nullptr;
  }
  std::optional<VarId> local;
  const auto look = [&](VarId var) {
    const auto& all = kernel.parameters;
    const bool is_given = std::find(all.begin(), all.end(), var) != all.end();
    if (!is_given || !definitions.of(var).empty()) local = var;
  };
  const auto& type = *std::get_if<GlobalType>(&kernel.variable(view).type);
  for (const Expr& extent : type.extents) for_each_variable(extent, look);
  if (const auto* strides = type.layout.strides()) {
    for (const Expr& stride : *strides) for_each_variable(stride, look);
  }
  if (!local) return made_by;
  why = {fmt::format("its extents and strides use `{}`, which the kernel computes; the launch "
                     "makes the map, from constants and parameters",
                     kernel.variable(*local).name),
         "write the expression of parameters in its place, or " + advice};
  return nullptr;
}

}  // namespace tilevm::isa
