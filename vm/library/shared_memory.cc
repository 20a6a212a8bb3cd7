#include "vm/library/shared_memory.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace tilevm::vm {
namespace {

bool overlap(const TensorMemory& a, const TensorMemory& b) {
  return a.begin < b.end && b.begin < a.end;
}

Error refusal(const std::string& entry, const TensorMemory& a, const TensorMemory& b) {
  return {
      ErrorKind::usage,
      fmt::format("`{}` and `{}` of `{}` overlap in memory without being one array, and `{}` is "
                  "written; pass memory of their own, or one array for both, as a tensor that "
                  "a pipeline declares `inout`",
                  a.name, b.name, entry, (b.is_written ? b : a).name)};
}

}  // namespace

Result<std::vector<std::size_t>> memories_of(const std::string& entry,
                                             const std::vector<TensorMemory>& tensors) {
  std::vector<std::size_t> memories;
  std::size_t count = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorMemory& own = tensors[i];
    std::size_t first = i;  // of those that are one array, if one of them is written
    bool is_written = own.is_written;
    for (std::size_t j = 0; j < tensors.size(); ++j) {
      const TensorMemory& other = tensors[j];
      if (j == i || !overlap(own, other)) continue;
      if (own.begin == other.begin && own.end == other.end) {
        first = std::min(first, j);
        is_written = is_written || other.is_written;
      } else if (own.is_written || other.is_written) {
        return refusal(entry, tensors[std::min(i, j)], tensors[std::max(i, j)]);
      }
    }
    memories.push_back(is_written && first < i ? memories[first] : count++);
  }
  return memories;
}

void share_memory(Entry::Tensor& known, const Entry::Tensor& tensor) {
  known.name += " = " + tensor.name;
  known.input = known.input || tensor.input;
  known.output = known.output || tensor.output;
}

void count_memories(std::vector<isa::Launch>& launches, const std::vector<std::size_t>& memories) {
  const std::size_t count =
      memories.empty() ? 0 : *std::max_element(memories.begin(), memories.end()) + 1;
  for (isa::Launch& launch : launches) {
    for (auto& argument : launch.arguments) {
      auto* const tensor = std::get_if<int>(&argument);
      if (tensor == nullptr) continue;
      const auto index = static_cast<std::size_t>(*tensor);
      *tensor = static_cast<int>(index < memories.size() ? memories[index]
                                                         : index - memories.size() + count);
    }
  }
}

}  // namespace tilevm::vm
