// Tiles in shared memory: their addresses, and moves to and from registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/rules/rules.h"
#include "sim/access/indexed_places.h"
#include "sim/state/context.h"
#include "sim/state/preparation.h"
#include "sim/state/scalar_code.h"
#include "sim/tiles/layout_parts.h"
#include "sim/tiles/run_table.h"

namespace tilevm::sim {

/// An instruction's tile in a shared tensor, prepared. For a copy, `tile` is the copy's data, held
/// by one thread.
struct SharedAccess {
  std::string_view mnemonic;
  std::string tensor;           ///< name of the tensor
  Span span{};                  ///< range of the statement
  std::uint32_t statement = 0;  ///< index in Plan::memory_statements
  SharedTileLayout geometry;
  std::uint64_t tensor_bits = 0;  ///< where the tensor begins
  std::size_t tensor_number = 0;  ///< among the kernel's shared tensors
  std::size_t shadow = 0;         ///< the tensor's first element in ShadowValues::shared
  isa::DType dtype;
  std::vector<ScalarCode> offsets;
  Tile tile;
  std::shared_ptr<const LayoutParts> parts;
  std::size_t table = 0;                         ///< index in Scratch::shared_tables
  std::shared_ptr<const IndexedAccess> indexed;  ///< null if no index places elements
  /// Operation by which a store combines its elements with memory's.
  std::optional<isa::ReduceOp> combines{};
  Combination combination = 0;  ///< how, as a number
};

/// A tile of `shape` at `offset` in the shared tensor `var`.
[[nodiscard]] SharedAccess make_shared_access(isa::VarId var, const isa::Shape& shape,
                                              const std::optional<isa::OffsetList>& offset,
                                              const Tile& tile,
                                              std::shared_ptr<const LayoutParts> parts,
                                              const Preparation& preparation,
                                              std::optional<int> indexed_dim = {});

/// An access in one execution: where its tile begins, and the runs of its elements, whose bits
/// count from the start of shared memory.
struct ResolvedAccess {
  const SharedAccess* access = nullptr;
  TileOrigin origin{};
  TableLookup runs;

  /// The first bit of an element of a thread.
  [[nodiscard]] std::uint64_t bit_of(std::size_t thread, std::size_t place) const {
    return runs.bit_of(thread, place, access->tile.bits);
  }
};

/// Resolves an access of the instruction that runs, once: its checks, its moves and its observers
/// take the result. False after a fault: an element outside the tensor. If bounds are not checked,
/// the tile is moved to the nearest origin inside.
[[nodiscard]] bool resolve(const SharedAccess& access, Context& context, ResolvedAccess& resolved);

/// An earlier access, whose origin is known.
[[nodiscard]] ResolvedAccess resolve_at(const SharedAccess& access, const TileOrigin& origin,
                                        Context& context);

/// Moves a tile, or its undefined mask. The caller has done the checks.
void read_shared(const ResolvedAccess& from, const std::uint8_t* memory, std::uint8_t* registers);
/// The first thread that holds an element writes it.
void write_shared(const ResolvedAccess& to, const std::uint8_t* registers, std::uint8_t* memory);

/// Whether the tensor may hold elements that nothing has written.
[[nodiscard]] inline bool may_be_undefined(const SharedAccess& access, const SharedMemory& shared) {
  return !shared.unwritten.empty() &&
         shared.unwritten[access.tensor_number].begin < shared.unwritten[access.tensor_number].end;
}
/// Marks the elements of the tile as defined.
void define_shared(const ResolvedAccess& to, SharedMemory& shared);
/// Updates which tensors still have elements that nothing has written.
void update_unwritten(SharedMemory& shared);

}  // namespace tilevm::sim
