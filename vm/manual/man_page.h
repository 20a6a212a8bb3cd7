// Man pages of the command and of each of its commands.
#pragma once

#include <string>

#include "isa/base/result.h"
#include "vm/manual/command_table.h"

namespace tilevm::vm {

/// "tilevm-run.1"; "tilevm.1" for an empty name.
[[nodiscard]] std::string man_page_name(const std::string& command);

/// A page in roff, of a command or, for an empty name, of all. Error (usage): no such command.
[[nodiscard]] Result<std::string> man_page(const CommandTable& table, const std::string& command);

}  // namespace tilevm::vm
