// What the inputs hold of the problems that a search times and proves: `--in NAME=SPEC`.
#pragma once

#include <string>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::vm::tuning {

/// The inputs as the processes of a search take them, which run in another folder: paths of files
/// are absolute. Error (usage): one is malformed, or reads standard input, which many processes
/// cannot.
[[nodiscard]] Result<std::vector<std::string>> absolute_inputs(
    const std::vector<std::string>& inputs);

/// The inputs of the problem on which a winner is proved. Files have the sizes of the whole
/// problem, so that those of a reduced one hold random data instead.
[[nodiscard]] std::vector<std::string> inputs_of_proof(const std::vector<std::string>& inputs,
                                                       bool reduced);

}  // namespace tilevm::vm::tuning
