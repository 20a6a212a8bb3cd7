// More than 400 lines: requests that are drawn are those that are counted, by the same functions.
#include "sim/counting/access_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "isa/analysis/special_functions.h"
#include "isa/dot/dot.h"
#include "isa/layout/shape.h"
#include "isa/program/tile_move.h"
#include "sim/access/access_addresses.h"
#include "sim/access/indexed_places.h"
#include "sim/counting/copy_requests.h"
#include "sim/counting/exchange_meter.h"
#include "sim/counting/metered_access.h"
#include "sim/counting/tensor_copy_meter.h"
#include "sim/counting/warp_access.h"

namespace tilevm::sim {
namespace {

using isa::AccessForm;

/// The addresses of one execution.
struct Addresses {
  std::optional<GlobalAddresses> global;
  std::optional<SharedAddresses> shared;
  const RegisterSlab* registers = nullptr;  ///< slab with the index
};

/// A thread of a warp in one of its accesses: the first bit and the length.
struct ActiveLane {
  unsigned lane;
  std::uint64_t bit;
  std::int64_t elements;  ///< inside the view
};

/// The threads of a warp whose access i moves elements; `find` checks that and sets the first bit.
template <class Find>
std::vector<ActiveLane> active_lanes(const AccessGrid& grid, std::int64_t first_thread,
                                     std::int64_t i, Find&& find) {
  std::vector<ActiveLane> lanes;
  isa::Index index;
  for (std::int64_t lane = 0; lane < warp_size; ++lane) {
    const std::int64_t thread = first_thread + lane;
    if (thread >= grid.threads() || !grid.find(thread, i, index)) continue;
    ActiveLane active{static_cast<unsigned>(lane), 0, grid.plan().elements};
    if (find(index, active)) lanes.push_back(active);
  }
  return lanes;
}

std::vector<ActiveLane> lanes_in(const GlobalAddresses& tile, const AccessGrid& grid,
                                 std::int64_t first_thread, std::int64_t i) {
  return active_lanes(grid, first_thread, i, [&](const isa::Index& index, ActiveLane& lane) {
    if (tile.elements_inside(index, 1) == 0) return false;
    lane.bit = tile.bit(index);
    return true;
  });
}

/// For matrices, only the threads that address a row.
std::vector<ActiveLane> lanes_in(const SharedAddresses& tile, const AccessGrid& grid,
                                 std::int64_t first_thread, std::int64_t i) {
  constexpr std::int64_t rows = 8;
  const bool matrix = grid.plan().form == AccessForm::matrix;
  const std::int64_t named = matrix ? grid.plan().matrices * rows : warp_size;
  return active_lanes(grid, first_thread, i, [&](const isa::Index& index, ActiveLane& lane) {
    if (lane.lane >= named) return false;
    lane.bit = tile.bit(index);
    return true;
  });
}

/// The index of what a thread moves in its access i, whose first element has the index `at`.
std::int64_t index_of(const MeteredAccess& access, const Addresses& addresses, std::size_t thread,
                      std::int64_t i, const isa::Index& at) {
  if (!access.shape.empty()) {  // a copy, whose tile one thread holds
    const auto place = static_cast<std::size_t>(isa::ravel(at, access.shape));
    return index_value(*access.indexed, 0, place, *addresses.registers);
  }
  const auto place = static_cast<std::size_t>(access.grid.plan().local_place(i));
  return index_value(*access.indexed, thread, place, *addresses.registers);
}

/// Where an index says where elements are: each has a tile of its own.
std::vector<ActiveLane> indexed_lanes(const MeteredAccess& access, const Addresses& addresses,
                                      std::int64_t first_thread, std::int64_t i) {
  return active_lanes(access.grid, first_thread, i, [&](const isa::Index& index, ActiveLane& lane) {
    const auto thread = static_cast<std::size_t>(first_thread) + lane.lane;
    const std::int64_t value = index_of(access, addresses, thread, i, index);
    if (addresses.global) {
      const GlobalAddresses tile = addresses.global->moved(access.indexed->dim, value);
      lane.elements = tile.elements_inside(index, access.grid.plan().elements);
      if (lane.elements == 0) return false;
      lane.bit = tile.bit(index);
      return true;
    }
    SharedAddresses tile = *addresses.shared;
    tile.origin[access.indexed->dim] = moved_index(tile.origin[access.indexed->dim], value);
    if (!tile.inside()) return false;
    lane.bit = tile.bit(index);
    return true;
  });
}

/// The bytes of an asynchronous copy, of elements inside the view.
WarpAccess bytes_of(const std::vector<ActiveLane>& lanes, unsigned bits) {
  WarpAccess access;
  for (const ActiveLane& lane : lanes) {
    access.push_back(
        {lane.lane, lane.bit / 8, static_cast<std::uint64_t>(lane.elements) * bits / 8});
  }
  return access;
}

/// Whether an asynchronous copy goes around the L1 cache, as those of 16 bytes a thread do.
bool is_past_l1(const isa::AccessPlan& plan, unsigned bits) { return plan.elements * bits == 128; }

/// One of the machine accesses of a run.
WarpAccess part_of(const std::vector<ActiveLane>& lanes, std::uint64_t at, std::uint64_t width) {
  WarpAccess access;
  for (const ActiveLane& lane : lanes) access.push_back({lane.lane, lane.bit / 8 + at, width});
  return access;
}

/// The bytes that loads of elements narrower than a byte read: the first byte of each element, or
/// the second byte of each element that crosses into one.
WarpAccess byte_of_bits(const std::vector<ActiveLane>& lanes, unsigned bits, bool second) {
  WarpAccess access;
  for (const ActiveLane& lane : lanes) {
    if (second && lane.bit % 8 + bits <= 8) continue;
    access.push_back({lane.lane, lane.bit / 8 + (second ? 1 : 0), 1});
  }
  return access;
}

/// The 32-bit words that stores of elements narrower than a byte change.
std::uint64_t words_of_bits(const std::vector<ActiveLane>& lanes, unsigned bits) {
  std::uint64_t words = 0;
  for (const ActiveLane& lane : lanes) words += lane.bit % 32 + bits > 32 ? 2 : 1;
  return words;
}

/// Loads or stores of runs or single elements by a warp.
template <class Count>
AccessCount count_moves(const std::vector<ActiveLane>& lanes, const isa::AccessPlan& plan,
                        unsigned bits, bool stores, Count&& count) {
  AccessCount result;
  if (plan.form != AccessForm::bits) {
    std::uint64_t at = 0;
    for (const std::int64_t bytes : plan.widths) {
      const auto width = static_cast<std::uint64_t>(bytes);
      result += count(part_of(lanes, at, width), static_cast<unsigned>(width));
      at += width;
    }
    return result;
  }
  if (stores) {
    result.atomics = words_of_bits(lanes, bits);
    return result;
  }
  result = count(byte_of_bits(lanes, bits, false), 1);
  result += count(byte_of_bits(lanes, bits, true), 1);
  return result;
}

AccessCount count_global(const WarpAccess& access, unsigned) { return count_sectors(access); }

/// What a warp does in its access i.
class WarpCount {
 public:
  WarpCount(const MeteredAccess& access, const Addresses& addresses, AccessCounts& counts)
      : access_(access), addresses_(addresses), counts_(counts) {}

