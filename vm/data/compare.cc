#include "vm/data/compare.h"

#include <cmath>

#include <fmt/format.h>

#include "isa/base/check.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"

namespace tilevm::vm {

namespace {

/// A code's position on the number line, as an unsigned number that keeps the order and counts
/// every representable value once.
std::uint64_t ordered(const isa::DType& type, std::uint64_t code) {
  const unsigned dead = type == isa::tf32 ? 13 : 0;
  const std::uint64_t sign = std::uint64_t{1} << (type.bits - 1U - dead);
  code >>= dead;
  if (type.is_float() && type.has_sign())
    return (code & sign) != 0 ? sign - 1 - (code ^ sign) : sign + code;
  return type.is_signed_int() ? code ^ sign : code;
}

double value_of(const HostTensor& tensor, std::size_t k) {
  return isa::to_double(isa::decode(tensor.dtype, tensor.code(k)));
}

}  // namespace

std::uint64_t significant_code(const HostTensor& tensor, std::size_t k) {
  const std::uint64_t code = tensor.code(k);
  return tensor.dtype == isa::tf32 ? code & ~isa::low_mask(13) : code;
}

std::uint64_t distance(const isa::DType& type, std::uint64_t a, std::uint64_t b) {
  if (a == b) return 0;
  if (isa::decode(type, a).is_nan() || isa::decode(type, b).is_nan()) return infinitely_far;
  const std::uint64_t x = ordered(type, a);
  const std::uint64_t y = ordered(type, b);
  return x > y ? x - y : y - x;
}

Comparison compare(const HostTensor& a, const HostTensor& b) {
  TILEVM_CHECK(a.dtype == b.dtype && a.shape == b.shape, "comparing tensors of different types");
  Comparison result;
  result.elements = a.size();
  if (a.data == b.data) return result;
  for (std::size_t k = 0; k < result.elements; ++k) {
    Difference here{k, significant_code(a, k), significant_code(b, k), 0};
    if (here.a == here.b) continue;
    here.ulps = distance(a.dtype, here.a, here.b);
    ++result.different;
    if (!result.first) result.first = here;
    if (!result.worst || here.ulps > result.worst->ulps) result.worst = here;
  }
  return result;
}

double relative_error(const HostTensor& a, const HostTensor& b) {
  TILEVM_CHECK(a.shape == b.shape, "comparing tensors of different shapes");
  double difference = 0, whole = 0;
  const std::size_t size = a.size();
  for (std::size_t k = 0; k < size; ++k) {
    const double x = value_of(a, k), y = value_of(b, k);
    difference += (x - y) * (x - y);
    whole += y * y;
  }
  return difference == 0 ? 0 : std::sqrt(difference / whole);
}

std::string format_difference(const HostTensor& tensor, const Difference& difference) {
  const isa::DType& type = tensor.dtype;
  const int digits = (type.bits + 3) / 4;
  const std::string far =
      difference.ulps == infinitely_far
          ? "NaN on one side"
          : fmt::format("{} {}{}", difference.ulps, type.is_float() ? "ulp" : "apart",
                        type.is_float() && difference.ulps != 1 ? "s" : "");
  return fmt::format("{}: 0x{:0{}x} ({}) against 0x{:0{}x} ({}), {}",
                     format_index(tensor.shape, difference.index), difference.a, digits,
                     isa::format_value(type, difference.a), difference.b, digits,
                     isa::format_value(type, difference.b), far);
}

}  // namespace tilevm::vm
