#include "vm/run/modelled.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "isa/analysis/statements.h"
#include "isa/inst/instruction_set.h"
#include "isa/numeric/approximation_evidence.h"

namespace tilevm::vm {
namespace {

template <class Inst>
constexpr bool is_approximate = false;
template <isa::UnaryOp op>
constexpr bool is_approximate<isa::Unary<op>> = class_of(op) == isa::UnaryClass::approximation;
template <isa::BinaryOp op>
constexpr bool is_approximate<isa::Binary<op>> = class_of(op) == isa::BinaryClass::quotient;

/// The name of an approximate instruction; empty for any other.
std::string_view approximate_name(const isa::Instruction& instruction) {
  return std::visit(
      []<class Inst>(const Inst&) -> std::string_view {
        if constexpr (is_approximate<Inst>) return Inst::schema.description.mnemonic;
        return {};
      },
      instruction);
}

}  // namespace

void note_modelled(const isa::VerifiedProgram& program, const Entry& entry, Diagnostics& notes) {
  const isa::Target& target = program.target();
  if (isa::approximation_evidence(target).evidence == isa::Evidence::measured) return;
  for (const isa::Launch& launch : entry.launches) {
    const isa::Statements statements(program.kernel(launch.kernel));
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(statements.size()); ++i) {
      const isa::InstStmt* stmt = statements.instruction(isa::StmtId{i});
      if (stmt == nullptr || approximate_name(stmt->inst).empty()) continue;
      notes.report({.code = Code::modelled_instruction,
                    .severity = Severity::note,
                    .span = statements[isa::StmtId{i}].span,
                    .message = fmt::format("the bits of `{}` are modelled for sm_{}: they were "
                                           "compared with GPUs of sm_90 alone",
                                           approximate_name(stmt->inst), target.sm),
                    .fix = {},
                    .notes = {}});
      return;
    }
  }
}

}  // namespace tilevm::vm
