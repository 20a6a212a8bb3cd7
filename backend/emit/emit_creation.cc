#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_index.h"
#include "backend/emit/emit_kernel.h"
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
std::string element_number(const isa::RegisterLayout& layout, bool of_thread,
                           const KernelEmission& kernel) {
  std::string number = "0";
  for (int d = 0; d < layout.rank(); ++d) {
    const auto extent = layout.shape()[static_cast<std::size_t>(d)];
    if (extent == 1) continue;
    const std::string thread =
        of_thread ? share(kernel.thread(), layout.num_threads(), layout.thread_terms(), d) : "";
    const std::string index =
        sum(thread, share("l_", layout.num_locals(), layout.local_terms(), d));
    number = number == "0" ? index : fmt::format("({}) * {} + {}", number, extent, index);
  }
  return number;
}

/// The number of the value that the element at local index l_ takes, in parentheses if it is a sum.
std::string value_number(const isa::RegisterLayout& layout, bool of_thread,
                         const KernelEmission& kernel) {
  const std::string number = element_number(layout, of_thread, kernel);
  return number.find(' ') == std::string::npos ? number : "(" + number + ")";
}

const std::vector<isa::Expr>& initial_values(const isa::InstStmt& stmt) {
  return std::get_if<isa::AllocateRegister>(&stmt.inst)->init->values;
}

/// Writes `code` into every element.
void put_codes(const std::string& code, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId var = stmt.results[0];
  const auto& type = kernel.type<isa::RegisterType>(var);
  kernel.out.open_unrolled("l_", type.layout.num_locals());
  kernel.out.line(fmt::format("tv::put<{}>({}, l_, {});", type.dtype.bits, kernel.name(var), code));
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
      share(kernel.thread(), layout.num_threads(), layout.thread_terms(), dim);
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
void emit_plain(const isa::Philox& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& layout = kernel.type<isa::RegisterType>(inst.counter.var).layout;
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::philox_tile<{}>({}, {}, {}, {});", layout.num_locals(),
                              kernel.name(stmt.results[0]), kernel.name(inst.counter.var),
                              inst.stream ? kernel.index(inst.stream->value) : "0",
                              kernel.index(inst.key.value)));
}

template <>
void emit_form(const FilledElements&, const isa::InstStmt& stmt, KernelEmission& kernel) {
  kernel.declare_tile(stmt);
  const auto& init = std::get_if<isa::AllocateRegister>(&stmt.inst)->init;
  if (!init) return;
  const isa::VarId var = stmt.results[0];
  const auto& type = kernel.type<isa::RegisterType>(var);
  kernel.out.line(fmt::format("tv::fill_tile<{}, {}>({}, {});", kernel.element_type(type.dtype),
                              type.layout.num_locals(), kernel.name(var),
                              initial_code(init->values.front(), type.dtype, kernel)));
}

template <>
void emit_form(const ListedElements& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(stmt.results[0]);
  std::vector<std::string> codes;
  for (const isa::Expr& value : initial_values(stmt)) {
    codes.push_back(initial_code(value, type.dtype, kernel));
  }
  kernel.declare_tile(stmt);
  kernel.out.open_plain();
  kernel.out.line(fmt::format("const tv::Code<{}> codes_[] = {{{}}};", type.dtype.bits,
                              fmt::join(codes, ", ")));
  const std::string number = value_number(type.layout, !form.by_local, kernel);
  put_codes(fmt::format("codes_[{} % {}]", number, codes.size()), stmt, kernel);
  kernel.out.close();
}

template <>
void emit_form(const ComputedElements& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(stmt.results[0]);
  const auto count = static_cast<std::int64_t>(initial_values(stmt).size());
  std::string number = value_number(type.layout, true, kernel);
  if (type.layout.size() > count) number += fmt::format(" % {}", count);
  kernel.declare_tile(stmt);
  kernel.out.open_plain();
  put_codes(fmt::format("tv::cast<{}, {}>({}u + {}u * ({}))", kernel.element_type(isa::i32),
                        kernel.element_type(type.dtype), static_cast<std::uint32_t>(form.first),
                        static_cast<std::uint32_t>(form.step), number),
            stmt, kernel);
  kernel.out.close();
}

}  // namespace tilevm::backend
