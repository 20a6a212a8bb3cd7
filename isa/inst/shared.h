// Instructions on tiles in shared memory (the paper's Table 1).
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct AllocateShared {
  DType dtype;
  TileShape shape;
  std::optional<ViewLayout> layout;

  static constexpr auto schema = define<AllocateShared>(
      {.mnemonic = "AllocateShared",
       .category = Category::creation,
       .result = ResultKind::shared_tile,
       .summary = "Allocates a tensor in shared memory.",
       .detail = "It must stand outside of loops and branches. Strides are constants. The contents "
                 "are unspecified until they are written. Each tensor begins at a multiple of 128 "
                 "bytes; together they must fit what the target gives a block."},
      slot("dtype", &AllocateShared::dtype, "the element type"),
      slot("shape", &AllocateShared::shape, "constant extents"),
      slot("layout", &AllocateShared::layout,
           "`row_major` (default), `column_major`, `strides(..)` or a memory layout, which may "
           "have a swizzle"));
  friend bool operator==(const AllocateShared&, const AllocateShared&) = default;
};

struct LoadShared {
  SharedOperand src;
  std::optional<RegisterLayout> layout;
  std::optional<OffsetList> offset;
  std::optional<TileShape> shape;

  static constexpr auto schema = define<LoadShared>(
      {.mnemonic = "LoadShared",
       .category = Category::transfer,
       .result = ResultKind::register_tile,
       .summary = "Loads a tile from shared memory into registers.",
       .detail = "Every element must lie in the tensor; nothing is masked. What another thread "
                 "wrote may be read after a Synchronize."},
      slot("src", &LoadShared::src, "the tensor to read", Access::read),
      slot("layout", &LoadShared::layout, "the register layout of the tile; `out`'s if left out"),
      slot("offset", &LoadShared::offset, "where the tile begins; zero if left out"),
      slot("shape", &LoadShared::shape, "the tile's extents; must agree with the layout"));
  friend bool operator==(const LoadShared&, const LoadShared&) = default;
};

struct StoreShared {
  RegisterOperand src;
  SharedOperand dst;
  std::optional<OffsetList> offset;

  static constexpr auto schema = define<StoreShared>(
      {.mnemonic = "StoreShared",
       .category = Category::transfer,
       .summary = "Stores a tile from registers into shared memory.",
       .detail = "Every element must lie in the tensor; nothing is masked. Elements narrower than "
                 "a byte change only their own bits. Other threads may touch these bytes after a "
                 "Synchronize."},
      slot("src", &StoreShared::src, "the tile to store"),
      slot("dst", &StoreShared::dst, "the tensor to write", Access::write),
      slot("offset", &StoreShared::offset, "where the tile begins; zero if left out"));
  friend bool operator==(const StoreShared&, const StoreShared&) = default;
};

}  // namespace tilevm::isa
