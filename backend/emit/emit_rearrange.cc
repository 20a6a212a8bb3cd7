// Elements of tiles at other places: in registers, where the compiler renames them, or between
// threads, by shuffles or through shared memory.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_index.h"
#include "backend/emit/emit_kernel.h"
#include "isa/layout/exchange_order.h"
#include "isa/layout/warp_exchange.h"

namespace tilevm::backend {
namespace {

using isa::Index;
using isa::RegisterLayout;

/// Where elements, or whole words of them, go and come from.
struct Places {
  int bits = 0;  ///< size of an element, or of a word
  std::vector<std::int64_t> to, from;
};

/// The places of whole words, if narrow elements keep their neighbours: ptxas does not see that a
/// word which is taken apart and put together again is the same, and keeps registers for its parts.
Places in_words(Places narrow) {
  if (narrow.bits >= 32 || 32 % narrow.bits != 0) return narrow;
  const auto in_word = static_cast<std::size_t>(32 / narrow.bits);
  const auto count = static_cast<std::int64_t>(in_word);
  if (narrow.to.size() % in_word != 0) return narrow;
  Places words{.bits = 32, .to = {}, .from = {}};
  for (std::size_t i = 0; i < narrow.to.size(); ++i) {
    const auto part = static_cast<std::int64_t>(i % in_word);
    const std::size_t first = i - i % in_word;
    if (narrow.to[first] % count != 0 || narrow.from[first] % count != 0) return narrow;
    if (narrow.to[i] != narrow.to[first] + part || narrow.from[i] != narrow.from[first] + part) {
      return narrow;
    }
    if (part != 0) continue;
    words.to.push_back(narrow.to[i] / count);
    words.from.push_back(narrow.from[i] / count);
  }
  return words;
}

/// "TV_UNROLL for (l_ < count) put(result, at, get(source, from))" with tables of places.
void emit_places(const isa::RegisterType& type, const std::string& result,
                 const std::string& source, std::vector<std::int64_t> elements_to,
                 std::vector<std::int64_t> elements_from, KernelEmission& kernel) {
  const auto [bits, to, from] =
      in_words({type.dtype.bits, std::move(elements_to), std::move(elements_from)});
  kernel.out.open_plain();
  kernel.out.line(fmt::format("constexpr int to_[] = {{{}}};", fmt::join(to, ", ")));
  kernel.out.line(fmt::format("constexpr int from_[] = {{{}}};", fmt::join(from, ", ")));
  kernel.out.line(
      fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_) tv::put<{}>({}, to_[l_], "
                  "tv::get<{}>({}, from_[l_]));",
                  to.size(), bits, result, bits, source));
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

/// Where the element of an offset is: the offset itself, or a name for it with bits that change.
static std::string place_of(const std::string& offset, const isa::ExchangeOrder& order,
                            KernelEmission& kernel) {
  if (order.spread.empty()) return offset;
  kernel.out.line(fmt::format("const tv::u32 o_ = {};", offset));
  std::string place = "o_";
  for (const auto& [from, to] : order.spread) {
    place += fmt::format(" ^ (o_ >> {} & 1u) << {}", from, to);
  }
  return place;
}

/// Each element is put where the thread that takes it reads it.
template <>
void emit_form(const ExchangedElements& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::VarId result = stmt.results[0];
  const auto& [dtype, from] = kernel.type<isa::RegisterType>(form.source);
  const RegisterLayout& to = kernel.type<isa::RegisterType>(result).layout;
  const int bits = form.bytes * 8;
  const isa::ExchangeOrder& order = form.order;
  kernel.declare_tile(stmt);
  kernel.out.open_plain();
  kernel.begin_exchange();
  const auto copies = [&](const RegisterLayout& layout) {
    std::vector<RegisterLayout::Term> terms = layout.replica_terms();
    for (auto& term : terms) term.dim = 0, term.stride = 1;
    return share(kernel.thread(), layout.num_threads(), terms, 0);
  };
  const std::string loop =
      fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_)", from.num_locals());
  if (!copies(from).empty()) kernel.out.open_plain(fmt::format("if (({}) == 0)", copies(from)));
  kernel.out.open_plain(loop);
  for (int d = 0; d < from.rank(); ++d) {
    kernel.out.line(
        fmt::format("const tv::u32 i{}_ = {};", d,
                    sum(share(kernel.thread(), from.num_threads(), from.thread_terms(), d),
                        share("l_", from.num_locals(), from.local_terms(), d))));
  }
  kernel.out.line(fmt::format("tv::store<{}>(at_, {}, tv::get<{}>({}, l_));", bits,
                              place_of(layout_offset(order.elements), order, kernel), dtype.bits,
                              kernel.name(form.source)));
  kernel.out.close();
  if (!copies(from).empty()) kernel.out.close();
  kernel.synchronize();
  const std::string own = share(kernel.thread(), to.num_threads(), order.threads, 0);
  kernel.out.line(fmt::format("const tv::u32 own_ = {};", own.empty() ? "0" : own));
  kernel.out.open_plain(fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_)", to.num_locals()));
  const std::string next = place_of(fmt::format("own_ + l_ * {}", order.holders), order, kernel);
  kernel.out.line(
      fmt::format("tv::put<{}>({}, l_, static_cast<tv::Code<{}>>(tv::load<{}>(at_, {})));",
                  dtype.bits, kernel.name(result), dtype.bits, bits, next));
  kernel.out.close();
  kernel.out.close();
}

namespace {

/// "(lane_ >> 2 & 1) << 4 | ..": the lane whose bits are moved.
std::string base_lane(const isa::WarpExchange& plan) {
  std::string text;
  for (const auto& bit : plan.base) {
    text += fmt::format("{}(lane_ >> {} & 1u) << {}", text.empty() ? "" : " | ", bit.from, bit.to);
  }
  return text.empty() ? "0" : text;
}

void emit_rounds(const isa::WarpExchange& plan, KernelEmission& kernel) {
  const auto swap = [&](const isa::WarpExchange::Swap& each, std::string_view words, int count) {
    kernel.out.line(fmt::format("tv::swap_words<{}, {}>({}, (lane_ >> {} & 1u) != 0);", count,
                                each.distance, words, each.lane_bit));
  };
  for (const auto& each : plan.before) swap(each, "sent_", plan.sent);
  for (const auto& round : plan.rounds) {
    const std::string word = fmt::format("sent_[{}]", round.sent);
    const std::string got =
        plan.transposes     ? fmt::format("tv::transposed({})", word)
        : plan.stays(round) ? word
                            : fmt::format("tv::shfl_idx_warp({}, base_ ^ {}u)", word, round.lanes);
    kernel.out.line(fmt::format("got_[{}] = {};", round.got, got));
  }
  for (const auto& each : plan.after) swap(each, "got_", plan.got);
}

}  // namespace

/// Elements of 64 bits move as two words, one after the other.
template <>
void emit_form(const ShuffledElements& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::WarpExchange& plan = form.plan;
  const std::string &result = kernel.name(stmt.results[0]), &source = kernel.name(form.source);
  const int bits = kernel.type<isa::RegisterType>(form.source).dtype.bits;
  const int steps = bits > 32 ? 2 : 1, moved = std::min(bits, 32);
  const std::string place = steps == 1 ? "{0}_[i_]" : "2 * {0}_[i_] + h_";
  kernel.declare_tile(stmt);
  kernel.out.open_plain();
  kernel.out.line(fmt::format("constexpr int from_[] = {{{}}};", fmt::join(plan.from, ", ")));
  kernel.out.line(fmt::format("constexpr int to_[] = {{{}}};", fmt::join(plan.to, ", ")));
  kernel.out.line(fmt::format("constexpr int shift_[] = {{{}}};", fmt::join(plan.shifts, ", ")));
  if (!plan.transposes) {
    kernel.out.line(fmt::format("const tv::u32 lane_ = {} % 32;", kernel.thread()));
    kernel.out.line(fmt::format("const tv::u32 base_ = {};", base_lane(plan)));
  }
  if (steps > 1) kernel.out.open_plain("TV_UNROLL for (int h_ = 0; h_ < 2; ++h_)");
  kernel.out.line(fmt::format("tv::u32 sent_[{}] = {{}}, got_[{}];", plan.sent, plan.got));
  kernel.out.line(
      fmt::format("TV_UNROLL for (int i_ = 0; i_ < {}; ++i_) sent_[i_ / {}] |= tv::get<{}>({}, {}) "
                  "<< shift_[i_ "
                  "% {}];",
                  plan.from.size(), plan.in_word, moved, source,
                  fmt::format(fmt::runtime(place), "from"), plan.in_word));
  emit_rounds(plan, kernel);
  kernel.out.line(fmt::format(
      "TV_UNROLL for (int i_ = 0; i_ < {}; ++i_) tv::put<{}>({}, {}, got_[i_ / {}] >> shift_[i_ % "
      "{}] & tv::low_mask<{}>());",
      plan.to.size(), moved, result, fmt::format(fmt::runtime(place), "to"), plan.in_word,
      plan.in_word, moved));
  if (steps > 1) kernel.out.close();
  kernel.out.close();
}

}  // namespace tilevm::backend
