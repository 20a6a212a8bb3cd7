// More than 400 lines: beside the moves stand the reports of all that may be wrong with them.
#include "sim/exec/global_moves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "isa/type/bits.h"
#include "sim/access/access_reports.h"
#include "sim/access/placed_tile.h"
#include "sim/access/tile_in_view.h"
#include "sim/arithmetic/combine_bits.h"
#include "sim/checks/defined_elements.h"
#include "sim/checks/global_checks.h"
#include "sim/checks/outside_view.h"
#include "sim/checks/padding.h"
#include "sim/checks/shared_checks.h"
#include "sim/exec/indexed_moves.h"
#include "sim/shadow/shadow_access.h"
#include "sim/state/access_observer.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

/// Larger offsets are outside of every view, with room for the tile's own indices.
constexpr std::int64_t far_away = std::int64_t{1} << 50;

/// Evaluates the tile's origin. An origin far outside of the view stays outside when clamped.
bool evaluate_origin(const GlobalAccess& access, Context& context, Coordinates& origin) {
  for (std::size_t d = 0; d < access.offsets.size(); ++d) {
    if (!context.evaluate(access.offsets[d], origin[d])) return false;
    if (access.indexed != nullptr && d == access.indexed->tile.dim) continue;
    origin[d] = std::clamp(origin[d], -far_away, far_away);
  }
  return true;
}

/// The first bits of the tile's elements inside the view, ascending.
std::vector<std::uint64_t> element_bits(const GlobalAccess& access, TileInView cursor) {
  std::vector<std::uint64_t> bits;
  for (const std::int32_t first : access.parts->first_threads) {
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (cursor.locate(static_cast<std::size_t>(first), i)) bits.push_back(cursor.bit());
    }
  }
  std::sort(bits.begin(), bits.end());
  return bits;
}

/// Whether [bit, bit + count) overlaps an element of `bits` bits that begins at one of `begins`.
bool meets(const std::vector<std::uint64_t>& begins, unsigned bits, std::uint64_t bit,
           unsigned count) {
  const auto next = std::lower_bound(begins.begin(), begins.end(), bit + count);
  return next != begins.begin() && *(next - 1) + bits > bit;
}

/// Whether a store leaves the source of a pending copy alone; false after a fault.
bool spares_source(const GlobalAccess& access, TileInView cursor, const PendingCopy& copy,
                   Context& context) {
  const GlobalAccess& source = copy.plan->source;
  const auto begins = element_bits(source, {source, copy.source, context, copy.source_origin});
  const auto read = [&](std::uint64_t bit) {
    return meets(begins, source.tile.bits, bit, access.tile.bits);
  };
  const auto hit = find_offenders(access.parts->first_threads, access.tile.locals,
                                  [&](std::size_t t, std::size_t i) -> std::optional<Offender<>> {
                                    if (!cursor.locate(t, i) || !read(cursor.bit())) {
                                      return std::nullopt;
                                    }
                                    return Offender<>{cursor.index()};
                                  });
  if (hit.count == 0) return true;
  context.fail(Code::in_flight_access, access.span,
               fmt::format("`{}` writes {} that a copy in flight reads, first {}", access.mnemonic,
                           elements_text(hit.count, access.view_name),
                           element_text(access.view_name, hit.first)));
  context.fault->thread = static_cast<std::int64_t>(hit.thread);
  explain_copy(copy, context);
  return false;
}

bool spares_sources(const GlobalAccess& access, const TileInView& cursor, Context& context) {
  if (!context.settings.checks.in_flight) return true;
  const auto& copies = context.state.shared.copies;
  return std::all_of(copies.begin(), copies.end(), [&](const PendingCopy& copy) {
    return copy.source.buffer != cursor.view().buffer ||
           spares_source(access, cursor, copy, context);
  });
}

