#include "tests/filetest/arguments.h"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace tilevm::filetest {

Result<Arguments> parse_arguments(const Case& test) {
  Arguments arguments;
  const bool only_compiles = test.kind == Kind::explain || test.kind == Kind::emit;
  arguments.target = only_compiles ? "sm_90a" : "sm_90";
  const std::vector<std::string>& words = test.args;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--wild") {
      arguments.seeding.wild = true;
      continue;
    }
    if (word == "--shadow") {
      arguments.shadow = true;
      continue;
    }
    if (word.starts_with("-D") && word.size() > 2) {
      arguments.defines.push_back(word.substr(2));
      continue;
    }
    if (++i == words.size()) return Error{ErrorKind::usage, word + " needs a value"};
    if (word == "-D") {
      arguments.defines.push_back(words[i]);
    } else if (word == "--in") {
      arguments.data.inputs.push_back(words[i]);
    } else if (word == "--entry") {
      arguments.entry = words[i];
    } else if (word == "--target") {
      arguments.target = words[i];
    } else if (word == "--check") {
      arguments.checks = words[i];
    } else if (word == "--seed") {
      arguments.seeding.seed = std::strtoull(words[i].c_str(), nullptr, 10);
    } else {
      return Error{ErrorKind::usage, fmt::format("`{}` is not an option of a test", word)};
    }
  }
  return arguments;
}

Result<vm::Loaded> load_case(const Arguments& arguments,
                             const std::shared_ptr<const SourceFile>& source) {
  const Result<std::vector<frontend::Define>> defines = vm::parse_defines(arguments.defines);
  if (!defines) return defines.error();
  const Result<isa::Target> target = isa::parse_target(arguments.target);
  if (!target) return target.error();
  return vm::load(source, *defines, *target);
}

}  // namespace tilevm::filetest
