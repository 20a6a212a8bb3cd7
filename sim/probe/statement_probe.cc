#include "sim/probe/statement_probe.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "isa/inst/control.h"
#include "isa/program/tile_move.h"
#include "isa/type/bits.h"
#include "sim/access/access_addresses.h"
#include "sim/access/indexed_places.h"
#include "sim/state/scalar_code.h"

namespace tilevm::sim {
namespace {

/// The words of memory that one thread writes in one record.
class ProbedWrites {
 public:
  ProbedWrites(BlockState& state, const ProbeSink& sink)
      : state_(state), sink_(sink), keeps_(sink.keeps(state)) {}

  /// Bits of a buffer; null for shared memory.
  void bits(std::size_t thread, std::optional<std::size_t> buffer, std::uint64_t bit,
            unsigned count, std::uint64_t code) {
    while (count > 0) {
      const auto shift = static_cast<unsigned>(bit % 32);
      const unsigned part = std::min(count, 32 - shift);
      const std::uint64_t byte = bit / 32 * 4;
      const auto mask = static_cast<std::uint32_t>(isa::low_mask(part) << shift);
      const auto value = static_cast<std::uint32_t>((code & isa::low_mask(part)) << shift);
      word(thread, buffer ? sink_.address(*buffer, byte) : byte, mask, value);
      code >>= part;
      bit += part;
      count -= part;
    }
  }

 private:
  void word(std::size_t thread, std::uint64_t address, std::uint32_t mask, std::uint32_t value) {
    state_.probe.sum += isa::probe_word(address, mask, value);
    if (keeps_) sink_.dump().writes[thread].push_back({address, mask, value});
  }

  BlockState& state_;
  const ProbeSink& sink_;
  bool keeps_;
};

/// A tile of elements in a view of global memory.
struct ProbedView {
  TilePosition position;
  std::size_t view = 0;  ///< slot
  unsigned bits = 0;     ///< bits of an element

  /// The first bit of an element in its buffer; nothing outside of the view.
  [[nodiscard]] std::optional<std::uint64_t> bit(const GlobalView& view_now,
                                                 const Coordinates& origin,
                                                 const isa::Index& index) const {
    isa::Index at(position.extents.size());
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      at[d] = origin[d] + position.share(d, index);
      if (at[d] < 0 || at[d] >= view_now.extents[d]) return std::nullopt;
      offset += at[d] * view_now.strides[d];
    }
    if (view_now.layout != nullptr) offset = view_now.layout->offset(at);
    return static_cast<std::uint64_t>(offset) * bits;
  }
};

struct ProbedShared {
  TilePosition position;
  const isa::MemoryLayout* layout = nullptr;
  unsigned bits = 0;
  std::uint64_t tensor_bits = 0;  ///< where the tensor lies on a GPU
};

/// What memory probes are made from.
struct ProbeInputs {
  const isa::VerifiedProgram& program;
  const isa::Kernel& kernel;
  const isa::KernelInfo& info;
  const RegisterFile& registers;
  SharedTables& tables;

  template <class T>
  [[nodiscard]] const T* type(isa::VarId var) const {
    return std::get_if<T>(&kernel.variable(var).type);
  }
  [[nodiscard]] ProbedView view(isa::VarId var, const std::optional<isa::OffsetList>& offset,
                                const isa::Shape& shape,
                                std::optional<int> indexed_dim = {}) const {
    const auto& view = *type<isa::GlobalType>(var);
    return {TilePosition(offset, view.rank(), shape, indexed_dim),
            static_cast<std::size_t>(var.index), view.dtype.bits};
  }
  [[nodiscard]] ProbedShared shared(isa::VarId var, const std::optional<isa::OffsetList>& offset,
                                    const isa::Shape& shape,
                                    std::optional<int> indexed_dim = {}) const {
    const auto& tensor = *type<isa::SharedType>(var);
    return {TilePosition(offset, tensor.layout.rank(), shape, indexed_dim), &tensor.layout,
            tensor.dtype.bits, static_cast<std::uint64_t>(info.shared_tile(var).gpu_offset) * 8};
  }
};

std::uint64_t element_code(const BlockState& state, const Tile& tile, std::size_t thread,
                           std::size_t place) {
  return isa::get_bits(state.registers.at(tile.offset) + thread * tile.thread_bytes,
                       place * tile.bits, tile.bits);
}

/// A store of a tile: every thread writes its elements, replicas too; but each element is combined
/// with memory once.
struct StoreProbe {
  Tile tile;
  std::shared_ptr<const LayoutParts> parts;
  std::variant<ProbedView, ProbedShared> to;
  std::optional<IndexedTile> indexed{};  ///< if an index says where elements are
  bool combines = false;

  void operator()(BlockState& state, const Memory&, const ProbeSink& sink) const {
    if (state.undefined.marked(tile)) state.probe.undefined = true;
    std::visit([&](const auto& place) { store(place, state, sink); }, to);
  }

