// Instructions that work element by element: calls of the prelude's templates, which are named like
// the instructions.
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_kernel.h"
#include "isa/layout/broadcast.h"

namespace tilevm::backend {
namespace {

using isa::VarId;

const isa::DType& dtype_of(VarId tile, KernelEmission& kernel) {
  return kernel.type<isa::RegisterType>(tile).dtype;
}

std::string functor(isa::BinaryOp op, bool hides_operands = false) {
  const std::string name = fmt::format("tv::{}", isa::describe(op).mnemonic);
  return hides_operands ? fmt::format("tv::HiddenDivisor<{}>", name) : name;
}

// What the prelude calls a function of one element ..

std::string element_function(isa::BinaryOp op, const ElementLoop& form, KernelEmission& kernel) {
  return fmt::format("tv::binary<{}, {}>", functor(op, form.hides_operands),
                     kernel.element_type(dtype_of(form.operands[0], kernel)));
}
std::string element_function(FusedMultiplyAdd, const ElementLoop& form, KernelEmission& kernel) {
  return fmt::format("tv::fma<{}>", kernel.element_type(dtype_of(form.operands[0], kernel)));
}
std::string element_function(ChooseElement, const ElementLoop& form, KernelEmission& kernel) {
  return fmt::format("tv::where<{}>", dtype_of(form.operands[1], kernel).bits);
}

// .. and of the two halves of words.

std::string pair_function(isa::BinaryOp op, const std::vector<VarId>& operands,
                          KernelEmission& kernel) {
  return fmt::format("tv::binary_halves<{}, {}>", functor(op),
                     kernel.element_type(dtype_of(operands[0], kernel)));
}
std::string pair_function(FusedMultiplyAdd, const std::vector<VarId>& operands,
                          KernelEmission& kernel) {
  return dtype_of(operands[0], kernel) == isa::f16 ? "tv::f16x2_fma" : "tv::bf16x2_fma";
}

/// The local index in an operand from which element l_ of the result takes its own: l_ itself, or
/// an entry of a table that is declared here.
std::string local_index(isa::VarId operand, const isa::RegisterLayout& result,
                        KernelEmission& kernel) {
  const isa::RegisterLayout& layout = kernel.type<isa::RegisterType>(operand).layout;
  if (layout == result) return "l_";
  const std::string name = kernel.name(operand) + "_at_";
  kernel.out.line(fmt::format("constexpr int {}[{}] = {{{}}};", name, result.num_locals(),
                              fmt::join(*isa::broadcast_places(result, layout), ", ")));
  return name + "[l_]";
}

/// A word of the operand that has the elements at 2 w_ and 2 w_ + 1 of the result.
std::string halves_of(isa::VarId operand, const isa::RegisterLayout& result,
                      KernelEmission& kernel) {
  const std::string& name = kernel.name(operand);
  if (local_index(operand, result, kernel) == "l_") return name + "[w_]";
  return fmt::format("tv::halves({0}, {0}_at_[2 * w_], {0}_at_[2 * w_ + 1])", name);
}

/// Writes `for i: ITEM` in which ITEM uses an argument for each operand, declared once.
template <class Argument>
std::vector<std::string> arguments_of(const std::vector<VarId>& operands, Argument&& argument) {
  std::map<int, std::string> known;  // by variable
  std::vector<std::string> arguments;
  for (const VarId operand : operands) {
    std::string& text = known[operand.index];
    if (text.empty()) text = argument(operand);
    arguments.push_back(text);
  }
  return arguments;
}

}  // namespace

/// Writes `put(result, l_, f(elements of the operands))` for all elements of the result.
template <>
void emit_form(const ElementLoop& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(stmt.results[0]);
  const std::string function =
      std::visit([&](const auto& of) { return element_function(of, form, kernel); }, form.function);
  kernel.declare_tile(stmt);
  kernel.out.open_plain();
  const auto elements = arguments_of(form.operands, [&](VarId operand) {
    const std::string at = local_index(operand, type.layout, kernel);
    return fmt::format("tv::get<{}>({}, {})", dtype_of(operand, kernel).bits, kernel.name(operand),
                       at);
  });
  kernel.out.open_unrolled("l_", type.layout.num_locals());
  kernel.out.line(fmt::format("tv::put<{}>({}, l_, {}({}));", type.dtype.bits,
                              kernel.name(stmt.results[0]), function, fmt::join(elements, ", ")));
  kernel.out.close();
  kernel.out.close();
}

/// Two elements at a time, in the halves of words.
template <>
void emit_form(const PairLoop& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& layout = kernel.type<isa::RegisterType>(stmt.results[0]).layout;
  const std::string function = std::visit(
      [&](const auto& of) { return pair_function(of, form.operands, kernel); }, form.function);
  kernel.declare_tile(stmt);
  kernel.out.open_plain();
  const auto words = arguments_of(
      form.operands, [&](VarId operand) { return halves_of(operand, layout, kernel); });
  kernel.out.open_unrolled("w_", layout.num_locals() / 2);
  kernel.out.line(fmt::format("{}[w_] = {}({});", kernel.name(stmt.results[0]), function,
                              fmt::join(words, ", ")));
  kernel.out.close();
  kernel.out.close();
}

namespace {

// The prelude's functions of whole tiles.

bool is_approximation(isa::UnaryOp op) { return class_of(op) == isa::UnaryClass::approximation; }

std::string tile_function(isa::BinaryOp op, bool hides_operands) {
  return fmt::format("tv::binary_tile<{}", functor(op, hides_operands));
}
std::string tile_function(isa::UnaryOp op, bool) {
  return fmt::format("tv::{}_tile<tv::{}", is_approximation(op) ? "approximate" : "unary",
                     isa::describe(op).mnemonic);
}

std::string last_argument(isa::BinaryOp, bool) { return ""; }
std::string last_argument(isa::UnaryOp op, bool hides_operands) {
  if (!is_approximation(op)) return "";
  return hides_operands ? ", true" : ", false";
}

}  // namespace

template <>
void emit_form(const TileFunction& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& from = kernel.type<isa::RegisterType>(form.operands[0]);
  kernel.declare_tile(stmt);
  std::string tiles = kernel.name(stmt.results[0]);
  for (const VarId operand : form.operands) tiles += ", " + kernel.name(operand);
  const bool hides = form.hides_operands;
  const auto [function, last] = std::visit(
      [hides](auto op) { return std::pair{tile_function(op, hides), last_argument(op, hides)}; },
      form.function);
  kernel.out.line(fmt::format("{}, {}, {}{}>({});", function, kernel.element_type(from.dtype),
                              from.layout.num_locals(), last, tiles));
}

}  // namespace tilevm::backend
