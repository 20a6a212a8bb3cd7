// Instructions that take elements of tiles to other places.
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isa/rules/support.h"
#include "isa/type/bits.h"
#include "sim/exec/move_elements.h"
#include "sim/exec/semantics.h"
#include "sim/tiles/lane_tiles.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

std::shared_ptr<const ElementMoves> slice_moves(const isa::Slice& inst,
                                                const Preparation& preparation) {
  const auto dim = static_cast<std::size_t>(inst.dim.dims.front());
  const std::int64_t begin = inst.begin.value.constant_int().value_or(0);
  return make_moves({inst.src.var}, preparation, [&](isa::Index& index) -> std::uint32_t {
    index[dim] += begin;
    return 0;
  });
}

std::shared_ptr<const ElementMoves> concat_moves(const isa::Concat& inst,
                                                 const Preparation& preparation) {
  const auto dim = static_cast<std::size_t>(inst.dim.dims.front());
  const std::int64_t extent = preparation.register_type(inst.a.var).shape()[dim];
  return make_moves({inst.a.var, inst.b.var}, preparation, [&](isa::Index& index) -> std::uint32_t {
    const bool second = index[dim] >= extent;
    if (second) index[dim] -= extent;
    return second ? 1 : 0;
  });
}

/// A Lookup, prepared.
struct TableLookups {
  Tile table, index, result;
  std::vector<std::size_t> place;            ///< place by entry
  std::shared_ptr<const LayoutParts> parts;  ///< parts of the index's layout
  std::string name;                          ///< name of the index
  Span span;
};

bool report_outside(const TableLookups& lookup, Context& context) {
  const Tile& index = lookup.index;
  const std::uint8_t* registers = context.state.registers.at(index.offset);
  const auto outside =
      find_offenders(lookup.parts->first_threads, index.locals,
                     [&](std::size_t t, std::size_t i) -> std::optional<Offender<std::uint64_t>> {
                       const std::uint64_t code = isa::get_bits(registers + t * index.thread_bytes,
                                                                i * index.bits, index.bits);
                       if (code < lookup.place.size()) return std::nullopt;
                       return Offender<std::uint64_t>{lookup.parts->index(t, i), code};
                     });
  context.fail(Code::out_of_bounds, lookup.span,
               fmt::format("`Lookup` takes entries that the table of {} does not have: {} of {} "
                           "indices, first {}, which is {}",
                           lookup.place.size(), outside.count,
                           lookup.parts->first_threads.size() * index.locals,
                           element_text(lookup.name, outside.first), outside.detail));
  context.fault->thread = static_cast<std::int64_t>(outside.thread);
  return false;
}

/// The entries are the same in every thread, so that those of the first serve all.
template <class Entry, class IndexLane>
bool look_up(const std::vector<std::uint64_t>& entries, const std::uint8_t* indices,
             std::uint8_t* result, std::size_t count) {
  const std::size_t last = entries.size() - 1;
  bool inside = true;
  for (std::size_t e = 0; e < count; ++e) {
    const auto index = static_cast<std::size_t>(load_lane<IndexLane>(indices, e));
    inside = inside && index <= last;
    store_lane(result, e, static_cast<Entry>(entries[index <= last ? index : last]));
  }
  return inside;
}

bool run(const TableLookups& lookup, Context& context) {
  RegisterSlab& registers = context.state.registers;
  std::vector<std::uint64_t> entries;
  for (const std::size_t place : lookup.place) {
    entries.push_back(isa::get_bits(registers.at(lookup.table.offset), place * lookup.table.bits,
                                    lookup.table.bits));
  }
  const Tile &index = lookup.index, &result = lookup.result;
  auto& buffers = context.scratch.lanes;
  const std::uint8_t* indices =
      read_lanes({index, nullptr}, registers, 0, index.threads, buffers[0]);
  // Its own lanes, since the result may be the tile of the indices.
  const std::size_t count = index.threads * index.locals;
  std::vector<std::uint8_t>& lanes = buffers[1].lanes;
  lanes.resize(count * lane_bytes(result.bits));
  const bool inside = with_lane(result.bits, [&]<class Entry>() {
    return with_lane(index.bits, [&]<class IndexLane>() {
      return look_up<Entry, IndexLane>(entries, indices, lanes.data(), count);
    });
  });
  if (!inside && context.settings.checks.bounds) return report_outside(lookup, context);
  std::uint8_t* const to = result_lanes(result, registers, 0, result.threads, buffers[2]);
  std::memcpy(to, lanes.data(), lanes.size());
  finish_lanes(result, registers, 0, result.threads, buffers[2]);
  return true;
}

