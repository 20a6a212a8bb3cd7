// Dot by tensor cores: one call for each step of the verifier's plan, on registers gathered from
// the packed tiles.
#include <fmt/format.h>

#include "backend/emit/emit_dot.h"
#include "backend/emit/emit_packed.h"
#include "backend/ptx/emit_mma.h"
#include "isa/inst/product.h"

namespace tilevm::backend {
namespace {

bool all_whole_words(const PackedOperand& operand, const isa::Fragment& fragment) {
  for (int r = 0; r < operand.registers.count; ++r) {
    if (!whole_word(operand, fragment, r)) return false;
  }
  return true;
}

/// Puts the registers c_[..] back into the elements of the tile.
void scatter(const PackedOperand& operand, const isa::Fragment& fragment, KernelEmission& kernel) {
  for (std::size_t e = 0; e < fragment.size(); ++e) {
    const auto in_register = static_cast<std::size_t>(operand.registers.elements);
    const std::size_t shift = e % in_register * static_cast<std::size_t>(operand.bits);
    const std::string part = shift == 0 ? "" : fmt::format(" >> {}", shift);
    const bool masked = operand.bits != operand.registers.bits;
    kernel.out.line(fmt::format("tv::put<{0}>({1}, {2}, c_[{3}]{4}{5});", operand.bits,
                                operand.tile, fragment[e], e / in_register, part,
                                masked ? fmt::format(" & tv::low_mask<{}>()", operand.bits) : ""));
  }
}

void emit_step(const std::string& function, const PackedOperand& c, const isa::Fragment& c_fragment,
               const std::string& inputs, KernelEmission& kernel) {
  if (all_whole_words(c, c_fragment)) {
    kernel.out.line(fmt::format("{}({}, {});", function, gather_all(c, c_fragment), inputs));
    return;
  }
  std::string registers;
  for (int r = 0; r < c.registers.count; ++r) {
    registers += fmt::format("{}c_[{}]", r > 0 ? ", " : "", r);
  }
  kernel.out.open_plain();
  kernel.out.line(fmt::format("tv::u{} c_[{}] = {{{}}};", c.registers.bits, c.registers.count,
                              gather_all(c, c_fragment)));
  kernel.out.line(fmt::format("{}({}, {});", function, registers, inputs));
  scatter(c, c_fragment, kernel);
  kernel.out.close();
}

/// Instructions on f64 keep the payload of a NaN.
void emit_canonical(const PackedOperand& c, const isa::RegisterType& type, KernelEmission& kernel) {
  kernel.out.line(fmt::format("tv::canonical_tile<{}, {}>({});", kernel.element_type(type.dtype),
                              type.layout.num_locals(), c.tile));
}

/// The register of places of a sparse step.
std::string places_of(const isa::DotPlan& plan, const isa::DotPlan::Step& step, isa::VarId places,
                      KernelEmission& kernel) {
  const PackedOperand operand{
      kernel.name(places), 2, {.bits = 32, .count = 1, .elements = 16, .element = {2}}};
  return gather(operand, plan.places[static_cast<std::size_t>(step.places)], 0);
}

/// The scales of a step: a register, and the byte of it where they begin.
struct ScaleRegister {
  std::string value;
  int byte = 0;
};

/// Scales that are neighbours in a word of the tile stay there; others are put together as bytes.
ScaleRegister scales_of(const std::string& tile, int bits, const isa::Fragment& places) {
  const auto count = static_cast<int>(places.size());
  bool neighbours = bits == 8 && places[0] % 4 + count <= 4;
  for (int i = 1; i < count; ++i) {
    neighbours &= places[static_cast<std::size_t>(i)] == places[0] + i;
  }
  // An instruction takes two scales from an even byte.
  if (neighbours && places[0] % count == 0) {
    return {fmt::format("{}[{}]", tile, places[0] / 4), places[0] % 4};
  }
  const PackedOperand operand{tile, bits, {.count = 1, .elements = count, .element = {8}}};
  return {gather(operand, places, 0)};
}

std::string call_scaled(const std::string& function, const isa::DotPlan& plan,
                        const isa::DotPlan::Step& step, const isa::ProductOperands& product,
                        KernelEmission& kernel, std::string& inputs) {
  const int bits = plan.shape->scale.bits;
  const ScaleRegister a = scales_of(kernel.name(product.left_scales), bits,
                                    plan.a_scales[static_cast<std::size_t>(step.a_scales)]);
  const ScaleRegister b = scales_of(kernel.name(product.right_scales), bits,
                                    plan.b_scales[static_cast<std::size_t>(step.b_scales)]);
  inputs += fmt::format(", {}, {}", a.value, b.value);
  return fmt::format("{}<{}, {}>", function, a.byte, b.byte);
}

void emit_mma_dot(const isa::ProductOperands& product, const isa::DotPlan& plan,
                  const std::string& target, KernelEmission& kernel) {
  const isa::MmaShape& shape = *plan.shape;
  const std::string function = kernel.mma_function(shape);
  const isa::VarId left = plan.transposed ? product.right : product.left;
  const isa::VarId right = plan.transposed ? product.left : product.right;
  const PackedOperand a{kernel.name(left), shape.a.bits,
                        mma_registers(register_element(shape, shape.a), shape.a_layout)};
  const PackedOperand b{kernel.name(right), shape.b.bits,
                        mma_registers(register_element(shape, shape.b), shape.b_layout)};
  const PackedOperand c{target, shape.accumulator.bits,
                        mma_registers(shape.accumulator, shape.c_layout)};
  if (target != kernel.name(product.addend)) {
    kernel.out.line(fmt::format("tv::copy_words<{}>({}, {});",
                                tile_words(kernel.type<isa::RegisterType>(product.addend)), target,
                                kernel.name(product.addend)));
  }
  for (const isa::DotPlan::Step& step : plan.steps) {
    std::string inputs = gather_all(a, plan.a[static_cast<std::size_t>(step.a)]) + ", " +
                         gather_all(b, plan.b[static_cast<std::size_t>(step.b)]);
    std::string selected = function;
    if (shape.sparse) {
      inputs += ", " + places_of(plan, step, product.metadata, kernel);
      selected = fmt::format("{}<{}>", function, step.selector);
    } else if (shape.scaling != isa::MmaScaling::none) {
      selected = call_scaled(function, plan, step, product, kernel, inputs);
    }
    emit_step(selected, c, plan.c[static_cast<std::size_t>(step.c)], inputs, kernel);
  }
  if (shape.accumulator == isa::f64) {
    emit_canonical(c, kernel.type<isa::RegisterType>(product.addend), kernel);
  }
}

}  // namespace

void emit_dot(const DotForm& form, const isa::InstStmt& stmt, KernelEmission& kernel,
              const DotWriter& write) {
  const std::string& result = kernel.name(stmt.results[0]);
  kernel.declare_tile(stmt);
  if (!form.beside) return write(result);
  const auto words = tile_words(kernel.type<isa::RegisterType>(stmt.results[0]));
  kernel.out.open_plain();
  kernel.out.plain(fmt::format("tv::u32 d_[{}];", words));
  write("d_");
  kernel.out.line(fmt::format("tv::copy_words<{}>({}, d_);", words, result));
  kernel.out.close();
}

template <>
void emit_form(const MmaDot& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  emit_dot(form.dot, stmt, kernel, [&](const std::string& target) {
    emit_mma_dot(*isa::product_operands(stmt.inst), *form.dot.plan, target, kernel);
  });
}

}  // namespace tilevm::backend
