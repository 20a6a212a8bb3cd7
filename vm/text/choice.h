// One of several words that a user may give.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::vm {

/// Error (usage): `value` is none of `choices`; `what` is "backend", "kind of output" ...
[[nodiscard]] Status check_choice(std::string_view what, const std::string& value,
                                  const std::vector<std::string>& choices);

}  // namespace tilevm::vm
