// docs/results/fidelity.md: what is exact on which architecture, and how that is known.
#pragma once

#include <string>
#include <vector>

#include "vm/fidelity/case_record.h"

namespace tilevm::vm::fidelity {

/// The page that follows from the records of devices; those of the simulator count for nothing.
[[nodiscard]] std::string markdown_report(const std::vector<CaseRecord>& records);

}  // namespace tilevm::vm::fidelity
