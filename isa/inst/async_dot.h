// Asynchronous matrix products of warp groups (PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions"): operands in shared memory, results that arrive later.
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct DotAsync {
  TensorOperand a;
  SharedOperand b;
  RegisterOperand c;
  std::optional<OffsetList> a_offset;
  std::optional<OffsetList> b_offset;
  std::optional<ScalarOperand> accumulate;
  std::optional<ScalarOperand> negate_a;
  std::optional<ScalarOperand> negate_b;
  std::optional<ScalarOperand> transpose_a;
  std::optional<ScalarOperand> transpose_b;

  static constexpr auto schema = define<DotAsync>(
      {.mnemonic = "DotAsync",
       .category = Category::compute,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Matrix product with accumulation that completes later: d = dot(a, b) + c.",
       .detail =
           "a is [m, k], in registers or in shared memory; b is [k, n], in shared memory; c and d "
           "are [m, n], in the registers of groups of four warps. It becomes `wgmma`, which sm_90a "
           "has: on f16, bf16, tf32, floats of 8 bits in any mix, i8 and u8 in any mix. Operands "
           "in shared memory have layouts that a matrix descriptor can name; with `transpose_b` "
           "the "
           "tensor holds b as [n, k], as a copy by a tensor map of an [n, k] view fills it. d is "
           "in "
           "flight until "
           "a DotAsyncWaitGroup retires the group of the product: to read or write it before, to "
           "write registers of a, or to write operands in shared memory is a fault. A further "
           "DotAsync may add to the same d before. What instructions stored to shared memory needs "
           "a FenceProxy before the product reads it; what CopyAsync filled needs none "
           "(docs/reference/semantics.md, DotAsync). A group of warps multiplies if it is made of "
           "whole warp groups: four warps, or a multiple, from a warp of the block that is a "
           "multiple of 4 on. Each group commits and waits on its own.",
       .canonical_nan = true},
      slot("a", &DotAsync::a, "the left matrix, [m, k]", Access::read, Proxy::async,
           ProductRole::left),
      slot("b", &DotAsync::b, "the right matrix, [k, n]", Access::read, Proxy::async,
           ProductRole::right),
      slot("c", &DotAsync::c, "what is added, [m, n]; its type and layout are the result's",
           ProductRole::addend),
      slot(
          "a_offset", &DotAsync::a_offset,
          "which part of `a` in shared memory: an entry without a colon fixes an index, `0:` takes "
          "a whole dimension; the last two dimensions if left out"),
      slot("b_offset", &DotAsync::b_offset, "which part of `b`, in the same way"),
      slot("accumulate", &DotAsync::accumulate,
           "a bool: whether c is added; if not, +0 is added in place of c; true if left out"),
      slot("negate_a", &DotAsync::negate_a,
           "a constant: whether the elements of a, which are floats, are negated"),
      slot("negate_b", &DotAsync::negate_b, "whether those of b are, in the same way"),
      slot("transpose_a", &DotAsync::transpose_a,
           "a constant: whether the shared tensor holds a as [k, m]; false if left out"),
      slot("transpose_b", &DotAsync::transpose_b,
           "a constant: whether the shared tensor holds b as [n, k]; false if left out"));
  friend bool operator==(const DotAsync&, const DotAsync&) = default;
};

struct DotAsyncCommitGroup {
  static constexpr auto schema = define<DotAsyncCommitGroup>(
      {.mnemonic = "DotAsyncCommitGroup",
       .category = Category::compute,
       .sync = Sync::arrive,
       .summary = "Makes a group of the products since the last commit.",
       .detail = "A group may be empty. Each warp counts its own groups. So a group of warps "
                 "commits its own products alone."});
  friend bool operator==(const DotAsyncCommitGroup&, const DotAsyncCommitGroup&) = default;
};

struct DotAsyncWaitGroup {
  ScalarOperand pending;

  static constexpr auto schema = define<DotAsyncWaitGroup>(
      {.mnemonic = "DotAsyncWaitGroup",
       .category = Category::compute,
       .sync = Sync::wait,
       .summary = "Waits until at most `pending` of the latest groups of products are in flight.",
       .detail =
           "All older groups are retired: their results may be read, and the registers of "
           "their operands may be written. Each warp waits for its own part of a product, so a "
           "Synchronize must follow before another warp, or a copy, overwrites operands in "
           "shared memory. Another group of warps knows of the wait by a barrier at which all "
           "threads of the group arrive after it, or one of them after a Synchronize."},
      slot("pending", &DotAsyncWaitGroup::pending,
           "how many groups may stay in flight, a constant from 0 on"));
  friend bool operator==(const DotAsyncWaitGroup&, const DotAsyncWaitGroup&) = default;
};

/// Its instructions, in the order of the reference.
using AsyncDotInstructions = InstructionList<DotAsync, DotAsyncCommitGroup, DotAsyncWaitGroup>;

}  // namespace tilevm::isa
