#include "backend/select/known_values.h"

#include <variant>

namespace tilevm::backend {
namespace {

using isa::BinaryClass, isa::UnaryClass, isa::VarId;

/// Whether the result of an instruction may be known, from the same of its operands.
struct Rules {
  const isa::Kernel& kernel;
  const std::vector<bool>& known;
  bool shared_memory, global_memory;

  [[nodiscard]] bool of(const isa::RegisterOperand& operand) const {
    return known[static_cast<std::size_t>(operand.var.index)];
  }
  [[nodiscard]] bool is_float(const isa::RegisterOperand& operand) const {
    const auto* type = std::get_if<isa::RegisterType>(&kernel.variable(operand.var).type);
    return type != nullptr && type->dtype.is_float();
  }

  template <class Inst>
  bool operator()(const Inst&) const {
    return true;
  }
  bool operator()(const isa::LoadGlobal&) const { return global_memory; }
  bool operator()(const isa::Gather&) const { return global_memory || shared_memory; }
  bool operator()(const isa::LoadShared&) const { return shared_memory; }

  // What only moves elements.
  bool operator()(const isa::View& inst) const { return of(inst.src); }
  bool operator()(const isa::ConvertLayout& inst) const { return of(inst.src); }
  bool operator()(const isa::Slice& inst) const { return of(inst.src); }
  bool operator()(const isa::Concat& inst) const { return of(inst.a) || of(inst.b); }
  bool operator()(const isa::Where& inst) const { return of(inst.a) || of(inst.b); }

  // Arithmetic on floats. A type of few bits may have saturated.
  bool operator()(const isa::Cast& inst) const {
    return of(inst.src) || !inst.dtype.is_float() || inst.dtype.bits < 16;
  }
  template <isa::UnaryOp op>
  bool operator()(const isa::Unary<op>& inst) const {
    return of(inst.a) || !is_float(inst.a);
  }
  template <isa::BinaryOp op>
  bool operator()(const isa::Binary<op>& inst) const {
    constexpr BinaryClass family = class_of(op);
    constexpr bool keeps = (family == BinaryClass::arithmetic && op != isa::BinaryOp::mod) ||
                           family == BinaryClass::choice || family == BinaryClass::quotient;
    return !keeps || !is_float(inst.a) || (of(inst.a) && of(inst.b));
  }
  bool operator()(const isa::Fma& inst) const {
    return !is_float(inst.a) || (of(inst.a) && of(inst.b) && of(inst.c));
  }
  bool operator()(const isa::Dot& inst) const {
    return !is_float(inst.c) || (of(inst.a) && of(inst.b) && of(inst.c));
  }
  bool operator()(const isa::Reduce& inst) const { return of(inst.src) || !is_float(inst.src); }
  bool operator()(const isa::Scan& inst) const { return of(inst.src) || !is_float(inst.src); }
};

}  // namespace

KnownValues::KnownValues(const isa::Kernel& kernel, const isa::Statements& statements)
    : kernel_(kernel), known_(kernel.variables.size(), false) {
  // From nothing known on until nothing changes: loops carry values back.
  for (bool changes = true; changes;) {
    changes = false;
    statements.for_each_instruction([&](isa::StmtId, const isa::InstStmt& stmt) {
      if (update(stmt)) changes = true;
    });
  }
}

bool KnownValues::gives_known(const isa::Instruction& inst) const {
  return std::visit(Rules{kernel_, known_, stores_known_shared_, stores_known_global_}, inst);
}

bool KnownValues::update(const isa::InstStmt& stmt) {
  const auto mark = [&](bool& flag, const isa::RegisterOperand& source) {
    const bool before = flag;
    flag = flag || may_be_known(source.var);
    return flag != before;
  };
  if (const auto* store = std::get_if<isa::StoreShared>(&stmt.inst)) {
    return mark(stores_known_shared_, store->src);
  }
  if (const auto* store = std::get_if<isa::StoreGlobal>(&stmt.inst)) {
    return mark(stores_known_global_, store->src);
  }
  if (const auto* store = std::get_if<isa::Scatter>(&stmt.inst)) {
    return mark(stores_known_global_, store->src) | mark(stores_known_shared_, store->src);
  }
  bool changes = false;
  for (const VarId result : stmt.results) {
    const auto at = static_cast<std::size_t>(result.index);
    if (known_[at] || !gives_known(stmt.inst)) continue;
    known_[at] = true;
    changes = true;
  }
  return changes;
}

}  // namespace tilevm::backend
