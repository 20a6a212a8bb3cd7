// Instructions that combine the elements of a tile with one another.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "isa/layout/reduction.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/arithmetic/transpose.h"
#include "sim/exec/semantics.h"
#include "sim/tiles/lane_tiles.h"

namespace tilevm::sim {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Values of threads under way to a result, in memory that is kept from call to call; and for
/// argmax and argmin the numbers of their elements.
struct ReducedValues {
  Bytes& codes;
  std::vector<std::uint32_t> numbers{};

  void make_room(std::size_t bytes) {
    if (codes.size() < bytes) codes.resize(bytes);
  }
};

/// The step of a reduction: of the threads that combine values, the first alone goes on.
struct StepTable {
  /// By digit, then [result][thread that goes on]: the position of the value in the row before.
  std::vector<LanePermutation> sources;
};

/// A Reduce, prepared. A row has a value of each result and thread, [result][thread].
struct Reduction {
  isa::ReductionPlan plan;
  Tile source;
  std::vector<Tile> results;
  unsigned bits = 0;        ///< bits of the type in which elements are combined
  LaneLoop1 widen, narrow;  ///< conversions to that type and back; empty if it is the tile's
  LaneLoop2 combine;
  std::vector<std::int32_t> order;     ///< position in rows of each place, k * results + result
  std::vector<std::uint32_t> numbers;  ///< numbers of elements, by row; empty if not asked for
  std::vector<StepTable> steps;
  LanePermutation last;  ///< [thread][result]: the position in the row after all steps

  [[nodiscard]] std::size_t groups() const { return static_cast<std::size_t>(plan.results); }
  [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(plan.elements); }
  /// Values of a row of all threads.
  [[nodiscard]] std::size_t row() const { return source.threads * groups(); }
  [[nodiscard]] std::size_t row_bytes() const { return row() * lane_bytes(bits); }
};

/// The positions of values: of the threads at `threads`, among `all` threads of each result.
std::vector<std::int32_t> positions(const std::vector<std::size_t>& threads, std::size_t all,
                                    std::size_t groups) {
  std::vector<std::int32_t> positions;
  for (std::size_t g = 0; g < groups; ++g) {
    for (const std::size_t t : threads) positions.push_back(static_cast<std::int32_t>(g * all + t));
  }
  return positions;
}

/// Follows the steps: which threads go on, and where each thread's values are in the end.
void make_steps(Reduction& reduction) {
  const std::size_t threads = reduction.source.threads;
  std::vector<std::size_t> first(threads);     // by thread: the one that has its result
  std::vector<std::size_t> position(threads);  // by thread that goes on: its place among them
  std::vector<std::size_t> kept(threads);
  for (std::size_t t = 0; t < threads; ++t) first[t] = position[t] = kept[t] = t;
  for (const isa::ReductionStep& step : reduction.plan.steps()) {
    const auto size = static_cast<std::size_t>(step.size),
               distance = static_cast<std::size_t>(step.distance);
    const auto digit = [&](std::size_t t) { return t / distance % size; };
    const std::size_t before = kept.size();
    std::erase_if(kept, [&](std::size_t t) { return digit(t) != 0; });
    StepTable table;
    for (std::size_t i = 0; i < size; ++i) {
      std::vector<std::size_t> sources;
      for (const std::size_t t : kept) sources.push_back(position[t + i * distance]);
      table.sources.emplace_back(positions(sources, before, reduction.groups()));
    }
    reduction.steps.push_back(std::move(table));
    for (std::size_t k = 0; k < kept.size(); ++k) position[kept[k]] = k;
    for (std::size_t& t : first) t -= digit(t) * distance;
  }
  std::vector<std::int32_t> last;
  for (std::size_t t = 0; t < threads; ++t) {
    for (std::size_t g = 0; g < reduction.groups(); ++g) {
      last.push_back(static_cast<std::int32_t>(g * kept.size() + position[first[t]]));
    }
  }
  reduction.last = LanePermutation(std::move(last));
}

/// By place of a thread: which row its element is in, and there for which result.
std::vector<std::int32_t> order_of(const Reduction& reduction) {
  std::vector<std::int32_t> order(reduction.source.locals);
  for (std::size_t g = 0; g < reduction.groups(); ++g) {
    for (std::size_t k = 0; k < reduction.elements(); ++k) {
      const std::int32_t place = reduction.plan.places[g * reduction.elements() + k];
      order[static_cast<std::size_t>(place)] =
          static_cast<std::int32_t>(k * reduction.groups() + g);
    }
  }
  return order;
}

/// The row-major numbers of the elements along the dimensions, which ascend.
std::vector<std::uint32_t> element_numbers(const Reduction& reduction, const LayoutParts& parts,
                                           const isa::Shape& shape, std::vector<int> dims) {
  std::sort(dims.begin(), dims.end());
  std::vector<std::uint32_t> numbers(parts.threads * parts.locals);
  for (std::size_t place = 0; place < parts.locals; ++place) {
    const auto row = static_cast<std::size_t>(reduction.order[place]);
    for (std::size_t t = 0; t < parts.threads; ++t) {
      std::int64_t number = 0;
      for (const int dim : dims) {
        const auto d = static_cast<std::size_t>(dim);
        number = number * shape[d] + parts.thread_part(t)[d] + parts.local_part(place)[d];
      }
      numbers[row * parts.threads + t] = static_cast<std::uint32_t>(number);
    }
  }
  return numbers;
}

/// Combines a and b to `to`, which is a or apart from both, by values alone or with the numbers of
/// their elements: of equal values the lower number stays. The operation on a value and itself
/// gives the form in which results are equal.
class Combiner {
 public:
  Combiner(const Reduction& reduction, Scratch& scratch)
      : reduction_(reduction), scratch_(scratch) {}

