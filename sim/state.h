// The state of one thread block, as a value: copy it and you have a snapshot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "isa/print.h"
#include "sim/shared_state.h"

namespace tilevm::sim {

/// The register files of a block's threads. A tile occupies consecutive bytes: the bit streams of
/// its threads one after another, each rounded up to whole bytes. Tiles start at multiples of 64
/// bytes, and 64 bytes more may be read behind the last.
class RegisterSlab {
 public:
  explicit RegisterSlab(std::size_t bytes = 0) : lines_(bytes / sizeof(Line) + 2) {}
  [[nodiscard]] std::uint8_t* at(std::size_t byte) { return lines_.data()->bytes.data() + byte; }
  [[nodiscard]] const std::uint8_t* at(std::size_t byte) const {
    return lines_.data()->bytes.data() + byte;
  }

 private:
  struct alignas(64) Line {
    std::array<std::uint8_t, 64> bytes{};
  };
  std::vector<Line> lines_;
};

struct BlockState {
  std::array<std::int64_t, 3> block{};  ///< BlockIndices: x, y, z
  std::vector<std::uint64_t> scalars;   ///< isa::Scalar::bits by slot (plan.h)
  std::vector<GlobalView> views;        ///< by the variable's index
  RegisterSlab registers;
  SharedMemory shared;
  isa::PrintRecords prints;
  std::size_t next = 0;     ///< the record that runs next
  std::uint64_t steps = 0;  ///< records that ran
};

/// A buffer of global memory while a kernel runs; shared by all blocks.
struct MemoryBuffer {
  std::string_view name;
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
};
using Memory = std::vector<MemoryBuffer>;

}  // namespace tilevm::sim
