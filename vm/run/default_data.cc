#include "vm/run/default_data.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tilevm::vm {
namespace {

std::vector<std::string> input_names(const isa::Program& program, const EntryIndex& entry) {
  std::vector<std::string> names;
  const auto index = static_cast<std::size_t>(entry.index);
  if (entry.is_pipeline) {
    const isa::Pipeline& pipeline = program.pipelines[index];
    for (const isa::PipelineScalar& scalar : pipeline.scalars) names.push_back(scalar.name);
    for (const isa::PipelineTensor& tensor : pipeline.tensors) {
      if (tensor.is_input()) names.push_back(tensor.name);
    }
    return names;
  }
  const isa::Kernel& kernel = program.kernels[index];
  for (const isa::VarId parameter : kernel.parameters) {
    names.push_back(kernel.variable(parameter).name);
  }
  return names;
}

/// The words after "# data:" of all such lines.
std::vector<std::string> data_words(std::string_view text) {
  constexpr std::string_view mark = "# data:";
  std::istringstream lines{std::string(text)};
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(mark)) continue;
    std::istringstream words(line.substr(mark.size()));
    for (std::string word; words >> word;) found.push_back(word);
  }
  return found;
}

}  // namespace

void add_default_data(const isa::Program& program, const SourceFile& source,
                      const EntryIndex& entry, Texts& inputs) {
  const std::vector<std::string> words = data_words(source.text());
  if (words.empty()) return;
  const std::vector<std::string> names = input_names(program, entry);
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = word.substr(0, equals);
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    inputs.try_emplace(name, word.substr(equals + 1));
  }
}

}  // namespace tilevm::vm
