// Types of variables: scalars, pointers, and tensors in the three memory spaces (the paper's
// section 6.1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isa/inst/expr.h"
#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"
#include "isa/type/dtype.h"

namespace tilevm::isa {

/// A scalar variable.
struct ScalarType {
  ScalarKind kind = ScalarKind::i32;
  friend bool operator==(const ScalarType&, const ScalarType&) = default;
};

/// The element type that holds the bits of a scalar; a bool is one bit.
[[nodiscard]] DType element_type(ScalarKind kind);

/// A kernel parameter that points at global memory.
struct PointerType {
  DType dtype;
  friend bool operator==(const PointerType&, const PointerType&) = default;
};

/// A tile in registers. Each thread holds its elements as one little-endian bit stream in local
/// order, `bits_per_thread()` long.
struct RegisterType {
  DType dtype;
  RegisterLayout layout;

  [[nodiscard]] const Shape& shape() const { return layout.shape(); }
  [[nodiscard]] std::int64_t bits_per_thread() const { return layout.num_locals() * dtype.bits; }
  friend bool operator==(const RegisterType&, const RegisterType&) = default;
};

/// A tile in shared memory.
struct SharedType {
  DType dtype;
  MemoryLayout layout;

  [[nodiscard]] const Shape& shape() const { return layout.shape(); }
  friend bool operator==(const SharedType&, const SharedType&) = default;
};

/// Where the elements of a global view lie: one stride (in elements) a dimension, which may be
/// known only at run time, or a static memory layout with modes or a swizzle.
struct GlobalLayout {
  std::variant<std::vector<Expr>, MemoryLayout> form;

  [[nodiscard]] const std::vector<Expr>* strides() const {
    return std::get_if<std::vector<Expr>>(&form);
  }
  [[nodiscard]] const MemoryLayout* memory_layout() const {
    return std::get_if<MemoryLayout>(&form);
  }
  friend bool operator==(const GlobalLayout&, const GlobalLayout&) = default;
};

/// A view of global memory. Extents and strides are evaluated where the view is made.
struct GlobalType {
  DType dtype;
  std::vector<Expr> extents;
  GlobalLayout layout;

  [[nodiscard]] int rank() const { return static_cast<int>(extents.size()); }
  /// The extents if all are constant.
  [[nodiscard]] std::optional<Shape> static_shape() const;
  friend bool operator==(const GlobalType&, const GlobalType&) = default;
};

/// A memory barrier in shared memory, or one for each of several stages. A phase of a stage takes
/// `arrivals` arrivals of threads.
struct BarrierType {
  std::int64_t arrivals = 1;
  std::int64_t stages = 1;
  friend bool operator==(const BarrierType&, const BarrierType&) = default;
};

using Type =
    std::variant<ScalarType, PointerType, RegisterType, SharedType, GlobalType, BarrierType>;

/// "i6[16, 8], local(2, 1).column_spatial(4, 8).local(2, 1)", "f16 view [1024, 1024]", "i32" ...
[[nodiscard]] std::string to_string(const Type& type);
/// "a register tile", "a global view", "a pointer", "a scalar" ...
[[nodiscard]] std::string_view kind_name(const Type& type);

}  // namespace tilevm::isa
