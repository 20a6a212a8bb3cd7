// Elements of tiles at other places: in registers, where the compiler renames them, or between
// threads through shared memory.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_index.h"
#include "backend/emit/emit_kernel.h"
#include "isa/layout/exchange_order.h"

namespace tilevm::backend {
namespace {

using isa::Index;
using isa::RegisterLayout;

/// "TV_UNROLL for (l_ < count) put(result, at, get(source, from))" with tables of places.
void emit_places(const isa::RegisterType& type, const std::string& result,
                 const std::string& source, const std::vector<std::int64_t>& to,
                 const std::vector<std::int64_t>& from, KernelEmission& kernel) {
  kernel.out.open_plain();
  kernel.out.line(fmt::format("constexpr int to_[] = {{{}}};", fmt::join(to, ", ")));
  kernel.out.line(fmt::format("constexpr int from_[] = {{{}}};", fmt::join(from, ", ")));
  kernel.out.line(
      fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_) tv::put<{}>({}, to_[l_], "
                  "tv::get<{}>({}, from_[l_]));",
                  to.size(), type.dtype.bits, result, type.dtype.bits, source));
  kernel.out.close();
}

/// The tile that a statement makes, or a tile beside it, in a scope that end_result() closes, if
/// the result is one of its operands.
std::string begin_result(const isa::InstStmt& stmt, const std::vector<isa::VarId>& operands,
                         KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  kernel.declare_tile(stmt);
  if (std::find(operands.begin(), operands.end(), result) == operands.end()) {
    return kernel.name(result);
  }
  kernel.out.open_plain();
  kernel.out.plain(fmt::format("tv::u32 beside_[{}] = {{}};",
                               tile_words(kernel.type<isa::RegisterType>(result))));
  return "beside_";
}

void end_result(const isa::InstStmt& stmt, const std::string& target, KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  if (target == kernel.name(result)) return;
  kernel.out.line(fmt::format("tv::copy_words<{}>({}, {});",
                              tile_words(kernel.type<isa::RegisterType>(result)),
                              kernel.name(result), target));
  kernel.out.close();
}

/// Bits of memory that an element takes on its way.
int exchanged_bits(const isa::DType& dtype) {
  return dtype.bits <= 8 ? 8 : dtype.bits <= 16 ? 16 : dtype.bits <= 32 ? 32 : 64;
}

}  // namespace

template <>
void emit_plain(const isa::Slice& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(stmt.results[0]);
  const RegisterLayout& source = kernel.type<isa::RegisterType>(inst.src.var).layout;
  const auto dim = static_cast<std::size_t>(inst.dim.dims.front());
  std::vector<std::int64_t> to, from;
  for (std::int64_t i = 0; i < type.layout.num_locals(); ++i) {
    Index index = type.layout.local_part(i);
    index[dim] += inst.begin.value.constant_int().value_or(0);
    to.push_back(i);
    from.push_back(source.local_of(index));
  }
  const std::string target = begin_result(stmt, {inst.src.var}, kernel);
  emit_places(type, target, kernel.name(inst.src.var), to, from, kernel);
  end_result(stmt, target, kernel);
}

template <>
void emit_plain(const isa::Concat& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& type = kernel.type<isa::RegisterType>(stmt.results[0]);
  const RegisterLayout& part = kernel.type<isa::RegisterType>(inst.a.var).layout;
  const auto dim = static_cast<std::size_t>(inst.dim.dims.front());
  const std::string target = begin_result(stmt, {inst.a.var, inst.b.var}, kernel);
  std::int64_t begin = 0;
  for (const isa::VarId source : {inst.a.var, inst.b.var}) {
    std::vector<std::int64_t> to, from;
    for (std::int64_t i = 0; i < part.num_locals(); ++i) {
      Index index = part.local_part(i);
      index[dim] += begin;
      to.push_back(type.layout.local_of(index));
      from.push_back(i);
    }
    emit_places(type, target, kernel.name(source), to, from, kernel);
    begin += part.shape()[dim];
  }
  end_result(stmt, target, kernel);
}

template <>
void emit_plain(const isa::Lookup& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& table = kernel.type<isa::RegisterType>(inst.table.var);
  const auto& index = kernel.type<isa::RegisterType>(inst.index.var);
  const std::string target = begin_result(stmt, {inst.index.var, inst.table.var}, kernel);
  std::vector<std::int64_t> places;
  bool in_order = true;
  for (std::int64_t e = 0; e < table.layout.size(); ++e) {
    places.push_back(table.layout.local_of({e}));
    in_order = in_order && places.back() == e;
  }
  kernel.out.open_plain();
  std::string entries = kernel.name(inst.table.var);
  if (!in_order) {
    kernel.out.plain(fmt::format("tv::u32 entries_[{}] = {{}};", tile_words(table)));
    std::vector<std::int64_t> order(places.size());
    for (std::size_t e = 0; e < order.size(); ++e) order[e] = static_cast<std::int64_t>(e);
    emit_places(table, "entries_", entries, order, places, kernel);
    entries = "entries_";
  }
  kernel.out.line(fmt::format("tv::look_up<{}, {}, {}, {}>({}, {}, {});", table.dtype.bits,
                              table.layout.size(), index.dtype.bits, index.layout.num_locals(),
                              target, entries, kernel.name(inst.index.var)));
  kernel.out.close();
  end_result(stmt, target, kernel);
}

/// Each element is put where the thread that takes it reads it.
template <>
void emit_form(const ExchangedElements& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  const auto& [dtype, from] = kernel.type<isa::RegisterType>(form.source);
  const RegisterLayout& to = kernel.type<isa::RegisterType>(result).layout;
  const int bits = exchanged_bits(dtype);
  const isa::ExchangeOrder order = isa::exchange_order(to);
  kernel.declare_tile(stmt);
  kernel.out.open_plain();
  kernel.begin_exchange();
  const auto copies = [](const RegisterLayout& layout) {
    std::vector<RegisterLayout::Term> terms = layout.replica_terms();
    for (auto& term : terms) term.dim = 0, term.stride = 1;
    return share("tv::thread()", layout.num_threads(), terms, 0);
  };
  const std::string loop =
      fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_)", from.num_locals());
  if (!copies(from).empty()) kernel.out.open_plain(fmt::format("if (({}) == 0)", copies(from)));
  kernel.out.open_plain(loop);
  for (int d = 0; d < from.rank(); ++d) {
    kernel.out.line(
        fmt::format("const tv::u32 i{}_ = {};", d,
                    sum(share("tv::thread()", from.num_threads(), from.thread_terms(), d),
                        share("l_", from.num_locals(), from.local_terms(), d))));
  }
  kernel.out.line(fmt::format("tv::store<{}>(at_, {}, tv::get<{}>({}, l_));", bits,
                              layout_offset(order.elements), dtype.bits, kernel.name(form.source)));
  kernel.out.close();
  if (!copies(from).empty()) kernel.out.close();
  kernel.out.line("tv::synchronize();");
  const std::string own = share("tv::thread()", to.num_threads(), order.threads, 0);
  kernel.out.line(fmt::format("const tv::u32 own_ = {};", own.empty() ? "0" : own));
  kernel.out.line(fmt::format(
      "TV_UNROLL for (int l_ = 0; l_ < {}; ++l_) tv::put<{}>({}, l_, static_cast<tv::Code<{}>>("
      "tv::load<{}>(at_, own_ + l_ * {})));",
      to.num_locals(), dtype.bits, kernel.name(result), dtype.bits, bits, order.holders));
  kernel.out.close();
}

}  // namespace tilevm::backend