/// Fills a tile, or its undefined mask, from memory; elements outside the view become zero.
bool move_in(PlacedTile& placed, const std::uint8_t* memory, std::uint8_t* registers,
             Context& context) {
  auto& [access, cursor, strided] = placed;
  const Tile& tile = access.tile;
  if (strided.table != nullptr) {
    copy_from_memory(*strided.table, tile, memory, strided.base_bits, registers);
    return true;
  }
  if (access.indexed != nullptr && move_in_indexed(access, cursor, memory, registers, context)) {
    return true;
  }
  for (std::size_t t = 0; t < tile.threads; ++t) {
    for (std::size_t i = 0; i < tile.locals; ++i) {
      std::uint64_t code = 0;
      if (cursor.locate(t, i)) {
        if (cursor.in_buffer()) {
          code = isa::get_bits(memory, cursor.bit(), tile.bits);
        } else if (context.settings.checks.bounds) {
          return report_out_of_bounds(access, cursor, context);
        }
      }
      isa::put_bits(registers + t * tile.thread_bytes, i * tile.bits, tile.bits, code);
    }
  }
  return true;
}

/// The buffer's undefined mask; null if all bits are defined or unchecked, as in a replay.
std::uint8_t* undefined_bits(const TileInView& cursor, const Context& context) {
  return context.settings.checks.uninitialized ? cursor.buffer().undefined : nullptr;
}

/// Writes a tile, or its undefined mask, to memory; nothing outside the view.
bool move_out(PlacedTile& placed, const std::uint8_t* registers, std::uint8_t* memory,
              Context& context) {
  auto& [access, cursor, strided] = placed;
  const Tile& tile = access.tile;
  if (strided.table != nullptr) {
    copy_to_memory(*strided.table, tile, access.parts->first_threads, registers, memory,
                   strided.base_bits);
    return true;
  }
  if (access.indexed != nullptr && move_out_indexed(access, cursor, registers, memory, context)) {
    return true;
  }
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < tile.locals; ++i) {
      if (!cursor.locate(t, i)) continue;
      if (!cursor.in_buffer()) {
        if (context.settings.checks.bounds) return report_out_of_bounds(access, cursor, context);
        continue;
      }
      const std::uint64_t code =
          isa::get_bits(registers + t * tile.thread_bytes, i * tile.bits, tile.bits);
      if (access.combines) {
        combine_bits(memory, cursor.bit(), access.dtype, *access.combines, code);
      } else {
        isa::put_bits_atomic(memory, cursor.bit(), tile.bits, code);
      }
    }
  }
  return true;
}

/// The bits that the access touches.
TouchedIntervals find_pieces(PlacedTile& placed, Context& context) {
  auto& [access, cursor, strided] = placed;
  if (strided.table != nullptr) {
    return strided.table->pieces_at(*access.parts, access.tile, strided.base_bits);
  }
  if (access.indexed != nullptr) {
    if (auto pieces = indexed_pieces(access, cursor, context)) return *std::move(pieces);
  }
  TouchedIntervals pieces;
  for (const std::int32_t first : access.parts->first_threads) {
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (!cursor.locate(static_cast<std::size_t>(first), i) || !cursor.in_buffer()) continue;
      pieces.bits.push_back({cursor.bit(), cursor.bit() + access.tile.bits});
    }
  }
  pieces.overlap = merge_intervals(pieces.bits);
  return pieces;
}

/// Checks the access, after the move, if its buffer is tracked; false after a fault.
bool check_access(PlacedTile& placed, GlobalUse use, Context& context) {
  const TileInView& cursor = placed.cursor;
  if (!context.settings.tracks(cursor.view().buffer)) return true;
  return check_global({&placed.access, cursor.view(), cursor.origin(), use},
                      find_pieces(placed, context), context);
}

/// What every store of a tile does first: it notes elements outside of the view, counts, and spares
/// what copies in flight still read. False after a fault.
bool begin_store(const PlacedTile& placed, Context& context) {
  const TileInView& cursor = placed.cursor;
  if (placed.strided.table == nullptr) note_outside(placed.access, cursor, true, context);
  StoreCount& count = context.scratch.stores[placed.access.statement];
  ++count.executed;
  if (cursor.outside_view()) ++count.outside;
  return spares_sources(placed.access, cursor, context);
}

}  // namespace