 private:
  void store(const ProbedView& view, BlockState& state, const ProbeSink& sink) const {
    Coordinates origin{};
    if (!view.position.find_origin(state, origin)) return;
    const GlobalView& now = state.views[view.view];
    ProbedWrites writes(state, sink);
    for_each_element([&](std::size_t t, std::size_t i, const isa::Index& index) {
      const auto bit = view.bit(now, origin_of(origin, t, i, state), index);
      if (!bit) return;
      writes.bits(t, static_cast<std::size_t>(now.buffer), *bit, tile.bits,
                  element_code(state, tile, t, i));
    });
  }
  void store(const ProbedShared& shared, BlockState& state, const ProbeSink& sink) const {
    SharedAddresses place{&shared.position, shared.layout, shared.bits, shared.tensor_bits};
    if (!shared.position.find_origin(state, place.origin)) return;
    ProbedWrites writes(state, sink);
    for_each_element([&](std::size_t t, std::size_t i, const isa::Index& index) {
      SharedAddresses own = place;
      own.origin = origin_of(place.origin, t, i, state);
      writes.bits(t, std::nullopt, own.bit(index), tile.bits, element_code(state, tile, t, i));
    });
  }
  /// Where the tile begins, for an element that an index places.
  [[nodiscard]] Coordinates origin_of(Coordinates origin, std::size_t t, std::size_t i,
                                      const BlockState& state) const {
    if (!indexed) return origin;
    std::int64_t& along = origin[indexed->dim];
    along = moved_index(along, index_value(*indexed, t, i, state.registers));
    return origin;
  }
  template <class F>
  void for_each_element(F&& f) const {
    const auto of_thread = [&](std::size_t t) {
      for (std::size_t i = 0; i < tile.locals; ++i) f(t, i, parts->index(t, i));
    };
    if (combines) {
      for (const std::int32_t t : parts->first_threads) of_thread(static_cast<std::size_t>(t));
    } else {
      for (std::size_t t = 0; t < tile.threads; ++t) of_thread(t);
    }
  }
};

/// An asynchronous copy: each element once; zeros come from outside of the view. Which thread
/// copies an element is not for the simulator to say.
struct CopyProbe {
  isa::Shape shape;
  ProbedView from;
  ProbedShared to;
  std::optional<IndexedTile> indexed{};

  void operator()(BlockState& state, const Memory& memory, const ProbeSink& sink) const {
    Coordinates origin{};
    SharedAddresses place{&to.position, to.layout, to.bits, to.tensor_bits};
    if (!from.position.find_origin(state, origin)) return;
    if (!to.position.find_origin(state, place.origin)) return;
    const GlobalView& now = state.views[from.view];
    const MemoryBuffer& buffer = memory[static_cast<std::size_t>(now.buffer)];
    ProbedWrites writes(state, sink);
    const std::int64_t count = isa::element_count(shape);
    for (std::int64_t k = 0; k < count; ++k) {
      const isa::Index index = isa::unravel(k, shape);
      Coordinates begin = origin;
      if (indexed) {
        const auto number = static_cast<std::size_t>(k);
        std::int64_t& along = begin[indexed->dim];
        along = moved_index(along, index_value(*indexed, 0, number, state.registers));
      }
      const auto source = from.bit(now, begin, index);
      const bool there = source && *source + from.bits <= buffer.bytes * 8;
      writes.bits(0, std::nullopt, place.bit(index), to.bits,
                  there ? isa::get_bits(buffer.data, *source, from.bits) : 0);
    }
  }
};

/// One element, which the first thread writes, or to which it adds.
struct ElementProbe {
  ProbedView element;
  ScalarCode value;

