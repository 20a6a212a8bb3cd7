#include "backend/emit/emit_mma.h"

#include <string_view>

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

using isa::DType;
using isa::MmaShape;
using isa::TypeKind;

/// The name of a type in PTX; one bit is b1 there.
std::string ptx_type(const DType& type) {
  switch (type.kind) {
    case TypeKind::signed_int:
      return fmt::format("s{}", type.bits);
    case TypeKind::unsigned_int:
    case TypeKind::bipolar:
      return fmt::format("{}{}", type.bits == 1 ? "b" : "u", type.bits);
    case TypeKind::floating:
      break;
  }
  if (type.bits > 8) return to_string(type);
  return fmt::format("e{}m{}", type.exponent_bits, type.mantissa_bits);
}

/// The types of D, A, B and C between separators.
std::string operand_types(const MmaShape& shape, char separator) {
  const std::string c = ptx_type(shape.accumulator);
  return fmt::format("{1}{0}{2}{0}{3}{0}{1}", separator, c, ptx_type(shape.a), ptx_type(shape.b));
}

struct MmaOperand {
  char name;
  MmaRegisters registers;
};

std::string list(int count, std::string_view separator, const auto& item) {
  std::string result;
  for (int i = 0; i < count; ++i) result += (i > 0 ? std::string(separator) : "") + item(i);
  return result;
}

std::string parameters(const MmaOperand& operand, bool by_reference) {
  return list(operand.registers.count, ", ", [&](int i) {
    return fmt::format("u{}{} {}{}", operand.registers.bits, by_reference ? "&" : "", operand.name,
                       i);
  });
}

/// "{%0, %1, %2, %3}".
std::string group(const MmaOperand& operand, int first) {
  return "{" +
         list(operand.registers.count, ", ", [&](int i) { return fmt::format("%{}", first + i); }) +
         "}";
}

std::string constraints(const MmaOperand& operand, std::string_view prefix,
                        std::string_view word = "{}") {
  const char letter = operand.registers.bits == 64 ? 'l' : 'r';
  return list(operand.registers.count, ", ", [&](int i) {
    const std::string name = fmt::format("{}{}", operand.name, i);
    return fmt::format("\"{}{}\"({})", prefix, letter, fmt::format(fmt::runtime(word), name));
  });
}

}  // namespace

MmaRegisters mma_registers(const DType& type, const isa::RegisterLayout& fragment) {
  MmaRegisters registers;
  registers.bits = type.bits == 64 ? 64 : 32;
  registers.elements = registers.bits / type.bits;
  registers.count = static_cast<int>(fragment.num_locals()) / registers.elements;
  return registers;
}

std::string mma_function_name(const MmaShape& shape) {
  return fmt::format("mma_{}{}_{}", shape.sparse ? "sp_" : "", shape.name,
                     operand_types(shape, '_'));
}

std::string mma_function(const MmaShape& shape) {
  const MmaOperand c{'c', mma_registers(shape.accumulator, shape.c_layout)};
  const MmaOperand a{'a', mma_registers(shape.a, shape.a_layout)};
  const MmaOperand b{'b', mma_registers(shape.b, shape.b_layout)};
  const int first_a = c.registers.count, first_b = first_a + a.registers.count;
  const int places = first_b + b.registers.count;
  std::string text =
      fmt::format("{}TV_FN void {}({},\n    {},\n    {}{}) {{\n",
                  shape.sparse ? "template <int selector>\n" : "", mma_function_name(shape),
                  parameters(c, true), parameters(a, false), parameters(b, false),
                  shape.sparse ? ", u32 places" : "");
  text += fmt::format("  asm(\"mma.{}sync.aligned.{}.row.col.{}{} \"\n",
                      shape.sparse ? "sp::ordered_metadata." : "", shape.name,
                      operand_types(shape, '.'), shape.a == isa::u1 ? ".and.popc" : "");
  text += fmt::format("      \"{0}, {1}, {2}, {0}{3};\"\n", group(c, 0), group(a, first_a),
                      group(b, first_b),
                      shape.sparse ? fmt::format(", %{}, %{}", places, places + 1) : "");
  const bool is_f8 = shape.a.is_float() && shape.a.bits == 8;
  const std::string_view word = is_f8 ? "unseen_constant({})" : "{}";
  text += fmt::format("      : {}\n      : {},\n        {}{});\n}}\n", constraints(c, "+"),
                      constraints(a, "", word), constraints(b, "", word),
                      shape.sparse ? ",\n        \"r\"(places), \"n\"(selector)" : "");
  return text;
}

std::string emulated_mma_function(const MmaShape& shape, std::size_t number) {
  const MmaOperand c{'c', mma_registers(shape.accumulator, shape.c_layout)};
  const MmaOperand a{'a', mma_registers(shape.a, shape.a_layout)};
  const MmaOperand b{'b', mma_registers(shape.b, shape.b_layout)};
  std::string text =
      fmt::format("{}TV_FN void {}({},\n    {},\n    {}{}, TV_LINE) {{\n",
                  shape.sparse ? "template <int selector>\n" : "", mma_function_name(shape),
                  parameters(c, true), parameters(a, false), parameters(b, false),
                  shape.sparse ? ", u32 places" : "");
  const auto declare = [&](const MmaOperand& operand) {
    text += fmt::format("  u{} {}[] = {{{}}};\n", operand.registers.bits, operand.name,
                        list(operand.registers.count, ", ",
                             [&](int i) { return fmt::format("{}{}", operand.name, i); }));
  };
  declare(c);
  declare(a);
  declare(b);
  text += shape.sparse
              ? fmt::format(
                    "  lane()->operations->mma_sparse(lane(), {}, c, a, b, &places, "
                    "selector, line);\n",
                    number)
              : fmt::format("  lane()->operations->mma(lane(), {}, c, a, b, line);\n", number);
  text += fmt::format("  {};\n}}\n", list(c.registers.count, "; ",
                                          [](int i) { return fmt::format("c{0} = c[{0}]", i); }));
  return text;
}

}  // namespace tilevm::backend
