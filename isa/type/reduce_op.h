// How a Reduce combines elements: the names of its operations and what they compute with.
#pragma once

#include <cstdint>
#include <string_view>

#include "isa/base/check.h"
#include "isa/type/dtype.h"
#include "isa/type/operations.h"

namespace tilevm::isa {

enum class ReduceOp : std::uint8_t {
  add,
  mul,
  max,
  min,
  bit_and,
  bit_or,
  bit_xor,
  argmax,  ///< the largest element, and where it is
  argmin,
};

/// As programs write it: "add".
[[nodiscard]] constexpr std::string_view to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::add:
      return "add";
    case ReduceOp::mul:
      return "mul";
    case ReduceOp::max:
      return "max";
    case ReduceOp::min:
      return "min";
    case ReduceOp::bit_and:
      return "bit_and";
    case ReduceOp::bit_or:
      return "bit_or";
    case ReduceOp::bit_xor:
      return "bit_xor";
    case ReduceOp::argmax:
      return "argmax";
    case ReduceOp::argmin:
      return "argmin";
  }
  return "";
}

/// The operation on two elements.
[[nodiscard]] constexpr BinaryOp combination(ReduceOp op) {
  switch (op) {
    case ReduceOp::add:
      return BinaryOp::add;
    case ReduceOp::mul:
      return BinaryOp::mul;
    case ReduceOp::max:
    case ReduceOp::argmax:
      return BinaryOp::max;
    case ReduceOp::min:
    case ReduceOp::argmin:
      return BinaryOp::min;
    case ReduceOp::bit_and:
      return BinaryOp::bit_and;
    case ReduceOp::bit_or:
      return BinaryOp::bit_or;
    case ReduceOp::bit_xor:
      return BinaryOp::bit_xor;
  }
  TILEVM_NO_ENUMERATOR();
}

/// Whether the operation also says which element it took.
[[nodiscard]] constexpr bool gives_index(ReduceOp op) {
  return op == ReduceOp::argmax || op == ReduceOp::argmin;
}

/// The code that leaves every other element as it is: 0 for add, -inf (or the least number of a
/// type without it) for max, and so on.
[[nodiscard]] std::uint64_t identity(ReduceOp op, const DType& type);

/// The type in which elements of `type` are combined, which the result is cast from: sums and
/// products of narrow types keep what one element could not hold.
[[nodiscard]] constexpr DType accumulator(ReduceOp op, const DType& type) {
  if (op != ReduceOp::add && op != ReduceOp::mul) return type;
  if (type.is_float()) return type.bits <= 16 || type == tf32 ? f32 : type;
  if (type.bits >= 32) return type;
  return type.kind == TypeKind::signed_int ? i32 : u32;
}

}  // namespace tilevm::isa