  void operator()(BlockState& state, const Memory&, const ProbeSink& sink) const {
    Coordinates origin{};
    std::uint64_t bits = 0;
    Span fault{};
    if (!element.position.find_origin(state, origin)) return;
    if (!value.evaluate(state.scalars.data(), bits, fault)) return;
    const GlobalView& now = state.views[element.view];
    const auto bit = element.bit(now, origin, {});
    if (!bit) return;
    ProbedWrites(state, sink).bits(0, static_cast<std::size_t>(now.buffer), *bit, 32, bits);
  }
};

MemoryProbe probe_of(const isa::RegisterMove& move, const ProbeInputs& making) {
  if (!move.stores) return {};
  const auto& type = *making.type<isa::RegisterType>(move.tile);
  const Tile tile = make_tile(type, making.registers.offset(move.tile));
  const auto parts = making.tables.parts(type.layout);
  std::optional<int> dim;
  std::optional<IndexedTile> indexed;
  if (move.indexed) {
    dim = move.indexed->dim;
    const isa::VarId index = move.indexed->index;
    indexed = indexed_tile(*move.indexed, *making.type<isa::RegisterType>(index),
                           making.registers.offset(index), type.layout);
  }
  if (making.type<isa::GlobalType>(move.tensor) != nullptr) {
    return StoreProbe{tile, parts, making.view(move.tensor, move.offset, type.shape(), dim),
                      indexed, move.combines.has_value()};
  }
  return StoreProbe{tile, parts, making.shared(move.tensor, move.offset, type.shape(), dim),
                    indexed, move.combines.has_value()};
}

MemoryProbe probe_of(const isa::CopyMove& move, const ProbeInputs& making) {
  const isa::Shape shape = isa::tile_shape(move.offset, *making.type<isa::SharedType>(move.tensor));
  std::optional<int> dim;
  std::optional<IndexedTile> indexed;
  if (move.indexed) {
    dim = move.indexed->dim;
    const isa::VarId index = move.indexed->index;
    indexed = indexed_copy(*move.indexed, *making.type<isa::RegisterType>(index),
                           making.registers.offset(index), shape);
  }
  return CopyProbe{shape, making.view(move.view, move.view_offset, shape, dim),
                   making.shared(move.tensor, move.offset, shape), indexed};
}

/// The record of a semaphore or a counter.
template <class Inst>
MemoryProbe element_probe(const Inst& inst, const ProbeInputs& making) {
  const auto& type = *making.type<isa::GlobalType>(inst.view.var);
  const isa::Expr& operand = inst.value.value;
  const auto value = isa::Expr::convert(operand, *isa::semaphore_kind(type.dtype), operand.span());
  return ElementProbe{making.view(inst.view.var, inst.offset, {}), ScalarCode(value)};
}

/// The record of an instruction that writes one element; empty if it is none.
MemoryProbe probe_of_element(const isa::Instruction& instruction, const ProbeInputs& making) {
  const bool writes = std::holds_alternative<isa::ReleaseSemaphore>(instruction) ||
                      isa::updates_memory(instruction);
  if (!writes) return {};
  return std::visit(
      [&](const auto& inst) -> MemoryProbe {
        if constexpr (requires { inst.view, inst.value, inst.offset; }) {
          return element_probe(inst, making);
        } else {
          return {};
        }
      },
      instruction);
}

/// Appends each thread's share of a tile, in words.
void keep_tile(const Tile& tile, const BlockState& state,
               std::vector<std::vector<std::uint32_t>>& words) {
  const std::size_t stream_bits = tile.locals * tile.bits;
  for (std::size_t t = 0; t < tile.threads; ++t) {
    const std::uint8_t* stream = state.registers.at(tile.offset) + t * tile.thread_bytes;
    for (std::size_t bit = 0; bit < stream_bits; bit += 32) {
      const auto count = static_cast<unsigned>(std::min<std::size_t>(32, stream_bits - bit));
      words[t].push_back(static_cast<std::uint32_t>(isa::get_bits(stream, bit, count)));
    }
  }
}

void add_tile(const ProbedVariable& variable, BlockState& state, const ProbeSink& sink) {
  const Tile& tile = variable.tile;
  if (state.undefined.marked(tile)) state.probe.undefined = true;
  for (std::size_t t = 0; t < tile.threads; ++t) {
    for (std::size_t i = 0; i < tile.locals; ++i) {
      state.probe.sum += isa::probe_element(t * tile.locals + i,
                                            element_code(state, tile, t, i) & variable.significant);
    }
  }
  if (sink.keeps(state)) keep_tile(tile, state, sink.dump().words);
}

void add_scalar(const ProbedVariable& variable, BlockState& state, const ProbeSink& sink) {
  const std::uint64_t bits = state.scalars[variable.slot];
  const std::size_t threads = sink.dump().words.size();
  for (std::size_t t = 0; t < threads; ++t) state.probe.sum += isa::probe_scalar(t, bits);
  if (!sink.keeps(state)) return;
  for (auto& words : sink.dump().words) {
    words.push_back(static_cast<std::uint32_t>(bits));
    words.push_back(static_cast<std::uint32_t>(bits >> 32));
  }
}

}  // namespace

MemoryProbe make_memory_probe(const isa::VerifiedProgram& program, int kernel,
                              const isa::InstStmt& stmt, const RegisterFile& registers,
                              SharedTables& tables) {
  const ProbeInputs making{program, program.kernel(kernel), program.info(kernel), registers,
                           tables};
  if (auto probe = probe_of_element(stmt.inst, making)) return probe;
  const std::optional<isa::TileMove> move = isa::tile_move(stmt);
  if (!move) return {};
  return std::visit([&](const auto& each) { return probe_of(each, making); }, *move);
}

void keep_operands(const StatementProbe& probe, const BlockState& state, const ProbeSink& sink) {
  if (probe.mode == isa::ProbeMode::none || !sink.covers(state) || !sink.keeps(state)) return;
  isa::ProbeDump& dump = sink.dump();
  dump.scalars = state.scalars;
  dump.operands.assign(dump.words.size(), {});
  for (const ProbedVariable& operand : probe.operands) {
    keep_tile(operand.tile, state, dump.operands);
  }
}

void run_probe(const StatementProbe& probe, BlockState& state, const Memory& memory,
               const ProbeSink& sink) {
  if (!sink.covers(state)) return;
  if (probe.memory) probe.memory(state, memory, sink);
  for (const ProbedVariable& variable : probe.results) {
    variable.is_tile ? add_tile(variable, state, sink) : add_scalar(variable, state, sink);
  }
  if (probe.mode == isa::ProbeMode::records) sink.record(state, probe.statement);
}

}  // namespace tilevm::sim
