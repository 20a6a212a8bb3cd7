// Completion of command lines in shells.
#pragma once

#include <string>

#include "isa/base/result.h"
#include "vm/manual/command_table.h"

namespace tilevm::vm {

/// A script for a shell: "bash", "zsh" or "fish". Error (usage): another one.
[[nodiscard]] Result<std::string> completion(const CommandTable& table, const std::string& shell);

}  // namespace tilevm::vm
