#include "vm/run/modelled.h"

#include <algorithm>

#include <fmt/format.h>

#include "isa/analysis/special_functions.h"
#include "isa/analysis/statements.h"
#include "isa/inst/instruction_set.h"
#include "isa/numeric/approximation_evidence.h"

namespace tilevm::vm {

void note_modelled(const isa::VerifiedProgram& program, const Entry& entry, Diagnostics& notes) {
  const isa::Target& target = program.target();
  if (isa::approximation_evidence(target).evidence == isa::Evidence::measured) return;
  for (const isa::Launch& launch : entry.launches) {
    const isa::Statements statements(program.kernel(launch.kernel));
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(statements.size()); ++i) {
      const isa::InstStmt* stmt = statements.instruction(isa::StmtId{i});
      if (stmt == nullptr || !isa::is_special_function(stmt->inst)) continue;
      notes.report({.code = Code::modelled_instruction,
                    .severity = Severity::note,
                    .span = statements[isa::StmtId{i}].span,
                    .message = fmt::format("the bits of `{}` are modelled for sm_{}: they were "
                                           "compared with GPUs of sm_90 alone",
                                           isa::mnemonic(stmt->inst), target.sm),
                    .fix = {},
                    .notes = {}});
      return;
    }
  }
}

}  // namespace tilevm::vm
