// Elements of a tile combined with all before them along a dimension.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "isa/layout/scan_plan.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/arithmetic/transpose.h"
#include "sim/exec/semantics.h"
#include "sim/state/shadow_values.h"
#include "sim/tiles/lane_tiles.h"

namespace tilevm::sim {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Sources = std::vector<std::int32_t>;  ///< source thread of each thread's value
using Level = isa::ScanLevel;

/// What the threads do in a level, by thread.
struct LevelTables {
  /// Marks by value: 1 where the thread's digit is at least the value.
  std::vector<Bytes> at_least;
  std::vector<Bytes> doubling;      ///< Kind::lanes, by step: the same, repeated for each total
  std::vector<LanePermutation> of;  ///< Kind::threads: the thread with the digit i
  LanePermutation last;             ///< Kind::lanes: the thread with the last digit
};

/// A Scan, prepared.
struct PreparedScan {
  isa::ScanPlan plan;
  std::vector<LevelTables> tables;  ///< tables by level
  Sources order;                    ///< row of each place
  Tile source, result;
  unsigned bits = 0;        ///< bits of the type in which elements are combined
  LaneLoop1 widen, narrow;  ///< conversions to that type and back; empty if it is the tile's
  LaneLoop2 combine;
  LaneLoop3 choose;
  std::optional<std::uint64_t> before;  ///< what an exclusive scan begins with

  /// Values of all threads for one place: a row.
  [[nodiscard]] std::size_t row_bytes() const { return source.threads * lane_bytes(bits); }
};

std::size_t digit(const Level& level, std::size_t thread) {
  return thread / static_cast<std::size_t>(level.distance) % static_cast<std::size_t>(level.size);
}

LevelTables make_tables(const Level& level, std::size_t threads) {
  const auto size = static_cast<std::size_t>(level.size),
             distance = static_cast<std::size_t>(level.distance),
             totals = static_cast<std::size_t>(level.totals);
  const auto at_least = [&](std::size_t least, std::size_t rows) {
    Bytes conditions;
    for (std::size_t t = 0; t < rows * threads; ++t) {
      conditions.push_back(digit(level, t % threads) >= least ? 1 : 0);
    }
    return conditions;
  };
  const auto with_digit = [&](std::size_t j) {
    Sources sources;
    for (std::size_t t = 0; t < threads; ++t) {
      sources.push_back(static_cast<std::int32_t>(t - digit(level, t) * distance + j * distance));
    }
    return LanePermutation(std::move(sources));
  };
  LevelTables tables;
  switch (level.kind) {
    case Level::Kind::places:
      break;
    case Level::Kind::lanes:
      for (std::size_t step = 1; step < size; step *= 2) {
        tables.doubling.push_back(at_least(step, totals));
      }
      tables.at_least = {Bytes(threads, 1), at_least(1, 1)};
      tables.last = with_digit(size - 1);
      break;
    case Level::Kind::threads:
      for (std::size_t j = 0; j < size; ++j) {
        tables.at_least.push_back(at_least(j, 1));
        tables.of.push_back(with_digit(j));
      }
      break;
  }
  return tables;
}

/// One execution. Rows of elements and totals are in the order of the plan's places, each with a
/// value of every thread.
class ScanRun {
 public:
  ScanRun(const PreparedScan& scan, Context& context)
      : scan_(scan),
        context_(context),
        threads_(scan.source.threads),
        elements_(context.scratch.lanes[1].gathered),
        totals_(context.scratch.lanes[2].gathered),
        work_(context.scratch.lanes[3].gathered) {}

  void run() {
    read();
    for (std::size_t l = 0; l < scan_.plan.levels.size(); ++l) {
      const Level& level = scan_.plan.levels[l];
      const LevelTables& tables = scan_.tables[l];
      const bool is_last = l + 1 == scan_.plan.levels.size();
      switch (level.kind) {
        case Level::Kind::places:
          if (l == 0 && elements_are_totals(level)) {
            accumulate_places(level, is_last);
          } else {
            combine_places(level);
          }
          break;
        case Level::Kind::lanes:
          double_lanes(level, tables, is_last);
          break;
        case Level::Kind::threads:
          for (std::size_t i = 0; i < static_cast<std::size_t>(level.totals); ++i) {
            fold_threads(level, tables, i);
          }
          break;
      }
    }
    write();
  }

