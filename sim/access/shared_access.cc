#include "sim/access/shared_access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/access/access_addresses.h"
#include "sim/state/shadow_values.h"
#include "sim/tiles/bit_copy.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

/// Calls f(bit in the thread's stream, bit in memory) for the runs of a thread.
template <class F>
void for_each_run(const TableLookup& runs, std::size_t thread, std::size_t run_bits, F&& f) {
  const std::size_t count = runs.table->runs;
  const std::uint64_t base_bits = runs.base_bits;
  const std::uint32_t* const begins = runs.table->run_bits.data() + thread * count;
  for (std::size_t r = 0; r < count; ++r) f(r * run_bits, base_bits + begins[r]);
}

/// Calls move(register byte, memory byte, bytes) for the runs of a thread. Usual lengths are
/// compile-time constants, so that the move is one instruction.
template <class Move>
void move_bytes(const TableLookup& runs, std::size_t thread, std::size_t run_bytes, Move&& move) {
  const auto each = [&]<std::size_t length>() {
    const std::size_t bytes = length != 0 ? length : run_bytes;
    for_each_run(runs, thread, bytes * 8, [&](std::size_t register_bit, std::uint64_t bit) {
      move(register_bit / 8, bit / 8, bytes);
    });
  };
  switch (run_bytes) {
    case 1:
      return each.template operator()<1>();
    case 2:
      return each.template operator()<2>();
    case 4:
      return each.template operator()<4>();
    case 8:
      return each.template operator()<8>();
    case 16:
      return each.template operator()<16>();
    default:
      return each.template operator()<0>();
  }
}

bool is_byte_aligned(const TableLookup& runs) {
  return runs.table->byte_aligned && runs.base_bits % 8 == 0;
}

/// Reports the elements outside the tensor.
bool report_outside(const SharedAccess& access, const TileOrigin& origin, Context& context) {
  const isa::Shape& shape = access.geometry.layout->shape();
  isa::Index first(shape.size());
  std::int64_t inside = 1, total = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t extent = access.geometry.extents[d];
    const std::int64_t begin = std::clamp<std::int64_t>(origin[d], 0, shape[d]);
    const std::int64_t end = std::clamp<std::int64_t>(origin[d] + extent, 0, shape[d]);
    inside *= std::max<std::int64_t>(end - begin, 0);
    total *= extent;
    first[d] = origin[d];
  }
  // The first element outside: the origin, or the first index past an end, last dimension first.
  const auto lies_outside = [&] {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (first[d] < 0 || first[d] >= shape[d]) return true;
    }
    return false;
  };
  for (std::size_t d = shape.size(); d-- > 0 && !lies_outside();) {
    if (origin[d] + access.geometry.extents[d] > shape[d]) first[d] = shape[d];
  }
  context.fail(
      Code::out_of_bounds, access.span,
      fmt::format("`{}` touches elements outside of the shared tensor `{}`: {} of {} elements of "
                  "the tile, first `{}[{}]`; the tensor has shape {}",
                  access.mnemonic, access.tensor, total - inside, total, access.tensor,
                  fmt::join(first, ", "), isa::to_string(shape)));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t last = shape[d] - access.geometry.extents[d];
    if (origin[d] >= 0 && origin[d] <= last) continue;
    add_note(context.fault->diagnostic,
             fmt::format("nothing is masked in shared memory: the offset along dimension {} is {} "
                         "here and may be 0 to {}; take a stage modulo their number, or make the "
                         "tensor larger",
                         d, origin[d], last));
  }
  return false;
}

/// Reports indices outside the tensor.
bool report_index_outside(const SharedAccess& access, const TileOrigin& origin, Context& context) {
  const IndexedTile& tile = access.indexed->tile;
  const isa::Shape& shape = access.geometry.layout->shape();
  const auto index_of = [&](std::size_t t, std::size_t i) {
    isa::Index index = element_index(access.geometry, *access.parts, {origin.begin}, t, i);
    index[tile.dim] = static_cast<std::int64_t>(
        static_cast<std::uint64_t>(index[tile.dim]) +
        static_cast<std::uint64_t>(index_value(tile, t, i, context.state.registers)));
    return index;
  };
  const auto outside =
      find_offenders(access.parts->first_threads, access.tile.locals,
                     [&](std::size_t t, std::size_t i) -> std::optional<Offender<>> {
                       isa::Index index = index_of(t, i);
                       if (index[tile.dim] >= 0 && index[tile.dim] < shape[tile.dim]) return {};
                       return Offender<>{std::move(index)};
                     });
  context.fail(Code::out_of_bounds, access.span,
               fmt::format("`{}` touches elements outside of the shared tensor `{}`: {} of {} "
                           "elements of the tile, first {}; the tensor has shape {}",
                           access.mnemonic, access.tensor, outside.count,
                           access.parts->first_threads.size() * access.tile.locals,
                           element_text(access.tensor, outside.first), isa::to_string(shape)));
  context.fault->thread = static_cast<std::int64_t>(outside.thread);
  add_note(context.fault->diagnostic,
           fmt::format("nothing is masked in shared memory: the sum of the offset and `{}` may be "
                       "0 to {} along dimension {}",
                       access.indexed->index_name, shape[tile.dim] - 1, tile.dim));
  return false;
}

