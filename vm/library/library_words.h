// Messages in the words of a caller. Parts that the command and libtilevm share name options of the
// command, which a caller of a function does not have.
#pragma once

#include <string>

#include "isa/base/diagnostic.h"

namespace tilevm::vm {

/// A message without options of the command: `-D N=3` is the constant `N=3`, `--max-steps` the
/// member `max_steps` of the options of a run.
[[nodiscard]] std::string without_options(std::string message);

/// Diagnostics whose messages and notes are so; lines of the program stay as they are.
[[nodiscard]] Diagnostics without_options(const Diagnostics& diagnostics);

}  // namespace tilevm::vm
