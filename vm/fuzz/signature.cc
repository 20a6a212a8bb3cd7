#include "vm/fuzz/signature.h"

#include <type_traits>

#include "isa/analysis/statements.h"
#include "isa/inst/slot_table.h"
#include "vm/diff/bisect.h"

namespace tilevm::vm::fuzz {
namespace {

/// " u4" of a register tile; nothing of other variables.
std::string type_word(const isa::Kernel& kernel, isa::VarId var) {
  const auto* type = std::get_if<isa::RegisterType>(&kernel.variable(var).type);
  return type != nullptr ? " " + isa::to_string(type->dtype) : "";
}

std::string instruction_kind(const isa::Kernel& kernel, const isa::InstStmt& stmt) {
  std::string kind(isa::mnemonic(stmt.inst));
  if (isa::description(stmt.inst).category != isa::Category::compute) return kind;
  isa::for_each_slot_of(stmt.inst, [&]<class Slot>(isa::Access, const Slot& slot) {
    if constexpr (std::is_same_v<Slot, isa::RegisterOperand>) kind += type_word(kernel, slot.var);
  });
  for (const isa::VarId result : stmt.results) kind += type_word(kernel, result);
  return kind;
}

}  // namespace

std::string statement_kind(const isa::VerifiedProgram& program, int kernel, isa::StmtId statement) {
  const isa::Kernel& definition = program.kernel(kernel);
  const isa::Statements statements(definition);
  if (const isa::InstStmt* stmt = statements.instruction(statement)) {
    return instruction_kind(definition, *stmt);
  }
  return std::holds_alternative<isa::ScalarStmt>(statements[statement].node) ? "scalar" : "loop";
}

std::string differing_kind(const ReadyCase& each, const Engines& engines, std::size_t b) {
  const DiffCase what{each.program, each.entry};
  const Result<BisectResult> result = bisect(what, engines, 0, b, each.tensors, {.threads = 1});
  if (!result || !result->found) return "";
  return statement_kind(each.program, result->found->kernel, result->found->statement);
}

bool matches(const std::string& signature, const std::string& known) {
  if (known.empty() || !signature.starts_with(known)) return false;
  return signature.size() == known.size() || signature[known.size()] == ' ';
}

}  // namespace tilevm::vm::fuzz
