// The errors that a run's arithmetic introduced, for people and as JSON
// (docs/reference/checks.md, Shadow evaluation).
#pragma once

#include <string>
#include <vector>

#include "isa/verify/verify.h"
#include "vm/run/engine.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// Adds a launch to the errors of its kernel.
void add_launch(std::vector<KernelErrors>& kernels, int kernel,
                std::vector<sim::StatementErrors> statements);

/// A table of the outputs, and one of each kernel's statements that are not exact; many lines, each
/// with its line break.
[[nodiscard]] std::string shadow_table(const isa::VerifiedProgram& program,
                                       const RunReport& report);

/// The shadow values as an object, with all statements that compute.
[[nodiscard]] Json shadow_json(const isa::VerifiedProgram& program, const RunReport& report);

}  // namespace tilevm::vm
