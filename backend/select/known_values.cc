#include "backend/select/known_values.h"

#include <cmath>
#include <optional>
#include <variant>

namespace tilevm::backend {
namespace {

using isa::BinaryClass, isa::UnaryClass, isa::VarId;

constexpr Knowledge any{true, true};

std::size_t index(VarId var) { return static_cast<std::size_t>(var.index); }

bool is_unbounded(const isa::Expr& value) {
  const std::optional<isa::Scalar> constant = value.constant_value();
  return constant.has_value() && constant->kind == isa::ScalarKind::f32 &&
         !std::isfinite(constant->as_float());
}

/// What is known of the result of an instruction, from what is known of its operands.
struct Rules {
  const isa::Kernel& kernel;
  const std::vector<Knowledge>&known, &stored;
  const std::vector<VarId>& memory;

  [[nodiscard]] Knowledge of(const isa::RegisterOperand& operand) const {
    return known[index(operand.var)];
  }
  /// What is known of elements of memory.
  [[nodiscard]] Knowledge at(VarId tensor) const { return stored[index(memory[index(tensor)])]; }
  [[nodiscard]] const isa::DType& dtype(const isa::RegisterOperand& operand) const {
    return std::get_if<isa::RegisterType>(&kernel.variable(operand.var).type)->dtype;
  }
  [[nodiscard]] bool is_float(const isa::RegisterOperand& operand) const {
    return dtype(operand).is_float();
  }
  /// Sums and products: a number only of numbers, Inf and NaN of one of them.
  [[nodiscard]] static Knowledge combined(Knowledge a, Knowledge b) {
    return {a.number && b.number, a.unbounded || b.unbounded};
  }

  template <class Inst>
  Knowledge operator()(const Inst&) const {
    return any;
  }
  Knowledge operator()(const isa::AllocateRegister& inst) const {
    if (!inst.init) return any;
    Knowledge made;
    for (const isa::Expr& value : inst.init->values) {
      (is_unbounded(value) ? made.unbounded : made.number) = true;
    }
    return made;
  }
  Knowledge operator()(const isa::LoadGlobal& inst) const { return at(inst.src.var); }
  Knowledge operator()(const isa::LoadShared& inst) const { return at(inst.src.var); }

  // What only moves elements.
  Knowledge operator()(const isa::View& inst) const {
    const Knowledge source = of(inst.src);
    const bool keeps = !inst.dtype || *inst.dtype == dtype(inst.src);
    return keeps || source == Knowledge{} ? source : any;
  }
  Knowledge operator()(const isa::ConvertLayout& inst) const { return of(inst.src); }
  Knowledge operator()(const isa::Slice& inst) const { return of(inst.src); }
  Knowledge operator()(const isa::Concat& inst) const { return of(inst.a) | of(inst.b); }
  Knowledge operator()(const isa::Where& inst) const { return of(inst.a) | of(inst.b); }

  // Arithmetic on floats. A type of few bits may have saturated.
  Knowledge operator()(const isa::Cast& inst) const {
    const bool keeps = is_float(inst.src) && inst.dtype.is_float() && inst.dtype.bits >= 16;
    return keeps || of(inst.src) == Knowledge{} ? of(inst.src) : any;
  }
  template <isa::UnaryOp op>
  Knowledge operator()(const isa::Unary<op>& inst) const {
    constexpr bool keeps =
        class_of(op) == UnaryClass::negation || class_of(op) == UnaryClass::magnitude;
    if (!is_float(inst.a)) return any;
    return keeps || of(inst.a) == Knowledge{} ? of(inst.a) : any;
  }
  template <isa::BinaryOp op>
  Knowledge operator()(const isa::Binary<op>& inst) const {
    constexpr BinaryClass family = class_of(op);
    constexpr bool divides = op == isa::BinaryOp::div || family == BinaryClass::quotient;
    if (!is_float(inst.a) || op == isa::BinaryOp::mod) return any;
    const Knowledge a = of(inst.a), b = of(inst.b);
    if constexpr (divides) {  // a number by Inf is 0
      return {a.number && (b.number || b.unbounded), a.unbounded || b.unbounded};
    } else if constexpr (family == BinaryClass::choice) {  // of a number and Inf the number
      return {(a.number && (b.number || b.unbounded)) || (b.number && a.unbounded),
              a.unbounded || b.unbounded};
    } else if constexpr (family == BinaryClass::arithmetic) {
      return combined(a, b);
    } else {
      return any;
    }
  }
  Knowledge operator()(const isa::Fma& inst) const {
    if (!is_float(inst.a)) return any;
    return combined(combined(of(inst.a), of(inst.b)), of(inst.c));
  }
  Knowledge operator()(const isa::Dot& inst) const {
    if (!is_float(inst.c)) return any;
    return combined(combined(of(inst.a), of(inst.b)), of(inst.c));
  }
  /// No compiler computes what a product of warp groups leaves in registers later.
  Knowledge operator()(const isa::DotAsync& inst) const {
    return is_float(inst.c) ? Knowledge{} : any;
  }
  Knowledge operator()(const isa::Reduce& inst) const {
    return is_float(inst.src) ? of(inst.src) : any;
  }
  Knowledge operator()(const isa::Scan& inst) const {
    return is_float(inst.src) ? of(inst.src) : any;
  }
};

}  // namespace

KnownValues::KnownValues(const isa::Kernel& kernel, const isa::Statements& statements)
    : kernel_(kernel), known_(kernel.variables.size()), stored_(kernel.variables.size()) {
  for (std::size_t i = 0; i < kernel.variables.size(); ++i) {
    memory_.push_back(VarId{static_cast<std::int32_t>(i)});
  }
  statements.for_each_instruction([&](isa::StmtId, const isa::InstStmt& stmt) {
    const auto* view = std::get_if<isa::ViewGlobal>(&stmt.inst);
    if (view != nullptr) memory_[index(stmt.results[0])] = view->ptr.var;
  });
  // From nothing known on until nothing changes: loops carry values back.
  for (bool changes = true; changes;) {
    changes = false;
    statements.for_each_instruction([&](isa::StmtId, const isa::InstStmt& stmt) {
      if (update(stmt)) changes = true;
    });
  }
}

Knowledge KnownValues::of_result(const isa::Instruction& inst) const {
  return std::visit(Rules{kernel_, known_, stored_, memory_}, inst);
}

bool KnownValues::update(const isa::InstStmt& stmt) {
  bool changes = false;
  const auto add = [&](Knowledge& to, Knowledge more) {
    changes = changes || (to | more) != to;
    to = to | more;
  };
  const auto store = [&](VarId tensor, const isa::RegisterOperand& source) {
    add(stored_[index(memory_[index(tensor)])], known_[index(source.var)]);
  };
  if (const auto* shared = std::get_if<isa::StoreShared>(&stmt.inst)) {
    store(shared->dst.var, shared->src);
  } else if (const auto* global = std::get_if<isa::StoreGlobal>(&stmt.inst)) {
    store(global->dst.var, global->src);
  } else if (const auto* scatter = std::get_if<isa::Scatter>(&stmt.inst)) {
    std::visit([&](const auto& dst) { store(dst.var, scatter->src); }, scatter->dst.value);
  }
  for (const VarId result : stmt.results) {
    if (std::holds_alternative<isa::RegisterType>(kernel_.variable(result).type)) {
      add(known_[index(result)], of_result(stmt.inst));
    }
  }
  return changes;
}

}  // namespace tilevm::backend
