// Asynchronous copies from global to shared memory (the paper's Table 1; PTX ISA, cp.async).
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct CopyAsync {
  SharedOperand dst;
  GlobalOperand src;
  std::optional<OffsetList> offset;
  std::optional<OffsetList> shared_offset;
  std::optional<RegisterOperand> index;
  std::optional<DimList> dim;
  std::optional<CacheHint> cache = {};

  static constexpr auto schema = define<CopyAsync>(
      {.mnemonic = "CopyAsync",
       .category = Category::transfer,
       .sync = Sync::none,
       .summary = "Copies a tile from global to shared memory while the block goes on.",
       .detail =
           "The tile is the part of `dst` that the colons of `shared_offset` select, with all of "
           "its extents along them. Elements outside the view's extents become zero. The "
           "destination is in flight until a CopyAsyncWaitGroup retires the copy's group and a "
           "Synchronize follows; to read or write it before, or to write the source, is a fault. "
           "With `index` and `dim` the elements are those that `Gather` would take: rows of a "
           "view by their numbers.",
       .exchanges = true},
      slot("dst", &CopyAsync::dst, "the shared tensor to fill", Access::write, Proxy::async),
      slot("src", &CopyAsync::src, "the view to read", Access::read, Proxy::async),
      slot("offset", &CopyAsync::offset, "where the tile begins in the view; zero if left out"),
      slot("shared_offset", &CopyAsync::shared_offset,
           "which part of `dst`: an entry without a colon fixes an index, `0:` takes a whole "
           "dimension; the whole tensor if left out"),
      slot("index", &CopyAsync::index,
           "a tile of unsigned integers, `i32` or `i64`, in any threads, whose shape broadcasts to "
           "that of the tile"),
      slot("dim", &CopyAsync::dim, "the dimension of `src` along which the index counts"),
      slot(
          "cache", &CopyAsync::cache,
          "what a GPU's L2 cache does with the lines that are read: `evict_first` for data that is "
          "read once, `evict_last` for data that many blocks read; `normal` if left out"));
  friend bool operator==(const CopyAsync&, const CopyAsync&) = default;
};

struct CopyAsyncCommitGroup {
  static constexpr auto schema =
      define<CopyAsyncCommitGroup>({.mnemonic = "CopyAsyncCommitGroup",
                                    .category = Category::transfer,
                                    .sync = Sync::arrive,
                                    .summary = "Makes a group of the copies since the last commit.",
                                    .detail = "A group may be empty."});
  friend bool operator==(const CopyAsyncCommitGroup&, const CopyAsyncCommitGroup&) = default;
};

struct CopyAsyncWaitGroup {
  ScalarOperand pending;

  static constexpr auto schema = define<CopyAsyncWaitGroup>(
      {.mnemonic = "CopyAsyncWaitGroup",
       .category = Category::transfer,
       .sync = Sync::wait,
       .summary = "Waits until at most `pending` of the latest groups are in flight.",
       .detail = "All older groups are retired. A Synchronize must follow before their data is "
                 "touched, since other threads made a part of the copies."},
      slot("pending", &CopyAsyncWaitGroup::pending,
           "how many groups may stay in flight, a constant from 0 on"));
  friend bool operator==(const CopyAsyncWaitGroup&, const CopyAsyncWaitGroup&) = default;
};

/// Its instructions, in the order of the reference.
using AsyncCopyInstructions = InstructionList<CopyAsync, CopyAsyncCommitGroup, CopyAsyncWaitGroup>;

}  // namespace tilevm::isa