 private:
  [[nodiscard]] std::uint8_t* element(std::size_t k) {
    return elements_.data() + k * scan_.row_bytes();
  }
  /// A row before the first one gives threads that have no thread before them something to read.
  [[nodiscard]] std::uint8_t* total(std::size_t k) {
    return totals_.data() + (k + 1) * scan_.row_bytes();
  }
  /// Rows for intermediate values.
  [[nodiscard]] std::uint8_t* work(std::size_t k) { return work_.data() + k * scan_.row_bytes(); }

  /// Whether the elements of an inclusive scan serve as the totals of the first level.
  [[nodiscard]] bool elements_are_totals(const Level& level) const {
    return level.kind == Level::Kind::places && level.members == 1 && !scan_.before;
  }

  void combine(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* to) {
    scan_.combine(a, b, to, threads_);
  }
  void copy(const std::uint8_t* from, std::uint8_t* to) {
    std::memcpy(to, from, scan_.row_bytes());
  }
  /// to[t] = from[sources[t]].
  void take(const std::uint8_t* from, const LanePermutation& sources, std::uint8_t* to) {
    permute_lanes(scan_.bits, from, sources, to);
  }
  /// to[t] = from[t] where the condition is 1.
  void choose(const Bytes& conditions, const std::uint8_t* from, std::uint8_t* to) {
    scan_.choose(conditions.data(), from, to, to, conditions.size());
  }

  void read() {
    const Tile& source = scan_.source;
    auto& buffers = context_.scratch.lanes;
    const std::uint8_t* lanes =
        read_lanes({source, nullptr}, context_.state.registers, 0, threads_, buffers[0]);
    const std::size_t count = threads_ * source.locals;
    const std::size_t bytes = source.locals * scan_.row_bytes();
    if (scan_.widen) {
      buffers[1].lanes.resize(count * lane_bytes(scan_.bits));
      scan_.widen(lanes, buffers[1].lanes.data(), count);
      lanes = buffers[1].lanes.data();
    }
    elements_.resize(std::max(elements_.size(), bytes));
    totals_.resize(std::max(totals_.size(), bytes + scan_.row_bytes()));
    std::uint8_t* const first = scan_.before ? total(0) : element(0);
    transpose_to_rows(scan_.bits, lanes, threads_, scan_.order, first);
    if (scan_.before) {
      with_lane(scan_.bits, [&]<class Lane>() {
        const auto before = static_cast<Lane>(*scan_.before);
        for (std::size_t e = 0; e < count; ++e) store_lane(element(0), e, before);
      });
    } else if (scan_.plan.levels.empty() || !elements_are_totals(scan_.plan.levels.front())) {
      std::memcpy(total(0), element(0), bytes);
    }
    // Doubling combines all totals at once.
    work_.resize(std::max(work_.size(), bytes + 3 * scan_.row_bytes()));
  }

  /// Puts the values before them, where a thread has any, in front of the elements of a total.
  void put_before(const Level& level, const LevelTables& tables, std::size_t i,
                  const std::uint8_t* before, std::uint8_t* combined) {
    const auto members = static_cast<std::size_t>(level.members);
    for (std::size_t k = i * members; k < (i + 1) * members; ++k) {
      combine(before, element(k), combined);
      choose(tables.at_least[1], combined, element(k));
    }
  }

  /// The elements of a thread that is in no level before: each takes what the one before made.
  void accumulate_places(const Level& level, bool is_last) {
    const auto size = static_cast<std::size_t>(level.size);
    for (std::size_t i = 0; i < static_cast<std::size_t>(level.totals); i += size) {
      for (std::size_t j = 1; j < size; ++j) {
        combine(element(i + j - 1), element(i + j), element(i + j));
      }
      if (!is_last) copy(element(i + size - 1), total(i / size));
    }
  }

  /// Totals i, i + 1, .. of the same thread.
  void combine_places(const Level& level) {
    const auto size = static_cast<std::size_t>(level.size),
               members = static_cast<std::size_t>(level.members);
    for (std::size_t i = 0; i < static_cast<std::size_t>(level.totals); i += size) {
      copy(total(i), work(0));
      for (std::size_t j = 1; j < size; ++j) {
        for (std::size_t k = (i + j) * members; k < (i + j + 1) * members; ++k) {
          combine(work(0), element(k), element(k));
        }
        combine(work(0), total(i + j), work(0));
      }
      copy(work(0), total(i / size));
    }
  }

