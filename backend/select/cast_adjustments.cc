#include "backend/select/cast_adjustments.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "isa/layout/broadcast.h"
#include "isa/layout/element_values.h"
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

/// The forms of a cast know powers of two as factors.
bool may_adjust(const Adjustment& adjustment) {
  int exponent = 0;
  return std::frexp(adjustment.factor, &exponent) == 0.5;
}

/// A tile whose elements are known, by local place.
struct ConstantTile {
  const isa::RegisterLayout* layout;
  std::vector<double> values;
};

std::optional<ConstantTile> constant_tile(const isa::InstStmt& stmt, const isa::Kernel& kernel) {
  const auto* allocate = std::get_if<isa::AllocateRegister>(&stmt.inst);
  if (allocate == nullptr || !allocate->init) return std::nullopt;
  std::vector<double> values;
  for (const isa::Expr& expr : allocate->init->values) {
    const auto value = expr.constant_value();
    if (!value) return std::nullopt;
    const std::uint64_t code =
        isa::cast(isa::element_type(value->kind), allocate->dtype, value->bits);
    values.push_back(isa::to_double(isa::decode(allocate->dtype, code)));
  }
  const auto& type = *std::get_if<isa::RegisterType>(&kernel.variable(stmt.results[0]).type);
  const auto turns = isa::local_turns(type.layout, static_cast<std::int64_t>(values.size()));
  if (!turns) return std::nullopt;
  ConstantTile tile{&type.layout, {}};
  for (const std::int32_t turn : *turns) {
    tile.values.push_back(values[static_cast<std::size_t>(turn)]);
  }
  return tile;
}

/// What the places of a tile are adjusted by. The elements of a word must share it. A NaN is no
/// adjustment.
std::optional<AdjustedCast> adjusted_by(const Operands& operands, const ConstantTile& constant,
                                        const isa::RegisterType& result) {
  const auto places = isa::broadcast_places(result.layout, *constant.layout);
  if (!places) return std::nullopt;
  const auto lanes = static_cast<std::size_t>(std::max(1, 32 / result.dtype.bits));
  AdjustedCast cast{.source = {}, .adjustments = {}};
  std::map<double, int> numbers;
  for (std::size_t i = 0; i < places->size(); ++i) {
    const double value = constant.values[static_cast<std::size_t>((*places)[i])];
    if (std::isnan(value)) return std::nullopt;
    const auto [known, is_new] = numbers.emplace(value, static_cast<int>(numbers.size()));
    if (is_new) cast.adjustments.push_back(operands.adjustment(value));
    if (i % lanes == 0) cast.of_word.push_back(known->second);
    if (cast.of_word.back() != known->second) return std::nullopt;
  }
  return cast;
}

}  // namespace

/// What the statements before the current one made, by variable.
struct CastAdjustments::Scan {
  std::map<int, ConstantTile> constants;
  /// Of the statements that run as often as the current one.
  std::map<int, const isa::InstStmt*> casts;
};

CastAdjustments::CastAdjustments(const isa::VerifiedProgram& program, int kernel,
                                 const BitChains& chains)
    : program_(program), kernel_(program.kernel(kernel)), chains_(chains) {
  Scan seen;
  scan(kernel_.body, seen);
}

void CastAdjustments::scan(const isa::Block& block, Scan& seen) {
  for (const isa::Stmt& stmt : block) {
    if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) {
      consider(*inst, seen);
      if (inst->results.size() != 1 || !chains_.written_once(inst->results[0])) continue;
      if (auto tile = constant_tile(*inst, kernel_)) {
        seen.constants.insert_or_assign(inst->results[0].index, *std::move(tile));
      }
      if (std::holds_alternative<isa::Cast>(inst->inst)) seen.casts[inst->results[0].index] = inst;
    }
    if (const auto* loop = std::get_if<isa::ForStmt>(&stmt.node)) scan_apart(loop->body, seen);
    if (const auto* loop = std::get_if<isa::WhileStmt>(&stmt.node)) scan_apart(loop->body, seen);
    if (const auto* branch = std::get_if<isa::IfStmt>(&stmt.node)) {
      for (const isa::IfStmt::Arm& arm : branch->arms) scan_apart(arm.body, seen);
      scan_apart(branch->otherwise, seen);
    }
  }
}

void CastAdjustments::scan_apart(const isa::Block& block, Scan& seen) {
  std::map<int, const isa::InstStmt*> outside;
  outside.swap(seen.casts);
  scan(block, seen);
  seen.casts.swap(outside);
}

void CastAdjustments::consider(const isa::InstStmt& stmt, const Scan& seen) {
  const auto operands = operands_of(stmt.inst);
  if (!operands) return;
  const auto cast = seen.casts.find(operands->value.index);
  const auto constant = seen.constants.find(operands->constant.index);
  if (cast == seen.casts.end() || constant == seen.constants.end()) return;
  const isa::VarId source = std::get_if<isa::Cast>(&cast->second->inst)->src.var;
  const isa::DType& from = std::get_if<isa::RegisterType>(&kernel_.variable(source).type)->dtype;
  // Of a float even the sum with zero is another: -0 becomes +0.
  if (from.is_float() && !std::holds_alternative<isa::Mul>(stmt.inst)) return;
  const auto& to = *std::get_if<isa::RegisterType>(&kernel_.variable(operands->value).type);
  const auto& result = *std::get_if<isa::RegisterType>(&kernel_.variable(stmt.results[0]).type);
  const bool only_reader = chains_.reads(operands->value) == 1;
  if (!only_reader || result != to || !chains_.written_once(chains_.base_of(source))) return;
  auto adjusted = adjusted_by(*operands, constant->second, result);
  if (!adjusted) return;
  adjusted->source = source;
  if (!has_forms(*adjusted, result)) return;
  adjusted_[&stmt] = *std::move(adjusted);
  deferred_.insert(cast->second);
}

bool CastAdjustments::has_forms(const AdjustedCast& cast, const isa::RegisterType& result) const {
  const isa::DType& from =
      std::get_if<isa::RegisterType>(&kernel_.variable(cast.source).type)->dtype;
  return std::all_of(cast.adjustments.begin(), cast.adjustments.end(), [&](const Adjustment& a) {
    return may_adjust(a) && cast_form(from, result.dtype, program_.target(), a);
  });
}

const AdjustedCast* CastAdjustments::find(const isa::InstStmt& stmt) const {
  const auto found = adjusted_.find(&stmt);
  return found == adjusted_.end() ? nullptr : &found->second;
}

}  // namespace tilevm::backend
