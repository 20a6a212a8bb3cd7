#include "vm/data/convert.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "isa/type/bits.h"
#include "vm/text/data_error.h"

namespace tilevm::vm {
namespace {

std::string range_of(const isa::DType& dtype) {
  return fmt::format("{}..{}", isa::format_value(dtype, isa::lowest_code(dtype)),
                     isa::format_value(dtype, isa::max_code(dtype)));
}

/// A value with more digits than tell it from its neighbours.
std::string digits(const isa::DType& dtype, std::uint64_t code) {
  return fmt::format("{:.9g}", isa::to_double(isa::decode(dtype, code)));
}

/// Whether a finite number rounds to the type's largest value, or beyond it, only because the type
/// ends there: it is half a step or more beyond.
bool is_beyond(const isa::DType& dtype, double value) {
  const double largest = isa::to_double(isa::decode(dtype, isa::max_code(dtype)));
  const double below = isa::to_double(isa::decode(dtype, isa::max_code(dtype) - 1));
  return std::abs(value) - largest >= (largest - below) / 2;
}

/// Takes floats to a float type, value by value.
class Rounder {
 public:
  Rounder(const HostTensor& from, HostTensor& to, bool exact)
      : from_(from), to_(to), exact_(exact) {}

  /// False if element k does not fit.
  bool take(std::size_t k) {
    const isa::Number value = isa::decode(from_.dtype, from_.code(k));
    const std::optional<std::uint64_t> code =
        exact_ ? exact_code(to_.dtype, value) : near_code(to_.dtype, value);
    if (!code) return false;
    to_.set_code(k, *code);
    if (exact_ || value.is_nan() || value.is_inf()) return true;
    const double error =
        std::abs(isa::to_double(isa::decode(to_.dtype, *code)) - isa::to_double(value));
    if (error > 0) note(k, error);
    return true;
  }
  [[nodiscard]] const Rounding& rounding() const { return rounding_; }

 private:
  void note(std::size_t k, double error) {
    if (rounding_.count++ == 0) rounding_.first = k;
    if (error <= rounding_.largest_error) return;
    rounding_.largest_error = error;
    rounding_.worst = k;
  }

  const HostTensor& from_;
  HostTensor& to_;
  bool exact_;
  Rounding rounding_;
};

}  // namespace

std::string with_article(const isa::DType& dtype) {
  const std::string name = isa::to_string(dtype);
  return (name[0] == 'i' || name[0] == 'f' ? "an " : "a ") + name;
}

std::string why_not(const isa::DType& dtype, const isa::Number& value) {
  const std::string article = with_article(dtype);
  if (dtype.is_integer()) return fmt::format("{} ({})", article, range_of(dtype));
  if (dtype.is_bipolar())
    return fmt::format("{} (the odd numbers of {})", article, range_of(dtype));
  const bool has_none = value.is_nan() || value.is_inf();
  if (has_none || is_beyond(dtype, isa::to_double(value))) {
    return fmt::format(
        "{} ({}{})", article, range_of(dtype),
        has_none && dtype.specials() != isa::Specials::ieee ? ", without infinities" : "");
  }
  return fmt::format("{} (the nearest is {})", article, digits(dtype, isa::encode(dtype, value)));
}

std::optional<std::uint64_t> exact_code(const isa::DType& dtype, const isa::Number& value) {
  if (value.is_inf() && dtype.is_float() && dtype.specials() == isa::Specials::ieee) {
    const unsigned sign_at = dtype.bits - 1u;
    const std::uint64_t exponent = isa::low_mask(dtype.exponent_bits);
    return exponent << (sign_at - dtype.exponent_bits) | std::uint64_t{value.negative} << sign_at;
  }
  if (!isa::representable(dtype, value)) return {};
  return isa::encode(dtype, value);
}

std::optional<std::uint64_t> near_code(const isa::DType& dtype, const isa::Number& value) {
  if (!dtype.is_float() || value.is_nan() || value.is_inf()) return exact_code(dtype, value);
  if (is_beyond(dtype, isa::to_double(value))) return {};
  return isa::encode(dtype, value);
}

DataPlace place_of(const std::string& file, std::string_view name, const isa::Shape& shape,
                   std::size_t k) {
  DataPlace place{file, std::string(name), isa::Shape(shape.size())};
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto extent = static_cast<std::size_t>(std::max<std::int64_t>(shape[i], 1));
    place.index[i] = static_cast<std::int64_t>(k % extent);
    k /= extent;
  }
  return place;
}

Result<Rounding> convert_numbers(const HostTensor& from, HostTensor& to, bool exact,
                                 const std::string& file, std::string_view name) {
  if (from.dtype == to.dtype) {
    to.data = from.data;  // the bits of a NaN too
    return Rounding{};
  }
  const bool may_round = from.dtype.is_float() && to.dtype.is_float();
  Rounder rounder(from, to, exact || !may_round);
  for (std::size_t k = 0, size = from.size(); k < size; ++k) {
    if (rounder.take(k)) continue;
    const isa::Number value = isa::decode(from.dtype, from.code(k));
    return data_error(
        Code::data_not_representable,
        fmt::format("`{}`: `{}`{} = {} is not {}", file, name, format_index(to.shape, k),
                    isa::format_value(from.dtype, from.code(k)), why_not(to.dtype, value)),
        place_of(file, name, to.shape, k));
  }
  return rounder.rounding();
}

std::string describe(const Rounding& rounding, const HostTensor& from, const HostTensor& to,
                     const std::string& file, std::string_view name) {
  const auto became = [&](std::size_t k) {
    return fmt::format("{} {} became {}", format_index(to.shape, k),
                       isa::format_value(from.dtype, from.code(k)), digits(to.dtype, to.code(k)));
  };
  return fmt::format(
      "`{}`: {} of {} numbers of `{}` are not values of {} and were rounded to the nearest, by at "
      "most {:.3g} "
      "(at {}); first {}; --exact refuses them",
      file, rounding.count, from.size(), name, isa::to_string(to.dtype), rounding.largest_error,
      became(rounding.worst), became(rounding.first));
}

}  // namespace tilevm::vm
