#include "vm/text/choice.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/base/suggest.h"

namespace tilevm::vm {

Status check_choice(std::string_view what, const std::string& value,
                    const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return Done{};
  const std::string near = nearest(value, choices);
  const std::string hint = near.empty() ? fmt::format("there is `{}`", fmt::join(choices, "`, `"))
                                        : fmt::format("did you mean `{}`?", near);
  return Error{ErrorKind::usage, fmt::format("unknown {} `{}`; {}", what, value, hint)};
}

}  // namespace tilevm::vm
