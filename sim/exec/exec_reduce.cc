// Instructions that combine the elements of a tile with one another.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "isa/layout/reduction.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/exec/semantics.h"
#include "sim/tiles/lane_tiles.h"

namespace tilevm::sim {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Values of all threads under way to a result, thread after thread, in memory that is kept from
/// call to call; and for argmax and argmin the numbers of their elements.
struct ReducedValues {
  Bytes& codes;
  std::vector<std::uint32_t> numbers{};

  void make_room(std::size_t bytes) {
    if (codes.size() < bytes) codes.resize(bytes);
  }
};

/// The step of a reduction as a table: for each thread the threads whose values it combines.
struct StepTable {
  std::size_t size = 2;
  std::vector<std::int32_t> sources;  ///< [i][thread]: in ascending order of their digits
};

/// A Reduce, prepared.
struct Reduction {
  isa::ReductionPlan plan;
  Tile source;
  std::vector<Tile> results;
  unsigned bits = 0;        ///< of the type in which elements are combined
  LaneLoop1 widen, narrow;  ///< to that type and back; empty if it is the tile's
  LaneLoop2 combine;
  std::vector<StepTable> steps;
  std::vector<std::uint32_t> numbers;  ///< of elements, [k][thread][result]; empty if not asked for

  [[nodiscard]] std::size_t groups() const { return static_cast<std::size_t>(plan.results); }
  [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(plan.elements); }
  /// Values of all threads.
  [[nodiscard]] std::size_t row() const { return source.threads * groups(); }
  [[nodiscard]] std::size_t row_bytes() const { return row() * lane_bytes(bits); }
};

StepTable make_table(const isa::ReductionStep& step, std::size_t threads) {
  StepTable table{static_cast<std::size_t>(step.size), {}};
  const auto distance = static_cast<std::size_t>(step.distance);
  for (std::size_t i = 0; i < table.size; ++i) {
    for (std::size_t t = 0; t < threads; ++t) {
      const std::size_t digit = t / distance % table.size;
      table.sources.push_back(static_cast<std::int32_t>(t - digit * distance + i * distance));
    }
  }
  return table;
}

/// The row-major numbers of the elements along the dimensions, which ascend.
std::vector<std::uint32_t> element_numbers(const Reduction& reduction, const LayoutParts& parts,
                                           const isa::Shape& shape, std::vector<int> dims) {
  std::sort(dims.begin(), dims.end());
  std::vector<std::uint32_t> numbers(reduction.elements() * reduction.row());
  for (std::size_t k = 0; k < reduction.elements(); ++k) {
    for (std::size_t t = 0; t < parts.threads; ++t) {
      for (std::size_t g = 0; g < reduction.groups(); ++g) {
        const auto place =
            static_cast<std::size_t>(reduction.plan.places[g * reduction.elements() + k]);
        std::int64_t number = 0;
        for (const int dim : dims) {
          const auto d = static_cast<std::size_t>(dim);
          number = number * shape[d] + parts.thread_part(t)[d] + parts.local_part(place)[d];
        }
        numbers[k * reduction.row() + t * reduction.groups() + g] =
            static_cast<std::uint32_t>(number);
      }
    }
  }
  return numbers;
}

/// Sorts the elements of each thread into rows: element k of all results of all threads, for each
/// k.
template <class Lane>
void sort_into_rows(const Reduction& reduction, const std::uint8_t* lanes, std::uint8_t* rows) {
  const std::size_t groups = reduction.groups(), elements = reduction.elements();
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t k = 0; k < elements; ++k) {
      const auto place = static_cast<std::size_t>(reduction.plan.places[g * elements + k]);
      std::uint8_t* const row = rows + k * reduction.row_bytes();
      for (std::size_t t = 0; t < reduction.source.threads; ++t) {
        store_lane(row, t * groups + g,
                   load_lane<Lane>(lanes, t * reduction.source.locals + place));
      }
    }
  }
}

/// Combines b into a, by values alone or with the numbers of their elements: of equal values the
/// lower number stays. The operation on a value and itself gives the form in which results are
/// equal.
class Combiner {
 public:
  Combiner(const Reduction& reduction, Scratch& scratch)
      : reduction_(reduction), scratch_(scratch) {}

