#include "sim/counting/exchange_meter.h"

#include <cstdint>
#include <variant>
#include <vector>

#include "isa/layout/exchange_order.h"
#include "isa/layout/layout_ops.h"
#include "isa/layout/reduction.h"
#include "isa/layout/scan_plan.h"
#include "isa/layout/shape.h"
#include "isa/program/exchange.h"
#include "sim/counting/warp_access.h"

namespace tilevm::sim {
namespace {

using Terms = std::vector<isa::RegisterLayout::Term>;

/// The sum of digits of a thread's number.
std::int64_t sum_of(const Terms& terms, std::int64_t thread) {
  std::int64_t sum = 0;
  for (const auto& term : terms) sum += thread / term.divisor % term.size * term.stride;
  return sum;
}

/// Whether a thread is the first of those that hold the same.
bool is_first(const Terms& copies, std::int64_t thread) {
  for (const auto& term : copies) {
    if (thread / term.divisor % term.size != 0) return false;
  }
  return true;
}

/// Accesses of one value of `bytes` bytes by all threads; `number` gives that of a thread's value,
/// or a negative number for threads that take no part.
template <class Number>
void count_accesses(std::int64_t threads, unsigned bytes, Traffic traffic, Number&& number,
                    AccessCounts& counts) {
  for (std::int64_t first = 0; first < threads; first += warp_size) {
    WarpAccess access;
    for (std::int64_t lane = 0; lane < warp_size && first + lane < threads; ++lane) {
      const std::int64_t value = number(first + lane);
      if (value < 0) continue;
      access.push_back(
          {static_cast<unsigned>(lane), static_cast<std::uint64_t>(value) * bytes, bytes});
    }
    if (access.empty()) continue;
    counts[static_cast<std::size_t>(traffic)] += count_wavefronts(access, bytes);
  }
}

const isa::RegisterType& tile_type(isa::VarId var, const isa::Kernel& kernel) {
  return *std::get_if<isa::RegisterType>(&kernel.variable(var).type);
}

/// The value of every element, and its number if that is asked for.
void count_reduction(const isa::ReductionPlan& plan, std::int64_t threads, unsigned bytes,
                     AccessCounts& counts) {
  for (const isa::ReductionExchange& exchange : plan.exchanges) {
    for (std::int64_t result = 0; result < plan.results; ++result) {
      const std::int64_t base = result * exchange.slots * exchange.partials;
      count_accesses(
          threads, bytes, Traffic::shared_store,
          [&](std::int64_t t) {
            if (!is_first(exchange.copies, t)) return std::int64_t{-1};
            return base + sum_of(exchange.slot, t) + sum_of(exchange.own, t);
          },
          counts);
      for (std::int64_t i = 0; i < exchange.partials; ++i) {
        count_accesses(
            threads, bytes, Traffic::shared_load,
            [&](std::int64_t t) { return base + sum_of(exchange.slot, t) + i * exchange.slots; },
            counts);
      }
    }
  }
}

/// One overload for each instruction that exchanges values.
void count(const isa::Reduce& inst, const isa::InstStmt& stmt, const isa::Kernel& kernel,
           AccessCounts& counts) {
  const isa::RegisterType& source = tile_type(inst.src.var, kernel);
  const isa::ReductionPlan plan =
      isa::plan_reduction(source.layout, inst.dims.dims, tile_type(stmt.results[0], kernel).layout);
  const std::int64_t threads = source.layout.num_threads();
  const bool wide = isa::accumulator(inst.op, source.dtype).bits > 32;
  count_reduction(plan, threads, wide ? 8 : 4, counts);
  if (isa::gives_index(inst.op)) count_reduction(plan, threads, 4, counts);
}

void count(const isa::Scan& inst, const isa::InstStmt&, const isa::Kernel& kernel,
           AccessCounts& counts) {
  const isa::RegisterType& source = tile_type(inst.src.var, kernel);
  const std::int64_t threads = source.layout.num_threads();
  const unsigned bytes = isa::accumulator(inst.op, source.dtype).bits > 32 ? 8 : 4;
  for (const isa::ScanLevel& level : isa::plan_scan(source.layout, inst.dim.dims.front()).levels) {
    if (level.kind != isa::ScanLevel::Kind::threads) continue;
    const isa::ScanExchange& exchange = level.exchange;
    for (std::int64_t total = 0; total < level.totals; ++total) {
      const std::int64_t base = total * exchange.slots * level.size;
      count_accesses(
          threads, bytes, Traffic::shared_store,
          [&](std::int64_t t) {
            if (!is_first(exchange.copies, t)) return std::int64_t{-1};
            return base + sum_of(exchange.slot, t) +
                   t / level.distance % level.size * exchange.slots;
          },
          counts);
      for (std::int64_t i = 0; i < level.size; ++i) {
        count_accesses(
            threads, bytes, Traffic::shared_load,
            [&](std::int64_t t) { return base + sum_of(exchange.slot, t) + i * exchange.slots; },
            counts);
      }
    }
  }
}

void count(const isa::ConvertLayout& inst, const isa::InstStmt&, const isa::Kernel& kernel,
           AccessCounts& counts) {
  const isa::RegisterType& source = tile_type(inst.src.var, kernel);
  const isa::RegisterLayout& from = source.layout;
  const int bits = source.dtype.bits;
  const unsigned bytes = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
  const isa::ExchangeOrder order = isa::exchange_order(from, inst.layout, static_cast<int>(bytes));
  for (std::int64_t i = 0; i < from.num_locals(); ++i) {
    count_accesses(
        from.num_threads(), bytes, Traffic::shared_store,
        [&](std::int64_t t) {
          if (!is_first(from.replica_terms(), t)) return std::int64_t{-1};
          return order.place(order.elements.offset(from.element(t, i)));
        },
        counts);
  }
  for (std::int64_t i = 0; i < inst.layout.num_locals(); ++i) {
    count_accesses(
        from.num_threads(), bytes, Traffic::shared_load,
        [&](std::int64_t t) { return order.place(sum_of(order.threads, t) + i * order.holders); },
        counts);
  }
}

/// What is put there; which threads read what is a matter of the copy's pieces (access_meter.cc).
void count(const isa::CopyAsync& inst, const isa::InstStmt&, const isa::Kernel& kernel,
           AccessCounts& counts) {
  const isa::RegisterType& index = tile_type(inst.index->var, kernel);
  const isa::RegisterLayout& layout = index.layout;
  const unsigned bytes = index.dtype.bits > 32 ? 8 : 4;
  for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
    count_accesses(
        layout.num_threads(), bytes, Traffic::shared_store,
        [&](std::int64_t t) {
          if (!is_first(layout.replica_terms(), t)) return std::int64_t{-1};
          return isa::ravel(layout.element(t, i), layout.shape());
        },
        counts);
  }
}

}  // namespace

std::optional<AccessCounts> count_exchange(const isa::Kernel& kernel, const isa::InstStmt& stmt) {
  if (isa::exchange_bytes(stmt, kernel) == 0) return std::nullopt;
  AccessCounts counts{};
  std::visit(
      [&]<class Inst>(const Inst& inst) {
        if constexpr (Inst::schema.description.exchanges) count(inst, stmt, kernel, counts);
      },
      stmt.inst);
  return counts;
}

}  // namespace tilevm::sim
