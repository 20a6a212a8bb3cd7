// Numbers and strings as they are written in a program.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "frontend/syntax/ast.h"

namespace tilevm::frontend {

/// Why a literal cannot be read, in the words of a message.
struct LiteralFault {
  std::string message;
};

/// Reads `12`, `1_000`, `0x3f`, `0b101`, `0o17` as integers below 2^64 and `1.5`, `.5`, `2.`,
/// `1e-3` as the nearest double, which must be finite. No sign, no suffix.
[[nodiscard]] std::variant<ast::Integer, ast::Float, LiteralFault> read_number(
    std::string_view text);

/// Reads a string with its quotes. Escapes: \\ \" \' \n \r \t and \xHH up to \x7f.
[[nodiscard]] std::variant<ast::String, LiteralFault> read_string(std::string_view text);

/// The literal that read_string reads as `value`: in double quotes, control bytes escaped.
[[nodiscard]] std::string quote(std::string_view value);

}  // namespace tilevm::frontend
