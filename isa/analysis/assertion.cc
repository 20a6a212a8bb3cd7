#include "isa/analysis/assertion.h"

#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/analysis/statements.h"

namespace tilevm::isa {
namespace {

const Assert* assertion_of(StmtId id, const Statements& statements) {
  if (!id.valid() || static_cast<std::size_t>(id.index) >= statements.size()) return nullptr;
  const InstStmt* stmt = statements.instruction(id);
  return stmt != nullptr ? std::get_if<Assert>(&stmt->inst) : nullptr;
}

/// What a message calls the condition: results of nested calls have no name of their own.
std::string condition_name(VarId var, const Kernel& kernel) {
  const std::string& name = kernel.variable(var).name;
  return name.starts_with('(') ? "the condition" : fmt::format("`{}`", name);
}

}  // namespace

bool has_assertions(const Kernel& kernel) {
  bool found = false;
  Statements(kernel).for_each_instruction([&](StmtId, const InstStmt& stmt) {
    found = found || std::holds_alternative<Assert>(stmt.inst);
  });
  return found;
}

std::string assertion_text(const Assert& inst) {
  if (inst.message) return "assertion failed: " + inst.message->value;
  const bool scalar = std::holds_alternative<ScalarOperand>(inst.condition.value);
  return scalar ? "assertion failed: the condition is false"
                : "assertion failed: the condition does not hold everywhere";
}

std::string false_element_text(const Assert& inst, const Index& element, std::int64_t others,
                               const Kernel& kernel) {
  const VarId var = std::get_if<RegisterOperand>(&inst.condition.value)->var;
  std::string text =
      fmt::format("element [{}] of {} is 0", fmt::join(element, ", "), condition_name(var, kernel));
  if (others > 0) text += fmt::format(", and so {} {} more", others == 1 ? "is" : "are", others);
  return text;
}

std::optional<FailedAssertion> read_assertion(const AssertionRecord& record) {
  if (record[0] == 0) return std::nullopt;
  FailedAssertion failed;
  failed.statement = StmtId{static_cast<std::int32_t>(record[0] - 1)};
  failed.place = record[1] & 0xffffU;
  failed.kernel = static_cast<int>(record[1] >> 16);
  failed.thread = record[2] & 0x3ffU;
  failed.block = record[2] >> 10 | std::uint64_t{record[3]} << 22;
  return failed;
}

std::optional<Diagnostic> assertion_report(const FailedAssertion& failed, const Kernel& kernel,
                                           const std::array<unsigned, 3>& grid) {
  const Statements statements(kernel);
  const Assert* inst = assertion_of(failed.statement, statements);
  const std::uint64_t plane = std::uint64_t{grid[0]} * grid[1];
  if (inst == nullptr || failed.block >= plane * grid[2]) return std::nullopt;
  const InstStmt& stmt = *statements.instruction(failed.statement);
  const bool known = !stmt.slot_spans.empty() && stmt.slot_spans[0] != Span{};
  Diagnostic report{.code = Code::assertion_failed,
                    .severity = Severity::error,
                    .span = known ? stmt.slot_spans[0] : statements[failed.statement].span,
                    .message = assertion_text(*inst),
                    .fix = {},
                    .notes = {}};
  if (const auto* tile = std::get_if<RegisterOperand>(&inst->condition.value)) {
    const auto& layout = std::get_if<RegisterType>(&kernel.variable(tile->var).type)->layout;
    if (failed.thread >= layout.num_threads() || failed.place >= layout.num_locals()) {
      return std::nullopt;
    }
    add_note(report,
             false_element_text(*inst, layout.element(failed.thread, failed.place), 0, kernel));
  }
  // As many indices as the grid has extents.
  std::vector<std::uint64_t> block{failed.block % grid[0], failed.block % plane / grid[0],
                                   failed.block / plane};
  block.resize(kernel.grid.size());
  add_note(report, fmt::format("in block [{}]", fmt::join(block, ", ")));
  return report;
}

}  // namespace tilevm::isa