void tell_observer(const GlobalFootprint& footprint, const Context& context) {
  AccessObserver* const observer = context.settings.observers.accesses;
  if (observer != nullptr) observer->global(footprint, context);
}

bool find_origin(const GlobalAccess& access, Context& context, TileOrigin& origin) {
  if (!evaluate_origin(access, context, origin.begin)) return false;
  if (access.indexed == nullptr) return true;
  const std::size_t dim = access.indexed->tile.dim;
  const GlobalView& view = context.state.views[access.view];
  const IndexedTable& table = find_indexed_table(*access.indexed, *access.parts,
                                                 tensor_of(view, dim), origin.begin, context);
  origin.places =
      read_index(*access.indexed, table, origin[dim], view.extents[dim], context).places;
  return true;
}

bool load(const GlobalAccess& access, Context& context) {
  TileOrigin origin{};
  if (!find_origin(access, context, origin)) return false;
  tell_observer({&access, context.state.views[access.view], origin, GlobalUse::load}, context);
  PlacedTile placed(access, context, origin);
  TileInView& cursor = placed.cursor;
  if (placed.strided.table == nullptr) note_outside(access, cursor, false, context);
  const std::size_t offset = access.tile.offset;
  if (!move_in(placed, cursor.buffer().data, context.state.registers.at(offset), context)) {
    return false;
  }
  UndefinedRegisters& undefined = context.state.undefined;
  if (context.settings.checks.padding) {
    load_padding(placed, context);
  } else if (undefined_bits(cursor, context) != nullptr) {
    if (!move_in(placed, undefined_bits(cursor, context), undefined.at(offset), context)) {
      return false;
    }
    undefined.update(access.tile, {access.mnemonic, access.span, advice_on_unwritten(context)});
  } else if (undefined.any()) {
    undefined.clear(access.tile);
  }
  if (context.state.shadow.kept) load_shadow(access, cursor, context);
  return check_access(placed, GlobalUse::load, context);
}

bool load_for_copy(const GlobalAccess& access, Context& context, PendingCopy& copy) {
  TileOrigin& origin = copy.source_origin;
  if (!find_origin(access, context, origin)) return false;
  tell_observer({&access, context.state.views[access.view], origin, GlobalUse::copy}, context);
  PlacedTile placed(access, context, origin);
  TileInView& cursor = placed.cursor;
  if (placed.strided.table == nullptr) note_outside(access, cursor, false, context);
  copy.data.resize(access.tile.bytes());
  if (!move_in(placed, cursor.buffer().data, copy.data.data(), context)) return false;
  if (context.state.shadow.kept) copy.shadow = read_shadow(access, cursor);
  if (!check_access(placed, GlobalUse::copy, context)) return false;
  if (context.settings.checks.padding) copy.padding = padding_of(placed, context);
  if (undefined_bits(cursor, context) == nullptr) return true;
  std::vector<std::uint8_t> mask(access.tile.bytes());
  if (!move_in(placed, undefined_bits(cursor, context), mask.data(), context)) return false;
  return !has_bits(mask.data(), mask.size()) ||
         report_unwritten(access, cursor, mask.data(), context);
}

bool keep_reading(const PendingCopy& copy, Context& context) {
  const GlobalAccess& source = copy.plan->source;
  PlacedTile placed(source, copy.source, context, copy.source_origin);
  return check_access(placed, GlobalUse::copy, context);
}

bool find_element(const GlobalAccess& access, Context& context, Coordinates& index,
                  std::uint64_t& bit) {
  if (!evaluate_origin(access, context, index)) return false;
  TileInView cursor(access, context, {index});
  if (!cursor.locate(0, 0)) return report_outside_view(access, cursor.view(), index, context);
  if (!cursor.in_buffer()) return report_out_of_bounds(access, cursor, context);
  bit = cursor.bit();
  return true;
}

