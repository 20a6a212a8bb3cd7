// Instructions that work element by element: calls of the prelude's templates, which are named like
// the instructions.
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_kernel.h"
#include "backend/emit/explain.h"
#include "isa/layout/broadcast.h"

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
  kernel.chose(stmt, explain_elements(type.layout.num_locals(), false));
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

/// A word of the operand that has the elements for places 2 w_ and 2 w_ + 1 of the result.
std::string halves_of(isa::VarId operand, const isa::RegisterLayout& result,
                      KernelEmission& kernel) {
  const std::string& name = kernel.name(operand);
  const std::string place = place_of(operand, result, kernel);
  if (place == "l_") return name + "[w_]";
  return fmt::format("tv::halves({0}, {0}_at_[2 * w_], {0}_at_[2 * w_ + 1])", name);
}

/// Two elements at a time, in the halves of words.
void emit_halves(const std::string& function, std::span<const isa::RegisterOperand> operands,
                 const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& layout = kernel.type<isa::RegisterType>(stmt.results[0]).layout;
  kernel.chose(stmt, explain_elements(layout.num_locals(), true));
  kernel.declare_tile(stmt);
  kernel.out.open_plain();
  std::map<int, std::string> words;  // by variable
  std::vector<std::string> arguments;
  for (const isa::RegisterOperand operand : operands) {
    std::string& word = words[operand.var.index];
    if (word.empty()) word = halves_of(operand.var, layout, kernel);
    arguments.push_back(word);
  }
  kernel.out.open_plain(
      fmt::format("TV_UNROLL for (int w_ = 0; w_ < {}; ++w_)", layout.num_locals() / 2));
  kernel.out.line(fmt::format("{}[w_] = {}({});", kernel.name(stmt.results[0]), function,
                              fmt::join(arguments, ", ")));
  kernel.out.close();
  kernel.out.close();
}

/// Whether tv::binary_halves has the operation.
bool works_on_halves(isa::BinaryOp op, const isa::DType& dtype) {
  const bool has = op == isa::BinaryOp::add || op == isa::BinaryOp::sub || op == isa::BinaryOp::mul;
  return has && (dtype == isa::f16 || dtype == isa::bf16);
}

}  // namespace

void emit_binary(isa::BinaryOp op, isa::RegisterOperand a, isa::RegisterOperand b,
                 const isa::InstStmt& stmt, KernelEmission& kernel) {
  if (const AdjustedCast* cast = kernel.adjustments().find(stmt)) {
    return emit_cast(*cast, stmt, kernel);
  }
  const isa::VarId target = stmt.results[0];
  const auto& result = kernel.type<isa::RegisterType>(target);
  const isa::DType& type = kernel.type<isa::RegisterType>(a.var).dtype;
  const std::string functor = fmt::format("tv::{}", isa::describe(op).mnemonic);
  const bool alike = kernel.type<isa::RegisterType>(a.var) == result &&
                     kernel.type<isa::RegisterType>(b.var) == result;
  const bool halves = works_on_halves(op, result.dtype);
  if (!alike && halves && result.layout.num_locals() % 2 == 0) {
    const isa::RegisterOperand operands[] = {a, b};
    return emit_halves(fmt::format("tv::binary_halves<{}, {}>", functor, kernel.element_type(type)),
                       operands, stmt, kernel);
  }
  if (!alike || isa::is_comparison(op)) {
    const isa::RegisterOperand operands[] = {a, b};
    return emit_elements(operands,
                         fmt::format("tv::binary<{}, {}>", functor, kernel.element_type(type)),
                         stmt, kernel);
  }
  const std::int64_t count = result.layout.num_locals();
  kernel.chose(stmt, isa::is_bit_by_bit(op) ? explain_words(tile_words(result))
                                            : explain_elements(count, halves));
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::binary_tile<{}, {}, {}>({}, {}, {});", functor,
                              kernel.element_type(type), count, kernel.name(target),
                              kernel.name(a.var), kernel.name(b.var)));
}

void emit_unary(isa::UnaryOp op, isa::RegisterOperand a, const isa::InstStmt& stmt,
                KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(a.var);
  kernel.chose(stmt, explain_elements(type.layout.num_locals(), false));
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::unary_tile<tv::{}, {}, {}>({}, {});", isa::describe(op).mnemonic,
                              kernel.element_type(type.dtype), type.layout.num_locals(),
                              kernel.name(stmt.results[0]), kernel.name(a.var)));
}

/// f16 and bf16 two at a time.
void emit_instruction(const isa::Fma& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::DType& type = kernel.type<isa::RegisterType>(inst.a.var).dtype;
  const isa::RegisterOperand operands[] = {inst.a, inst.b, inst.c};
  const auto& layout = kernel.type<isa::RegisterType>(stmt.results[0]).layout;
  if (type.bits == 16 && layout.num_locals() % 2 == 0) {
    const char* const function = type == isa::f16 ? "tv::f16x2_fma" : "tv::bf16x2_fma";
    return emit_halves(function, operands, stmt, kernel);
  }
  emit_elements(operands, fmt::format("tv::fma<{}>", kernel.element_type(type)), stmt, kernel);
}

void emit_instruction(const isa::Where& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const int bits = kernel.type<isa::RegisterType>(inst.a.var).dtype.bits;
  const isa::RegisterOperand operands[] = {inst.condition, inst.a, inst.b};
  emit_elements(operands, fmt::format("tv::where<{}>", bits), stmt, kernel);
}

}  // namespace tilevm::backend