/// An element is undefined if its index is, or the entry that the index takes. The mask is made
/// before the indices may be overwritten.
void find_undefined(const TableLookups& lookup, Context& context) {
  const UndefinedRegisters& undefined = context.state.undefined;
  const Tile &index = lookup.index, &result = lookup.result, &table = lookup.table;
  std::vector<std::uint8_t>& mask = context.scratch.lanes[3].gathered;
  mask.assign(result.bytes(), 0);
  const bool any_index = undefined.marked(index), any_entry = undefined.marked(table);
  const std::uint8_t* codes = context.state.registers.at(index.offset);
  for (std::size_t t = 0; t < index.threads && (any_index || any_entry); ++t) {
    for (std::size_t i = 0; i < index.locals; ++i) {
      const std::uint64_t code =
          isa::get_bits(codes + t * index.thread_bytes, i * index.bits, index.bits);
      const bool found =
          (any_index && undefined.element(index, t, i)) ||
          (any_entry && code < lookup.place.size() &&
           undefined.element(table, t, lookup.place[static_cast<std::size_t>(code)]));
      if (!found) continue;
      isa::put_bits(mask.data() + t * result.thread_bytes, i * result.bits, result.bits,
                    ~std::uint64_t{0});
    }
  }
}

TableLookups make_lookup(const isa::Lookup& inst, const Preparation& preparation) {
  const isa::RegisterLayout& table = preparation.register_type(inst.table.var).layout;
  TableLookups lookup{preparation.tile(inst.table.var),
                      preparation.tile(inst.index.var),
                      preparation.result_tile(),
                      {},
                      preparation.parts(inst.index.var),
                      preparation.name(inst.index.var),
                      preparation.slot_span(isa::position_of(&isa::Lookup::index))};
  for (std::int64_t e = 0; e < table.size(); ++e) {
    lookup.place.push_back(static_cast<std::size_t>(table.local_of({e})));
  }
  return lookup;
}

}  // namespace

template <>
Action prepare(const isa::Slice& inst, const Preparation& preparation) {
  return move_elements(slice_moves(inst, preparation));
}
template <>
Action prepare(const isa::Concat& inst, const Preparation& preparation) {
  return move_elements(concat_moves(inst, preparation));
}
template <>
UndefinedTransfer undefined_transfer(const isa::Slice& inst, const Preparation& preparation) {
  return move_undefined(slice_moves(inst, preparation));
}
template <>
UndefinedTransfer undefined_transfer(const isa::Concat& inst, const Preparation& preparation) {
  return move_undefined(concat_moves(inst, preparation));
}
template <>
ShadowFlow shadow_flow(const isa::Slice& inst, const Preparation& preparation) {
  return moved(slice_moves(inst, preparation), preparation);
}
template <>
ShadowFlow shadow_flow(const isa::Concat& inst, const Preparation& preparation) {
  return moved(concat_moves(inst, preparation), preparation);
}

template <>
DataFlow data_flow(const isa::Slice& inst, const Preparation& preparation) {
  return moved_flow({inst.src.var}, slice_moves(inst, preparation));
}
template <>
DataFlow data_flow(const isa::Concat& inst, const Preparation& preparation) {
  return moved_flow({inst.a.var, inst.b.var}, concat_moves(inst, preparation));
}

/// The index, and every entry that it may take.
template <>
DataFlow data_flow(const isa::Lookup& inst, const Preparation& preparation) {
  const TableLookups lookup = make_lookup(inst, preparation);
  return {DataFlow::Kind::computed,
          {},
          [index = inst.index.var, table = inst.table.var, entries = lookup.place](
              std::size_t thread, std::size_t place) {
            std::vector<ElementSource> found{{index, thread, place}};
            for (const std::size_t entry : entries) found.push_back({table, thread, entry});
            return found;
          }};
}

template <>
Action prepare(const isa::Lookup& inst, const Preparation& preparation) {
  return
      [lookup = make_lookup(inst, preparation)](Context& context) { return run(lookup, context); };
}

template <>
UndefinedTransfer undefined_transfer(const isa::Lookup& inst, const Preparation& preparation) {
  TableLookups lookup = make_lookup(inst, preparation);
  Action before = [lookup](Context& context) {
    find_undefined(lookup, context);
    return true;
  };
  return {std::move(before), [lookup = std::move(lookup)](Context& context) {
            UndefinedRegisters& undefined = context.state.undefined;
            const std::vector<std::uint8_t>& mask = context.scratch.lanes[3].gathered;
            if (!has_bits(mask.data(), lookup.result.bytes())) {
              return undefined.clear(lookup.result);
            }
            const Tile& marked = undefined.marked(lookup.index) ? lookup.index : lookup.table;
            const Origin origin = undefined.origin(marked);
            std::memcpy(undefined.at(lookup.result.offset), mask.data(), lookup.result.bytes());
            undefined.update(lookup.result, origin);
          }};
}

/// The entries are numbers of the program's own making: their shadow values begin again.
template <>
ShadowFlow shadow_flow(const isa::Lookup&, const Preparation& preparation) {
  return restarted(preparation);
}

}  // namespace tilevm::sim
