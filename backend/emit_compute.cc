#include <fmt/format.h>

#include "backend/emit_kernel.h"

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

}  // namespace

template <isa::BinaryOp op>
void emit_instruction(const isa::Binary<op>& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(inst.a.var);
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::binary_tile<{}, {}, {}>({}, {}, {});", functor(op),
                              kernel.element_type(type.dtype), type.layout.num_locals(),
                              kernel.name(stmt.results[0]), kernel.name(inst.a.var),
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
