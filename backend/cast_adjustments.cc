#include "backend/cast_adjustments.h"

#include <cmath>

#include "isa/type/number.h"

namespace tilevm::backend {
namespace {

/// The operands of an adjustment, and what it is if the second is a constant.
struct Operands {
  isa::VarId value, constant;
  Adjustment (*adjustment)(double constant);
};

std::optional<Operands> operands_of(const isa::Instruction& inst) {
  if (const auto* mul = std::get_if<isa::Mul>(&inst)) {
    return Operands{mul->a.var, mul->b.var, [](double x) { return Adjustment{x, 0}; }};
  }
  if (const auto* add = std::get_if<isa::Add>(&inst)) {
    return Operands{add->a.var, add->b.var, [](double x) { return Adjustment{1, x}; }};
  }
  if (const auto* sub = std::get_if<isa::Sub>(&inst)) {
    return Operands{sub->a.var, sub->b.var, [](double x) { return Adjustment{1, -x}; }};
  }
  return std::nullopt;
}

/// The forms of a cast know powers of two as factors, and offsets of integers.
bool may_adjust(const isa::DType& from, const Adjustment& adjustment) {
  int exponent = 0;
  if (std::frexp(adjustment.factor, &exponent) != 0.5) return false;
  return adjustment.offset == 0 || !from.is_float();
}

/// The value of every element, if a tile is allocated with a constant.
std::optional<double> constant_value(const isa::InstStmt& stmt) {
  const auto* allocate = std::get_if<isa::AllocateRegister>(&stmt.inst);
  const auto value =
      allocate != nullptr && allocate->init ? allocate->init->value.constant_value() : std::nullopt;
  if (!value) return std::nullopt;
  const isa::DType from = isa::element_type(value->kind);
  return isa::to_double(
      isa::decode(allocate->dtype, isa::cast(from, allocate->dtype, value->bits)));
}

}  // namespace

/// What the statements before the current one made, by variable.
struct CastAdjustments::Scan {
  std::map<int, double> constants;
  std::map<int, const isa::InstStmt*> casts;  ///< of the current block
};

CastAdjustments::CastAdjustments(const isa::VerifiedProgram& program, int kernel,
                                 const BitChains& chains)
    : program_(program), kernel_(program.kernel(kernel)), chains_(chains) {
  Scan seen;
  scan(kernel_.body, seen);
}

void CastAdjustments::scan(const isa::Block& block, Scan& seen) {
  std::map<int, const isa::InstStmt*> outside;
  outside.swap(seen.casts);
  for (const isa::Stmt& stmt : block) {
    if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) {
      consider(*inst, seen);
      if (inst->results.size() != 1 || !chains_.written_once(inst->results[0])) continue;
      if (const auto value = constant_value(*inst)) seen.constants[inst->results[0].index] = *value;
      if (std::holds_alternative<isa::Cast>(inst->inst)) seen.casts[inst->results[0].index] = inst;
    }
    if (const auto* loop = std::get_if<isa::ForStmt>(&stmt.node)) scan(loop->body, seen);
    if (const auto* loop = std::get_if<isa::WhileStmt>(&stmt.node)) scan(loop->body, seen);
    if (const auto* branch = std::get_if<isa::IfStmt>(&stmt.node)) {
      for (const isa::IfStmt::Arm& arm : branch->arms) scan(arm.body, seen);
      scan(branch->otherwise, seen);
    }
  }
  seen.casts.swap(outside);
}

void CastAdjustments::consider(const isa::InstStmt& stmt, const Scan& seen) {
  const auto operands = operands_of(stmt.inst);
  if (!operands) return;
  const auto cast = seen.casts.find(operands->value.index);
  const auto constant = seen.constants.find(operands->constant.index);
  if (cast == seen.casts.end() || constant == seen.constants.end()) return;
  const isa::VarId source = std::get_if<isa::Cast>(&cast->second->inst)->src.var;
  const auto& from = *std::get_if<isa::RegisterType>(&kernel_.variable(source).type);
  const auto& to = *std::get_if<isa::RegisterType>(&kernel_.variable(operands->value).type);
  const auto& result = *std::get_if<isa::RegisterType>(&kernel_.variable(stmt.results[0]).type);
  const Adjustment adjustment = operands->adjustment(constant->second);
  const bool only_reader = chains_.reads(operands->value) == 1;
  if (!only_reader || result != to || !may_adjust(from.dtype, adjustment)) return;
  if (!chains_.written_once(chains_.base_of(source))) return;
  if (!cast_form(from.dtype, to.dtype, program_.target(), adjustment)) return;
  adjusted_[&stmt] = {source, adjustment};
  deferred_.insert(cast->second);
}

const AdjustedCast* CastAdjustments::find(const isa::InstStmt& stmt) const {
  const auto found = adjusted_.find(&stmt);
  return found == adjusted_.end() ? nullptr : &found->second;
}

}  // namespace tilevm::backend