  void combine(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* to, std::size_t count) {
    reduction_.combine(a, b, to, count);
  }

  void combine(std::uint8_t* a, const std::uint8_t* b, std::uint32_t* numbers_a,
               const std::uint32_t* numbers_b, std::size_t count) {
    const std::size_t bytes = count * lane_bytes(reduction_.bits);
    Bytes& best = scratch_.lanes[2].lanes;
    Bytes& other = scratch_.lanes[3].lanes;
    best.resize(bytes);
    other.resize(bytes);
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
    std::memcpy(a, best.data(), bytes);
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
        next_{context.scratch.lanes[2].gathered},
        other_{context.scratch.lanes[3].gathered} {}

  void run() {
    read();
    combine_places();
    for (const StepTable& step : reduction_.steps) combine_threads(step);
    write();
  }

 private:
  [[nodiscard]] bool has_numbers() const { return !reduction_.numbers.empty(); }
  [[nodiscard]] std::uint8_t* row(std::size_t k) {
    return values_.codes.data() + k * reduction_.row_bytes();
  }
  [[nodiscard]] std::uint32_t* numbers(std::size_t k) {
    return values_.numbers.data() + k * reduction_.row();
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
    transpose_to_rows(reduction_.bits, lanes, source.threads, reduction_.order,
                      values_.codes.data());
    values_.numbers = reduction_.numbers;
  }

  /// Level by level; a last row without a neighbour joins the next level.
  void combine_places() {
    for (std::size_t rows = reduction_.elements(); rows > 1; rows = (rows + 1) / 2) {
      for (std::size_t k = 0; k < rows / 2; ++k) {
        if (has_numbers()) {
          combiner_.combine(row(2 * k), row(2 * k + 1), numbers(2 * k), numbers(2 * k + 1),
                            reduction_.row());
          move_row(2 * k, k);
        } else {
          combiner_.combine(row(2 * k), row(2 * k + 1), row(k), reduction_.row());
        }
      }
      if (rows % 2 == 1) move_row(rows - 1, rows / 2);
    }
  }

  void move_row(std::size_t from, std::size_t to) {
    if (from == to) return;
    std::memcpy(row(to), row(from), reduction_.row_bytes());
    if (has_numbers()) std::copy_n(numbers(from), reduction_.row(), numbers(to));
  }

  /// The values of the first threads of the step take those of the others.
  void combine_threads(const StepTable& step) {
    take(step.sources.front(), next_);
    for (std::size_t i = 1; i < step.sources.size(); ++i) {
      take(step.sources[i], other_);
      const std::size_t count = step.sources[i].size();
      std::uint8_t* const codes = next_.codes.data();
      if (has_numbers()) {
        combiner_.combine(codes, other_.codes.data(), next_.numbers.data(), other_.numbers.data(),
                          count);
      } else {
        combiner_.combine(codes, other_.codes.data(), codes, count);
      }
    }
    std::swap(values_.codes, next_.codes);
    std::swap(values_.numbers, next_.numbers);
  }

  /// Takes values of the row.
  void take(const LanePermutation& permutation, ReducedValues& to) {
    to.make_room(permutation.size() * lane_bytes(reduction_.bits));
    permute_lanes(reduction_.bits, row(0), permutation, to.codes.data());
    if (!has_numbers()) return;
    to.numbers.resize(permutation.size());
    permute_lanes(32, reinterpret_cast<const std::uint8_t*>(values_.numbers.data()), permutation,
                  reinterpret_cast<std::uint8_t*>(to.numbers.data()));
  }

  void write() {
    take(reduction_.last, next_);
    write_lanes(reduction_.results[0], next_.codes.data(), reduction_.narrow);
    if (reduction_.results.size() > 1) {
      write_lanes(reduction_.results[1],
                  reinterpret_cast<const std::uint8_t*>(next_.numbers.data()), {});
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
  ReducedValues next_;
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
  reduction->order = order_of(*reduction);
  make_steps(*reduction);
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
