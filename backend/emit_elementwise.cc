// Instructions that work element by element: calls of the prelude's templates, which are named like
// the instructions.
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit_kernel.h"
#include "isa/broadcast.h"

namespace tilevm::backend {
namespace {

/// The place in an operand from which place l_ of the result takes its element: l_ itself, or an
/// entry of a table that is declared here.
std::string place_of(isa::VarId operand, const isa::RegisterLayout& result,
                     KernelEmission& kernel) {
  const isa::RegisterLayout& layout = kernel.type<isa::RegisterType>(operand).layout;
  if (layout == result) return "l_";
  const std::string name = kernel.name(operand) + "_at_";
  kernel.out.line(fmt::format("constexpr int {}[{}] = {{{}}};", name, result.num_locals(),
                              fmt::join(*isa::broadcast_places(result, layout), ", ")));
  return name + "[l_]";
}

/// Writes `put(result, l_, f(elements of the operands))` for all places of the result.
void emit_elements(std::span<const isa::RegisterOperand> operands, const std::string& function,
                   const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(stmt.results[0]);
  kernel.declare_tile(stmt);
  kernel.out.open_plain();
  std::map<int, std::string> places;  // by variable
  std::vector<std::string> elements;
  for (const isa::RegisterOperand operand : operands) {
    std::string& place = places[operand.var.index];
    if (place.empty()) place = place_of(operand.var, type.layout, kernel);
    elements.push_back(fmt::format("tv::get<{}>({}, {})",
                                   kernel.type<isa::RegisterType>(operand.var).dtype.bits,
                                   kernel.name(operand.var), place));
  }
  kernel.out.open_plain(
      fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_)", type.layout.num_locals()));
  kernel.out.line(fmt::format("tv::put<{}>({}, l_, {}({}));", type.dtype.bits,
                              kernel.name(stmt.results[0]), function, fmt::join(elements, ", ")));
  kernel.out.close();
  kernel.out.close();
}

}  // namespace

void emit_binary(isa::BinaryOp op, isa::RegisterOperand a, isa::RegisterOperand b,
                 const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId target = stmt.results[0];
  const auto& result = kernel.type<isa::RegisterType>(target);
  const isa::DType& type = kernel.type<isa::RegisterType>(a.var).dtype;
  const std::string functor = fmt::format("tv::{}", isa::describe(op).mnemonic);
  const bool alike = kernel.type<isa::RegisterType>(a.var) == result &&
                     kernel.type<isa::RegisterType>(b.var) == result;
  if (!alike || isa::is_comparison(op)) {
    const isa::RegisterOperand operands[] = {a, b};
    return emit_elements(operands,
                         fmt::format("tv::binary<{}, {}>", functor, kernel.element_type(type)),
                         stmt, kernel);
  }
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::binary_tile<{}, {}, {}>({}, {}, {});", functor,
                              kernel.element_type(type), result.layout.num_locals(),
                              kernel.name(target), kernel.name(a.var), kernel.name(b.var)));
}

void emit_unary(isa::UnaryOp op, isa::RegisterOperand a, const isa::InstStmt& stmt,
                KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(a.var);
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::unary_tile<tv::{}, {}, {}>({}, {});", isa::describe(op).mnemonic,
                              kernel.element_type(type.dtype), type.layout.num_locals(),
                              kernel.name(stmt.results[0]), kernel.name(a.var)));
}

void emit_instruction(const isa::Where& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const int bits = kernel.type<isa::RegisterType>(inst.a.var).dtype.bits;
  const isa::RegisterOperand operands[] = {inst.condition, inst.a, inst.b};
  emit_elements(operands, fmt::format("tv::where<{}>", bits), stmt, kernel);
}

}  // namespace tilevm::backend
