#include "vm/tune/inputs.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "vm/data/spec.h"
#include "vm/run/load.h"

namespace tilevm::vm::tuning {

Result<std::vector<std::string>> absolute_inputs(const std::vector<std::string>& inputs) {
  std::vector<std::string> absolute;
  for (const std::string& input : inputs) {
    const auto pair = split_assignment(input, "--in");
    if (!pair) return pair.error();
    const Result<Spec> spec = parse_spec(pair->second);
    if (!spec) return spec.error();
    if (spec->path == "-") {
      return Error{ErrorKind::usage,
                   fmt::format("--in {}: each point reads its inputs again; name a file, not "
                               "standard input",
                               input)};
    }
    std::string text = pair->second;
    if (!spec->path.empty()) {
      std::error_code none;
      const std::string path = std::filesystem::absolute(spec->path, none).string();
      text.replace(text.rfind(spec->path), spec->path.size(), path);
    }
    absolute.push_back(fmt::format("{}={}", pair->first, text));
  }
  return absolute;
}

std::vector<std::string> inputs_of_proof(const std::vector<std::string>& inputs, bool reduced) {
  if (!reduced) return inputs;
  std::vector<std::string> kept;
  std::ranges::copy_if(inputs, std::back_inserter(kept), [](const std::string& input) {
    const auto pair = split_assignment(input, "--in");
    const Result<Spec> spec = pair ? parse_spec(pair->second) : Result<Spec>(pair.error());
    return spec && spec->path.empty() && !spec->shape;
  });
  return kept;
}

}  // namespace tilevm::vm::tuning
