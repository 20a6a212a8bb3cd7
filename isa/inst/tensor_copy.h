// Copies of boxes by tensor maps, between views of global memory and shared tensors (PTX ISA,
// cp.async.bulk.tensor). One thread begins a copy; the copy engine moves the box by the async
// proxy.
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct CopyAsyncTensorGlobalToShared {
  SharedOperand dst;
  GlobalOperand src;
  BarrierOperand barrier;
  std::optional<ScalarOperand> stage;
  std::optional<OffsetList> offset;
  std::optional<OffsetList> shared_offset;
  std::optional<ScalarOperand> fill_nan;
  std::optional<ScalarOperand> multicast;

  static constexpr auto schema = define<CopyAsyncTensorGlobalToShared>(
      {.mnemonic = "CopyAsyncTensorGlobalToShared",
       .category = Category::transfer,
       .sync = Sync::none,
       .summary = "Copies a box of a view to shared memory by a tensor map; a barrier counts it.",
       .detail =
           "One thread begins the copy (`with single_thread():`), and the copy engine moves the "
           "box while the block goes on. The box is the part of `dst` that the colons of "
           "`shared_offset` select. As it arrives, its bytes complete the current phase of the "
           "barrier, which an `ArriveExpect` must expect; whoever waits for the phase sees the "
           "data. Elements outside the view become zero, and count their bytes as well. The copy "
           "writes by the async proxy: what instructions stored to the place before needs a "
           "`FenceProxy`. The map is made of the `ViewGlobal` at the launch: rank 1 to 5, "
           "neighbours of one dimension side by side, other strides multiples of 16 bytes, "
           "extents and strides of constants and parameters of the kernel. `dst` is row-major, or "
           "has a swizzle of 32, 64 or 128 bytes with rows of that width "
           "(`std/warp_groups.tile`); its rows are of the view's dimension whose neighbours are "
           "side by side, along which a copy begins at a multiple of 16 bytes. With `multicast` "
           "each block of the cluster whose bit is set gets the box, at the same place of its own "
           "shared memory, and the same stage of its own barrier counts the bytes: each of these "
           "blocks must expect them, and must have released the place to the thread that copies. "
           "Needs sm_90 or later.",
       .by_copy_engine = true},
      slot("dst", &CopyAsyncTensorGlobalToShared::dst, "the shared tensor to fill", Access::write,
           Proxy::async),
      slot("src", &CopyAsyncTensorGlobalToShared::src, "the view to read, made by `ViewGlobal`",
           Access::read, Proxy::async),
      slot("barrier", &CopyAsyncTensorGlobalToShared::barrier, "the barrier that counts the bytes"),
      slot("stage", &CopyAsyncTensorGlobalToShared::stage,
           "which of the barrier's stages; 0 if left out"),
      slot("offset", &CopyAsyncTensorGlobalToShared::offset,
           "where the box begins in the view; zero if left out"),
      slot("shared_offset", &CopyAsyncTensorGlobalToShared::shared_offset,
           "which part of `dst`: an entry without a colon fixes an index, `0:` takes a whole "
           "dimension; the whole tensor if left out"),
      slot("fill_nan", &CopyAsyncTensorGlobalToShared::fill_nan,
           "a constant: whether elements outside the view become NaN, of floats of 16 and 32 "
           "bits; the 16-bit pattern 7ff7 again and again"),
      slot("multicast", &CopyAsyncTensorGlobalToShared::multicast,
           "a mask of the blocks of the cluster that get the box, bit r for the block of rank r; "
           "the own block if left out"));
  friend bool operator==(const CopyAsyncTensorGlobalToShared&,
                         const CopyAsyncTensorGlobalToShared&) = default;
};

struct CopyAsyncTensorSharedToGlobal {
  GlobalOperand dst;
  SharedOperand src;
  std::optional<OffsetList> offset;
  std::optional<OffsetList> shared_offset;

  static constexpr auto schema = define<CopyAsyncTensorSharedToGlobal>(
      {.mnemonic = "CopyAsyncTensorSharedToGlobal",
       .category = Category::transfer,
       .sync = Sync::none,
       .summary = "Copies a part of a shared tensor to a box of a view by a tensor map.",
       .detail =
           "One thread begins the copy (`with single_thread():`) and makes groups of its copies "
           "by `CopyAsyncTensorCommitGroup`. Elements outside the view are not written. The "
           "source must not be written before a `CopyAsyncTensorWaitGroup` says that it has been "
           "read. The copy reads by the async proxy: what instructions stored to the source needs "
           "a `FenceProxy` of those who stored, before they tell this thread. Views and layouts "
           "are those of `CopyAsyncTensorGlobalToShared`; the box does not begin below zero, and "
           "one that reaches past the end of the dimension whose neighbours are side by side needs "
           "an extent of a multiple of 16 bytes there, since hardware clips to such multiples. "
           "Needs sm_90 or later.",
       .by_copy_engine = true},
      slot("dst", &CopyAsyncTensorSharedToGlobal::dst, "the view to write, made by `ViewGlobal`",
           Access::write, Proxy::async),
      slot("src", &CopyAsyncTensorSharedToGlobal::src, "the shared tensor to read", Access::read,
           Proxy::async),
      slot("offset", &CopyAsyncTensorSharedToGlobal::offset,
           "where the box begins in the view; zero if left out"),
      slot("shared_offset", &CopyAsyncTensorSharedToGlobal::shared_offset,
           "which part of `src`, as for `CopyAsyncTensorGlobalToShared`"));
  friend bool operator==(const CopyAsyncTensorSharedToGlobal&,
                         const CopyAsyncTensorSharedToGlobal&) = default;
};

struct CopyAsyncTensorCommitGroup {
  static constexpr auto schema = define<CopyAsyncTensorCommitGroup>(
      {.mnemonic = "CopyAsyncTensorCommitGroup",
       .category = Category::transfer,
       .sync = Sync::arrive,
       .summary = "Makes a group of the thread's copies to global memory since the last commit.",
       .detail = "Stands in a `with single_thread():` block, as the copies do "
                 "(`cp.async.bulk.commit_group`). A group may be empty."});
  friend bool operator==(const CopyAsyncTensorCommitGroup&,
                         const CopyAsyncTensorCommitGroup&) = default;
};

struct CopyAsyncTensorWaitGroup {
  ScalarOperand pending;
  std::optional<ScalarOperand> read;

  static constexpr auto schema = define<CopyAsyncTensorWaitGroup>(
      {.mnemonic = "CopyAsyncTensorWaitGroup",
       .category = Category::transfer,
       .sync = Sync::wait,
       .summary = "Waits until at most `pending` of the thread's latest groups are under way.",
       .detail = "With `read` it waits until the older groups have read their sources, which may "
                 "then be written again; otherwise until they have written global memory, too. "
                 "Stands in a `with single_thread():` block (`cp.async.bulk.wait_group`); other "
                 "threads learn of it by a barrier."},
      slot("pending", &CopyAsyncTensorWaitGroup::pending,
           "how many groups may stay under way, a constant from 0 on"),
      slot("read", &CopyAsyncTensorWaitGroup::read,
           "a constant: whether to wait for the reading of sources alone; false if left out"));
  friend bool operator==(const CopyAsyncTensorWaitGroup&,
                         const CopyAsyncTensorWaitGroup&) = default;
};

/// Its instructions, in the order of the reference.
using TensorCopyInstructions =
    InstructionList<CopyAsyncTensorGlobalToShared, CopyAsyncTensorSharedToGlobal,
                    CopyAsyncTensorCommitGroup, CopyAsyncTensorWaitGroup>;

}  // namespace tilevm::isa