bool load_element(const GlobalAccess& access, Context& context, std::uint64_t& code) {
  Coordinates index{};
  std::uint64_t bit = 0;
  if (!find_element(access, context, index, bit)) return false;
  tell_observer({&access, context.state.views[access.view], {index}, GlobalUse::load}, context);
  PlacedTile placed(access, context, {index});
  const TileInView& cursor = placed.cursor;
  code = isa::get_bits(cursor.buffer().data, bit, access.tile.bits);
  if (!check_access(placed, GlobalUse::load, context)) return false;
  const std::uint8_t* undefined = undefined_bits(cursor, context);
  if (undefined == nullptr || isa::get_bits(undefined, bit, access.tile.bits) == 0) return true;
  context.fail(Code::uninitialized_read, access.span,
               fmt::format("`{}` reads `{}[{}]`, which has no defined value", access.mnemonic,
                           access.view_name,
                           fmt::join(index.begin(), index.begin() + cursor.view().rank, ", ")));
  add_note(context.fault->diagnostic, "nothing had written it; store it before", access.view_span);
  return false;
}

bool store_copy(const GlobalAccess& access, const TileOrigin& origin, const CopiedTile& copied,
                Context& context) {
  tell_observer({&access, context.state.views[access.view], origin, GlobalUse::store}, context);
  PlacedTile placed(access, context, origin);
  TileInView& cursor = placed.cursor;
  if (!begin_store(placed, context)) return false;
  const bool follows_padding = context.settings.checks.padding;
  if (follows_padding && !store_copied_padding(placed, copied.undefined, copied.padding, context)) {
    return false;
  }
  for (std::size_t i = 0; i < access.tile.locals && !follows_padding && !copied.undefined.empty();
       ++i) {
    const std::size_t bit = i * access.tile.bits;
    if (!cursor.locate(0, i) || isa::get_bits(copied.undefined.data(), bit, access.tile.bits) == 0)
      continue;
    context.fail(Code::uninitialized_read, access.span,
                 fmt::format("`{}` stores to {} an element of `{}` that has no defined value",
                             access.mnemonic, element_text(access.view_name, cursor.index()),
                             access.tile_name));
    add_note(context.fault->diagnostic, "nothing had written it; fill the shared tensor before");
    return false;
  }
  if (!move_out(placed, copied.data.data(), cursor.buffer().data, context)) return false;
  if (context.state.shadow.kept) store_shadow(access, cursor, copied.shadow);
  if (!check_access(placed, GlobalUse::store, context)) return false;
  if (undefined_bits(cursor, context) == nullptr) return true;
  const std::vector<std::uint8_t> defined(access.tile.bytes(), 0);
  return move_out(placed, defined.data(), undefined_bits(cursor, context), context);
}

bool store(const GlobalAccess& access, Context& context) {
  TileOrigin origin{};
  if (!find_origin(access, context, origin)) return false;
  const GlobalUse use = access.combines ? GlobalUse::combine : GlobalUse::store;
  tell_observer({&access, context.state.views[access.view], origin, use}, context);
  PlacedTile placed(access, context, origin);
  TileInView& cursor = placed.cursor;
  if (!begin_store(placed, context)) return false;
  if (context.settings.checks.padding && !store_padding(placed, context)) return false;
  const Tile& tile = access.tile;
  UndefinedRegisters& undefined = context.state.undefined;
  const bool defined =
      check_defined(access.mnemonic, access.span, access.tile_name, tile, *access.parts, context,
                    [&](std::size_t t, std::size_t i) { return cursor.locate(t, i); });
  if (!defined) return false;
  const bool may_lack = undefined_bits(cursor, context) != nullptr;
  if (access.combines && may_lack &&
      !check_memory_defined(access, cursor, undefined_bits(cursor, context), context)) {
    return false;
  }
  const bool keeps_shadow = context.state.shadow.kept;
  if (keeps_shadow && access.combines) combine_shadow(access, cursor, context);
  const std::uint8_t* registers = context.state.registers.at(tile.offset);
  if (!move_out(placed, registers, cursor.buffer().data, context)) return false;
  if (keeps_shadow && !access.combines) store_shadow(access, cursor, context);
  if (!check_access(placed, use, context)) return false;
  if (!may_lack || access.combines) return true;
  // Stored elements are defined; undefined elements of the tile are outside of the view.
  return move_out(placed, undefined.at(tile.offset), undefined_bits(cursor, context), context);
}

}  // namespace tilevm::sim