/// The runs of a tile that an index places, from the indices; bits count from the tensor's begin.
void find_runs_of(const SharedAccess& access, const IndexedTable& table, std::uint64_t base,
                  IndexedPlaces& places) {
  RunTable& runs = places.table;
  runs.run_bits.resize(table.base.size());
  std::uint32_t low = ~std::uint32_t{0}, high = 0;
  for (std::size_t e = 0; e < table.base.size(); ++e) {
    const auto bit =
        static_cast<std::uint32_t>((base + table.offset(e, places.along[e])) * access.tile.bits);
    runs.run_bits[e] = bit;
    low = std::min(low, bit);
    high = std::max(high, bit);
  }
  runs.low = low;
  runs.high = high;
}

/// What is known of the runs beside where they begin.
void complete_runs(const SharedAccess& access, const IndexedTable& table, IndexedPlaces& places) {
  RunTable& runs = places.table;
  runs.run_elements = table.run_elements;
  runs.runs = table.runs;
  runs.byte_aligned = access.tile.bits % 8 == 0;
  runs.high += static_cast<std::uint32_t>(table.run_elements) * access.tile.bits;
  runs.overlaps = true;  // unless a look shows that they do not
}

}  // namespace

SharedAccess make_shared_access(isa::VarId var, const isa::Shape& shape,
                                const std::optional<isa::OffsetList>& offset, const Tile& tile,
                                std::shared_ptr<const LayoutParts> parts,
                                const Preparation& preparation, std::optional<int> indexed_dim) {
  const isa::SharedType& type = preparation.shared_type(var);
  SharedAccess access;
  access.mnemonic = preparation.mnemonic();
  access.tensor = preparation.name(var);
  access.span = preparation.span;
  access.statement = preparation.new_memory_statement(access.tensor);
  access.tensor_bits = static_cast<std::uint64_t>(preparation.info.shared_tile(var).offset) * 8;
  access.tensor_number =
      static_cast<std::size_t>(&preparation.info.shared_tile(var) - preparation.info.shared.data());
  access.shadow = shared_shadow(preparation.kernel, preparation.info, access.tensor_number);
  access.dtype = type.dtype;
  access.tile = tile;
  access.parts = std::move(parts);
  access.table = preparation.new_shared_table(tile);
  access.geometry.layout = &type.layout;
  access.geometry.bits = type.dtype.bits;
  if (auto strides = plain_strides(type.layout)) {
    access.geometry.plain = true;
    access.geometry.strides = *std::move(strides);
  }
  TilePosition position(offset, type.layout.rank(), shape, indexed_dim, preparation.wrapping);
  access.offsets = std::move(position.offsets);
  access.geometry.tile_dims = std::move(position.tile_dims);
  access.geometry.extents = std::move(position.extents);
  if (indexed_dim) access.geometry.indexed = static_cast<std::size_t>(*indexed_dim);
  return access;
}

namespace {

/// Whether all elements are inside the tensor, whatever an index says.
bool is_inside(const SharedAccess& access, const TileOrigin& origin) {
  const isa::Shape& shape = access.geometry.layout->shape();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d == access.geometry.indexed) continue;
    if (origin[d] < 0 || origin[d] + access.geometry.extents[d] > shape[d]) return false;
  }
  return true;
}

/// Finds where the index places the elements, and their runs.
bool place_by_index(const SharedAccess& access, Context& context, TileOrigin& origin) {
  const IndexedAccess& indexed = *access.indexed;
  const isa::MemoryLayout& layout = *access.geometry.layout;
  TensorInMemory tensor{
      layout.shape().size(), layout.shape()[indexed.tile.dim], {}, &layout, access.tile.bits};
  std::uint64_t base = 0;
  if (access.geometry.plain) {
    tensor.layout = nullptr;
    for (std::size_t d = 0; d < tensor.rank; ++d) {
      tensor.strides[d] = access.geometry.strides[d];
      if (d != indexed.tile.dim) base += static_cast<std::uint64_t>(origin[d] * tensor.strides[d]);
    }
  }
  const IndexedTable& table =
      find_indexed_table(indexed, *access.parts, tensor, origin.begin, context);
  const std::int64_t begin = origin[indexed.tile.dim];
  const auto moved = static_cast<std::uint32_t>(base * access.tile.bits);
  FoundPlaces found = table.shared ? find_shared_runs(indexed, table, begin, moved, context)
                                   : read_index(indexed, table, begin, tensor.extent, context);
  if (!found.inside && context.settings.checks.bounds) {
    return report_index_outside(access, origin, context);
  }
  if (table.shared && found.inside) {  // the range of all that the index might take
    found.places->table.low = moved + table.shared->low;
    found.places->table.high = moved + table.shared->high;
  } else {
    if (table.shared) found = read_index(indexed, table, begin, tensor.extent, context);
    for (std::int64_t& along : found.places->along) along = std::max<std::int64_t>(along, 0);
    find_runs_of(access, table, base, *found.places);
  }
  complete_runs(access, table, *found.places);
  origin.places = std::move(found.places);
  return true;
}

