#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_index.h"
#include "backend/emit/emit_kernel.h"
#include "isa/layout/element_values.h"
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

/// The row-major number of the element at place l_, with or without the thread's part.
std::string element_number(const isa::RegisterLayout& layout, bool of_thread) {
  std::string number = "0";
  for (int d = 0; d < layout.rank(); ++d) {
    const auto extent = layout.shape()[static_cast<std::size_t>(d)];
    if (extent == 1) continue;
    const std::string thread =
        of_thread ? share("tv::thread()", layout.num_threads(), layout.thread_terms(), d) : "";
    const std::string index =
        sum(thread, share("l_", layout.num_locals(), layout.local_terms(), d));
    number = number == "0" ? index : fmt::format("({}) * {} + {}", number, extent, index);
  }
  return number;
}

/// Elements take the codes in turn.
void emit_list(const std::vector<std::string>& codes, isa::VarId var, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(var);
  const std::string put = fmt::format("tv::put<{}>({}, ", type.dtype.bits, kernel.name(var));
  kernel.out.open_plain();
  kernel.out.line(fmt::format("const tv::Code<{}> codes_[] = {{{}}};", type.dtype.bits,
                              fmt::join(codes, ", ")));
  kernel.out.open_unrolled("l_", type.layout.num_locals());
  const bool by_place =
      isa::local_turns(type.layout, static_cast<std::int64_t>(codes.size())).has_value();
  const std::string number = element_number(type.layout, !by_place);
  const bool is_name = number.find(' ') == std::string::npos;
  kernel.out.line(fmt::format("{}l_, codes_[{} % {}]);", put, is_name ? number : "(" + number + ")",
                              codes.size()));
  kernel.out.close();
  kernel.out.close();
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

template <>
void emit_plain(const isa::AllocateGlobal&, const isa::InstStmt& stmt, KernelEmission& kernel) {
  emit_view(kernel.workspace(stmt.results[0]), stmt, kernel);
}

template <>
void emit_plain(const isa::ViewGlobal& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  emit_view(kernel.name(inst.ptr.var), stmt, kernel);
}

/// `start + index` for every place, in the least type that holds the elements.
template <>
void emit_plain(const isa::Iota& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId var = stmt.results[0];
  const auto& [dtype, layout] = kernel.type<isa::RegisterType>(var);
  const int dim = inst.dim ? inst.dim->dims.front() : 0;
  kernel.declare_tile(stmt);
  kernel.out.open_plain();
  const std::string start = inst.start ? kernel.index(inst.start->value) : "0";
  const std::string thread =
      share("tv::thread()", layout.num_threads(), layout.thread_terms(), dim);
  kernel.out.line(fmt::format("const tv::Code<{0}> first_ = static_cast<tv::Code<{0}>>({1});",
                              dtype.bits, sum(start, thread)));
  kernel.out.open_plain(
      fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_)", layout.num_locals()));
  const std::string local = share("l_", layout.num_locals(), layout.local_terms(), dim);
  kernel.out.line(fmt::format("tv::put<{0}>({1}, l_, ({2}) & tv::low_mask<{0}>());", dtype.bits,
                              kernel.name(var), sum("first_", local)));
  kernel.out.close();
  kernel.out.close();
}

template <>
void emit_plain(const isa::AllocateRegister& inst, const isa::InstStmt& stmt,
                KernelEmission& kernel) {
  kernel.declare_tile(stmt);
  if (!inst.init) return;
  const isa::VarId var = stmt.results[0];
  const auto& type = kernel.type<isa::RegisterType>(var);
  std::vector<std::string> codes;
  for (const isa::Expr& value : inst.init->values) {
    codes.push_back(initial_code(value, type.dtype, kernel));
  }
  if (codes.size() > 1) return emit_list(codes, var, kernel);
  kernel.out.line(fmt::format("tv::fill_tile<{}, {}>({}, {});", kernel.element_type(type.dtype),
                              type.layout.num_locals(), kernel.name(var), codes.front()));
}

}  // namespace tilevm::backend
