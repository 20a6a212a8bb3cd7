#include "isa/analysis/address_terms.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <variant>

#include "isa/base/check.h"
#include "isa/inst/slot_table.h"

namespace tilevm::isa {
namespace {

/// Whether the operands of an operation take part in an address that its result is a part of.
bool keeps_addresses(ScalarBinary op) {
  switch (op) {
    case ScalarBinary::add:
    case ScalarBinary::sub:
    case ScalarBinary::mul:
    case ScalarBinary::div:
    case ScalarBinary::minimum:
    case ScalarBinary::maximum:
    case ScalarBinary::shl:
      return true;
    case ScalarBinary::mod:
    case ScalarBinary::shr:
    case ScalarBinary::bit_and:
    case ScalarBinary::bit_or:
    case ScalarBinary::bit_xor:
    case ScalarBinary::eq:
    case ScalarBinary::ne:
    case ScalarBinary::lt:
    case ScalarBinary::le:
    case ScalarBinary::gt:
    case ScalarBinary::ge:
    case ScalarBinary::logical_and:
    case ScalarBinary::logical_or:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace

void for_each_address_term(const Expr& expr, const std::function<void(const Expr&)>& f) {
  if (!is_integer(expr.kind())) return;
  f(expr);
  if (const auto* unary = std::get_if<Expr::Unary>(&expr.node())) {
    if (unary->op == ScalarUnary::negate) for_each_address_term(unary->a, f);
  } else if (const auto* conversion = std::get_if<Expr::Convert>(&expr.node())) {
    for_each_address_term(conversion->a, f);
  } else if (const auto* select = std::get_if<Expr::Select>(&expr.node())) {
    for_each_address_term(select->a, f);
    for_each_address_term(select->b, f);
  } else if (const auto* binary = std::get_if<Expr::Binary>(&expr.node())) {
    if (!keeps_addresses(binary->op)) return;
    for_each_address_term(binary->a, f);
    if (binary->op != ScalarBinary::shl) for_each_address_term(binary->b, f);
  }
}

bool may_wrap(const Expr& term) {
  const auto* binary = std::get_if<Expr::Binary>(&term.node());
  if (binary == nullptr || !is_integer(term.kind())) return false;
  return binary->op == ScalarBinary::add || binary->op == ScalarBinary::mul ||
         binary->op == ScalarBinary::shl ||
         (binary->op == ScalarBinary::sub && is_signed(term.kind()));
}

void for_each_address(const Instruction& instruction, const std::function<void(const Expr&)>& f) {
  for_each_slot_of(instruction, [&](Access, const auto& slot) {
    using Slot = std::decay_t<decltype(slot)>;
    if constexpr (std::is_same_v<Slot, OffsetList>) {
      for (const OffsetList::Entry& entry : slot.entries) f(entry.value);
    } else if constexpr (std::is_same_v<Slot, std::optional<OffsetList>>) {
      if (!slot) return;
      for (const OffsetList::Entry& entry : slot->entries) f(entry.value);
    } else if constexpr (std::is_same_v<Slot, ExtentList>) {
      for (const Expr& extent : slot.extents) f(extent);
    } else if constexpr (std::is_same_v<Slot, ViewLayout>) {
      for (const Expr& stride : slot.strides) f(stride);
    } else if constexpr (std::is_same_v<Slot, std::optional<ViewLayout>>) {
      if (!slot) return;
      for (const Expr& stride : slot->strides) f(stride);
    }
  });
}

IndexSources index_sources(const Kernel& kernel, const Expr& index) {
  std::vector<bool> found(kernel.variables.size(), false);
  bool grows = false;
  const auto add = [&](const Expr& expr) {
    for_each_variable(expr, [&](VarId var) {
      const auto number = static_cast<std::size_t>(var.index);
      grows = grows || !found[number];
      found[number] = true;
    });
  };
  const auto is_found = [&](VarId var) { return found[static_cast<std::size_t>(var.index)]; };
  IndexSources sources;
  add(index);
  while (grows) {
    grows = false;
    for_each_statement(kernel.body, [&](const Stmt& stmt) {
      if (const auto* scalar = std::get_if<ScalarStmt>(&stmt.node)) {
        if (is_found(scalar->target)) add(scalar->value);
      } else if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) {
        if (!is_found(loop->var)) return;
        sources.loops = true;
        add(loop->begin);
        add(loop->step);
      } else if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
        if (description(inst->inst).result == ResultKind::indices) return;
        sources.data =
            sources.data || std::any_of(inst->results.begin(), inst->results.end(), is_found);
      }
    });
  }
  return sources;
}

std::vector<bool> address_variables(const Kernel& kernel) {
  std::vector<bool> found(kernel.variables.size(), false);
  bool grows = false;
  const auto add = [&](const Expr& expr) {
    for_each_address_term(expr, [&](const Expr& term) {
      const auto* variable = std::get_if<Expr::Variable>(&term.node());
      if (variable == nullptr) return;
      const auto number = static_cast<std::size_t>(variable->var.index);
      if (found[number]) return;
      found[number] = true;
      grows = true;
    });
  };
  const auto is_found = [&](VarId var) { return found[static_cast<std::size_t>(var.index)]; };
  do {
    grows = false;
    for_each_statement(kernel.body, [&](const Stmt& stmt) {
      if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
        for_each_address(inst->inst, add);
      } else if (const auto* scalar = std::get_if<ScalarStmt>(&stmt.node)) {
        if (is_found(scalar->target)) add(scalar->value);
      } else if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) {
        if (is_found(loop->var)) add(loop->begin);
      }
    });
  } while (grows);
  return found;
}

}  // namespace tilevm::isa
