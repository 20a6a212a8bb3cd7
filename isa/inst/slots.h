// Slot types: what the data members of an instruction may be.
//
// Each consumer of the schema has one overload per slot type. A slot wrapped in std::optional may
// be left out.
//   RegisterOperand SharedOperand GlobalOperand PointerOperand   a use of a variable
//   BarrierOperand                                               a use of a barrier
//   DType, RegisterLayout, ViewLayout                            a type, a layout
//   TileShape                                                    constant extents
//   ExtentList                                                   extents known at run time
//   OffsetList                                                   where a tile begins
//   ScalarOperand                                                a scalar value
//   ElementValues                                                what elements begin with
//   ValueOperand                                                 a register tile or a scalar value
//   TensorOperand                                                a tile or a view, wherever it is
//   ReduceOp                                                     how elements are combined
//   CacheHint                                                    what a cache may drop first
//   DimList                                                      dimensions
//   Text                                                         words in quotes
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "isa/inst/expr.h"
#include "isa/inst/tensor_type.h"
#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"
#include "isa/type/cache_hint.h"
#include "isa/type/dtype.h"
#include "isa/type/reduce_op.h"

namespace tilevm::isa {

/// A tile in registers that the instruction reads.
struct RegisterOperand {
  VarId var;
  friend bool operator==(const RegisterOperand&, const RegisterOperand&) = default;
};

/// A tile in shared memory.
struct SharedOperand {
  static constexpr bool in_memory = true;
  VarId var;
  friend bool operator==(const SharedOperand&, const SharedOperand&) = default;
};

/// A view of global memory.
struct GlobalOperand {
  static constexpr bool in_memory = true;
  VarId var;
  friend bool operator==(const GlobalOperand&, const GlobalOperand&) = default;
};

/// A pointer parameter.
struct PointerOperand {
  VarId var;
  friend bool operator==(const PointerOperand&, const PointerOperand&) = default;
};

/// A barrier (BarrierType).
struct BarrierOperand {
  VarId var;
  friend bool operator==(const BarrierOperand&, const BarrierOperand&) = default;
};

/// Extents that are known before the run.
struct TileShape {
  Shape extents;
  friend bool operator==(const TileShape&, const TileShape&) = default;
};

/// Extents of a global view; any scalar expressions.
struct ExtentList {
  std::vector<Expr> extents;
  friend bool operator==(const ExtentList&, const ExtentList&) = default;
};

/// One entry per dimension of the tensor. An entry with a colon starts the tile along that
/// dimension, one without fixes an index. The number of colons is the tile's rank; left out, the
/// tile starts at zero in every dimension.
struct OffsetList {
  struct Entry {
    Expr value;
    bool tile = false;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::vector<Entry> entries;
  friend bool operator==(const OffsetList&, const OffsetList&) = default;
};

/// The layout of a global view: `row_major`, `column_major`, `strides(..)` or a memory layout.
struct ViewLayout {
  enum class Form : std::uint8_t { row_major, column_major, strides, memory };
  Form form = Form::row_major;
  std::vector<Expr> strides;           ///< Form::strides
  std::optional<MemoryLayout> memory;  ///< Form::memory
  friend bool operator==(const ViewLayout&, const ViewLayout&) = default;
};

/// A scalar value.
struct ScalarOperand {
  Expr value;
  friend bool operator==(const ScalarOperand&, const ScalarOperand&) = default;
};

/// One scalar value for every element, or a list of which the elements in row-major order take the
/// values in turn, again and again.
struct ElementValues {
  std::vector<Expr> values;
  friend bool operator==(const ElementValues&, const ElementValues&) = default;
};

/// A register tile or a scalar value, whichever the program gives.
struct ValueOperand {
  std::variant<RegisterOperand, ScalarOperand> value;
  friend bool operator==(const ValueOperand&, const ValueOperand&) = default;
};

/// A register tile, a tile in shared memory or a view of global memory, whichever the program
/// gives. Consumers of an instruction's slots see the operand that it is (for_each_slot_of).
struct TensorOperand {
  static constexpr bool in_memory = true;
  std::variant<RegisterOperand, SharedOperand, GlobalOperand> value;
  friend bool operator==(const TensorOperand&, const TensorOperand&) = default;
};

/// Dimensions of a tile, each at most once.
struct DimList {
  std::vector<int> dims;
  friend bool operator==(const DimList&, const DimList&) = default;
};

/// Words that mean nothing to the program.
struct Text {
  std::string value;
  friend bool operator==(const Text&, const Text&) = default;
};

/// The list of slot types; consumers check that they cover it.
using SlotTypes =
    std::tuple<RegisterOperand, SharedOperand, GlobalOperand, PointerOperand, BarrierOperand, DType,
               RegisterLayout, ViewLayout, TileShape, ExtentList, OffsetList, ScalarOperand,
               ElementValues, ValueOperand, TensorOperand, ReduceOp, CacheHint, DimList, Text>;

}  // namespace tilevm::isa
