// The elements of a tile combined with one another: calls of prelude/reduce.cuh in the order of the
// plan (isa/layout/reduction.h).
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_index.h"
#include "backend/emit/emit_kernel.h"

namespace tilevm::backend {
namespace {

std::string cast_text(KernelEmission& kernel, const isa::DType& from, const isa::DType& to,
                      const std::string& value) {
  return fmt::format("tv::cast<{}, {}>({})", kernel.element_type(from), kernel.element_type(to),
                     value);
}

/// A loop in which `body` has the index `l_`.
void write_loop(KernelEmission& kernel, std::int64_t count, const std::string& body) {
  kernel.out.line(fmt::format("TV_UNROLL for (int l_ = 0; l_ < {}; ++l_) {}", count, body));
}

using Terms = std::vector<isa::RegisterLayout::Term>;

/// The sum of digits of the thread's number, as they are or with their strides.
std::string thread_digits(Terms terms, bool plain, const KernelEmission& kernel) {
  for (isa::RegisterLayout::Term& term : terms) {
    term.dim = 0;
    if (plain) term.stride = 1;
  }
  const std::string text = share(kernel.thread(), kernel.threads(), terms, 0);
  return text.empty() ? "0" : text;
}

/// Writes one Reduce. The thread's values are `part_`, in the order of the results.
class ReduceEmission {
 public:
  ReduceEmission(const CombinedElements& form, const isa::InstStmt& stmt, KernelEmission& kernel)
      : plan_(form.plan),
        inst_(*std::get_if<isa::Reduce>(&stmt.inst)),
        stmt_(stmt),
        kernel_(kernel),
        source_(kernel.type<isa::RegisterType>(inst_.src.var)),
        accumulator_(isa::accumulator(inst_.op, source_.dtype)),
        by_warp_(form.by_warp) {}

  void run() {
    declare_results();
    kernel_.out.open_plain();
    kernel_.out.line(fmt::format("typedef {} Order_;", combining()));
    take_elements();
    if (by_warp_) {
      write_loop(kernel_, plan_.results,
                 fmt::format("part_[l_] = tv::redux_sync<tv::Combination::{}, {}>(part_[l_]);",
                             to_string(inst_.op), accumulator_.is_signed_int()));
    }
    for (const isa::ReductionStep& step : plan_.lanes) {
      if (by_warp_) break;
      kernel_.out.line(fmt::format("tv::combine_lanes<Order_, {}>(part_, {}, {});", plan_.results,
                                   step.distance, kernel_.threads()));
    }
    for (const isa::ReductionExchange& exchange : plan_.exchanges) write(exchange);
    put_results();
    kernel_.out.close();
  }

 private:
  [[nodiscard]] bool finds() const { return isa::gives_index(inst_.op); }

  void declare_results() {
    if (!stmt_.declares) return;
    for (const isa::VarId var : stmt_.results) {
      kernel_.out.plain(fmt::format("tv::u32 {}[{}] = {{}};", kernel_.name(var),
                                    tile_words(kernel_.type<isa::RegisterType>(var))));
    }
  }

  [[nodiscard]] std::string combining() {
    const std::string type = kernel_.element_type(accumulator_);
    if (finds()) {
      return fmt::format("tv::Finding<{}, {}>", inst_.op == isa::ReduceOp::argmax, type);
    }
    return fmt::format("tv::Combining<tv::{}, {}>",
                       isa::describe(isa::combination(inst_.op)).mnemonic, type);
  }

  /// The row-major number of the element at a place along the dimensions, which ascend.
  [[nodiscard]] std::string element_number(const std::string& place) const {
    std::vector<int> dims = inst_.dims.dims;
    std::sort(dims.begin(), dims.end());
    const isa::RegisterLayout& layout = source_.layout;
    std::string number = "0";
    for (const int dim : dims) {
      const auto extent = layout.shape()[static_cast<std::size_t>(dim)];
      if (extent == 1) continue;
      const std::string index =
          sum(share(kernel_.thread(), layout.num_threads(), layout.thread_terms(), dim),
              share(place, layout.num_locals(), layout.local_terms(), dim));
      number = number == "0" ? index : fmt::format("({}) * {} + {}", number, extent, index);
    }
    return number;
  }

