// The text of one element.
#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "isa/type/number.h"

namespace tilevm::isa {
namespace {

/// Whether the text reads back to the code.
bool reads_back(const DType& type, const std::string& text, std::uint64_t code) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc{} && encode(type, number_from(value)) == code;
}

/// A whole number of few digits is shorter and clearer written out than with an exponent.
bool is_short_integer(double value) {
  constexpr double limit = 1 << 24;
  return value > -limit && value < limit && value == static_cast<double>(static_cast<int>(value));
}

std::string format_float(const DType& type, std::uint64_t bits) {
  const double value = to_double(decode(type, bits));
  if (is_short_integer(value)) return fmt::format("{:.0f}", value);
  const std::uint64_t code = encode(type, number_from(value));
  for (int digits = 1; digits < 17; ++digits) {
    std::string text = fmt::format("{:.{}g}", value, digits);
    if (reads_back(type, text, code)) return text;
  }
  return fmt::format("{:.17g}", value);
}

}  // namespace

std::string format_value(const DType& type, std::uint64_t bits) {
  const Number value = decode(type, bits);
  if (value.is_nan()) return "nan";
  if (value.is_inf()) return value.negative ? "-inf" : "inf";
  if (type.is_float()) return format_float(type, bits);
  return fmt::format("{}{}", value.negative ? "-" : "", value.significand);
}

}  // namespace tilevm::isa
