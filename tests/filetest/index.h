// The index of the tests by instruction: which tests show what an instruction does.
#pragma once

#include <string>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::filetest {

/// The index as Markdown, with links that are right in the file `readme`, over all .tile files
/// below `folders`. Which instructions a test has is read from its bound program, of a run only
/// from the kernels that it launches; from the syntax tree where there is no program, since it must
/// be refused. Error (usage): a test cannot be read, or no test compares the results of an
/// instruction.
[[nodiscard]] Result<std::string> make_index(const std::string& readme,
                                             const std::vector<std::string>& folders);

}  // namespace tilevm::filetest
