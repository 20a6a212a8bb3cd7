// Instructions that move tiles between memory spaces (the paper's Table 1, "Tensor Transferring").
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct LoadGlobal {
  GlobalOperand src;
  std::optional<RegisterLayout> layout;
  std::optional<OffsetList> offset;
  std::optional<TileShape> shape;
  std::optional<CacheHint> cache = {};

  static constexpr auto schema = define<LoadGlobal>(
      {.mnemonic = "LoadGlobal",
       .category = Category::transfer,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Loads a tile from global memory into registers.",
       .detail = "Elements outside the view's extents are zero. Touching memory outside the buffer "
                 "behind the view is a fault."},
      slot("src", &LoadGlobal::src, "the view to read", Access::read, Proxy::generic),
      slot("layout", &LoadGlobal::layout, "the register layout of the tile; `out`'s if left out"),
      slot("offset", &LoadGlobal::offset, "where the tile begins; zero if left out"),
      slot("shape", &LoadGlobal::shape, "the tile's extents; must agree with the layout"),
      slot("cache", &LoadGlobal::cache,
           "`evict_first` or `evict_last`: which lines a GPU's L2 cache drops first, as for "
           "CopyAsync; `normal` if left out"));
  friend bool operator==(const LoadGlobal&, const LoadGlobal&) = default;
};

struct LoadShared {
  SharedOperand src;
  std::optional<RegisterLayout> layout;
  std::optional<OffsetList> offset;
  std::optional<TileShape> shape;

  static constexpr auto schema = define<LoadShared>(
      {.mnemonic = "LoadShared",
       .category = Category::transfer,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Loads a tile from shared memory into registers.",
       .detail = "Every element must lie in the tensor; nothing is masked. What another thread "
                 "wrote may be read after a Synchronize."},
      slot("src", &LoadShared::src, "the tensor to read", Access::read, Proxy::generic),
      slot("layout", &LoadShared::layout, "the register layout of the tile; `out`'s if left out"),
      slot("offset", &LoadShared::offset, "where the tile begins; zero if left out"),
      slot("shape", &LoadShared::shape, "the tile's extents; must agree with the layout"));
  friend bool operator==(const LoadShared&, const LoadShared&) = default;
};

struct StoreGlobal {
  RegisterOperand src;
  GlobalOperand dst;
  std::optional<OffsetList> offset;
  std::optional<CacheHint> cache = {};

  static constexpr auto schema = define<StoreGlobal>(
      {.mnemonic = "StoreGlobal",
       .category = Category::transfer,
       .sync = Sync::none,
       .summary = "Stores a tile from registers into global memory.",
       .detail = "Elements outside the view's extents are skipped. Elements narrower than a byte "
                 "change only their own bits, whoever owns the neighbours."},
      slot("src", &StoreGlobal::src, "the tile to store"),
      slot("dst", &StoreGlobal::dst, "the view to write", Access::write, Proxy::generic),
      slot("offset", &StoreGlobal::offset, "where the tile begins; zero if left out"),
      slot("cache", &StoreGlobal::cache,
           "`evict_first` or `evict_last`: which lines a GPU's L2 cache drops first, as for "
           "CopyAsync; `normal` if left out"));
  friend bool operator==(const StoreGlobal&, const StoreGlobal&) = default;
};

struct StoreShared {
  RegisterOperand src;
  SharedOperand dst;
  std::optional<OffsetList> offset;

  static constexpr auto schema = define<StoreShared>(
      {.mnemonic = "StoreShared",
       .category = Category::transfer,
       .sync = Sync::none,
       .summary = "Stores a tile from registers into shared memory.",
       .detail = "Every element must lie in the tensor; nothing is masked. Elements narrower than "
                 "a byte change only their own bits. Other threads may touch these bytes after a "
                 "Synchronize."},
      slot("src", &StoreShared::src, "the tile to store"),
      slot("dst", &StoreShared::dst, "the tensor to write", Access::write, Proxy::generic),
      slot("offset", &StoreShared::offset, "where the tile begins; zero if left out"));
  friend bool operator==(const StoreShared&, const StoreShared&) = default;
};

struct Prefetch {
  GlobalOperand src;
  std::optional<OffsetList> offset;
  std::optional<TileShape> shape;

  static constexpr auto schema = define<Prefetch>(
      {.mnemonic = "Prefetch",
       .category = Category::transfer,
       .sync = Sync::none,
       .summary = "Lets a GPU fetch a tile of global memory into its L2 cache.",
       .detail = "A hint for loads and copies to come: it changes no result, touches nothing "
                 "outside of the view, races with nothing, and the simulator does nothing for it. "
                 "The threads of the block share the tile: one prefetch for 32 bytes along a "
                 "dimension whose stride is the constant 1, else for each element."},
      slot("src", &Prefetch::src, "the view to read from", Access::none, Proxy::generic),
      slot("offset", &Prefetch::offset, "where the tile begins; zero if left out"),
      slot("shape", &Prefetch::shape,
           "the tile's extents; those of the view if left out, where they are constants"));
  friend bool operator==(const Prefetch&, const Prefetch&) = default;
};

/// Its instructions, in the order of the reference.
using TransferInstructions =
    InstructionList<LoadGlobal, LoadShared, StoreGlobal, StoreShared, Prefetch>;

}  // namespace tilevm::isa
