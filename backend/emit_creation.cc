#include <fmt/format.h>

#include "backend/emit_kernel.h"
#include "isa/type/number.h"

namespace tilevm::backend {
namespace {

/// The code that an element gets from a scalar.
std::string initial_code(const isa::Expr& value, const isa::DType& dtype, KernelEmission& kernel) {
  const isa::DType from = isa::element_type(value.kind());
  const std::string_view suffix = dtype.bits > 32 ? "ull" : "u";
  if (const auto constant = value.constant_value()) {
    return fmt::format("{:#x}{}", isa::cast(from, dtype, constant->bits), suffix);
  }
  const std::string scalar = kernel.scalar(value);
  const bool is_float = value.kind() == isa::ScalarKind::f32;
  return fmt::format(
      "tv::cast<{}, {}>({})", kernel.element_type(from), kernel.element_type(dtype),
      is_float ? fmt::format("tv::f32_bits({})", scalar)
               : fmt::format("static_cast<tv::u{}>({})", from.bits > 32 ? 64 : 32, scalar));
}

void emit_view(const std::string& data, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId var = stmt.results[0];
  const auto& type = kernel.type<isa::GlobalType>(var);
  std::string extents, strides;
  const auto append = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  for (const isa::Expr& extent : type.extents) {
    append(extents, extent.is_constant() ? kernel.index(extent)
                                         : fmt::format("tv::extent({})", kernel.scalar(extent)));
  }
  if (const auto* list = type.layout.strides()) {
    for (const isa::Expr& stride : *list) append(strides, kernel.index(stride));
  }
  kernel.out.line(
      fmt::format("{}{{{}, {{{}}}, {{{}}}}};",
                  kernel.target(var, stmt.declares, fmt::format("tv::View<{}>", type.rank())), data,
                  extents, strides));
}

}  // namespace

void emit_instruction(const isa::AllocateGlobal&, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  emit_view(kernel.workspace(stmt.results[0]), stmt, kernel);
}

void emit_instruction(const isa::ViewGlobal& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  emit_view(kernel.name(inst.ptr.var), stmt, kernel);
}

void emit_instruction(const isa::AllocateRegister& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  kernel.declare_tile(stmt);
  if (!inst.init) return;
  const isa::VarId var = stmt.results[0];
  const auto& type = kernel.type<isa::RegisterType>(var);
  kernel.out.line(fmt::format("tv::fill_tile<{}, {}>({}, {});", kernel.element_type(type.dtype),
                              type.layout.num_locals(), kernel.name(var),
                              initial_code(inst.init->value, type.dtype, kernel)));
}

}  // namespace tilevm::backend
