#include "sim/checks/padding.h"

#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "isa/type/bits.h"
#include "sim/access/copy_plan.h"
#include "sim/checks/neutral_elements.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

constexpr std::uint64_t all_bits = ~std::uint64_t{0};

/// Where padding of an access comes from.
Origin origin_of(const GlobalAccess& access) { return {access.mnemonic, access.span, {}}; }

/// Whether an element of a tile in registers changes nothing that it is combined with.
bool is_neutral_at(const Tile& tile, const isa::DType& type, isa::ReduceOp combines, std::size_t t,
                   std::size_t i, const Context& context) {
  const std::uint8_t* const thread =
      context.state.registers.at(tile.offset + t * tile.thread_bytes);
  return is_neutral(isa::get_bits(thread, i * tile.bits, tile.bits), combines, type);
}

/// Whether an element of a tile in registers is marked, and changes what it is combined with.
bool matters(const Tile& tile, const isa::DType& type, std::optional<isa::ReduceOp> combines,
             std::size_t t, std::size_t i, const Context& context) {
  if (!context.state.undefined.element(tile, t, i)) return false;
  return !combines || !is_neutral_at(tile, type, *combines, t, i, context);
}

/// Whether the index that places an element of a tile is marked.
bool is_placed_by_padding(const IndexedAccess* indexed, std::size_t t, std::size_t i,
                          const Context& context) {
  if (indexed == nullptr) return false;
  const Tile& index = indexed->tile.index;
  // The place in a copy counts through all threads.
  const auto lane = t * index.locals + static_cast<std::size_t>(indexed->tile.index_places[i]);
  return context.state.undefined.element(index, lane / index.locals, lane % index.locals);
}

bool has_marked_index(const IndexedAccess* indexed, const Context& context) {
  return indexed != nullptr && context.state.undefined.marked(indexed->tile.index);
}

/// Whether an element that is stored depends on padding by its value or by its index, and changes
/// what it is combined with.
template <class Access>
bool stores_padding(const Access& access, std::size_t t, std::size_t i, const Context& context) {
  if (matters(access.tile, access.dtype, access.combines, t, i, context)) return true;
  return is_placed_by_padding(access.indexed.get(), t, i, context) &&
         !(access.combines &&
           is_neutral_at(access.tile, access.dtype, *access.combines, t, i, context));
}

/// Where the padding came from that places a loaded tile's elements, or lies in it.
Origin origin_of_loaded(const GlobalAccess& access, const Context& context) {
  if (!has_marked_index(access.indexed.get(), context)) return origin_of(access);
  return context.state.undefined.origin(access.indexed->tile.index);
}

/// Where the padding came from on which the elements of a stored tile depend, or their indices.
template <class Access>
const Origin& origin_of_stored(const Access& access, const Context& context) {
  const UndefinedRegisters& undefined = context.state.undefined;
  const bool by_value = undefined.marked(access.tile) || access.indexed == nullptr;
  return undefined.origin(by_value ? access.tile : access.indexed->tile.index);
}

/// Marks the elements of shared memory where a store leaves padding; false if it leaves none.
bool mark_stored(const ResolvedAccess& to, Context& context) {
  const SharedAccess& access = *to.access;
  const Tile& tile = access.tile;
  bool any = false;
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < tile.locals; ++i) {
      if (!stores_padding(access, t, i, context)) continue;
      isa::put_bits(context.state.shared.undefined.data(), to.bit_of(t, i), tile.bits, all_bits);
      any = true;
    }
  }
  return any;
}

bool report_padding(const GlobalAccess& access, const Offenders<NoDetail>& found,
                    const Origin& origin, Context& context) {
  const std::string_view verb = access.combines ? "combines" : "stores";
  context.fail(
      Code::padding_used, access.span,
      fmt::format("`{}` {} {} that depend{} on elements outside of a view, first {}",
                  access.mnemonic, verb, elements_text(found.count, access.view_name),
                  found.count == 1 ? "s" : "", element_text(access.view_name, found.first)));
  context.fault->thread = static_cast<std::int64_t>(found.thread);
  add_note(
      context.fault->diagnostic,
      fmt::format("this `{}` gave zeros for elements outside of its view: replace them by what "
                  "changes nothing before they are combined, such as `Where(inside, x, 0)` "
                  "before a sum and `Where(inside, x, -inf)` before a maximum",
                  origin.mnemonic),
      origin.span);
  if (has_marked_index(access.indexed.get(), context)) {
    add_note(context.fault->diagnostic,
             fmt::format("`{}` says where elements go: choose an index outside of `{}` for those "
                         "that are padding, such as `Where(inside, {}, -1)`",
                         access.indexed->index_name, access.view_name, access.indexed->index_name));
  }
  return false;
}

}  // namespace

std::vector<std::uint8_t> padding_of(PlacedTile& placed, const Context& context) {
  auto& [access, cursor, strided] = placed;
  const Tile& tile = access.tile;
  std::vector<std::uint8_t> mask(tile.bytes(), 0);
  const std::uint8_t* const workspace = cursor.buffer().undefined;
  if (strided.table != nullptr && workspace == nullptr) return mask;
  for (std::size_t t = 0; t < tile.threads; ++t) {
    for (std::size_t i = 0; i < tile.locals; ++i) {
      std::uint64_t bits = all_bits;
      if (cursor.locate(t, i) && !is_placed_by_padding(access.indexed.get(), t, i, context)) {
        const bool is_kept = workspace != nullptr && cursor.in_buffer();
        bits = is_kept ? isa::get_bits(workspace, cursor.bit(), tile.bits) : 0;
      }
      isa::put_bits(mask.data() + t * tile.thread_bytes, i * tile.bits, tile.bits, bits);
    }
  }
  return mask;
}

