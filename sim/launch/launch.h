// A launch before its blocks run: arguments are checked, the grid is known, memory is there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "sim/api/sim.h"
#include "sim/state/state.h"

namespace tilevm::sim {

/// Limits of a launch, in bytes: registers of one block and index tables, for each host thread;
/// all workspaces.
inline constexpr std::size_t max_block_bytes = std::size_t{1} << 28;
inline constexpr std::int64_t max_workspace_bytes = std::int64_t{1} << 36;
inline constexpr std::size_t max_tracked_bytes = std::size_t{1} << 30;
inline constexpr std::size_t max_block_shadow_bytes = std::size_t{1} << 30;

struct Grid {
  std::array<std::int64_t, 3> extents{1, 1, 1};
  std::size_t rank = 1;

  [[nodiscard]] std::uint64_t blocks() const {
    return static_cast<std::uint64_t>(extents[0]) * static_cast<std::uint64_t>(extents[1]) *
           static_cast<std::uint64_t>(extents[2]);
  }
  /// The block with a linear index; x is fastest.
  [[nodiscard]] std::array<std::int64_t, 3> block(std::uint64_t linear) const;
};

/// Memory of std::calloc: zeroed pages that are never touched cost nothing.
struct Free {
  void operator()(std::uint8_t* memory) const { std::free(memory); }
};
using ZeroedBytes = std::unique_ptr<std::uint8_t[], Free>;

/// A kernel's global memory: its workspaces in order, then the caller's buffers.
struct LaunchMemory {
  std::vector<ZeroedBytes> workspaces;
  std::vector<std::vector<std::uint8_t>> undefined;    ///< undefined bits of the workspaces
  std::vector<std::unique_ptr<ShadowMemory>> shadows;  ///< shadow values of the workspaces
  Memory buffers;
};

/// What is tracked besides the bytes of memory.
struct TrackingOptions {
  bool undefined = false;  ///< whether undefined elements are tracked, in workspaces of at most
                           ///< max_tracked_bytes
  bool padding = false;  ///< whether elements that depend on some outside of a view are tracked, in
                         ///< those workspaces
  bool shadow = false;
};

/// Zeroed workspaces and views of the caller's buffers. Error (limit): not enough memory.
[[nodiscard]] Result<LaunchMemory> make_memory(const isa::VerifiedProgram& program, int kernel,
                                               std::vector<Buffer>& memory,
                                               const TrackingOptions& followed);
/// Empties Buffer::undefined where a launch has written everything.
void forget_defined(std::vector<Buffer>& memory);

/// How the kernel uses each of LaunchMemory::buffers, through any of its parameters.
[[nodiscard]] std::vector<BufferUse> buffer_uses(const isa::VerifiedProgram& program, int kernel,
                                                 const std::vector<Argument>& arguments,
                                                 std::size_t buffer_count);

/// The values of the kernel's scalar slots when a block begins: scalars are converted to their
/// parameter's kind, pointers become indices into the LaunchMemory. Error (usage): arguments do not
/// fit the parameters.
[[nodiscard]] Result<std::vector<std::uint64_t>> bind_arguments(
    const isa::VerifiedProgram& program, int kernel, const std::vector<Argument>& arguments,
    std::size_t buffer_count);

/// The grid for these values, or the fault of its extents: each is at least 1 and at most
/// 2^31 - 1 (x) or 65535 (y and z), as in CUDA.
[[nodiscard]] std::variant<Grid, Fault> evaluate_grid(const isa::Kernel& kernel,
                                                      const std::vector<std::uint64_t>& scalars);

}  // namespace tilevm::sim