  void take_elements() {
    const std::int64_t count = source_.layout.num_locals();
    const bool in_order = std::is_sorted(plan_.places.begin(), plan_.places.end());
    if (!in_order) {
      kernel_.out.line(
          fmt::format("constexpr int place_[{}] = {{{}}};", count, fmt::join(plan_.places, ", ")));
    }
    const std::string place = in_order ? "l_" : "place_[l_]";
    std::string value =
        fmt::format("tv::get<{}>({}, {})", source_.dtype.bits, kernel_.name(inst_.src.var), place);
    if (accumulator_ != source_.dtype)
      value = cast_text(kernel_, source_.dtype, accumulator_, value);
    if (finds()) {
      value = fmt::format("{{{}, static_cast<tv::u32>({})}}", value, element_number(place));
    }
    kernel_.out.line(fmt::format("Order_::Value part_[{}];", count));
    write_loop(kernel_, count, fmt::format("part_[l_] = {};", value));
    if (plan_.elements == 1) return;
    write_loop(kernel_, plan_.results,
               fmt::format("part_[l_] = tv::combine_places<Order_, {0}>(part_ + {0} * l_);",
                           plan_.elements));
  }

  /// Puts the thread's values into memory, and combines them with those of others.
  void write(const isa::ReductionExchange& exchange) {
    const std::int64_t values = exchange.slots * exchange.partials, all = plan_.results * values;
    kernel_.out.open_plain();
    kernel_.begin_exchange();
    kernel_.out.line(fmt::format("const tv::u32 slot_ = {};", digits(exchange.slot)));
    std::string put = fmt::format("Order_::put<{}>(at_, slot_ + {} + l_ * {}, part_[l_]);", all,
                                  digits(exchange.own), values);
    if (!exchange.copies.empty()) {
      kernel_.out.open_plain(fmt::format("if (({}) == 0)", digits(exchange.copies, true)));
    }
    write_loop(kernel_, plan_.results, put);
    if (!exchange.copies.empty()) kernel_.out.close();
    kernel_.synchronize();
    std::string sizes;
    for (const isa::ReductionStep& step : exchange.steps) {
      sizes = fmt::format(", {}{}", step.size, sizes);  // the last step first
    }
    write_loop(kernel_, plan_.results,
               fmt::format("part_[l_] = tv::combine_slots<Order_, {}, {}{}>(at_, slot_ + l_ * {});",
                           all, exchange.slots, sizes, values));
    kernel_.out.close();
  }

  [[nodiscard]] std::string digits(const Terms& terms, bool plain = false) const {
    return thread_digits(terms, plain, kernel_);
  }

  void put_results() {
    // An element that is combined with no other stays as it is.
    const bool combined = plan_.elements > 1 || !plan_.lanes.empty() || !plan_.exchanges.empty();
    const std::string part = combined ? "Order_::result(part_[l_])" : "part_[l_]";
    const std::string value = finds() ? "part_[l_].code" : part;
    put(stmt_.results[0], accumulator_ == source_.dtype
                              ? value
                              : cast_text(kernel_, accumulator_, source_.dtype, value));
    if (finds()) put(stmt_.results[1], "part_[l_].number");
  }

  void put(isa::VarId var, const std::string& value) {
    const auto& type = kernel_.type<isa::RegisterType>(var);
    write_loop(kernel_, plan_.results,
               fmt::format("tv::put<{}>({}, l_, {});", type.dtype.bits, kernel_.name(var), value));
  }

  const isa::ReductionPlan& plan_;
  const isa::Reduce& inst_;
  const isa::InstStmt& stmt_;
  KernelEmission& kernel_;
  const isa::RegisterType& source_;
  isa::DType accumulator_;
  bool by_warp_;
};

/// Writes one Scan. `acc_` are the thread's elements in the order of the plan, `all_` their totals.
class ScanEmission {
 public:
  ScanEmission(const ScannedElements& form, const isa::InstStmt& stmt, KernelEmission& kernel)
      : plan_(form.plan),
        inst_(*std::get_if<isa::Scan>(&stmt.inst)),
        stmt_(stmt),
        kernel_(kernel),
        type_(kernel.type<isa::RegisterType>(inst_.src.var)),
        accumulator_(isa::accumulator(inst_.op, type_.dtype)) {}

  void run() {
    kernel_.declare_tile(stmt_);
    kernel_.out.open_plain();
    kernel_.out.line(fmt::format("typedef tv::Scanning<tv::{}, {}> Order_;",
                                 isa::describe(isa::combination(inst_.op)).mnemonic,
                                 kernel_.element_type(accumulator_)));
    take_elements();
    for (const isa::ScanLevel& level : plan_.levels) write(level);
    put_results();
    kernel_.out.close();
  }

