#include "backend/ptx/emit_mma.h"

#include <string_view>

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

using isa::DType;
using isa::MmaScaling;
using isa::MmaShape;
using isa::TypeKind;

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

/// The registers of an instruction.
struct Operands {
  explicit Operands(const MmaShape& shape)
      : c{'c', mma_registers({shape.accumulator.bits}, shape.c_layout)},
        a{'a', mma_registers(register_element(shape, shape.a), shape.a_layout)},
        b{'b', mma_registers(register_element(shape, shape.b), shape.b_layout)} {}
  MmaOperand c, a, b;
};

/// The head of the function: templates and parameters that only some instructions have.
std::string signature(const MmaShape& shape, const Operands& operands, std::string_view last) {
  const bool scaled = shape.scaling != MmaScaling::none;
  const std::string_view constants = shape.sparse ? "template <int selector>\n"
                                     : scaled     ? "template <int a_byte, int b_byte>\n"
                                                  : "";
  const std::string_view more = shape.sparse ? ", u32 places"
                                : scaled     ? ", u32 a_scales, u32 b_scales"
                                             : "";
  return fmt::format("{}TV_FN void {}({},\n    {},\n    {}{}{}) {{\n", constants,
                     mma_function_name(shape), parameters(operands.c, true),
                     parameters(operands.a, false), parameters(operands.b, false), more, last);
}

/// What only some instructions have of PTX.
struct Extra {
  std::string qualifiers = {};   ///< text after row.col.
  std::string suffix = {};       ///< text after the types
  std::string arguments = {};    ///< operands after c
  std::string constraints = {};  ///< constraints of the arguments
};

/// `first`: the number of the first asm operand behind a, b and c.
Extra extra_operands(const MmaShape& shape, int first) {
  if (shape.sparse) {
    return {.arguments = fmt::format(", %{}, %{}", first, first + 1),
            .constraints = ",\n        \"r\"(places), \"n\"(selector)"};
  }
  if (shape.scaling == MmaScaling::none) {
    const std::string_view of_bits = shape.exclusive_or ? ".xor.popc" : ".and.popc";
    return {.suffix = shape.a == isa::u1 ? std::string(of_bits) : ""};
  }
  // The threads of a pair or a quad hold the same scales, so that the first of them may give all.
  return {.qualifiers = fmt::format("kind::{}.block_scale.scale_vec::{}X.",
                                    kind_name(shape.scaling), shape.scales()),
          .suffix = shape.scale == isa::f8e8m0 ? ".ue8m0" : ".ue4m3",
          .arguments = fmt::format(", {{%{}}}, {{%{}, 0}}, {{%{}}}, {{%{}, 0}}", first, first + 2,
                                   first + 1, first + 3),
          .constraints =
              ",\n        \"r\"(a_scales), \"r\"(b_scales), \"n\"(a_byte), "
              "\"n\"(b_byte)"};
}

}  // namespace

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

MmaRegisters mma_registers(const isa::RegisterElement& element,
                           const isa::RegisterLayout& fragment) {
  MmaRegisters registers;
  registers.bits = element.bits == 64 ? 64 : 32;
  registers.elements = registers.bits / element.bits;
  registers.count = static_cast<int>(fragment.num_locals()) / registers.elements;
  registers.element = element;
  return registers;
}

std::string mma_function_name(const MmaShape& shape) {
  std::string kind = shape.sparse ? "sp_" : shape.exclusive_or ? "xor_" : "";
  if (shape.scaling != MmaScaling::none) kind = fmt::format("{}_", kind_name(shape.scaling));
  return fmt::format("mma_{}{}_{}", kind, shape.name, operand_types(shape, '_'));
}

std::string mma_function(const MmaShape& shape) {
  const Operands operands(shape);
  const auto& [c, a, b] = operands;
  const int first_a = c.registers.count, first_b = first_a + a.registers.count;
  const Extra extra = extra_operands(shape, first_b + b.registers.count);
  std::string text = signature(shape, operands, "");
  text += fmt::format("  asm(\"mma.{}sync.aligned.{}.row.col.{}{}{} \"\n",
                      shape.sparse ? "sp::ordered_metadata." : "", shape.name, extra.qualifiers,
                      operand_types(shape, '.'), extra.suffix);
  text += fmt::format("      \"{0}, {1}, {2}, {0}{3};\"\n", group(c, 0), group(a, first_a),
                      group(b, first_b), extra.arguments);
  const bool is_f8 = shape.a.is_float() && shape.a.bits == 8;
  const std::string_view word = is_f8 ? "unseen_constant({})" : "{}";
  text += fmt::format("      : {}\n      : {},\n        {}{});\n}}\n", constraints(c, "+"),
                      constraints(a, "", word), constraints(b, "", word), extra.constraints);
  return text;
}

std::string emulated_mma_function(const MmaShape& shape, std::size_t number) {
  const Operands operands(shape);
  std::string text = signature(shape, operands, ", TV_LINE");
  for (const MmaOperand& operand : {operands.c, operands.a, operands.b}) {
    text += fmt::format("  u{} {}[] = {{{}}};\n", operand.registers.bits, operand.name,
                        list(operand.registers.count, ", ",
                             [&](int i) { return fmt::format("{}{}", operand.name, i); }));
  }
  std::string call = "mma(lane(), {}, c, a, b, line)";
  if (shape.sparse) call = "mma_sparse(lane(), {}, c, a, b, &places, selector, line)";
  if (shape.scaling != MmaScaling::none) {
    text += "  const u32 sa = a_scales >> 8 * a_byte, sb = b_scales >> 8 * b_byte;\n";
    call = "mma_scaled(lane(), {}, c, a, b, &sa, &sb, line)";
  }
  text += fmt::format("  lane()->operations->{};\n", fmt::format(fmt::runtime(call), number));
  text += fmt::format("  {};\n}}\n", list(operands.c.registers.count, "; ",
                                          [](int i) { return fmt::format("c{0} = c[{0}]", i); }));
  return text;
}

}  // namespace tilevm::backend