  void combine(std::uint8_t* a, const std::uint8_t* b, std::uint32_t* numbers_a,
               const std::uint32_t* numbers_b) {
    const std::size_t count = reduction_.row();
    if (reduction_.numbers.empty()) return reduction_.combine(a, b, a, count);
    Bytes& best = scratch_.lanes[2].lanes;
    Bytes& other = scratch_.lanes[3].lanes;
    best.resize(reduction_.row_bytes());
    other.resize(reduction_.row_bytes());
    reduction_.combine(a, b, best.data(), count);
    reduction_.combine(b, b, other.data(), count);
    reduction_.combine(a, a, a, count);
    with_lane(reduction_.bits, [&]<class Lane>() {
      for (std::size_t i = 0; i < count; ++i) {
        const Lane x = load_lane<Lane>(a, i), y = load_lane<Lane>(other.data(), i);
        const bool first = load_lane<Lane>(best.data(), i) == x;
        const std::uint32_t number = first ? numbers_a[i] : numbers_b[i];
        numbers_a[i] = x == y ? std::min(numbers_a[i], numbers_b[i]) : number;
      }
    });
    std::copy_n(best.begin(), reduction_.row_bytes(), a);
  }

 private:
  const Reduction& reduction_;
  Scratch& scratch_;
};

/// One execution.
class ReductionRun {
 public:
  ReductionRun(const Reduction& reduction, Context& context)
      : reduction_(reduction),
        context_(context),
        combiner_(reduction, context.scratch),
        values_{context.scratch.lanes[1].gathered},
        before_{context.scratch.lanes[2].gathered},
        other_{context.scratch.lanes[3].gathered} {}

  void run() {
    read();
    combine_places();
    for (const StepTable& step : reduction_.steps) combine_threads(step);
    write();
  }

 private:
  [[nodiscard]] std::uint8_t* row(std::size_t k) {
    return values_.codes.data() + k * reduction_.row_bytes();
  }
  [[nodiscard]] std::uint32_t* numbers(std::size_t k) {
    return values_.numbers.empty() ? nullptr : values_.numbers.data() + k * reduction_.row();
  }

  void read() {
    const Tile& source = reduction_.source;
    auto& buffers = context_.scratch.lanes;
    const std::uint8_t* lanes =
        read_lanes({source, nullptr}, context_.state.registers, 0, source.threads, buffers[0]);
    const std::size_t count = source.threads * source.locals;
    if (reduction_.widen) {
      buffers[1].lanes.resize(count * lane_bytes(reduction_.bits));
      reduction_.widen(lanes, buffers[1].lanes.data(), count);
      lanes = buffers[1].lanes.data();
    }
    values_.make_room(count * lane_bytes(reduction_.bits));
    with_lane(reduction_.bits,
              [&]<class Lane>() { sort_into_rows<Lane>(reduction_, lanes, values_.codes.data()); });
    values_.numbers = reduction_.numbers;
  }

  /// Level by level; a last row without a neighbour joins the next level.
  void combine_places() {
    for (std::size_t rows = reduction_.elements(); rows > 1; rows = (rows + 1) / 2) {
      for (std::size_t k = 0; k < rows / 2; ++k) {
        combiner_.combine(row(2 * k), row(2 * k + 1), numbers(2 * k), numbers(2 * k + 1));
        move_row(2 * k, k);
      }
      if (rows % 2 == 1) move_row(rows - 1, rows / 2);
    }
  }

  void move_row(std::size_t from, std::size_t to) {
    if (from == to) return;
    std::memcpy(row(to), row(from), reduction_.row_bytes());
    if (numbers(0) != nullptr) std::copy_n(numbers(from), reduction_.row(), numbers(to));
  }

  /// Row 0 becomes the values of the first threads of the step, then takes those of the others.
  void combine_threads(const StepTable& step) {
    before_.make_room(reduction_.row_bytes());
    std::memcpy(before_.codes.data(), row(0), reduction_.row_bytes());
    if (numbers(0) != nullptr) {
      before_.numbers.assign(numbers(0), numbers(0) + reduction_.row());
    }
    gather(step, 0, row(0), numbers(0));
    other_.make_room(reduction_.row_bytes());
    other_.numbers.resize(before_.numbers.size());
    for (std::size_t i = 1; i < step.size; ++i) {
      gather(step, i, other_.codes.data(), other_.numbers.data());
      combiner_.combine(row(0), other_.codes.data(), numbers(0), other_.numbers.data());
    }
  }