  void run(std::int64_t first_thread, std::int64_t i) {
    const isa::AccessPlan& plan = access_.grid.plan();
    if (!access_.index_numbers.empty()) read_index(first_thread, i);
    if (plan.form == AccessForm::copy) return copy(first_thread, i);
    // A copy without cp.async loads from global memory and stores to shared memory.
    if (access_.global) {
      const auto lanes = access_.indexed
                             ? indexed_lanes(access_, addresses_, first_thread, i)
                             : lanes_in(*addresses_.global, access_.grid, first_thread, i);
      add(access_.stores ? Traffic::global_store : Traffic::global_load,
          count_moves(lanes, plan, access_.global->bits, access_.stores, count_global));
    }
    if (access_.shared) {
      const bool stores = access_.stores || access_.global;
      const auto lanes = access_.indexed && !access_.global
                             ? indexed_lanes(access_, addresses_, first_thread, i)
                             : lanes_in(*addresses_.shared, access_.grid, first_thread, i);
      add(stores ? Traffic::shared_store : Traffic::shared_load,
          count_moves(lanes, plan, access_.shared->bits, stores, count_wavefronts));
    }
  }

 private:
  void add(Traffic traffic, const AccessCount& count) {
    counts_[static_cast<std::size_t>(traffic)] += count;
  }

  /// The threads of a copy read the indices of their pieces, which were put into shared memory.
  void read_index(std::int64_t first_thread, std::int64_t i) {
    const unsigned bytes = access_.indexed->index.bits > 32 ? 8 : 4;
    const auto lanes =
        active_lanes(access_.grid, first_thread, i, [&](const isa::Index& index, ActiveLane& lane) {
          const auto element = static_cast<std::size_t>(isa::ravel(index, access_.shape));
          lane.bit = static_cast<std::uint64_t>(access_.index_numbers[element]) * bytes * 8;
          return true;
        });
    if (!lanes.empty())
      add(Traffic::shared_load, count_wavefronts(part_of(lanes, 0, bytes), bytes));
  }