  /// All totals at once. What a thread without another before it reads does not stay.
  void double_lanes(const Level& level, const LevelTables& tables, bool is_last) {
    const auto totals = static_cast<std::size_t>(level.totals);
    const std::size_t distance = static_cast<std::size_t>(level.distance) * lane_bytes(scan_.bits);
    for (std::size_t step = 0; step < tables.doubling.size(); ++step) {
      scan_.combine(total(0) - (distance << step), total(0), work(1), totals * threads_);
      choose(tables.doubling[step], work(1), total(0));
    }
    for (std::size_t i = 0; i < totals; ++i) {
      put_before(level, tables, i, total(i) - distance, work(0));
    }
    for (std::size_t i = 0; i < totals && !is_last; ++i) {
      take(total(i), tables.last, work(0));
      copy(work(0), total(i));
    }
  }

  void fold_threads(const Level& level, const LevelTables& tables, std::size_t i) {
    std::uint8_t* const running = work(0);
    std::uint8_t* const before = work(1);
    take(total(i), tables.of[0], running);
    copy(running, before);
    for (std::size_t j = 1; j < tables.of.size(); ++j) {
      choose(tables.at_least[j], running, before);  // threads of later values take a later one
      take(total(i), tables.of[j], work(2));
      combine(running, work(2), running);
    }
    put_before(level, tables, i, before, work(2));
    copy(running, total(i));
  }

  void write() {
    const Tile& result = scan_.result;
    LaneBuffer& buffer = context_.scratch.lanes[0];
    RegisterSlab& registers = context_.state.registers;
    const std::size_t count = threads_ * result.locals;
    std::uint8_t* const to = result_lanes(result, registers, 0, threads_, buffer);
    std::uint8_t* ordered = to;
    if (scan_.narrow) {
      Bytes& wide = context_.scratch.lanes[1].lanes;
      wide.resize(count * lane_bytes(scan_.bits));
      ordered = wide.data();
    }
    transpose_from_rows(scan_.bits, element(0), threads_, scan_.order, ordered);
    if (scan_.narrow) scan_.narrow(ordered, to, count);
    finish_lanes(result, registers, 0, threads_, buffer);
  }

  const PreparedScan& scan_;
  Context& context_;
  std::size_t threads_;
  Bytes &elements_, &totals_, &work_;
};

bool is_exclusive(const isa::Scan& inst) {
  return inst.exclusive && inst.exclusive->value.constant_value()->as_bool();
}

}  // namespace

/// Follows the plan (isa/layout/scan_plan.h) for all threads at once.
template <>
Action prepare(const isa::Scan& inst, const Preparation& preparation) {
  const isa::RegisterType& source = preparation.register_type(inst.src.var);
  const isa::DType type = isa::accumulator(inst.op, source.dtype);
  auto scan = std::make_shared<PreparedScan>();
  scan->plan = isa::plan_scan(source.layout, inst.dim.dims.front());
  scan->source = preparation.tile(inst.src.var);
  scan->result = preparation.result_tile();
  scan->bits = type.bits;
  if (type != source.dtype) {
    scan->widen = preparation.tables.cast(source.dtype, type);
    scan->narrow = preparation.tables.cast(type, source.dtype);
  }
  scan->combine = binary_loop(isa::combination(inst.op), type);
  scan->choose = where_loop(type);
  for (const Level& level : scan->plan.levels) {
    scan->tables.push_back(make_tables(level, scan->source.threads));
  }
  scan->order.resize(scan->plan.places.size());
  for (std::size_t k = 0; k < scan->order.size(); ++k) {
    scan->order[static_cast<std::size_t>(scan->plan.places[k])] = static_cast<std::int32_t>(k);
  }
  if (is_exclusive(inst)) scan->before = isa::identity(inst.op, type);
  return [scan = std::shared_ptr<const PreparedScan>(std::move(scan))](Context& context) {
    ScanRun(*scan, context).run();
    return true;
  };
}

template <>
UndefinedTransfer undefined_transfer(const isa::Scan& inst, const Preparation& preparation) {
  return scan_transfer(inst.src.var, inst.dim.dims.front(), is_exclusive(inst), preparation);
}

template <>
ShadowFlow shadow_flow(const isa::Scan& inst, const Preparation& preparation) {
  const isa::DType type = preparation.register_type(inst.src.var).dtype;
  const isa::RealFunction2 function = isa::unrounded(isa::combination(inst.op), type);
  if (function == nullptr) return restarted(preparation);
  std::optional<double> before;
  if (is_exclusive(inst)) {
    const isa::DType wide = isa::accumulator(inst.op, type);
    before = value_of(wide, isa::identity(inst.op, wide));
  }
  return scanned(function, inst.src, inst.dim.dims.front(), before, preparation);
}

template <>
DataFlow data_flow(const isa::Scan& inst, const Preparation& preparation) {
  return scanned_flow(inst.src.var, inst.dim.dims.front(), is_exclusive(inst), preparation);
}

}  // namespace tilevm::sim
