#include "frontend/syntax/literals.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

namespace tilevm::frontend {
namespace {

/// The number without the underscores between its digits; nothing if one is elsewhere.
std::optional<std::string> without_separators(std::string_view text) {
  std::string digits;
  const auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
      continue;
    }
    if (i == 0 || i + 1 == text.size()) return std::nullopt;
    if (!is_digit(text[i - 1]) || !is_digit(text[i + 1])) return std::nullopt;
  }
  return digits;
}

int base_of(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 10;
  switch (text[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 10;
  }
}

LiteralFault not_a_number(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const bool has_suffix =
      !is_hex && std::string_view("fFlLuUhH").find(text.back()) != std::string_view::npos;
  return {fmt::format("`{}` is not a number{}", text,
                      has_suffix ? "; numbers have no suffix: a fraction is an f32, and `u32(..)`, "
                                   "`i64(..)` convert"
                                 : "")};
}

std::variant<ast::Integer, ast::Float, LiteralFault> read_integer(std::string_view text,
                                                                  std::string_view digits,
                                                                  int base) {
  if (base == 10 && digits.size() > 1 && digits[0] == '0') {
    return LiteralFault{fmt::format("`{}` begins with 0; octal numbers are written 0o17", text)};
  }
  if (base != 10) digits.remove_prefix(2);
  std::uint64_t value = 0;
  const char* const begin = digits.data();  // NOLINT(bugprone-suspicious-stringview-data-usage)
  const char* end = begin + digits.size();
  const auto [stop, error] = std::from_chars(begin, end, value, base);
  if (error == std::errc::result_out_of_range && stop == end) {
    return LiteralFault{fmt::format("the integer `{}` does not fit in 64 bits", text)};
  }
  if (error != std::errc{} || stop != end) return not_a_number(text);
  return ast::Integer{value, std::string(text)};
}

std::variant<ast::Integer, ast::Float, LiteralFault> read_float(std::string_view text,
                                                                std::string_view digits) {
  double value = 0;
  const char* const begin = digits.data();  // NOLINT(bugprone-suspicious-stringview-data-usage)
  const char* end = begin + digits.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::invalid_argument || stop != end) return not_a_number(text);
  if (error == std::errc{} && std::isfinite(value)) return ast::Float{value, std::string(text)};
  return LiteralFault{fmt::format("the number `{}` is outside the range of a double", text)};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The byte of the escape whose text after the backslash is `rest`, and how much of `rest` it
/// takes.
std::optional<std::pair<char, std::size_t>> read_escape(std::string_view rest) {
  switch (rest.empty() ? '\0' : rest[0]) {
    case '\\':
    case '"':
    case '\'':
      return std::pair{rest[0], std::size_t{1}};
    case 'n':
      return std::pair{'\n', std::size_t{1}};
    case 'r':
      return std::pair{'\r', std::size_t{1}};
    case 't':
      return std::pair{'\t', std::size_t{1}};
    case 'x':
      break;
    default:
      return std::nullopt;
  }
  if (rest.size() < 3) return std::nullopt;
  const int high = hex_digit(rest[1]);
  const int low = hex_digit(rest[2]);
  if (high < 0 || high > 7 || low < 0) return std::nullopt;
  return std::pair{static_cast<char>(high * 16 + low), std::size_t{3}};
}

}  // namespace

std::variant<ast::Integer, ast::Float, LiteralFault> read_number(std::string_view text) {
  const std::optional<std::string> digits = without_separators(text);
  if (!digits || digits->empty()) return not_a_number(text);
  const int base = base_of(*digits);
  const bool is_float = base == 10 && digits->find_first_of(".eE") != std::string::npos;
  return is_float ? read_float(text, *digits) : read_integer(text, *digits, base);
}

std::variant<ast::String, LiteralFault> read_string(std::string_view text) {
  ast::String result;
  const std::string_view inner = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < inner.size();) {
    if (inner[i] != '\\') {
      result.value += inner[i++];
      continue;
    }
    const auto escape = read_escape(inner.substr(i + 1));
    if (!escape) {
      return LiteralFault{
          "unknown escape in this string; there are \\n \\r \\t \\\\ \\\" \\' and \\x00 to \\x7f"};
    }
    result.value += escape->first;
    i += 1 + escape->second;
  }
  return result;
}

std::string quote(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    switch (c) {
      case '"':
        text += "\\\"";
        break;
      case '\\':
        text += "\\\\";
        break;
      case '\n':
        text += "\\n";
        break;
      case '\r':
        text += "\\r";
        break;
      case '\t':
        text += "\\t";
        break;
      default: {
        const bool control = (c >= 0 && c < ' ') || c == 0x7f;
        text += control ? fmt::format("\\x{:02x}", static_cast<unsigned>(c)) : std::string(1, c);
      }
    }
  }
  return text + "\"";
}

}  // namespace tilevm::frontend