  /// Counts an asynchronous copy: the threads whose piece is in the view read that piece.
  void copy(std::int64_t first_thread, std::int64_t i) {
    const unsigned bits = access_.global->bits;
    std::vector<ActiveLane> to;
    const auto find = [&](const isa::Index& index, ActiveLane& lane) {
      const GlobalAddresses& whole = *addresses_.global;
      const GlobalAddresses tile =
          access_.indexed
              ? whole.moved(access_.indexed->dim, index_of(access_, addresses_, 0, i, index))
              : whole;
      lane.elements = tile.elements_inside(index, access_.grid.plan().elements);
      if (lane.elements == 0) return false;
      lane.bit = tile.bit(index);
      to.push_back({lane.lane, addresses_.shared->bit(index), lane.elements});
      return true;
    };
    const auto from = active_lanes(access_.grid, first_thread, i, find);
    add(Traffic::global_copy, is_past_l1(access_.grid.plan(), bits)
                                  ? count_copied_sectors(bytes_of(from, bits), bytes_of(to, bits))
                                  : count_sectors(bytes_of(from, bits)));
  }

  const MeteredAccess& access_;
  const Addresses& addresses_;
  AccessCounts& counts_;
};

AccessCounts count_execution(const MeteredAccess& access, const Addresses& addresses) {
  AccessCounts counts{};
  WarpCount warp(access, addresses, counts);
  for (std::int64_t i = 0; i < access.grid.plan().count; ++i) {
    for (std::int64_t t = 0; t < access.grid.threads(); t += warp_size) warp.run(t, i);
  }
  return counts;
}

/// Finds the addresses of an execution, and the key that its counts depend on; false if it will
/// fault.
bool find_addresses(const MeteredAccess& access, const BlockState& state, Addresses& addresses,
                    MeterCache::Key& key) {
  key.assign(1, access.id);
  if (const auto& side = access.global) {
    Coordinates origin{};
    if (!side->position.find_origin(state, origin)) return false;
    addresses.global.emplace(side->position, state.views[side->view], side->bits, origin);
    addresses.global->add_key(key);
  }
  if (const auto& side = access.shared) {
    SharedAddresses tile{&side->position, side->layout, side->bits, side->tensor_bits};
    if (!side->position.find_origin(state, tile.origin)) return false;
    if (!access.indexed && !tile.inside()) return false;
    key.insert(key.end(), tile.origin.begin(), tile.origin.end());
    addresses.shared = tile;
  }
  return true;
}

Meter make(MeteredAccess access) {
  return [access = std::make_shared<const MeteredAccess>(std::move(access))](
             const BlockState& state, MeterCache& cache, AccessCounts& counts) {
    Addresses addresses;
    MeterCache::Key key;
    if (!find_addresses(*access, state, addresses, key)) return;
    if (access->indexed) {  // no two executions are alike
      addresses.registers = &state.registers;
      counts += count_execution(*access, addresses);
      return;
    }
    const AccessCounts* known = cache.find(key);
    counts += known != nullptr ? *known : cache.keep(key, count_execution(*access, addresses));
  };
}

/// What a LoadScalar asks of memory: every thread reads the element, at one address.
std::optional<AccessCounts> count_scalar_load(const isa::Kernel& kernel, const isa::InstStmt& stmt,
                                              std::int64_t threads) {
  const auto* inst = std::get_if<isa::LoadScalar>(&stmt.inst);
  if (inst == nullptr) return std::nullopt;
  const auto* view = std::get_if<isa::GlobalOperand>(&inst->src.value);
  const auto* shared = std::get_if<isa::SharedOperand>(&inst->src.value);
  if (view == nullptr && shared == nullptr) return std::nullopt;
  const isa::Type& type = kernel.variable(view != nullptr ? view->var : shared->var).type;
  const isa::DType& element = view != nullptr ? std::get_if<isa::GlobalType>(&type)->dtype
                                              : std::get_if<isa::SharedType>(&type)->dtype;
  const unsigned bytes = std::max(1U, element.bits / 8U);
  AccessCounts counts{};
  for (std::int64_t first = 0; first < threads; first += warp_size) {
    WarpAccess access;
    for (std::int64_t lane = 0; lane < warp_size && first + lane < threads; ++lane) {
      access.push_back({static_cast<unsigned>(lane), 0, bytes});
    }
    const Traffic traffic = view != nullptr ? Traffic::global_load : Traffic::shared_load;
    counts[static_cast<std::size_t>(traffic)] +=
        view != nullptr ? count_sectors(access) : count_wavefronts(access, bytes);
  }
  return counts;
}

}  // namespace

Meter make_meter(const isa::VerifiedProgram& program, int kernel, const isa::InstStmt& stmt,
                 SharedTables& tables, const RegisterFile& registers, std::size_t id) {
  const std::int64_t threads = program.info(kernel).threads_at(stmt.id);
  if (const auto scalar = count_scalar_load(program.kernel(kernel), stmt, threads)) {
    return [counts = *scalar](const BlockState&, MeterCache&, AccessCounts& sum) { sum += counts; };
  }
  if (auto boxes = make_tensor_copy_meter(program, kernel, stmt)) return *std::move(boxes);
  std::optional<MeteredAccess> access =
      find_access(program, kernel, stmt, tables, &registers, static_cast<std::int64_t>(id));
  Meter moves = access ? make(std::move(*access)) : Meter{};
  const auto exchange = count_exchange(program.kernel(kernel), stmt);
  if (!exchange) return moves;
  return [counts = *exchange, moves = std::move(moves)](const BlockState& state, MeterCache& cache,
                                                        AccessCounts& sum) {
    sum += counts;
    if (moves) moves(state, cache, sum);
  };
}

std::vector<SharedRequest> shared_requests(const isa::VerifiedProgram& program, int kernel,
                                           const isa::InstStmt& stmt) {
  SharedTables tables;
  std::vector<SharedRequest> requests;
  const std::optional<MeteredAccess> access =
      find_access(program, kernel, stmt, tables, nullptr, 0);
  if (!access || !access->shared || access->grid.plan().form == AccessForm::copy) return requests;
  if (access->indexed) return requests;
  const SharedSide& side = *access->shared;
  const SharedAddresses tile{&side.position, side.layout, side.bits, side.tensor_bits};
  if (!tile.inside()) return requests;
  const bool stores = access->stores || access->global;
  for (std::int64_t i = 0; i < access->grid.plan().count; ++i) {
    for (std::int64_t t = 0; t < access->grid.threads(); t += warp_size) {
      const auto lanes = lanes_in(tile, access->grid, t, i);
      count_moves(lanes, access->grid.plan(), side.bits, stores,
                  [&](const WarpAccess& request, unsigned width) {
                    if (!request.empty()) {
                      requests.push_back({t / warp_size, width, stores, request});
                    }
                    return AccessCount{};
                  });
    }
  }
  return requests;
}

namespace {

/// The view that a statement moves a tile from or to, if all of it is known before the run.
std::optional<GlobalView> static_view(const isa::Kernel& kernel, const isa::InstStmt& stmt) {
  const auto move = isa::tile_move(stmt);
  if (!move) return std::nullopt;
  const auto* registers = std::get_if<isa::RegisterMove>(&*move);
  const isa::VarId var =
      registers != nullptr ? registers->tensor : std::get_if<isa::CopyMove>(&*move)->view;
  const auto* type = std::get_if<isa::GlobalType>(&kernel.variable(var).type);
  const auto shape = type != nullptr ? type->static_shape() : std::nullopt;
  if (!shape) return std::nullopt;
  GlobalView view;
  view.rank = type->rank();
  std::copy(shape->begin(), shape->end(), view.extents.begin());
  view.layout = type->layout.memory_layout();
  if (const auto* strides = type->layout.strides()) {
    for (std::size_t d = 0; d < strides->size(); ++d) {
      const auto stride = (*strides)[d].constant_int();
      if (!stride) return std::nullopt;
      view.strides[d] = *stride;
    }
  }
  return view;
}

}  // namespace

namespace {

/// Calls `keep` with each request of a tile at index 0 of its view, in the order of a meter: the
/// warp, what it asks of global memory, and of a copy past the L1 cache where that goes in shared
/// memory.
template <class Keep>
void for_each_global_request(const isa::VerifiedProgram& program, int kernel,
                             const isa::InstStmt& stmt, const Keep& keep) {
  SharedTables tables;
  const std::optional<MeteredAccess> access =
      find_access(program, kernel, stmt, tables, nullptr, 0);
  if (!access || !access->global || access->indexed) return;
  const auto view = static_view(program.kernel(kernel), stmt);
  if (!view) return;
  const GlobalSide& side = *access->global;
  const isa::AccessPlan& plan = access->grid.plan();
  const GlobalAddresses tile(side.position, *view, side.bits, Coordinates{});
  std::optional<SharedAddresses> destination;
  if (const auto& shared = access->shared;
      shared && plan.form == AccessForm::copy && is_past_l1(plan, side.bits)) {
    destination.emplace(
        SharedAddresses{&shared->position, shared->layout, shared->bits, shared->tensor_bits});
    if (!destination->inside()) destination.reset();
  }
  for (std::int64_t i = 0; i < plan.count; ++i) {
    for (std::int64_t t = 0; t < access->grid.threads(); t += warp_size) {
      if (plan.form == AccessForm::copy) {
        std::vector<ActiveLane> to;
        const auto find = [&](const isa::Index& index, ActiveLane& lane) {
          lane.elements = tile.elements_inside(index, plan.elements);
          if (lane.elements == 0) return false;
          lane.bit = tile.bit(index);
          if (destination) to.push_back({lane.lane, destination->bit(index), lane.elements});
          return true;
        };
        const auto from = active_lanes(access->grid, t, i, find);
        if (!from.empty()) {
          keep(t / warp_size, access->stores, bytes_of(from, side.bits), bytes_of(to, side.bits));
        }
        continue;
      }
      count_moves(lanes_in(tile, access->grid, t, i), plan, side.bits, access->stores,
                  [&](const WarpAccess& request, unsigned) {
                    if (!request.empty()) keep(t / warp_size, access->stores, request, {});
                    return AccessCount{};
                  });
    }
  }
}

}  // namespace

std::vector<GlobalRequest> global_requests(const isa::VerifiedProgram& program, int kernel,
                                           const isa::InstStmt& stmt) {
  std::vector<GlobalRequest> requests;
  for_each_global_request(program, kernel, stmt,
                          [&](std::int64_t warp, bool stores, WarpAccess lanes, const WarpAccess&) {
                            requests.push_back({warp, stores, std::move(lanes)});
                          });
  return requests;
}

std::vector<WarpAccess> copy_destinations(const isa::VerifiedProgram& program, int kernel,
                                          const isa::InstStmt& stmt) {
  std::vector<WarpAccess> destinations;
  for_each_global_request(program, kernel, stmt,
                          [&](std::int64_t, bool, const WarpAccess&, WarpAccess to) {
                            if (!to.empty()) destinations.push_back(std::move(to));
                          });
  return destinations;
}

std::vector<bool> warps_that_move(const isa::VerifiedProgram& program, int kernel,
                                  const isa::InstStmt& stmt) {
  SharedTables tables;
  const std::optional<MeteredAccess> access =
      find_access(program, kernel, stmt, tables, nullptr, 0);
  if (!access) return {};
  const AccessGrid& grid = access->grid;
  std::vector<bool> moves(static_cast<std::size_t>((grid.threads() + warp_size - 1) / warp_size));
  isa::Index index;
  for (std::int64_t t = 0; t < grid.threads(); ++t) {
    const auto warp = static_cast<std::size_t>(t / warp_size);
    for (std::int64_t i = 0; !moves[warp] && i < grid.plan().count; ++i) {
      moves[warp] = grid.find(t, i, index);
    }
  }
  return moves;
}

MmaCount count_mma(const isa::VerifiedProgram& program, int kernel, const isa::InstStmt& stmt) {
  const isa::DotPlan* plan = program.info(kernel).find_dot_plan(stmt);
  if (plan == nullptr || plan->shape == nullptr) return {};
  const isa::MmaShape& shape = *plan->shape;
  const std::string c = to_string(shape.accumulator);
  const auto warps =
      static_cast<std::uint64_t>(program.info(kernel).threads_at(stmt.id) / shape.threads());
  return {
      fmt::format("{} {}.{}.{}.{}", shape.label(), c, to_string(shape.a), to_string(shape.b), c),
      isa::count_instructions(*plan) * warps};
}

std::uint64_t count_special_functions(const isa::VerifiedProgram& program, int kernel,
                                      const isa::InstStmt& stmt) {
  if (!isa::is_special_function(stmt.inst)) return 0;
  const isa::Variable& result = program.kernel(kernel).variable(stmt.results.front());
  const auto& layout = std::get_if<isa::RegisterType>(&result.type)->layout;
  const std::int64_t threads = program.info(kernel).threads_at(stmt.id);
  return static_cast<std::uint64_t>((threads + warp_size - 1) / warp_size * layout.num_locals());
}

}  // namespace tilevm::sim
