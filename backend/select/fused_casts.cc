// Casts whose values are multiplied by a power of two, or to which a constant is added, as zero
// points are. The multiply-add at the end of a cast's recipe does that at no cost, and rounds once
// where the Add or Sub would have rounded. Some products need no multiply-add at all. The constants
// may differ from element to element of a thread.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "backend/select/cast_recipe.h"
#include "backend/select/passes.h"
#include "backend/select/recipe_search.h"
#include "isa/layout/broadcast.h"
#include "isa/layout/element_values.h"
#include "isa/type/number.h"

namespace tilevm::backend {
namespace {

using isa::InstStmt;
using isa::StmtId;
using isa::VarId;

/// The operands of an adjustment, and what the adjustment is if the second is a constant.
struct Operands {
  VarId value, constant;
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

/// The recipes of casts support only powers of two as factors.
bool is_power_of_two(double factor) {
  int exponent = 0;
  return std::frexp(factor, &exponent) == 0.5;
}

/// A tile whose elements are known, by local index.
struct ConstantTile {
  const isa::RegisterLayout* layout;
  std::vector<double> values;
};

std::optional<ConstantTile> constant_tile(const InstStmt& stmt, const Selection& selection) {
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
  const isa::RegisterType& type = selection.tile(stmt.results[0]);
  const auto turns = isa::local_turns(type.layout, static_cast<std::int64_t>(values.size()));
  if (!turns) return std::nullopt;
  ConstantTile tile{&type.layout, {}};
  for (const std::int32_t turn : *turns) {
    tile.values.push_back(values[static_cast<std::size_t>(turn)]);
  }
  return tile;
}

/// The adjustments that occur in a tile, and which of them each word of the result has.
struct WordAdjustments {
  std::vector<Adjustment> adjustments{};
  std::vector<int> of_word{};
};

/// The elements of a word must share an adjustment. A NaN is none.
std::optional<WordAdjustments> adjustments_by_word(const Operands& operands,
                                                   const ConstantTile& constant,
                                                   const isa::RegisterType& result) {
  const auto places = isa::broadcast_places(result.layout, *constant.layout);
  if (!places) return std::nullopt;
  const auto lanes = static_cast<std::size_t>(std::max(1, 32 / result.dtype.bits));
  WordAdjustments found;
  std::map<double, int> numbers;
  for (std::size_t i = 0; i < places->size(); ++i) {
    const double value = constant.values[static_cast<std::size_t>((*places)[i])];
    if (std::isnan(value)) return std::nullopt;
    const auto [known, is_new] = numbers.emplace(value, static_cast<int>(numbers.size()));
    if (is_new) found.adjustments.push_back(operands.adjustment(value));
    if (i % lanes == 0) found.of_word.push_back(known->second);
    if (found.of_word.back() != known->second) return std::nullopt;
  }
  return found;
}

/// The ways to make the words of the result, one for each adjustment; nothing if one has none.
std::optional<std::vector<WordForm>> word_forms(const WordAdjustments& found,
                                                const isa::DType& from, const isa::DType& to,
                                                const isa::Target& target) {
  std::vector<WordForm> forms;
  for (const Adjustment& adjustment : found.adjustments) {
    if (!is_power_of_two(adjustment.factor)) return std::nullopt;
    auto form = cast_form(from, to, target, adjustment);
    if (!form) return std::nullopt;
    forms.push_back(*std::move(form));
  }
  return forms;
}

/// The statement that alone defines a variable; null if there is none.
const InstStmt* sole_definition(VarId var, const Selection& selection) {
  const StmtId id = selection.definitions.sole(var);
  return id.valid() ? selection.statements.instruction(id) : nullptr;
}

/// The Cast whose only reader is this instruction, if both run equally often.
const InstStmt* fusible_cast(const InstStmt& stmt, VarId value, const Selection& selection) {
  const InstStmt* cast = sole_definition(value, selection);
  if (cast == nullptr || !std::holds_alternative<isa::Cast>(cast->inst)) return nullptr;
  if (!selection.statements.same_block(cast->id, stmt.id)) return nullptr;
  return selection.chains.reads(value) == 1 ? cast : nullptr;
}

std::optional<FusedCast> fuse(const InstStmt& stmt, const Selection& selection) {
  const auto operands = operands_of(stmt.inst);
  if (!operands) return std::nullopt;
  const InstStmt* cast = fusible_cast(stmt, operands->value, selection);
  const InstStmt* allocation = sole_definition(operands->constant, selection);
  if (cast == nullptr || allocation == nullptr) return std::nullopt;
  const auto constant = constant_tile(*allocation, selection);
  if (!constant) return std::nullopt;
  const VarId source = std::get_if<isa::Cast>(&cast->inst)->src.var;
  const isa::DType& from = selection.tile(source).dtype;
  // Even adding zero changes a float: -0 becomes +0.
  if (from.is_float() && !std::holds_alternative<isa::Mul>(stmt.inst)) return std::nullopt;
  const isa::RegisterType& result = selection.tile(stmt.results[0]);
  const VarId base = selection.chains.base_of(source);
  if (result != selection.tile(operands->value) || !selection.definitions.written_once(base)) {
    return std::nullopt;
  }
  const auto found = adjustments_by_word(*operands, *constant, result);
  if (!found) return std::nullopt;
  const auto forms = word_forms(*found, from, result.dtype, selection.program.target());
  if (!forms) return std::nullopt;
  const BitOrigin origin = selection.chains.origin(source);
  return FusedCast{cast->id, origin.base, make_recipe(*forms, found->of_word, origin.source_bits)};
}

}  // namespace

void fuse_casts(Selection& selection) {
  selection.statements.for_each_instruction([&](StmtId id, const InstStmt& stmt) {
    auto fused = fuse(stmt, selection);
    if (!fused) return;
    selection.result.forms[fused->cast] = ElidedCast{id};
    selection.result.forms[id] = *std::move(fused);
  });
}

}  // namespace tilevm::backend
