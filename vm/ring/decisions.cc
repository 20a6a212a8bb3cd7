#include "vm/ring/decisions.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "isa/analysis/operands.h"
#include "isa/analysis/statements.h"
#include "isa/base/check.h"
#include "vm/text/table.h"

namespace tilevm::vm {
namespace {

/// The element type of a register tile; nothing of other variables.
const isa::DType* register_dtype(const isa::Kernel& kernel, isa::VarId var) {
  const auto* type = std::get_if<isa::RegisterType>(&kernel.variable(var).type);
  return type == nullptr ? nullptr : &type->dtype;
}

/// The first float type that a statement reads and the first other type that it gives.
std::optional<std::string> decision_of(const isa::Kernel& kernel, const isa::InstStmt& stmt) {
  const isa::DType *read = nullptr, *given = nullptr;
  isa::for_each_register_operand(stmt.inst, [&](isa::VarId var) {
    const isa::DType* type = register_dtype(kernel, var);
    if (read == nullptr && type != nullptr && type->is_float()) read = type;
  });
  for (const isa::VarId var : stmt.results) {
    const isa::DType* type = register_dtype(kernel, var);
    if (given == nullptr && type != nullptr && !type->is_float()) given = type;
  }
  if (read == nullptr || given == nullptr) return std::nullopt;
  return fmt::format("`{}` gives {} of {}", isa::mnemonic(stmt.inst), isa::to_string(*given),
                     isa::to_string(*read));
}

/// Whether every number of a type is one of the other, a float.
bool is_exact(const isa::DType& from, const isa::DType& to) {
  if (!from.is_float()) return from.bits <= to.mantissa_bits;
  return from.exponent_bits <= to.exponent_bits && from.mantissa_bits <= to.mantissa_bits;
}

std::optional<std::string> rounding_of(const isa::Kernel& kernel, const isa::InstStmt& stmt) {
  const auto* cast = std::get_if<isa::Cast>(&stmt.inst);
  if (cast == nullptr) return std::nullopt;
  const isa::DType* from = register_dtype(kernel, cast->src.var);
  if (from == nullptr || !cast->dtype.is_float() || is_exact(*from, cast->dtype)) {
    return std::nullopt;
  }
  return fmt::format("{} to {}", isa::to_string(*from), isa::to_string(cast->dtype));
}

void add_once(std::vector<Decision>& decisions, Decision decision) {
  const auto known = std::find(decisions.begin(), decisions.end(), decision);
  if (known == decisions.end()) decisions.push_back(std::move(decision));
}

/// The statements of which `what` says something; a function's statement once, wherever it is
/// called.
template <class What>
std::vector<Decision> find_statements(const isa::VerifiedProgram& program, const Entry& entry,
                                      What&& what) {
  std::set<int> kernels;
  for (const isa::Launch& launch : entry.launches) kernels.insert(launch.kernel);
  std::vector<Decision> found;
  for (const int number : kernels) {
    const isa::Kernel& kernel = program.kernel(number);
    const isa::Statements statements(kernel);
    statements.for_each_instruction([&](isa::StmtId id, const isa::InstStmt& stmt) {
      if (auto text = what(kernel, stmt)) {
        add_once(found, {location_of(program, statements[id].span), *std::move(text)});
      }
    });
  }
  return found;
}

std::string_view words_of(naive::ResidueObserver::Use use) {
  switch (use) {
    case naive::ResidueObserver::Use::scalar:
      return "takes a scalar from the data";
    case naive::ResidueObserver::Use::place:
      return "takes places from the data";
    case naive::ResidueObserver::Use::bits:
      return "reads bits that were stored as another type";
    case naive::ResidueObserver::Use::turn:
      return "takes what other blocks have left so far";
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace

std::vector<Decision> decisions_of(const isa::VerifiedProgram& program, const Entry& entry) {
  return find_statements(program, entry, decision_of);
}

std::vector<Decision> rounding_casts_of(const isa::VerifiedProgram& program, const Entry& entry) {
  return find_statements(program, entry, rounding_of);
}

Decision named(const isa::VerifiedProgram& program, StatementPlace place) {
  const isa::Statements statements(program.kernel(place.kernel));
  const isa::InstStmt* stmt = statements.instruction(place.statement);
  return {location_of(program, statements[place.statement].span),
          std::string(stmt != nullptr ? isa::mnemonic(stmt->inst) : "statement")};
}

std::vector<Decision> BitUses::in_words(const isa::VerifiedProgram& program) const {
  std::vector<Decision> words;
  for (const auto& [place, use] : all_) {
    const Decision statement = named(program, place);
    add_once(words, {statement.location, fmt::format("`{}` {}", statement.text, words_of(use))});
  }
  return words;
}

std::string decision_lines(const std::vector<Decision>& decisions) {
  std::string text;
  for (const Decision& decision : decisions) {
    text += fmt::format("  {}: {}\n", decision.location, decision.text);
  }
  return text;
}

}  // namespace tilevm::vm
