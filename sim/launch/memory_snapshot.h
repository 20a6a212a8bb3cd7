// A copy of a launch's global memory, to run the launch again from where it began.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/state/state.h"

namespace tilevm::sim {

class MemorySnapshot {
 public:
  explicit MemorySnapshot(const Memory& memory) {
    for (const MemoryBuffer& buffer : memory) {
      Copy& copy = copies_.emplace_back();
      if (buffer.data != nullptr) copy.data.assign(buffer.data, buffer.data + buffer.bytes);
      if (buffer.undefined == nullptr) continue;
      copy.undefined.assign(buffer.undefined, buffer.undefined + buffer.bytes);
    }
  }

  void restore(const Memory& memory) const {
    for (std::size_t b = 0; b < memory.size(); ++b) {
      std::copy(copies_[b].data.begin(), copies_[b].data.end(), memory[b].data);
      std::copy(copies_[b].undefined.begin(), copies_[b].undefined.end(), memory[b].undefined);
    }
  }

 private:
  struct Copy {
    std::vector<std::uint8_t> data, undefined;
  };
  std::vector<Copy> copies_;
};

}  // namespace tilevm::sim
