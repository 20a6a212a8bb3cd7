#include "backend/cast_offsets.h"

#include <cmath>

#include "backend/cast_recipe.h"
#include "isa/type/number.h"

namespace tilevm::backend {
namespace {

/// a + sign * b, if the instruction is an Add or a Sub.
struct Sum {
  isa::VarId a, b;
  double sign;
};

std::optional<Sum> as_sum(const isa::Instruction& inst) {
  if (const auto* add = std::get_if<isa::Add>(&inst)) return Sum{add->a.var, add->b.var, 1};
  if (const auto* sub = std::get_if<isa::Sub>(&inst)) return Sum{sub->a.var, sub->b.var, -1};
  return std::nullopt;
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
struct CastOffsets::Scan {
  std::map<int, double> constants;
  std::map<int, const isa::InstStmt*> casts;  ///< of the current block
};

CastOffsets::CastOffsets(const isa::VerifiedProgram& program, int kernel, const BitChains& chains)
    : program_(program), kernel_(program.kernel(kernel)), chains_(chains) {
  Scan seen;
  scan(kernel_.body, seen);
}

void CastOffsets::scan(const isa::Block& block, Scan& seen) {
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

void CastOffsets::consider(const isa::InstStmt& sum, const Scan& seen) {
  const auto operands = as_sum(sum.inst);
  if (!operands) return;
  const auto cast = seen.casts.find(operands->a.index);
  const auto constant = seen.constants.find(operands->b.index);
  if (cast == seen.casts.end() || constant == seen.constants.end()) return;
  const isa::VarId source = std::get_if<isa::Cast>(&cast->second->inst)->src.var;
  const auto& from = *std::get_if<isa::RegisterType>(&kernel_.variable(source).type);
  const auto& to = *std::get_if<isa::RegisterType>(&kernel_.variable(operands->a).type);
  const auto& result = *std::get_if<isa::RegisterType>(&kernel_.variable(sum.results[0]).type);
  const bool only_reader = chains_.reads(operands->a) == 1;
  if (!only_reader || result != to || from.dtype.is_float()) return;
  if (!chains_.written_once(chains_.base_of(source))) return;
  const double offset = operands->sign * constant->second;
  if (!cast_form(from.dtype, to.dtype, program_.target(), offset)) return;
  sums_[&sum] = {source, offset};
  deferred_.insert(cast->second);
}

const OffsetCast* CastOffsets::find(const isa::InstStmt& sum) const {
  const auto found = sums_.find(&sum);
  return found == sums_.end() ? nullptr : &found->second;
}

}  // namespace tilevm::backend
