#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit_kernel.h"
#include "isa/broadcast.h"

namespace tilevm::backend {
namespace {

/// The prelude's name of an operation.
constexpr std::string_view functor(isa::BinaryOp op) {
  switch (op) {
    case isa::BinaryOp::add:
      return "tv::Add";
    case isa::BinaryOp::sub:
      return "tv::Sub";
    case isa::BinaryOp::mul:
      return "tv::Mul";
    case isa::BinaryOp::div:
      return "tv::Div";
    case isa::BinaryOp::mod:
      return "tv::Mod";
  }
  return "";
}

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

/// Operands of smaller shapes: isa/broadcast.h.
template <isa::BinaryOp op>
void emit_broadcast(const isa::Binary<op>& inst, const isa::RegisterType& result,
                    const std::string& target, KernelEmission& kernel) {
  const int bits = result.dtype.bits;
  const auto element = [&](isa::VarId var) {
    return fmt::format("tv::get<{}>({}, {})", bits, kernel.name(var),
                       place_of(var, result.layout, kernel));
  };
  kernel.out.open_plain();
  const std::string a = element(inst.a.var), b = element(inst.b.var);
  kernel.out.open_plain(
      fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_)", result.layout.num_locals()));
  kernel.out.line(fmt::format("tv::put<{}>({}, l_, tv::binary<{}, {}>({}, {}));", bits, target,
                              functor(op), kernel.element_type(result.dtype), a, b));
  kernel.out.close();
  kernel.out.close();
}

}  // namespace

template <isa::BinaryOp op>
void emit_instruction(const isa::Binary<op>& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  const isa::VarId target = stmt.results[0];
  const auto& type = kernel.type<isa::RegisterType>(target);
  kernel.declare_tile(stmt);
  const bool alike = kernel.type<isa::RegisterType>(inst.a.var) == type &&
                     kernel.type<isa::RegisterType>(inst.b.var) == type;
  if (!alike) return emit_broadcast(inst, type, kernel.name(target), kernel);
  kernel.out.line(fmt::format("tv::binary_tile<{}, {}, {}>({}, {}, {});", functor(op),
                              kernel.element_type(type.dtype), type.layout.num_locals(),
                              kernel.name(target), kernel.name(inst.a.var),
                              kernel.name(inst.b.var)));
}

template void emit_instruction(const isa::Add&, const isa::InstStmt&, KernelEmission&);
template void emit_instruction(const isa::Sub&, const isa::InstStmt&, KernelEmission&);
template void emit_instruction(const isa::Mul&, const isa::InstStmt&, KernelEmission&);
template void emit_instruction(const isa::Div&, const isa::InstStmt&, KernelEmission&);
template void emit_instruction(const isa::Mod&, const isa::InstStmt&, KernelEmission&);

void emit_instruction(const isa::Neg& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(inst.a.var);
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::negate_tile<{}, {}>({}, {});", kernel.element_type(type.dtype),
                              type.layout.num_locals(), kernel.name(stmt.results[0]),
                              kernel.name(inst.a.var)));
}

void emit_instruction(const isa::Cast& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& from = kernel.type<isa::RegisterType>(inst.src.var);
  const auto& to = kernel.type<isa::RegisterType>(stmt.results[0]);
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::cast_tile<{}, {}, {}>({}, {});", kernel.element_type(from.dtype),
                              kernel.element_type(to.dtype), to.layout.num_locals(),
                              kernel.name(stmt.results[0]), kernel.name(inst.src.var)));
}

/// A view is another reading of the same bits; the compiler removes the copy.
void emit_instruction(const isa::View& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::copy_words<{}>({}, {});",
                              tile_words(kernel.type<isa::RegisterType>(inst.src.var)),
                              kernel.name(stmt.results[0]), kernel.name(inst.src.var)));
}

}  // namespace tilevm::backend
