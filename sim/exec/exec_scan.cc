// Elements of a tile combined with all before them along a dimension.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "isa/layout/scan_plan.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/exec/semantics.h"
#include "sim/state/shadow_values.h"
#include "sim/tiles/lane_tiles.h"

namespace tilevm::sim {
namespace {

using Level = isa::ScanLevel;

/// A Scan, prepared.
struct PreparedScan {
  isa::ScanPlan plan;
  Tile source, result;
  unsigned bits = 0;        ///< of the type in which elements are combined
  LaneLoop1 widen, narrow;  ///< to that type and back; empty if it is the tile's
  LaneLoop2 combine;
  std::optional<std::uint64_t> before;  ///< what an exclusive scan begins with

  /// Values of all threads for one place: a row.
  [[nodiscard]] std::size_t row_bytes() const { return source.threads * lane_bytes(bits); }
};

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
    for (const Level& level : scan_.plan.levels) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(level.totals); ++i) {
        switch (level.kind) {
          case Level::Kind::places:
            if (i % static_cast<std::size_t>(level.size) == 0) combine_places(level, i);
            break;
          case Level::Kind::lanes:
            double_lanes(level, i);
            break;
          case Level::Kind::threads:
            fold_threads(level, i);
            break;
        }
      }
    }
    write();
  }

 private:
  using Bytes = std::vector<std::uint8_t>;

  [[nodiscard]] std::uint8_t* element(std::size_t k) {
    return elements_.data() + k * scan_.row_bytes();
  }
  [[nodiscard]] std::uint8_t* total(std::size_t k) {
    return totals_.data() + k * scan_.row_bytes();
  }
  /// Rows for intermediate values.
  [[nodiscard]] std::uint8_t* work(std::size_t k) { return work_.data() + k * scan_.row_bytes(); }

  [[nodiscard]] static std::size_t digit(const Level& level, std::size_t thread) {
    return thread / static_cast<std::size_t>(level.distance) % static_cast<std::size_t>(level.size);
  }

  void combine(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* to) {
    scan_.combine(a, b, to, threads_);
  }
  void copy(const std::uint8_t* from, std::uint8_t* to) {
    std::memcpy(to, from, scan_.row_bytes());
  }
  /// to[t] = from[source(t)].
  template <class F>
  void gather(const std::uint8_t* from, std::uint8_t* to, F&& source) {
    with_lane(scan_.bits, [&]<class Lane>() {
      for (std::size_t t = 0; t < threads_; ++t) {
        store_lane(to, t, load_lane<Lane>(from, source(t)));
      }
    });
  }
  /// to[t] = from[t] where the thread's digit is at least `least`.
  void choose(const Level& level, std::size_t least, const std::uint8_t* from, std::uint8_t* to) {
    with_lane(scan_.bits, [&]<class Lane>() {
      for (std::size_t t = 0; t < threads_; ++t) {
        if (digit(level, t) >= least) store_lane(to, t, load_lane<Lane>(from, t));
      }
    });
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
    totals_.resize(std::max(totals_.size(), bytes));
    work_.resize(std::max(work_.size(), 3 * scan_.row_bytes()));
    with_lane(scan_.bits, [&]<class Lane>() {
      for (std::size_t k = 0; k < source.locals; ++k) {
        const auto place = static_cast<std::size_t>(scan_.plan.places[k]);
        for (std::size_t t = 0; t < threads_; ++t) {
          const Lane value = load_lane<Lane>(lanes, t * source.locals + place);
          store_lane(total(k), t, value);
          store_lane(element(k), t, scan_.before ? static_cast<Lane>(*scan_.before) : value);
        }
      }
    });
  }

  /// Puts the values before them, where a thread has any, in front of the elements of a total.
  void put_before(const Level& level, std::size_t i, const std::uint8_t* before, bool everywhere) {
    const auto members = static_cast<std::size_t>(level.members);
    for (std::size_t k = i * members; k < (i + 1) * members; ++k) {
      if (everywhere) {
        combine(before, element(k), element(k));
        continue;
      }
      combine(before, element(k), work(2));
      choose(level, 1, work(2), element(k));
    }
  }

  /// Totals i, i + 1, .. of the same thread.
  void combine_places(const Level& level, std::size_t i) {
    const auto size = static_cast<std::size_t>(level.size);
    copy(total(i), work(0));
    for (std::size_t j = 1; j < size; ++j) {
      put_before(level, i + j, work(0), true);
      combine(work(0), total(i + j), work(0));
    }
    copy(work(0), total(i / size));
  }

  void double_lanes(const Level& level, std::size_t i) {
    const auto size = static_cast<std::size_t>(level.size),
               distance = static_cast<std::size_t>(level.distance);
    const auto before = [&](std::size_t step) {
      return [&level, step, distance](std::size_t t) {
        return digit(level, t) >= step ? t - step * distance : t;
      };
    };
    for (std::size_t step = 1; step < size; step *= 2) {
      gather(total(i), work(0), before(step));
      combine(work(0), total(i), work(1));
      choose(level, step, work(1), total(i));
    }
    gather(total(i), work(0), before(1));
    put_before(level, i, work(0), false);
    gather(total(i), work(0),
           [&](std::size_t t) { return t + (size - 1 - digit(level, t)) * distance; });
    copy(work(0), total(i));
  }

  void fold_threads(const Level& level, std::size_t i) {
    const auto size = static_cast<std::size_t>(level.size),
               distance = static_cast<std::size_t>(level.distance);
    const auto of = [&](std::size_t j) {
      return [&level, j, distance](std::size_t t) {
        return t - digit(level, t) * distance + j * distance;
      };
    };
    std::uint8_t* const running = work(0);
    std::uint8_t* const before = work(1);
    gather(total(i), running, of(0));
    copy(running, before);
    for (std::size_t j = 1; j < size; ++j) {
      choose(level, j, running, before);  // threads of later values take a later one
      gather(total(i), work(2), of(j));
      combine(running, work(2), running);
    }
    put_before(level, i, before, false);
    copy(running, total(i));
  }

  void write() {
    const Tile& result = scan_.result;
    LaneBuffer& buffer = context_.scratch.lanes[0];
    RegisterSlab& registers = context_.state.registers;
    const std::size_t count = threads_ * result.locals;
    Bytes& ordered = context_.scratch.lanes[1].lanes;
    ordered.resize(count * lane_bytes(scan_.bits));
    with_lane(scan_.bits, [&]<class Lane>() {
      for (std::size_t k = 0; k < result.locals; ++k) {
        const auto place = static_cast<std::size_t>(scan_.plan.places[k]);
        for (std::size_t t = 0; t < threads_; ++t) {
          store_lane(ordered.data(), t * result.locals + place, load_lane<Lane>(element(k), t));
        }
      }
    });
    std::uint8_t* const to = result_lanes(result, registers, 0, threads_, buffer);
    if (scan_.narrow) {
      scan_.narrow(ordered.data(), to, count);
    } else {
      std::memcpy(to, ordered.data(), count * lane_bytes(result.bits));
    }
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
