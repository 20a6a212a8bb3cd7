#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "backend/emit/emit_index.h"
#include "backend/emit/emit_kernel.h"
#include "backend/emit/emit_scalar.h"
#include "isa/rules/rules.h"

namespace tilevm::backend {
namespace {

/// A code of an element as a scalar.
std::string scalar_of(const isa::DType& dtype, const std::string& code, std::string_view type,
                      KernelEmission& kernel) {
  if (dtype.is_float()) return fmt::format("tv::f32_value({})", code);
  return fmt::format("static_cast<{}>(tv::to_integer<{}>({}))", type, kernel.element_type(dtype),
                     code);
}

/// The offsets of the element as at0_, at1_, ..
void declare_offsets(const isa::TilePlacement& placement, KernelEmission& kernel) {
  for (std::size_t d = 0; d < placement.dimensions.size(); ++d) {
    kernel.out.line(
        fmt::format("const tv::u64 at{}_ = {};", d, kernel.index(placement.dimensions[d].offset)));
  }
}

std::string read(isa::RegisterOperand src, const isa::LoadScalar&, KernelEmission& kernel) {
  const isa::DType& dtype = kernel.type<isa::RegisterType>(src.var).dtype;
  return fmt::format("tv::get<{}>({}, 0)", dtype.bits, kernel.name(src.var));
}

std::string read(isa::SharedOperand src, const isa::LoadScalar& inst, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::SharedType>(src.var);
  declare_offsets(isa::place_tile(inst.offset, type.layout.rank(), 0), kernel);
  return fmt::format("tv::load<{}>({}, {})", type.dtype.bits, kernel.name(src.var),
                     layout_offset(type.layout, "at"));
}

/// The element must be in the view: nothing is masked.
std::string read(isa::GlobalOperand src, const isa::LoadScalar& inst, KernelEmission& kernel) {
  const std::string& view = kernel.name(src.var);
  const auto& type = kernel.type<isa::GlobalType>(src.var);
  const isa::TilePlacement placement = isa::place_tile(inst.offset, type.rank(), 0);
  declare_offsets(placement, kernel);
  std::string test, offset;
  for (std::size_t d = 0; d < placement.dimensions.size(); ++d) {
    test += fmt::format("{}at{}_ < {}.extent[{}]", d > 0 ? " && " : "", d, view, d);
    offset += fmt::format("{}at{}_ * {}.stride[{}]", d > 0 ? " + " : "", d, view, d);
  }
  if (const isa::MemoryLayout* layout = type.layout.memory_layout()) {
    offset = layout_offset(*layout, "at");
  }
  if (!test.empty()) kernel.out.line(fmt::format("if (!({})) tv::fault();", test));
  return fmt::format("tv::load<{}>({}.data, {})", type.dtype.bits, view,
                     offset.empty() || offset == "0" ? "tv::u64{0}" : offset);
}

isa::DType element_dtype(const isa::LoadScalar& inst, KernelEmission& kernel) {
  struct {
    KernelEmission& kernel;
    isa::DType operator()(isa::RegisterOperand src) const {
      return kernel.type<isa::RegisterType>(src.var).dtype;
    }
    isa::DType operator()(isa::SharedOperand src) const {
      return kernel.type<isa::SharedType>(src.var).dtype;
    }
    isa::DType operator()(isa::GlobalOperand src) const {
      return kernel.type<isa::GlobalType>(src.var).dtype;
    }
  } dtype{kernel};
  return std::visit(dtype, inst.src.value);
}

}  // namespace

template <>
void emit_plain(const isa::BlockIndices&, const isa::InstStmt& stmt, KernelEmission& kernel) {
  constexpr std::array<std::string_view, 3> axes{"x", "y", "z"};
  const std::vector<isa::Expr>& grid = kernel.definition().grid;
  for (std::size_t i = 0; i < stmt.results.size(); ++i) {
    const bool alone = i >= grid.size() || grid[i].constant_int() == std::int64_t{1};
    kernel.out.line(
        kernel.target(stmt.results[i], stmt.declares, scalar_type(isa::ScalarKind::i32)) +
        (alone ? "0;" : fmt::format("tv::block_{}();", axes[i])));
  }
}

template <>
void emit_plain(const isa::LoadScalar& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  const std::string type = scalar_type(kernel.type<isa::ScalarType>(result).kind);
  if (stmt.declares) kernel.out.line(fmt::format("{} {};", type, kernel.name(result)));
  kernel.out.open_plain();
  const std::string code =
      std::visit([&](const auto& src) { return read(src, inst, kernel); }, inst.src.value);
  kernel.out.line(fmt::format("{} = {};", kernel.name(result),
                              scalar_of(element_dtype(inst, kernel), code, type, kernel)));
  kernel.out.close();
}

}  // namespace tilevm::backend
