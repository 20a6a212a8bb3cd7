// Examples that open the help page of each command.
#pragma once

#include <string>

namespace tilevm::vm {

/// Lines that can be typed as they are, each with its line break; "" for an unknown command.
[[nodiscard]] std::string help_examples(const std::string& command);

/// What the exit status of a command means, for the end of its help; "tilevm" for all.
[[nodiscard]] std::string help_statuses(const std::string& command);

}  // namespace tilevm::vm
