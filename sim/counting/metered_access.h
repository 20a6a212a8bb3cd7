// An instruction that moves a tile, as its meter sees it: what its accesses are, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "isa/program/program.h"
#include "isa/verify/verify.h"
#include "sim/access/access_addresses.h"
#include "sim/access/indexed_places.h"
#include "sim/tiles/register_file.h"
#include "sim/tiles/shared_tables.h"

namespace tilevm::sim {

/// The tile of an instruction in global memory.
struct GlobalSide {
  TilePosition position;
  std::size_t view = 0;  ///< slot
  unsigned bits = 0;     ///< bits of an element
};

/// The tile in shared memory.
struct SharedSide {
  TilePosition position;
  const isa::MemoryLayout* layout = nullptr;
  unsigned bits = 0;
  std::uint64_t tensor_bits = 0;
};

/// An instruction that moves a tile.
struct MeteredAccess {
  std::int64_t id = 0;
  AccessGrid grid;
  bool stores = false;  ///< whether it moves from registers to memory
  std::optional<GlobalSide> global;
  std::optional<SharedSide> shared;
  std::optional<IndexedTile> indexed{};  ///< if an index says where elements are
  // Then, of a copy: the tile's extents, and by its element the number of the index.
  isa::Shape shape{};
  std::vector<std::int64_t> index_numbers{};
};

/// What a statement moves; nothing if it moves no tile. `registers` is null if no state will be
/// looked at. The program must outlive the result.
[[nodiscard]] std::optional<MeteredAccess> find_access(const isa::VerifiedProgram& program,
                                                       int kernel, const isa::InstStmt& stmt,
                                                       SharedTables& tables,
                                                       const RegisterFile* registers,
                                                       std::int64_t id);

}  // namespace tilevm::sim
