// Expressions and parts of tensors as a user of the debugger types them.
//
//   acc[3, 5] > 1.5 && bk == 2     operators of C and of the language: or and not == < | ^ & << + *
//   - nan(acc)  inf(acc[0, 1])  undefined(s)                 counts of elements $x $y $z $moment
//   the block, the moment acc   acc[3, 0:4]   acc@5                              a tensor, a part,
//   what a thread holds
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isa/base/result.h"
#include "sim/debug/command.h"

namespace tilevm::vm {

/// The most bytes of a line and of an expression.
inline constexpr std::size_t max_line_bytes = std::size_t{1} << 16;

/// Error (usage): what was not understood, or an expression that is too long or too deep.
[[nodiscard]] Result<sim::debug::ExpressionPtr> parse_debug_expression(std::string_view text);

/// A part of a tensor; nothing if the text is not such a thing (but may be an expression).
[[nodiscard]] std::optional<sim::debug::Selection> parse_selection(std::string_view text);

/// "12", "0x1f", "-3"; nothing if it is not an integer of 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

/// The begin of a text that a message quotes.
[[nodiscard]] std::string shortened(std::string_view text);

/// The text without blanks around it.
[[nodiscard]] std::string_view trim(std::string_view text);

}  // namespace tilevm::vm
