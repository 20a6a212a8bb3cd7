// The forms that a statement of a kernel may take in machine code.
//
// Selection (select.h) gives every statement one of these aggregates, which says everything that is
// decided about its code: the printer (backend/emit) writes it and decides nothing. A new tier of
// hardware is a new alternative of `Form`; without a printer (emit_form) and a remark (remarks.cc)
// for it nothing links.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "backend/select/bit_recipe.h"
#include "isa/access/access_plan.h"
#include "isa/dot/dot.h"
#include "isa/inst/elementwise.h"
#include "isa/layout/exchange_order.h"
#include "isa/layout/reduction.h"
#include "isa/layout/scan_plan.h"
#include "isa/layout/warp_exchange.h"
#include "isa/program/program.h"

namespace tilevm::backend {

/// Words of 32 bits that hold a thread's share of a tile.
[[nodiscard]] inline std::int64_t tile_words(const isa::RegisterType& type) {
  return std::max<std::int64_t>(1, (type.bits_per_thread() + 31) / 32);
}

/// An instruction that has one form only, and statements of control flow other than loops.
struct Plain {};

// --- Tiles between registers and memory --------------------------------------------------------

/// A tile in registers and the part of a tensor from which it is loaded or to which it is stored.
struct TileAccess {
  isa::VarId tile, tensor;
  const isa::AccessPlan* plan = nullptr;
  bool stores = false;
  std::optional<isa::VarId> index{};     ///< a tile that says where elements are
  std::optional<std::size_t> hoisted{};  ///< the thread's address, in SelectedKernel::hoisted
  bool joined = false;  ///< the thread's part of an offset and the rest share no bit: OR joins them
  isa::CacheHint cache = isa::CacheHint::normal;
};

/// Single elements, narrower than a byte.
struct ElementAccesses {
  TileAccess access;
};
/// Machine accesses of up to 16 bytes.
struct WideAccesses {
  TileAccess access;
};
/// Single elements that atomic instructions combine with those of memory.
struct CombiningAccesses {
  TileAccess access;
  isa::ReduceOp op = isa::ReduceOp::add;
};
/// ldmatrix and stmatrix: rows of 16 bytes, by the threads of a warp together.
struct MatrixAccesses {
  TileAccess access;
};

// --- Asynchronous copies ------------------------------------------------------------------------

/// Pieces of 4, 8 or 16 bytes by every thread (cp.async).
struct PieceCopy {
  const isa::AccessPlan* plan = nullptr;
  bool unrolled = true;
  std::optional<std::size_t> hoisted{};  ///< the thread's address in shared memory
};
/// Element by element through registers, since the data may arrive early.
struct ElementCopy {
  const isa::AccessPlan* plan = nullptr;
  bool unrolled = true;
};

/// Consecutive bulk copies by neighbouring warps, or a single copy. One test sends all other warps
/// past them.
struct CopyRun {
  std::int64_t first_warp = 0, warps = 0;
  std::int64_t bytes = 0;  ///< bytes of all copies
  bool is_single = true;
};
/// Rows of a tile, each by one instruction of one thread (cp.async.bulk). The outer digits of both
/// sides are those of a row's number.
struct BulkCopy {
  std::int64_t rows = 0;
  std::int64_t row_bytes = 0;
  std::int64_t first_warp = 0;  ///< the first that copies rows
  std::int64_t warps = 0;       ///< how many copy the rows in turn
  isa::AccessSide from{}, to{};
  CopyRun run{};
  bool begins_run = true, ends_run = true;

