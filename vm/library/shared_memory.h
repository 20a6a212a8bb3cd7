// Arguments of a call that are one another's memory: one array as input and output, or as two
// outputs. All engines then work on one memory, as a device does, so that a kernel may work in
// place and races in it are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "isa/program/program.h"
#include "vm/run/entry.h"

namespace tilevm::vm {

/// A tensor among the arguments of a call: where its bytes are.
struct TensorMemory {
  std::string name;
  std::uintptr_t begin = 0, end = 0;
  bool is_written = false;
};

/// For each tensor of a call of `entry` the number of its memory, counted from 0 on. Two tensors
/// have one memory if their bytes are the same, and one of them is written. Error (usage): memory
/// that is written is a part of another tensor's.
[[nodiscard]] Result<std::vector<std::size_t>> memories_of(
    const std::string& entry, const std::vector<TensorMemory>& tensors);

/// Adds a tensor that has the memory of `known`: read or written as either is, with both names.
void share_memory(Entry::Tensor& known, const Entry::Tensor& tensor);

/// Launches count tensors; afterwards they count memories. Tensors that are not arguments follow,
/// each with memory of its own.
void count_memories(std::vector<isa::Launch>& launches, const std::vector<std::size_t>& memories);

}  // namespace tilevm::vm