void load_padding(PlacedTile& placed, Context& context) {
  UndefinedRegisters& undefined = context.state.undefined;
  const Tile& tile = placed.access.tile;
  const std::vector<std::uint8_t> mask = padding_of(placed, context);
  const Origin origin = origin_of_loaded(placed.access, context);
  std::memcpy(undefined.at(tile.offset), mask.data(), mask.size());
  undefined.update(tile, origin);
}

void load_shared_padding(const ResolvedAccess& from, Context& context) {
  const SharedAccess& access = *from.access;
  const Tile& tile = access.tile;
  UndefinedRegisters& undefined = context.state.undefined;
  std::vector<std::uint8_t> mask(tile.bytes(), 0);
  read_shared(from, context.state.shared.undefined.data(), mask.data());
  const bool by_index = has_marked_index(access.indexed.get(), context);
  for (std::size_t t = 0; by_index && t < tile.threads; ++t) {
    for (std::size_t i = 0; i < tile.locals; ++i) {
      if (!is_placed_by_padding(access.indexed.get(), t, i, context)) continue;
      isa::put_bits(mask.data() + t * tile.thread_bytes, i * tile.bits, tile.bits, all_bits);
    }
  }
  const Origin origin = by_index ? undefined.origin(access.indexed->tile.index)
                                 : context.state.padding[access.tensor_number];
  std::memcpy(undefined.at(tile.offset), mask.data(), mask.size());
  undefined.update(tile, origin);
}

bool store_padding(PlacedTile& placed, Context& context) {
  auto& access = placed.access;
  auto& cursor = placed.cursor;
  const Tile& tile = access.tile;
  std::uint8_t* const workspace = cursor.buffer().undefined;
  const bool is_marked =
      context.state.undefined.marked(tile) || has_marked_index(access.indexed.get(), context);
  if (workspace == nullptr && !is_marked) return true;
  const auto found = find_offenders(
      access.parts->first_threads, tile.locals,
      [&](std::size_t t, std::size_t i) -> std::optional<Offender<>> {
        if (!cursor.locate(t, i) || !cursor.in_buffer()) return {};
        const bool marked = is_marked && stores_padding(access, t, i, context);
        if (workspace != nullptr && (marked || !access.combines)) {
          isa::put_bits_atomic(workspace, cursor.bit(), tile.bits, marked ? all_bits : 0);
        }
        if (!marked || workspace != nullptr) return {};
        return Offender<>{cursor.index()};
      });
  return found.count == 0 ||
         report_padding(access, found, origin_of_stored(access, context), context);
}

bool store_copied_padding(PlacedTile& placed, const std::vector<std::uint8_t>& mask,
                          const Origin& origin, Context& context) {
  auto& access = placed.access;
  auto& cursor = placed.cursor;
  const Tile& tile = access.tile;
  std::uint8_t* const workspace = cursor.buffer().undefined;
  const auto found = find_offenders(
      1, tile.locals, [&](std::size_t t, std::size_t i) -> std::optional<Offender<>> {
        if (!cursor.locate(t, i) || !cursor.in_buffer()) return {};
        const bool marked = isa::get_bits(mask.data(), i * tile.bits, tile.bits) != 0;
        if (workspace != nullptr) {
          isa::put_bits_atomic(workspace, cursor.bit(), tile.bits, marked ? all_bits : 0);
        }
        if (!marked || workspace != nullptr) return {};
        return Offender<>{cursor.index()};
      });
  return found.count == 0 || report_padding(access, found, origin, context);
}

void store_shared_padding(const ResolvedAccess& to, Context& context) {
  const SharedAccess& access = *to.access;
  const UndefinedRegisters& undefined = context.state.undefined;
  SharedMemory& shared = context.state.shared;
  const bool by_index = has_marked_index(access.indexed.get(), context);
  if (!by_index && !undefined.marked(access.tile)) return define_shared(to, shared);
  write_shared(to, undefined.at(access.tile.offset), shared.undefined.data());
  if (by_index) mark_stored(to, context);
  context.state.padding[access.tensor_number] = origin_of_stored(access, context);
}

void arrive_padding(const PendingCopy& copy, const ResolvedAccess& to, Context& context) {
  const SharedAccess& access = *to.access;
  write_shared(to, copy.padding.data(), context.state.shared.undefined.data());
  if (has_bits(copy.padding.data(), copy.padding.size())) {
    context.state.padding[access.tensor_number] = origin_of_loaded(copy.plan->source, context);
  }
}

void combine_shared_padding(const ResolvedAccess& to, Context& context) {
  const SharedAccess& access = *to.access;
  if (!context.state.undefined.marked(access.tile) &&
      !has_marked_index(access.indexed.get(), context)) {
    return;
  }
  if (mark_stored(to, context)) {
    context.state.padding[access.tensor_number] = origin_of_stored(access, context);
  }
}

}  // namespace tilevm::sim
