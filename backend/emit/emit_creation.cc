#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

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

/// Integers, the k-th of them first + step * k.
struct Progression {
  std::int64_t first = 0, step = 0;
  [[nodiscard]] std::int64_t at(std::size_t k) const {
    return first + step * static_cast<std::int64_t>(k);
  }
};

/// A constant that is an integer of 24 bits and a sign, which f32 holds exactly.
std::optional<std::int64_t> small_integer(const isa::Expr& value) {
  constexpr std::int64_t most = 1 << 24;
  std::optional<std::int64_t> integer = value.constant_int();
  const auto scalar = value.constant_value();
  if (!integer && scalar && scalar->kind == isa::ScalarKind::f32) {
    const double real = isa::to_double(isa::decode(isa::f32, scalar->bits));
    if (real == std::trunc(real) && std::abs(real) <= most)
      integer = static_cast<std::int64_t>(real);
  }
  return integer && std::abs(*integer) <= most ? integer : std::nullopt;
}

/// The progression of which the codes of these values are, cast from i32.
std::optional<Progression> find_progression(const std::vector<isa::Expr>& values,
                                            const isa::DType& dtype) {
  const auto first = small_integer(values[0]), second = small_integer(values[1]);
  if (!first || !second) return std::nullopt;
  const Progression found{*first, *second - *first};
  if (std::abs(found.step) * static_cast<std::int64_t>(values.size()) > 1 << 30) {
    return std::nullopt;
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto constant = values[k].constant_value();
    if (!constant) return std::nullopt;
    const std::uint64_t code = isa::cast(isa::element_type(constant->kind), dtype, constant->bits);
    if (code != isa::cast(isa::i32, dtype, static_cast<std::uint32_t>(found.at(k)))) {
      return std::nullopt;
    }
  }
  return found;
}

/// Elements take the values in turn. Where the thread decides which, values that are equally far
/// apart are computed: a list would be a table in local memory.
void emit_list(const std::vector<isa::Expr>& values, isa::VarId var, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(var);
  const auto count = static_cast<std::int64_t>(values.size());
  const bool by_place = isa::local_turns(type.layout, count).has_value();
  const auto progression = by_place ? std::nullopt : find_progression(values, type.dtype);
  kernel.out.open_plain();
  if (!progression) {
    std::vector<std::string> codes;
    for (const isa::Expr& value : values) codes.push_back(initial_code(value, type.dtype, kernel));
    kernel.out.line(fmt::format("const tv::Code<{}> codes_[] = {{{}}};", type.dtype.bits,
                                fmt::join(codes, ", ")));
  }
  kernel.out.open_unrolled("l_", type.layout.num_locals());
  std::string number = element_number(type.layout, !by_place);
  if (number.find(' ') != std::string::npos) number = "(" + number + ")";
  if (!progression || type.layout.size() > count) number += fmt::format(" % {}", count);
  std::string code = fmt::format("codes_[{}]", number);
  if (progression) {
    code =
        fmt::format("tv::cast<{}, {}>({}u + {}u * ({}))", kernel.element_type(isa::i32),
                    kernel.element_type(type.dtype), static_cast<std::uint32_t>(progression->first),
                    static_cast<std::uint32_t>(progression->step), number);
  }
  kernel.out.line(fmt::format("tv::put<{}>({}, l_, {});", type.dtype.bits, kernel.name(var), code));
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
void emit_plain(const isa::Philox& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& layout = kernel.type<isa::RegisterType>(inst.counter.var).layout;
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::philox_tile<{}>({}, {}, {}, {});", layout.num_locals(),
                              kernel.name(stmt.results[0]), kernel.name(inst.counter.var),
                              inst.stream ? kernel.index(inst.stream->value) : "0",
                              kernel.index(inst.key.value)));
}

template <>
void emit_plain(const isa::AllocateRegister& inst, const isa::InstStmt& stmt,
                KernelEmission& kernel) {
  kernel.declare_tile(stmt);
  if (!inst.init) return;
  const isa::VarId var = stmt.results[0];
  const auto& type = kernel.type<isa::RegisterType>(var);
  if (inst.init->values.size() > 1) return emit_list(inst.init->values, var, kernel);
  kernel.out.line(fmt::format("tv::fill_tile<{}, {}>({}, {});", kernel.element_type(type.dtype),
                              type.layout.num_locals(), kernel.name(var),
                              initial_code(inst.init->values.front(), type.dtype, kernel)));
}

}  // namespace tilevm::backend