/// Finds where the tile begins.
bool find_origin(const SharedAccess& access, Context& context, TileOrigin& origin) {
  constexpr std::int64_t far_away = std::int64_t{1} << 40;  // outside stays outside
  const isa::Shape& shape = access.geometry.layout->shape();
  for (std::size_t d = 0; d < access.offsets.size(); ++d) {
    if (!context.evaluate(access.offsets[d], origin[d])) return false;
    if (d == access.geometry.indexed) continue;
    origin[d] = std::clamp(origin[d], -far_away, far_away);
  }
  const bool inside = is_inside(access, origin);
  if (!inside && context.settings.checks.bounds) {
    if (access.geometry.indexed) origin[*access.geometry.indexed] = 0;
    return report_outside(access, origin, context);
  }
  for (std::size_t d = 0; d < access.offsets.size() && !inside; ++d) {
    if (d == access.geometry.indexed) continue;
    // The verifier has seen to it that the tile fits.
    const std::int64_t last = std::max<std::int64_t>(shape[d] - access.geometry.extents[d], 0);
    origin[d] = std::clamp<std::int64_t>(origin[d], 0, last);
  }
  return access.indexed == nullptr || place_by_index(access, context, origin);
}

TableLookup find_runs(const SharedAccess& access, const TileOrigin& origin, Context& context) {
  if (origin.places != nullptr) {  // the table lives as long as the indices do
    return {{origin.places, &origin.places->table}, access.tensor_bits};
  }
  TableLookup found = find_table(context.scratch.shared_tables[access.table], access.geometry,
                                 *access.parts, origin.begin);
  found.base_bits += access.tensor_bits;
  return found;
}

}  // namespace

bool resolve(const SharedAccess& access, Context& context, ResolvedAccess& resolved) {
  resolved.access = &access;
  if (!find_origin(access, context, resolved.origin)) return false;
  resolved.runs = find_runs(access, resolved.origin, context);
  return true;
}

ResolvedAccess resolve_at(const SharedAccess& access, const TileOrigin& origin, Context& context) {
  return {&access, origin, find_runs(access, origin, context)};
}

void read_shared(const ResolvedAccess& from, const std::uint8_t* memory, std::uint8_t* registers) {
  const SharedAccess& access = *from.access;
  const TableLookup& runs = from.runs;
  const std::size_t run_bits = runs.table->run_elements * access.tile.bits;
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    std::uint8_t* to = registers + t * access.tile.thread_bytes;
    if (is_byte_aligned(runs)) {
      move_bytes(runs, t, run_bits / 8,
                 [&](std::size_t at, std::uint64_t byte, std::size_t length) {
                   std::memcpy(to + at, memory + byte, length);
                 });
    } else {
      for_each_run(runs, t, run_bits, [&](std::size_t at, std::uint64_t bit) {
        copy_bits<false>(memory, bit, to, at, run_bits);
      });
    }
  }
}

void write_shared(const ResolvedAccess& to, const std::uint8_t* registers, std::uint8_t* memory) {
  const SharedAccess& access = *to.access;
  const TableLookup& runs = to.runs;
  const std::size_t run_bits = runs.table->run_elements * access.tile.bits;
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    const std::uint8_t* from = registers + t * access.tile.thread_bytes;
    if (is_byte_aligned(runs)) {
      move_bytes(runs, t, run_bits / 8,
                 [&](std::size_t at, std::uint64_t byte, std::size_t length) {
                   std::memcpy(memory + byte, from + at, length);
                 });
    } else {
      for_each_run(runs, t, run_bits, [&](std::size_t at, std::uint64_t bit) {
        copy_bits<false>(from, at, memory, bit, run_bits);
      });
    }
  }
}

void define_shared(const ResolvedAccess& to, SharedMemory& shared) {
  const std::vector<std::uint8_t> defined(to.access->tile.bytes(), 0);
  write_shared(to, defined.data(), shared.undefined.data());
}

void update_unwritten(SharedMemory& shared) {
  for (SharedRange& range : shared.unwritten) {
    if (range.begin == range.end) continue;
    if (!has_bits(shared.undefined.data() + range.begin, range.end - range.begin)) {
      range.end = range.begin;
    }
  }
}

}  // namespace tilevm::sim