  void gather(const StepTable& step, std::size_t i, std::uint8_t* codes, std::uint32_t* numbers) {
    const std::size_t threads = reduction_.source.threads, groups = reduction_.groups();
    const std::size_t bytes = groups * lane_bytes(reduction_.bits);
    const std::int32_t* sources = step.sources.data() + i * threads;
    for (std::size_t t = 0; t < threads; ++t) {
      const auto source = static_cast<std::size_t>(sources[t]);
      std::memcpy(codes + t * bytes, before_.codes.data() + source * bytes, bytes);
      if (before_.numbers.empty()) continue;
      std::copy_n(before_.numbers.data() + source * groups, groups, numbers + t * groups);
    }
  }

  void write() {
    write_lanes(reduction_.results[0], row(0), reduction_.narrow);
    if (reduction_.results.size() > 1) {
      write_lanes(reduction_.results[1], reinterpret_cast<const std::uint8_t*>(numbers(0)), {});
    }
  }

  void write_lanes(const Tile& result, const std::uint8_t* lanes, const LaneLoop1& narrow) {
    LaneBuffer& buffer = context_.scratch.lanes[0];
    RegisterSlab& registers = context_.state.registers;
    std::uint8_t* const to = result_lanes(result, registers, 0, result.threads, buffer);
    const std::size_t count = result.threads * result.locals;
    if (narrow) {
      narrow(lanes, to, count);
    } else {
      std::memcpy(to, lanes, count * lane_bytes(result.bits));
    }
    finish_lanes(result, registers, 0, result.threads, buffer);
  }

  const Reduction& reduction_;
  Context& context_;
  Combiner combiner_;
  ReducedValues values_;
  ReducedValues before_;
  ReducedValues other_;
};

}  // namespace

/// Follows the plan (isa/layout/reduction.h) for all threads at once.
template <>
Action prepare(const isa::Reduce& inst, const Preparation& preparation) {
  const isa::RegisterType& source = preparation.register_type(inst.src.var);
  const isa::DType type = isa::accumulator(inst.op, source.dtype);
  auto reduction = std::make_shared<Reduction>();
  reduction->plan = isa::plan_reduction(source.layout, inst.dims.dims,
                                        preparation.register_type(preparation.result()).layout);
  reduction->source = preparation.tile(inst.src.var);
  for (const isa::VarId result : preparation.stmt.results) {
    reduction->results.push_back(preparation.tile(result));
  }
  reduction->bits = type.bits;
  if (type != source.dtype) {
    reduction->widen = preparation.tables.cast(source.dtype, type);
    reduction->narrow = preparation.tables.cast(type, source.dtype);
  }
  reduction->combine = binary_loop(isa::combination(inst.op), type);
  for (const isa::ReductionStep& step : reduction->plan.steps()) {
    reduction->steps.push_back(make_table(step, reduction->source.threads));
  }
  if (isa::gives_index(inst.op)) {
    reduction->numbers = element_numbers(*reduction, *preparation.parts(inst.src.var),
                                         source.shape(), inst.dims.dims);
  }
  return [reduction = std::shared_ptr<const Reduction>(std::move(reduction))](Context& context) {
    ReductionRun(*reduction, context).run();
    return true;
  };
}

template <>
UndefinedTransfer undefined_transfer(const isa::Reduce& inst, const Preparation& preparation) {
  return reduction_transfer(inst.src.var, inst.dims.dims, preparation);
}

template <>
ShadowFlow shadow_flow(const isa::Reduce& inst, const Preparation& preparation) {
  const isa::RealFunction2 function =
      isa::unrounded(isa::combination(inst.op), preparation.register_type(inst.src.var).dtype);
  return function != nullptr ? combined(function, inst.src, inst.dims.dims, preparation)
                             : restarted(preparation);
}

template <>
DataFlow data_flow(const isa::Reduce& inst, const Preparation& preparation) {
  return reduced_flow(inst.src.var, inst.dims.dims, preparation);
}

}  // namespace tilevm::sim
