#include "isa/type/reduce_op.h"

#include <bit>
#include <limits>

#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"

namespace tilevm::isa {
namespace {

std::uint64_t code_of(float value, const DType& type) {
  const std::uint64_t bits = std::bit_cast<std::uint32_t>(value);
  return type == f32 ? bits : cast(f32, type, bits);
}

/// The least element, or the greatest.
std::uint64_t extreme(const DType& type, bool greatest) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (type.is_float()) return code_of(greatest ? infinity : -infinity, type);
  const std::uint64_t sign = std::uint64_t{1} << (type.bits - 1);
  if (!type.is_signed_int()) return greatest ? low_mask(type.bits) : 0;
  return greatest ? sign - 1 : sign;
}

}  // namespace

std::uint64_t identity(ReduceOp op, const DType& type) {
  switch (op) {
    case ReduceOp::add:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor:
      return 0;
    case ReduceOp::mul:
      return type.is_float() ? code_of(1, type) : 1;
    case ReduceOp::max:
    case ReduceOp::argmax:
      return extreme(type, false);
    case ReduceOp::min:
    case ReduceOp::argmin:
      return extreme(type, true);
    case ReduceOp::bit_and:
      return low_mask(type.bits);
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace tilevm::isa
