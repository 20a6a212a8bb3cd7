#include "backend/emit/emit_packed.h"

#include <fmt/format.h>

namespace tilevm::backend {

std::size_t first_of(const PackedOperand& operand, int register_index) {
  return static_cast<std::size_t>(register_index) *
         static_cast<std::size_t>(operand.registers.elements);
}

std::optional<std::int32_t> whole_word(const PackedOperand& operand, const isa::Fragment& fragment,
                                       int register_index) {
  const std::size_t first = first_of(operand, register_index);
  const bool filled =
      operand.registers.bits == 32 && operand.registers.element.bits == operand.bits;
  if (!filled || fragment[first] * operand.bits % 32 != 0) return std::nullopt;
  for (int j = 1; j < operand.registers.elements; ++j) {
    if (fragment[first + static_cast<std::size_t>(j)] != fragment[first] + j) return std::nullopt;
  }
  return fragment[first] * operand.bits / 32;
}

std::string gather(const PackedOperand& operand, const isa::Fragment& fragment,
                   int register_index) {
  if (const auto word = whole_word(operand, fragment, register_index)) {
    return fmt::format("{}[{}]", operand.tile, *word);
  }
  std::string text;
  for (int j = 0; j < operand.registers.elements; ++j) {
    const auto place = fragment[first_of(operand, register_index) + static_cast<std::size_t>(j)];
    const std::string element =
        fmt::format("tv::get<{}>({}, {})", operand.bits, operand.tile, place);
    const int shift = j * operand.registers.element.bits + operand.registers.element.shift;
    text += fmt::format("{}{}", j == 0 ? "" : " | ", element);
    if (shift != 0) text += fmt::format(" << {}", shift);
  }
  return text;
}

std::string gather_all(const PackedOperand& operand, const isa::Fragment& fragment) {
  std::string text;
  for (int r = 0; r < operand.registers.count; ++r) {
    text += (r > 0 ? ", " : "") + gather(operand, fragment, r);
  }
  return text;
}

}  // namespace tilevm::backend