  /// Rows of each warp, at most.
  [[nodiscard]] std::int64_t rounds() const { return (rows + warps - 1) / warps; }
};

// How a kernel counts its groups of copies, as bulk copies, in pieces or both, is one decision
// (BulkGroups in selected_program.h). The machine program has the operations that the commits,
// waits and barriers below become (backend/machine/copy_ring.cc).

/// Ends a group of copies.
struct GroupCommit {};
/// Waits until at most `pending` groups are in flight.
struct GroupWait {
  std::int64_t pending = 0;
};

// --- Barriers -----------------------------------------------------------------------------------

/// All warps of the block wait for one another.
struct FullBarrier {};
/// All warps arrive, and only the producer warps, which copy, wait.
struct SplitBarrier {
  std::int64_t first_producer = 0, warps = 0;  ///< warps of the block
};
/// The end of the block, in the middle of the kernel, after the last groups of bulk copies.
struct EarlyExit {};

// --- Tiles created ------------------------------------------------------------------------------

/// A tile whose elements all have one value, or none.
struct FilledElements {};
/// A tile whose elements take values of a list in turn: constants where the local index alone says
/// which, else a table in local memory that the thread's index reads.
struct ListedElements {
  bool by_local = true;
};
/// A tile whose elements take values in turn that are equally far apart: first + step * number,
/// computed as i32 and cast.
struct ComputedElements {
  std::int64_t first = 0, step = 0;
};

// --- Tiles in registers -------------------------------------------------------------------------

// Functions of elements that are not operators.
struct FusedMultiplyAdd {};
struct ChooseElement {};

/// One element after another; operands may be broadcast.
struct ElementLoop {
  std::variant<isa::BinaryOp, FusedMultiplyAdd, ChooseElement> function;
  std::vector<isa::VarId> operands;
  bool hides_operands = false;  ///< an approximation's: see TileFunction
};
/// Two 16-bit elements at a time; operands may be broadcast.
struct PairLoop {
  std::variant<isa::BinaryOp, FusedMultiplyAdd> function;
  std::vector<isa::VarId> operands;
};
/// Whole tiles of one layout by a function of the prelude, which works on single elements, on pairs
/// of 16 bits, or on words.
struct TileFunction {
  enum class Unit : std::uint8_t { element, pair, word };
  std::variant<isa::BinaryOp, isa::UnaryOp> function;
  std::vector<isa::VarId> operands;
  Unit unit = Unit::element;
  /// Elements may be constants to the assembler, which folds `.approx` of a constant to the
  /// correctly rounded value. An operation on a value of memory makes them unknown to it.
  bool hides_operands = false;
};
/// A Cast that converts element by element, or in pairs.
struct ElementCast {
  isa::VarId source;
  bool in_pairs = false;
};

/// Bits of `base`, the tile at the beginning of a chain of bitcasts, made into the elements of the
/// result by a recipe.
struct RecipeCast {
  isa::VarId base;
  BitRecipe recipe;
};
/// A Mul, Add or Sub whose recipe contains the cast before it.
struct FusedCast {
  isa::StmtId cast;
  isa::VarId base;
  BitRecipe recipe;
};
/// A Cast that is a part of the FusedCast that reads it, and emits nothing.
struct ElidedCast {
  isa::StmtId into;
};

/// A View, a ConvertLayout or a Cast that emits nothing: what reads its result takes the bits of
/// `base`.
struct ElidedView {
  isa::VarId base;
};
/// The bits of `base` in the same order, in registers of their own.
struct CopiedBits {
  isa::VarId base;
};
/// The bits of `base` in another order.
struct MovedBits {
  isa::VarId base;
  BitRecipe recipe;
};

/// The elements of `source` in other threads: through shared memory, where each takes `bytes`.
struct ExchangedElements {
  isa::VarId source;
  int bytes = 0;
  isa::ExchangeOrder order;
};
/// In other lanes of each warp: by shuffles or `movmatrix`.
struct ShuffledElements {
  isa::VarId source;
  isa::WarpExchange plan;
};

// --- Products -----------------------------------------------------------------------------------

/// A product, as planned by the verifier (isa/dot). A result that replaces an operand is built in
/// other registers first.
struct DotForm {
  const isa::DotPlan* plan = nullptr;
  bool beside = false;
};
/// A product by tensor-core instructions for its types: dense, sparse or block-scaled ones.
struct MmaDot {
  DotForm dot;
};
/// Bipolar operands by tensor-core instructions for other integers. What these count is put
/// together to the result in every execution, or once, after the loop `after`.
struct BipolarDot {
  DotForm dot;
  isa::StmtId after{};
};
/// By a chain of multiply-adds for each element, in each thread.
struct ChainDot {
  DotForm dot;
  bool unrolled = true;
};

// --- Elements combined
// ----------------------------------------------------------------------------

/// A Reduce by its plan: in a thread, by shuffles, then through shared memory.
struct CombinedElements {
  isa::ReductionPlan plan;
  bool by_warp = false;  ///< all lanes of a warp by one instruction instead of shuffles
};

/// A Scan by its plan.
struct ScannedElements {
  isa::ScanPlan plan;
};

// --- Loops --------------------------------------------------------------------------------------

/// for (i = begin; i < end; i += step)
struct SteppedLoop {
  bool counts_down = false;
};
/// A loop over the trip count, since steps might pass the end of the range or the body changes the
/// variable.
struct CountedLoop {};

/// THE list of forms.
using Form = std::variant<Plain,                                             //
                          ElementAccesses, WideAccesses, MatrixAccesses,     //
                          CombiningAccesses,                                 //
                          PieceCopy, ElementCopy, BulkCopy,                  //
                          GroupCommit, GroupWait,                            //
                          FullBarrier, SplitBarrier, EarlyExit,              //
                          FilledElements, ListedElements, ComputedElements,  //
                          ElementLoop, PairLoop, TileFunction, ElementCast,  //
                          RecipeCast, FusedCast, ElidedCast,                 //
                          ElidedView, CopiedBits, MovedBits,                 //
                          ExchangedElements, ShuffledElements,               //
                          MmaDot, BipolarDot, ChainDot,                      //
                          CombinedElements, ScannedElements,                 //
                          SteppedLoop, CountedLoop>;

}  // namespace tilevm::backend
