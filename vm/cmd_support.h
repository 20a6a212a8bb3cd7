// What several commands share: loading a program as the options say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "vm/commands.h"

namespace tilevm::vm {

/// The target where the user names none.
inline constexpr std::string_view default_target = "sm_90";

/// Reads and loads the program. Errors: usage (the file, a define or the target).
[[nodiscard]] Result<Loaded> load_program(const ProgramOptions& options,
                                          std::string_view target_if_none, Io& io);

/// Error (usage): `value` is none of `choices`; `what` is "backend", "kind of output" ...
[[nodiscard]] Status check_choice(std::string_view what, const std::string& value,
                                  const std::vector<std::string>& choices);

}  // namespace tilevm::vm
