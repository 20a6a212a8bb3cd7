// Breakpoints and watchpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/debug/command.h"
#include "sim/debug/source_line.h"

namespace tilevm::sim::debug {

struct Breakpoint {
  int number = 0;
  /// Line; else the stop is at a kernel, a function, or every instruction.
  std::optional<SourceLine> line;
  std::string name;  ///< name of the kernel, function or instruction
  ExpressionPtr condition;
  std::uint64_t hits = 0, ignore = 0;
  bool enabled = true, temporary = false;
};

/// The records of a kernel at which breakpoints stop.
struct StopTable {
  std::vector<std::uint8_t> marks;     ///< marks by record, and one more: whether any stops
  std::vector<std::set<int>> numbers;  ///< numbers of the enabled breakpoints, by record
};

/// Watches a tensor or a scalar of one block, or global memory whatever block writes it.
struct Watchpoint {
  int number = 0;
  Selection what;
  Tensor tensor;  ///< what is watched; for a scalar only its type counts
  std::vector<isa::Index> indices;
  std::optional<isa::VarId> scalar;
  bool everywhere = false;  ///< whether all of global memory is watched
  std::size_t launch = 0;
  std::uint64_t rank = 0;
  ExpressionPtr condition;  ///< condition, or null; evaluated in the block that makes the change
  std::uint64_t hits = 0, ignore = 0;
  bool enabled = true;
  std::optional<std::vector<Element>> last;  ///< nothing while the block does not run
};

/// The most elements that one watchpoint compares.
inline constexpr std::size_t max_watched = std::size_t{1} << 16;

/// A part of a tensor: the first index and the extents, by dimension of the tensor. Error (usage):
/// it is not inside the tensor.
struct Part {
  isa::Index origin;
  isa::Shape extents;
  std::vector<bool> is_index;
};
[[nodiscard]] Result<Part> resolve(const Selection& selection, const Tensor& tensor);

/// The index in the tensor of element k of a part, in row-major order.
[[nodiscard]] isa::Index index_in(const Part& part, std::int64_t k);

}  // namespace tilevm::sim::debug
