#include "isa/analysis/kernel_scan.h"

#include <algorithm>
#include <utility>

#include "isa/analysis/definitions.h"
#include "isa/analysis/operands.h"
#include "isa/analysis/statements.h"

namespace tilevm::isa {
namespace {

/// The elements of memory between the first and the last of a view, where its extents and strides
/// are constants and no stride is negative.
std::optional<std::int64_t> reach_of(const GlobalType& view) {
  const auto shape = view.static_shape();
  if (!shape) return std::nullopt;
  if (const MemoryLayout* layout = view.layout.memory_layout()) return layout->storage_size();
  constexpr std::int64_t enough = std::int64_t{1} << 40;
  std::int64_t reach = 1;
  for (std::size_t d = 0; d < shape->size(); ++d) {
    const auto stride = (*view.layout.strides())[d].constant_int();
    if (!stride || *stride < 0 || *stride > enough || (*shape)[d] > enough) return std::nullopt;
    std::int64_t more = 0;
    if (__builtin_mul_overflow((*shape)[d] - 1, *stride, &more)) return std::nullopt;
    reach = std::min(reach, enough) + std::min(more, enough);
  }
  return reach;
}

/// Joins what one more view says of a pointer's tensor.
void join_view(PointerUse& use, bool first, const GlobalType& view) {
  const auto shape = view.static_shape();
  if (first) {
    use.dtype = view.dtype;
    use.shape = shape;
    use.elements = reach_of(view);
    return;
  }
  const auto elements = reach_of(view);
  if (use.dtype != view.dtype) use.dtype.reset();
  if (use.shape != shape) use.shape.reset();
  if (use.elements && elements) use.elements = std::max(*use.elements, *elements);
  if (!elements) use.elements.reset();
}

/// The variables that hold views of a pointer.
std::vector<VarId> views_of(VarId pointer, const Statements& statements, const Uses& uses) {
  std::vector<VarId> views;
  for (const StmtId id : uses.of(pointer)) {
    const InstStmt* inst = statements.instruction(id);
    if (inst != nullptr && inst->results.size() == 1) views.push_back(inst->results[0]);
  }
  std::sort(views.begin(), views.end(), [](VarId a, VarId b) { return a.index < b.index; });
  views.erase(std::unique(views.begin(), views.end()), views.end());
  return views;
}

/// What is done through one view.
void add_accesses(VarId view, const Statements& statements, const Uses& uses, PointerUse& use) {
  for (const StmtId id : uses.of(view)) {
    const InstStmt* inst = statements.instruction(id);
    if (inst == nullptr) continue;
    for_each_memory_operand<GlobalOperand>(inst->inst, [&](Access access, VarId operand) {
      if (operand != view) return;
      use.read |= reads(access);
      use.written |= writes(access);
    });
  }
}

}  // namespace

std::vector<PointerUse> scan_pointers(const Kernel& kernel) {
  const Statements statements(kernel);
  const Uses uses(kernel, statements);
  std::vector<PointerUse> found;
  for (const VarId parameter : kernel.parameters) {
    if (!std::holds_alternative<PointerType>(kernel.variable(parameter).type)) continue;
    PointerUse use;
    use.parameter = parameter;
    bool first = true;
    for (const VarId view : views_of(parameter, statements, uses)) {
      const auto* type = std::get_if<GlobalType>(&kernel.variable(view).type);
      if (type != nullptr) join_view(use, std::exchange(first, false), *type);
      add_accesses(view, statements, uses, use);
    }
    found.push_back(std::move(use));
  }
  return found;
}

}  // namespace tilevm::isa