 private:
  [[nodiscard]] std::int64_t count() const { return type_.layout.num_locals(); }
  [[nodiscard]] std::string_view place() const { return in_order_ ? "l_" : "place_[l_]"; }

  void take_elements() {
    in_order_ = std::is_sorted(plan_.places.begin(), plan_.places.end());
    if (!in_order_) {
      kernel_.out.line(fmt::format("constexpr int place_[{}] = {{{}}};", count(),
                                   fmt::join(plan_.places, ", ")));
    }
    std::string value =
        fmt::format("tv::get<{}>({}, {})", type_.dtype.bits, kernel_.name(inst_.src.var), place());
    if (accumulator_ != type_.dtype) value = cast_text(kernel_, type_.dtype, accumulator_, value);
    kernel_.out.line(fmt::format("Order_::Value acc_[{0}], all_[{0}];", count()));
    write_loop(kernel_, count(), fmt::format("all_[l_] = {};", value));
    std::string begin = "all_[l_]";
    if (inst_.exclusive && inst_.exclusive->value.constant_value()->as_bool()) {
      begin = fmt::format("{:#x}u{}", isa::identity(inst_.op, accumulator_),
                          accumulator_.bits > 32 ? "ll" : "");
    }
    write_loop(kernel_, count(), fmt::format("acc_[l_] = {};", begin));
  }

  void write(const isa::ScanLevel& level) {
    const std::string sizes =
        fmt::format("Order_, {}, {}, {}", level.totals, level.members, level.size);
    switch (level.kind) {
      case isa::ScanLevel::Kind::places:
        return kernel_.out.line(fmt::format("tv::scan_places<{}>(acc_, all_);", sizes));
      case isa::ScanLevel::Kind::lanes:
        return kernel_.out.line(fmt::format("tv::scan_lanes<{}>(acc_, all_, {}, {});", sizes,
                                            level.distance, kernel_.threads()));
      case isa::ScanLevel::Kind::threads:
        return exchange(level, sizes);
    }
  }

  void exchange(const isa::ScanLevel& level, const std::string& sizes) {
    const isa::ScanExchange& through = level.exchange;
    kernel_.out.open_plain();
    kernel_.begin_exchange();
    kernel_.out.line(
        fmt::format("const tv::u32 slot_ = {};", thread_digits(through.slot, false, kernel_)));
    kernel_.out.line(
        fmt::format("const tv::u32 digit_ = {};",
                    thread_digits({{0, level.distance, level.size, 1}}, false, kernel_)));
    if (!through.copies.empty()) {
      kernel_.out.open_plain(
          fmt::format("if (({}) == 0)", thread_digits(through.copies, true, kernel_)));
    }
    write_loop(kernel_, level.totals,
               fmt::format("tv::store_as<Order_::Value>(at_ + (slot_ + digit_ * {} + l_ * {}) * "
                           "sizeof(Order_::Value), all_[l_]);",
                           through.slots, through.slots * level.size));
    if (!through.copies.empty()) kernel_.out.close();
    kernel_.synchronize();
    kernel_.out.line(fmt::format("tv::scan_threads<{}, {}>(acc_, all_, at_, slot_, digit_);", sizes,
                                 through.slots));
    kernel_.out.close();
  }

  void put_results() {
    std::string value = "acc_[l_]";
    if (accumulator_ != type_.dtype) value = cast_text(kernel_, accumulator_, type_.dtype, value);
    write_loop(kernel_, count(),
               fmt::format("tv::put<{}>({}, {}, {});", type_.dtype.bits,
                           kernel_.name(stmt_.results[0]), place(), value));
  }

  const isa::ScanPlan& plan_;
  const isa::Scan& inst_;
  const isa::InstStmt& stmt_;
  KernelEmission& kernel_;
  const isa::RegisterType& type_;
  isa::DType accumulator_;
  bool in_order_ = true;
};

}  // namespace

template <>
void emit_form(const CombinedElements& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  ReduceEmission(form, stmt, kernel).run();
}

template <>
void emit_form(const ScannedElements& form, const isa::InstStmt& stmt, KernelEmission& kernel) {
  ScanEmission(form, stmt, kernel).run();
}

}  // namespace tilevm::backend
