#include "backend/ptx/emit_wgmma.h"

#include <string_view>

#include <fmt/format.h>

#include "backend/ptx/emit_mma.h"
#include "isa/dot/wgmma_shapes.h"

namespace tilevm::backend {
namespace {

std::string register_list(int count, std::string_view separator, const auto& item) {
  std::string result;
  for (int i = 0; i < count; ++i) result += (i > 0 ? std::string(separator) : "") + item(i);
  return result;
}

/// The registers of a thread.
struct Registers {
  explicit Registers(const WgmmaUse& use)
      : d(mma_registers(use.shape->accumulator, use.shape->c_layout).count),
        a(use.a_in_registers ? mma_registers(use.shape->a, use.shape->a_layout).count : 0) {}
  int d, a;
};

std::string signature(const WgmmaUse& use, std::string_view last) {
  const Registers registers(use);
  const std::string a =
      use.a_in_registers
          ? register_list(registers.a, ", ", [](int i) { return fmt::format("u32 a{}", i); })
          : "u64 a";
  return fmt::format(
      "template <int a_factor, int b_factor, int a_transposed, int b_transposed>\n"
      "TV_FN void {}({},\n    {}, u64 b, bool accumulate{}) {{\n",
      wgmma_function_name(use),
      register_list(registers.d, ", ", [](int i) { return fmt::format("u32& d{}", i); }), a, last);
}

}  // namespace

std::string wgmma_function_name(const WgmmaUse& use) {
  const isa::MmaShape& shape = *use.shape;
  return fmt::format("wgmma_{}_{}_{}_{}_{}", shape.name, ptx_type(shape.accumulator),
                     ptx_type(shape.a), ptx_type(shape.b), use.a_in_registers ? "rs" : "ss");
}

std::string wgmma_function(const WgmmaUse& use) {
  const isa::MmaShape& shape = *use.shape;
  const Registers registers(use);
  const auto numbers = [](int first, int count) {
    return "{" + register_list(count, ", ", [&](int i) { return fmt::format("%{}", first + i); }) +
           "}";
  };
  const int a = registers.d, b = a + (use.a_in_registers ? registers.a : 1), flag = b + 1;
  std::string immediates, constraints;
  if (shape.a.is_float()) {
    immediates = fmt::format(", %{}, %{}", flag + 1, flag + 2);
    constraints = ", \"n\"(a_factor), \"n\"(b_factor)";
  }
  if (isa::may_be_mn_major(shape.a)) {
    if (!use.a_in_registers) {
      immediates += fmt::format(", %{}", flag + 3);
      constraints += ", \"n\"(a_transposed)";
    }
    immediates += fmt::format(", %{}", flag + (use.a_in_registers ? 3 : 4));
    constraints += ", \"n\"(b_transposed)";
  }
  std::string text = signature(use, "");
  text += fmt::format(
      "  asm volatile(\"{{\\n.reg .pred adds;\\nsetp.ne.b32 adds, %{}, 0;\\n\"\n"
      "      \"wgmma.mma_async.sync.aligned.{}.{}.{}.{} \"\n      \"{}, \"\n"
      "      \"{}, %{}, adds{};\\n}}\"\n",
      flag, shape.name, ptx_type(shape.accumulator), ptx_type(shape.a), ptx_type(shape.b),
      numbers(0, registers.d), use.a_in_registers ? numbers(a, registers.a) : fmt::format("%{}", a),
      b, immediates);
  text += fmt::format(
      "      : {}\n      : {}, \"l\"(b), \"r\"(static_cast<u32>(accumulate)){});\n}}\n",
      register_list(registers.d, ", ", [](int i) { return fmt::format("\"+r\"(d{})", i); }),
      use.a_in_registers
          ? register_list(registers.a, ", ", [](int i) { return fmt::format("\"r\"(a{})", i); })
          : "\"l\"(a)",
      constraints);
  return text;
}

std::string emulated_wgmma_function(const WgmmaUse& use, std::size_t number) {
  const Registers registers(use);
  std::string text = signature(use, ", TV_LINE");
  text +=
      fmt::format("  u32* const d[] = {{{}}};\n",
                  register_list(registers.d, ", ", [](int i) { return fmt::format("&d{}", i); }));
  if (use.a_in_registers) {
    text +=
        fmt::format("  const u32 words[] = {{{}}};\n",
                    register_list(registers.a, ", ", [](int i) { return fmt::format("a{}", i); }));
  }
  text += fmt::format(
      "  const emu::DotOperands operands = {{{}, {}, b, accumulate, a_factor < 0, b_factor < 0, "
      "a_transposed != 0, b_transposed != 0}};\n"
      "  lane()->operations->dot_async(lane(), {}, d, operands, line);\n}}\n",
      use.a_in_registers ? "words" : "nullptr", use.a_in_registers ? "0" : "a", number);
  return text;
}

}  // namespace tilevm::backend
