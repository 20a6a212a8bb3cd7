// What users read of the errors that tests expect: one page, which a test compares.
#pragma once

#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/run/vm.h"

namespace tilevm::filetest {

/// The .tile files below the folders, sorted.
[[nodiscard]] std::vector<std::string> tests_below(const std::vector<std::string>& folders);

/// All diagnostics of the tests below `folders` that expect errors, rendered as the command renders
/// them, with warnings, notes and proposals: what `# error:` lines do not compare. Error (usage): a
/// test cannot be read.
[[nodiscard]] Result<std::string> all_messages(const std::vector<std::string>& folders,
                                               vm::Engine& engine);

}  // namespace tilevm::filetest
