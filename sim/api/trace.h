// A commit log: the values that the statements of one block wrote, in execution order.
//
// A traced run executes the same records of a plan. Each step is reported after it ran.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "isa/base/source.h"
#include "isa/inst/expr.h"
#include "isa/layout/register_layout.h"
#include "isa/type/dtype.h"

namespace tilevm::sim {

/// A register tile that a statement wrote. `data` are its elements in row-major order, as dense
/// bits (isa/type/bits.h), each from the first thread that holds it.
struct TracedTile {
  std::string_view name;
  isa::DType dtype;
  isa::Shape shape;
  std::vector<std::uint8_t> data;
  std::size_t undefined = 0;  ///< elements without a defined value
};

struct TracedScalar {
  std::string_view name;
  isa::Scalar value;
};

/// One statement that ran: an instruction, or, without mnemonic, the assignment of a scalar or the
/// begin of a loop's next iteration. Valid during the call.
struct TraceEvent {
  std::array<std::int64_t, 3> block{};  ///< x, y, z
  std::uint64_t step = 0;               ///< counts the statements of the block, from 1
  Span span{};
  std::string_view mnemonic;
  std::uint16_t group = 0;  ///< index in isa::KernelInfo::groups of the warps that ran it
  std::vector<TracedTile> tiles;
  std::vector<TracedScalar> scalars;
};

/// The block that is traced (x, y, z), and the callback for its events. If `tell` is empty nothing
/// is traced. After `tell` returns false the run stops with a fault; of several blocks, only that
/// block is traced no further.
struct Trace {
  std::array<std::int64_t, 3> block{};
  /// If not 0: instead of that block so many of a launch, the first in the order in which blocks
  /// begin. With several host threads `tell` may then be called by all of them at once.
  std::uint64_t first_blocks = 0;
  bool values = true;  ///< whether events have tiles and scalars
  std::function<bool(const TraceEvent&)> tell;
};

}  // namespace tilevm::sim
