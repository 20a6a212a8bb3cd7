#include "vm/cmd_support.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/base/suggest.h"

namespace tilevm::vm {

Result<Loaded> load_program(const ProgramOptions& options, std::string_view target_if_none,
                            Io& io) {
  const Result<isa::Target> target =
      isa::parse_target(options.target.empty() ? target_if_none : options.target);
  if (!target) return Error{ErrorKind::usage, target.error().message};
  const Result<std::vector<frontend::Define>> defines = parse_defines(options.defines);
  if (!defines) return defines.error();
  Result<std::shared_ptr<const SourceFile>> source = read_source(options.file, io.in);
  if (!source) return source.error();
  return load(*std::move(source), *defines, *target);
}

Status check_choice(std::string_view what, const std::string& value,
                    const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return Done{};
  const std::string near = nearest(value, choices);
  const std::string hint = near.empty() ? fmt::format("there is `{}`", fmt::join(choices, "`, `"))
                                        : fmt::format("did you mean `{}`?", near);
  return Error{ErrorKind::usage, fmt::format("unknown {} `{}`; {}", what, value, hint)};
}

}  // namespace tilevm::vm
